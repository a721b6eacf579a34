// Products of f16, and of floats of several types, are computed in f32 and rounded once, as convolutions of halves are: there are kernels for f32
// and for bf16 alone, and the golden reference's, which rounds every sum of f16, took what was left. Runs while weights that are constants can still
// be converted where the program is compiled.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_WIDENPRODUCTS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Whose products with each other are the same in f32, but for the roundings of sums.
bool isShortFloat(Value value) {
  Type element = shapedType(value).getElementType();
  return (element.isF16() || element.isBF16() || element.isF32()) && shapedType(value).hasStaticShape() && !shapedType(value).getEncoding();
}

/// What `form-products` takes as it is.
bool hasKernels(stablehlo::DotGeneralOp dot) {
  Type left = shapedType(dot.getLhs()).getElementType(), right = shapedType(dot.getRhs()).getElementType(), result = shapedType(dot.getResult()).getElementType();
  return left == right && (left.isF32() ? result.isF32() : left.isBF16() && !result.isF16());
}

Value inType(OpBuilder &builder, Value value, Type element) {
  if (shapedType(value).getElementType() == element)
    return value;
  return builder.create<stablehlo::ConvertOp>(value.getLoc(), shapedType(value).clone(element), value);
}

void widenProduct(stablehlo::DotGeneralOp dot) {
  // Who names an algorithm says what sums are.
  if (dot.getAlgorithm() || !isShortFloat(dot.getLhs()) || !isShortFloat(dot.getRhs()) || !isShortFloat(dot.getResult()) || hasKernels(dot) ||
      shapedType(dot.getResult()).getNumElements() == 0 || !compiler::mayRewrite(dot, "widen-product"))
    return;
  OpBuilder builder(dot);
  Type wide = builder.getF32Type(), element = shapedType(dot.getResult()).getElementType();
  dot.getLhsMutable().assign(inType(builder, dot.getLhs(), wide));
  dot.getRhsMutable().assign(inType(builder, dot.getRhs(), wide));
  if (element == wide)
    return;
  dot.getResult().setType(shapedType(dot.getResult()).clone(wide));
  builder.setInsertionPointAfter(dot);
  Value rounded = builder.create<stablehlo::ConvertOp>(dot.getLoc(), shapedType(dot.getResult()).clone(element), dot.getResult());
  dot.getResult().replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

class WidenProducts : public impl::WidenProductsBase<WidenProducts> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op))
        widenProduct(dot);
    });
  }
};

} // namespace
} // namespace cupel::tir
