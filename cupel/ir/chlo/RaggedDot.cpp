// The verifier of chlo.ragged_dot: constraints of dot_general, and those of the ragged dimension.
#include "cupel/ir/chlo/RaggedDot.h"

#include "cupel/ir/chlo/Chlo.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace cupel::chlo {

RaggedDotMode getRaggedDotMode(RaggedDotDimensionNumbersAttr numbers) {
  int64_t ragged = numbers.getLhsRaggedDimensions().front();
  if (llvm::is_contained(numbers.getLhsBatchingDimensions(), ragged))
    return RaggedDotMode::Batching;
  if (llvm::is_contained(numbers.getLhsContractingDimensions(), ragged))
    return RaggedDotMode::Contracting;
  return RaggedDotMode::Free;
}

SmallVector<int64_t> getFreeDimensions(int64_t rank, ArrayRef<ArrayRef<int64_t>> taken) {
  SmallVector<int64_t> free;
  for (int64_t dimension : llvm::seq<int64_t>(0, rank))
    if (llvm::none_of(taken, [&](auto list) { return llvm::is_contained(list, dimension); }))
      free.push_back(dimension);
  return free;
}

SmallVector<int64_t> getGroupSizesPrefix(RaggedDotDimensionNumbersAttr numbers, int64_t lhsRank) {
  int64_t ragged = numbers.getLhsRaggedDimensions().front();
  ArrayRef<int64_t> batching = numbers.getLhsBatchingDimensions();
  ArrayRef<int64_t> contracting = numbers.getLhsContractingDimensions();
  SmallVector<int64_t> before;
  auto takeUntilRagged = [&](ArrayRef<int64_t> list) {
    for (int64_t dimension : list) {
      if (dimension == ragged)
        return;
      before.push_back(dimension);
    }
  };
  takeUntilRagged(batching);
  switch (getRaggedDotMode(numbers)) {
  case RaggedDotMode::Batching:
    break;
  case RaggedDotMode::Contracting:
    takeUntilRagged(contracting);
    break;
  case RaggedDotMode::Free:
    takeUntilRagged(getFreeDimensions(lhsRank, {batching, contracting}));
    break;
  }
  return before;
}

namespace {

// Each dimension in range and none named twice.
LogicalResult checkDimensions(RaggedDotOp op, StringRef side, int64_t rank,
                              ArrayRef<ArrayRef<int64_t>> lists) {
  llvm::SmallSet<int64_t, 8> seen;
  for (ArrayRef<int64_t> list : lists)
    for (int64_t dimension : list) {
      if (dimension < 0 || dimension >= rank)
        return op.emitOpError() << side << " has rank " << rank << " and no dimension "
                                << dimension;
      if (!seen.insert(dimension).second)
        return op.emitOpError() << "dimension " << dimension << " of " << side << " is named twice";
    }
  return success();
}

LogicalResult checkPairs(RaggedDotOp op, StringRef kind, RankedTensorType lhs,
                         ArrayRef<int64_t> lhsDims, RankedTensorType rhs,
                         ArrayRef<int64_t> rhsDims) {
  if (lhsDims.size() != rhsDims.size())
    return op.emitOpError() << "lhs has " << lhsDims.size() << " " << kind
                            << " dimensions, but rhs has " << rhsDims.size();
  for (auto [l, r] : llvm::zip(lhsDims, rhsDims))
    if (failed(verifyCompatibleShape({lhs.getDimSize(l)}, {rhs.getDimSize(r)})))
      return op.emitOpError() << kind << " dimension " << l << " of lhs has size "
                              << lhs.getDimSize(l) << ", but dimension " << r << " of rhs has size "
                              << rhs.getDimSize(r);
  return success();
}

} // namespace

LogicalResult RaggedDotOp::verify() {
  RaggedDotDimensionNumbersAttr numbers = getRaggedDotDimensionNumbers();
  if (getPrecisionConfig() && getPrecisionConfig()->size() > 2)
    return emitOpError("precision_config has ")
           << getPrecisionConfig()->size() << " entries, at most two are meaningful";
  if (numbers.getLhsRaggedDimensions().size() != 1)
    return emitOpError("lhs must have exactly one ragged dimension, but ")
           << numbers.getLhsRaggedDimensions().size() << " are named";

  auto lhs = dyn_cast<RankedTensorType>(getLhs().getType());
  auto rhs = dyn_cast<RankedTensorType>(getRhs().getType());
  auto sizes = cast<RankedTensorType>(getGroupSizes().getType());
  if (!lhs || !rhs)
    return success();
  int64_t ragged = numbers.getLhsRaggedDimensions().front();
  if (ragged < 0 || ragged >= lhs.getRank())
    return emitOpError("the ragged dimension ") << ragged << " is not a dimension of lhs, which "
                                                << "has rank " << lhs.getRank();
  if (failed(checkDimensions(
          *this, "lhs", lhs.getRank(),
          {numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()})) ||
      failed(checkDimensions(*this, "rhs", rhs.getRank(),
                             {numbers.getRhsBatchingDimensions(),
                              numbers.getRhsContractingDimensions(),
                              numbers.getRhsGroupDimensions()})) ||
      failed(checkPairs(*this, "batching", lhs, numbers.getLhsBatchingDimensions(), rhs,
                        numbers.getRhsBatchingDimensions())) ||
      failed(checkPairs(*this, "contracting", lhs, numbers.getLhsContractingDimensions(), rhs,
                        numbers.getRhsContractingDimensions())))
    return failure();

  // group_sizes is [groups], or has the dimensions of lhs that enclose the ragged one before it.
  if (sizes.getRank() == 0)
    return emitOpError("group_sizes needs at least one dimension");
  if (sizes.getRank() != 1) {
    SmallVector<int64_t> expected;
    for (int64_t dimension : getGroupSizesPrefix(numbers, lhs.getRank()))
      expected.push_back(lhs.getDimSize(dimension));
    expected.push_back(sizes.getShape().back());
    if (failed(verifyCompatibleShape(expected, sizes.getShape())))
      return emitOpError("group_sizes must be ")
             << RankedTensorType::get(expected, sizes.getElementType())
             << " or have one dimension, but is " << sizes;
  }
  int64_t groups = sizes.getShape().back();

  RaggedDotMode mode = getRaggedDotMode(numbers);
  ArrayRef<int64_t> groupDims = numbers.getRhsGroupDimensions();
  if (mode == RaggedDotMode::Free) {
    if (groupDims.size() != 1)
      return emitOpError("rhs must have exactly one group dimension when the ragged dimension is "
                         "neither batching nor contracting, but ")
             << groupDims.size() << " are named";
    if (failed(verifyCompatibleShape({rhs.getDimSize(groupDims.front())}, {groups})))
      return emitOpError("the group dimension of rhs has size ")
             << rhs.getDimSize(groupDims.front()) << ", but there are " << groups << " groups";
  } else if (!groupDims.empty()) {
    return emitOpError("rhs must have no group dimension when the ragged dimension is batching or "
                       "contracting, but ")
           << groupDims.size() << " are named";
  }

  auto result = dyn_cast<RankedTensorType>(getType());
  SmallVector<int64_t> shape;
  if (mode == RaggedDotMode::Contracting)
    shape.push_back(groups);
  for (int64_t dimension : numbers.getLhsBatchingDimensions())
    shape.push_back(lhs.getDimSize(dimension));
  for (int64_t dimension :
       getFreeDimensions(lhs.getRank(), {numbers.getLhsBatchingDimensions(),
                                         numbers.getLhsContractingDimensions()}))
    shape.push_back(lhs.getDimSize(dimension));
  for (int64_t dimension :
       getFreeDimensions(rhs.getRank(), {numbers.getRhsBatchingDimensions(),
                                         numbers.getRhsContractingDimensions(), groupDims}))
    shape.push_back(rhs.getDimSize(dimension));
  if (result && failed(verifyCompatibleShape(shape, result.getShape())))
    return emitOpError("the result has the shape of ")
           << RankedTensorType::get(shape, result.getElementType()) << ", but is " << result;
  return success();
}

} // namespace cupel::chlo
