// stablehlo.dot, the product that older exporters write, is a dot_general: everything that knows products knows that one alone, and what stayed
// a dot ran on the golden reference's kernels.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"

#include "mlir/Dialect/Quant/QuantTypes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_GENERALIZEDOTS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

void generalize(stablehlo::DotOp dot) {
  auto isPlain = [](Value value) { return shapedType(value).hasStaticShape() && !isa<quant::QuantizedType>(shapedType(value).getElementType()); };
  if (!isPlain(dot.getLhs()) || !isPlain(dot.getRhs()) || !isPlain(dot.getResult()) || !compiler::mayRewrite(dot, "generalize-dot"))
    return;
  OpBuilder builder(dot);
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(dot.getContext(), {}, {}, {shapedType(dot.getLhs()).getRank() - 1}, {0});
  auto general = builder.create<stablehlo::DotGeneralOp>(dot.getLoc(), dot.getResult().getType(), dot.getLhs(), dot.getRhs(), numbers,
                                                         dot.getPrecisionConfigAttr(), stablehlo::DotAlgorithmAttr());
  general->setDiscardableAttrs(dot->getDiscardableAttrDictionary());
  dot.getResult().replaceAllUsesWith(general.getResult());
  dot.erase();
}

class GeneralizeDots : public impl::GeneralizeDotsBase<GeneralizeDots> {
public:
  void runOnOperation() override {
    rewriteEach(getOperation(), [](Operation *op) {
      if (auto dot = dyn_cast<stablehlo::DotOp>(op))
        generalize(dot);
    });
  }
};

} // namespace
} // namespace cupel::tir
