#include "cupel/compiler/tensor/Windows.h"

#include "cupel/compiler/tensor/TensorIr.h"

using namespace mlir;

namespace cupel::tir {

/// Known before the program runs, or given to it: worth packing.
static bool isWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<stablehlo::TransposeOp, stablehlo::ReshapeOp, stablehlo::ReverseOp,
             stablehlo::ConvertOp>(op))
      return isa<stablehlo::ConstantOp>(op);
    value = op->getOperand(0);
  }
  return true;
}

bool isCorrelation(stablehlo::ConvolutionOp op) {
  constexpr int64_t kFewest = 4;
  auto numbers = op.getDimensionNumbers();
  auto sizeOf = [](Value value, ArrayRef<int64_t> dims) {
    int64_t size = 1;
    for (int64_t d : dims)
      size *= cast<RankedTensorType>(value.getType()).getDimSize(d);
    return size;
  };
  bool isTurned = op.getWindowReversal() && llvm::is_contained(*op.getWindowReversal(), true);
  ArrayRef<int64_t> places = numbers.getOutputSpatialDimensions();
  return op.getFeatureGroupCount() == 1 && areOnes(op.getLhsDilation()) && !isTurned &&
         !isWeight(op.getRhs()) &&
         sizeOf(op.getRhs(), numbers.getKernelSpatialDimensions()) >
             sizeOf(op.getResult(), places) &&
         sizeOf(op.getRhs(), {numbers.getKernelOutputFeatureDimension()}) >= kFewest &&
         sizeOf(op.getLhs(), {numbers.getInputBatchDimension()}) *
                 sizeOf(op.getResult(), {places.back()}) >=
             kFewest;
}

bool isNearConvolution(stablehlo::ReduceWindowOp pool) {
  constexpr size_t kNeighbours = 24; // As many operations are looked at, for each direction.
  for (bool isBefore : {true, false}) {
    SmallVector<Operation *> seen{pool};
    for (size_t next = 0; next < seen.size() && seen.size() <= kNeighbours; ++next) {
      auto look = [&](Operation *op) {
        if (op && !llvm::is_contained(seen, op) && seen.size() <= kNeighbours)
          seen.push_back(op);
      };
      if (isBefore)
        for (Value operand : seen[next]->getOperands())
          look(operand.getDefiningOp());
      else
        for (Operation *user : seen[next]->getUsers()) {
          if (seen.size() > kNeighbours)
            break;
          look(user);
        }
    }
    if (llvm::any_of(
            seen, [](Operation *op) { return isa<stablehlo::ConvolutionOp, ConvolutionOp>(op); }))
      return true;
  }
  return false;
}

std::optional<ScannedLines> scannedLines(stablehlo::ReduceWindowOp op) {
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  if (!type.hasStaticShape() || !areOnes(op.getWindowStrides()) || !areOnes(op.getBaseDilations()) || !areOnes(op.getWindowDilations()))
    return std::nullopt;
  Dims padding = paddingOf(op.getPadding(), size_t(type.getRank()));
  ScannedLines lines;
  int64_t dimension = -1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t size = op.getWindowDimensions()[d], low = padding[2 * d], high = padding[2 * d + 1];
    if (size == 1 && low == 0 && high == 0)
      continue;
    bool fromBegin = low == size - 1 && high == 0, fromEnd = low == 0 && high == size - 1;
    if (dimension >= 0 || size < type.getDimSize(d) || !(fromBegin || fromEnd))
      return std::nullopt;
    dimension = d;
    lines.fromEnd = !fromBegin;
  }
  if (dimension < 0)
    return std::nullopt;
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dimension ? lines.outer : d == dimension ? lines.count : lines.inner) *= type.getDimSize(d);
  return lines;
}

} // namespace cupel::tir
