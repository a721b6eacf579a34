// How much arithmetic and memory operations take that differ from the rest. Estimates: nothing may
// depend on them for being right.

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cmath>

using namespace mlir;

namespace cupel::stablehlo {

static int64_t elementsOf(Value value) { return elementsOf(value.getType()); }

double DotGeneralOp::getFlops() {
  double depth = 1;
  auto lhs = dyn_cast<RankedTensorType>(getLhs().getType());
  for (int64_t dimension : getDotDimensionNumbers().getLhsContractingDimensions())
    if (lhs && dimension < lhs.getRank() && !lhs.isDynamicDim(dimension))
      depth *= static_cast<double>(lhs.getDimSize(dimension));
  return 2.0 * static_cast<double>(elementsOf(getResult())) * depth;
}

double DotOp::getFlops() {
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  bool isKnown = lhs.getRank() && !lhs.isDynamicDim(lhs.getRank() - 1);
  double depth = isKnown ? static_cast<double>(lhs.getShape().back()) : 1;
  return 2.0 * static_cast<double>(elementsOf(getResult())) * depth;
}

/// Every element of the result takes the kernel's elements of one output feature.
template <typename OpT> static double convolutionFlops(OpT op) {
  auto kernel = cast<RankedTensorType>(op.getRhs().getType());
  int64_t at = op.getDimensionNumbers().getKernelOutputFeatureDimension();
  int64_t features = at < kernel.getRank() ? std::max<int64_t>(kernel.getDimSize(at), 1) : 1;
  return 2.0 * static_cast<double>(elementsOf(op.getResult())) *
         static_cast<double>(elementsOf(op.getRhs())) / static_cast<double>(features);
}

double ConvolutionOp::getFlops() { return convolutionFlops(*this); }
double DynamicConvOp::getFlops() { return convolutionFlops(*this); }

double CustomCallOp::getFlops() {
  // What they do is not known; factorizations are the costliest.
  double operands = 0, results = 0;
  for (Value operand : getOperands())
    operands += static_cast<double>(elementsOf(operand));
  for (Value result : getResults())
    results += static_cast<double>(elementsOf(result));
  return 16 * operands * std::sqrt(operands) + results;
}

int64_t ConvolutionOp::getScratchBytes() {
  // A padded or dilated copy of the input.
  auto lhs = cast<RankedTensorType>(getLhs().getType());
  if (!lhs.hasStaticShape())
    return 0;
  ArrayRef<int64_t> spatial = getDimensionNumbers().getInputSpatialDimensions();
  SmallVector<int64_t> shape(lhs.getShape());
  if (std::optional<ArrayRef<int64_t>> dilation = getLhsDilation())
    for (auto [dim, factor] : llvm::zip(spatial, *dilation))
      shape[dim] = shape[dim] ? (shape[dim] - 1) * factor + 1 : 0;
  if (std::optional<DenseIntElementsAttr> padding = getPadding()) {
    size_t i = 0;
    for (const APInt &amount : padding->getValues<APInt>())
      if (i / 2 < spatial.size())
        shape[spatial[i++ / 2]] += amount.getSExtValue();
  }
  bool isPadded = ArrayRef(shape) != lhs.getShape() &&
                  llvm::all_of(shape, [](int64_t size) { return size >= 0; });
  return isPadded ? bytesOf(RankedTensorType::get(shape, lhs.getElementType())) : 0;
}

int64_t SortOp::getScratchBytes() {
  int64_t bytes = 0;
  for (Type type : getOperandTypes())
    bytes += bytesOf(type);
  return bytes;
}

} // namespace cupel::stablehlo
