#include "cupel/compiler/tensor/named/NamedFusion.h"
#include "cupel/compiler/tensor/OperationMarks.h"

using namespace mlir;

namespace cupel::tir {

/// How many of the first elements of each line are all that is needed of a sort; 0 if that is all of them, or cannot be told.
static int64_t firstNeeded(stablehlo::SortOp sort) {
  auto type = cast<RankedTensorType>(sort.getInputs()[0].getType());
  int64_t along = int64_t(sort.getDimension());
  if (along < 0)
    along += type.getRank();
  int64_t most = 0;
  for (Operation *user : sort->getUsers()) {
    auto slice = dyn_cast<stablehlo::SliceOp>(user);
    if (!slice)
      return 0;
    most = std::max(most, slice.getLimitIndices()[along]);
  }
  return type.hasStaticShape() && most < type.getDimSize(along) ? most : 0;
}

static std::optional<FusionMembers> matchTopK(Operation *op) {
  auto sort = dyn_cast<stablehlo::SortOp>(op);
  if (!sort || firstNeeded(sort) == 0)
    return std::nullopt;
  return FusionMembers{op};
}

static void rewriteTopK(Operation *op) {
  op->setAttr(kFirstAttr, Builder(op->getContext()).getI64IntegerAttr(firstNeeded(cast<stablehlo::SortOp>(op))));
}

const NamedFusion kTopKFusion{.name = "topk",
                              .summary = "a sort of which only the first elements are needed: only these are sorted",
                              .match = matchTopK,
                              .rewrite = rewriteTopK};

} // namespace cupel::tir
