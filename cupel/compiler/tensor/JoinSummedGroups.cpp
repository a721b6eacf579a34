// A convolution in groups whose results are then summed over the groups is one convolution of all
// channels. Gradients of kernels are written so, with a group for every image of a batch.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_JOINSUMMEDGROUPS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

using Dims = SmallVector<int64_t>;

/// What stands between a convolution and the sum over its groups.
struct SummedGroups {
  SmallVector<stablehlo::SliceOp> slices; // That leave the features as they are.
  stablehlo::ReduceOp sum;
  Dims order; // How the sum has the dimensions of the convolution.
};

/// The only operation that needs the value; null if there are others.
template <typename Op> Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

bool isSumFromZero(stablehlo::ReduceOp reduce) {
  auto init = isSimpleReduction(reduce) ? dyn_cast_or_null<FloatAttr>(splatOf(reduce.getInitValues()[0]))
                                        : FloatAttr();
  return init && init.getValue().isZero() &&
         isa<stablehlo::AddOp>(reduce.getBody().front().front());
}

std::optional<SummedGroups> findSum(stablehlo::ConvolutionOp op) {
  int64_t feature = op.getDimensionNumbers().getOutputFeatureDimension();
  auto groups = int64_t(op.getFeatureGroupCount());
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  SummedGroups found;
  Value value = op.getResult();
  while (auto slice = onlyUser<stablehlo::SliceOp>(value)) {
    if (shapeOf(slice.getResult())[feature] != shapeOf(value)[feature])
      return std::nullopt;
    found.slices.push_back(slice);
    value = slice.getResult();
  }
  auto split = onlyUser<stablehlo::ReshapeOp>(value);
  if (!split)
    return std::nullopt;
  Dims expected(shapeOf(value));
  expected[feature] /= groups;
  expected.insert(expected.begin() + feature, groups);
  if (shapeOf(split.getResult()) != ArrayRef(expected))
    return std::nullopt;
  value = split.getResult();
  Dims order;
  for (size_t d = 0; d < expected.size(); ++d)
    order.push_back(int64_t(d));
  if (auto transpose = onlyUser<stablehlo::TransposeOp>(value)) {
    order.assign(transpose.getPermutation().begin(), transpose.getPermutation().end());
    value = transpose.getResult();
  }
  found.sum = onlyUser<stablehlo::ReduceOp>(value);
  if (!found.sum || !isSumFromZero(found.sum) || found.sum.getDimensions().size() != 1 ||
      order[found.sum.getDimensions()[0]] != feature)
    return std::nullopt;
  for (int64_t d : order)
    if (d != feature)
      found.order.push_back(d > feature ? d - 1 : d);
  return found;
}

/// Channels of all groups one after the other, for the filters of one.
Value joinKernel(OpBuilder &builder, stablehlo::ConvolutionOp op) {
  auto numbers = op.getDimensionNumbers();
  auto type = cast<RankedTensorType>(op.getRhs().getType());
  int64_t input = numbers.getKernelInputFeatureDimension(),
          output = numbers.getKernelOutputFeatureDimension();
  auto groups = int64_t(op.getFeatureGroupCount());
  Dims split(type.getShape()), joined(type.getShape()), order;
  split[output] /= groups;
  split.insert(split.begin() + output, groups);
  joined[output] /= groups;
  joined[input] *= groups;
  for (int64_t d = 0; d < int64_t(split.size()); ++d) {
    if (d == output)
      continue;
    if (d == (input > output ? input + 1 : input))
      order.push_back(output); // The groups.
    order.push_back(d);
  }
  auto typeOf = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, type.getElementType());
  };
  Value parts = builder.create<stablehlo::ReshapeOp>(op.getLoc(), typeOf(split), op.getRhs());
  parts = builder.create<stablehlo::TransposeOp>(op.getLoc(), parts, order);
  return builder.create<stablehlo::ReshapeOp>(op.getLoc(), typeOf(joined), parts);
}

void join(stablehlo::ConvolutionOp op) {
  auto isPlain = [](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.hasStaticShape() && !type.getEncoding() && type.getElementType().isF32();
  };
  if (op.getFeatureGroupCount() == 1 || op.getBatchGroupCount() != 1 || !isPlain(op.getLhs()) ||
      !isPlain(op.getRhs()))
    return;
  std::optional<SummedGroups> found = findSum(op);
  if (!found || !compiler::mayRewrite(op, "summed groups"))
    return;
  int64_t feature = op.getDimensionNumbers().getOutputFeatureDimension();
  auto groups = int64_t(op.getFeatureGroupCount());
  // Where the sum stands all that it needs is there.
  OpBuilder builder(found->sum);
  auto withFeatures = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    Dims shape(type.getShape());
    shape[feature] /= groups;
    return RankedTensorType::get(shape, type.getElementType());
  };
  IRMapping mapping;
  mapping.map(op.getRhs(), joinKernel(builder, op));
  Operation *dense = builder.clone(*op, mapping);
  dense->getResult(0).setType(withFeatures(op.getResult()));
  cast<stablehlo::ConvolutionOp>(dense).setFeatureGroupCount(1);
  Value value = dense->getResult(0);
  for (stablehlo::SliceOp slice : found->slices) {
    Dims limits(slice.getLimitIndices());
    limits[feature] /= groups;
    value = builder.create<stablehlo::SliceOp>(
        slice.getLoc(), withFeatures(slice.getResult()), value, slice.getStartIndices(), limits,
        slice.getStrides());
  }
  if (!llvm::is_sorted(found->order))
    value = builder.create<stablehlo::TransposeOp>(found->sum.getLoc(), value, found->order);
  found->sum.getResult(0).replaceAllUsesWith(value);
}

class JoinSummedGroups : public impl::JoinSummedGroupsBase<JoinSummedGroups> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
        join(convolution);
    });
  }
};

} // namespace
} // namespace cupel::tir
