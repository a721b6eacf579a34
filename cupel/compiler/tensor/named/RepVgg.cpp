// A sum of a convolution by 3 x 3 and one by 1 x 1 of the same image, as RepVGG trains its blocks, is one convolution: the small kernel is added to the
// middle of the large one. Kernels must be constants: sums of arguments would be computed, and packed, at every run.

#include "cupel/compiler/tensor/named/NamedFusion.h"

using namespace mlir;

namespace cupel::tir {

namespace {

using Dims = SmallVector<int64_t>;

DenseElementsAttr kernelOf(stablehlo::ConvolutionOp op) {
  auto constant = op.getRhs().getDefiningOp<stablehlo::ConstantOp>();
  auto values = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return values && values.getElementType().isF32() ? values : DenseElementsAttr();
}

bool areAll(std::optional<ArrayRef<int64_t>> sizes, int64_t wanted) {
  return sizes ? llvm::all_of(*sizes, [&](int64_t size) { return size == wanted; }) : wanted == 1;
}

Dims spatialSizes(stablehlo::ConvolutionOp op) {
  Dims sizes;
  for (int64_t d : op.getDimensionNumbers().getKernelSpatialDimensions())
    sizes.push_back(cast<RankedTensorType>(op.getRhs().getType()).getDimSize(d));
  return sizes;
}

bool hasPadding(stablehlo::ConvolutionOp op, int64_t wanted) {
  if (!op.getPadding())
    return wanted == 0;
  return llvm::all_of(op.getPadding()->getValues<int64_t>(), [&](int64_t size) { return size == wanted; });
}

/// 3 x 3 with one pixel around, or 1 x 1 with none; nothing else in between.
bool isWindow(stablehlo::ConvolutionOp op, int64_t size) {
  auto type = cast<RankedTensorType>(op.getType());
  return op && type.getRank() == 4 && type.getElementType().isF32() && type.hasStaticShape() && areAll(ArrayRef<int64_t>(spatialSizes(op)), size) &&
         hasPadding(op, size / 2) && areAll(op.getLhsDilation(), 1) && areAll(op.getRhsDilation(), 1) && op.getBatchGroupCount() == 1 &&
         (!op.getWindowReversal() || llvm::none_of(*op.getWindowReversal(), [](bool turned) { return turned; })) && op->hasOneUse() && kernelOf(op);
}

struct Branches {
  stablehlo::ConvolutionOp wide, narrow;
};

std::optional<Branches> branchesOf(Operation *op) {
  if (!isa<stablehlo::AddOp>(op))
    return std::nullopt;
  auto one = op->getOperand(0).getDefiningOp<stablehlo::ConvolutionOp>(), other = op->getOperand(1).getDefiningOp<stablehlo::ConvolutionOp>();
  if (!one || !other || one == other)
    return std::nullopt;
  if (isWindow(other, 3))
    std::swap(one, other);
  auto strides = [](stablehlo::ConvolutionOp op) { return op.getWindowStrides() ? Dims(*op.getWindowStrides()) : Dims{1, 1}; };
  if (!isWindow(one, 3) || !isWindow(other, 1) || one.getLhs() != other.getLhs() || one.getDimensionNumbers() != other.getDimensionNumbers() ||
      one.getFeatureGroupCount() != other.getFeatureGroupCount() || strides(one) != strides(other))
    return std::nullopt;
  return Branches{one, other};
}

std::optional<FusionMembers> matchRepVgg(Operation *op) {
  std::optional<Branches> found = branchesOf(op);
  if (!found)
    return std::nullopt;
  return FusionMembers{op, found->wide, found->narrow};
}

void rewriteRepVgg(Operation *op) {
  auto [wide, narrow] = *branchesOf(op);
  auto type = cast<RankedTensorType>(wide.getRhs().getType());
  SmallVector<float> sum(kernelOf(wide).getValues<float>()), small(kernelOf(narrow).getValues<float>());
  Dims strides = rowMajorStrides(type.getShape()),
       from = rowMajorStrides(cast<RankedTensorType>(narrow.getRhs().getType()).getShape());
  auto numbers = wide.getDimensionNumbers();
  int64_t middle = 0;
  for (int64_t d : numbers.getKernelSpatialDimensions())
    middle += strides[d];
  int64_t in = numbers.getKernelInputFeatureDimension(), out = numbers.getKernelOutputFeatureDimension();
  for (int64_t i = 0; i < type.getDimSize(in); ++i)
    for (int64_t o = 0; o < type.getDimSize(out); ++o)
      sum[size_t(middle + i * strides[in] + o * strides[out])] += small[size_t(i * from[in] + o * from[out])];
  OpBuilder builder(wide);
  Value kernel = builder.create<stablehlo::ConstantOp>(wide.getLoc(), type, DenseElementsAttr::get(type, ArrayRef<float>(sum)));
  wide->setOperand(1, kernel);
  op->getResult(0).replaceAllUsesWith(wide.getResult());
}

} // namespace

const NamedFusion kRepVggFusion{.name = "repvgg_sum",
                                .summary = "a sum of convolutions by 3 x 3 and by 1 x 1 of one image, with kernels that are constants",
                                .match = matchRepVgg,
                                .rewrite = rewriteRepVgg};

} // namespace cupel::tir
