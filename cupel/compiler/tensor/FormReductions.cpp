// Reductions take in what makes their elements.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/ElementBody.h"
#include "cupel/compiler/tensor/Passes.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMREDUCTIONS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

void form(stablehlo::ReduceOp reduce, Taken &taken, bool fuses) {
  if (!compiler::mayRewrite(reduce, "reduction"))
    return;
  Value input = reduce.getInputs()[0];
  int64_t count = countOf(input);
  Group group(reduce, Links::Reshapes, taken);
  group.grow([](Operation *) { return false; },
             [&](Operation *op) {
               return fuses && isFusible(op) && countOf(op->getResult(0)) == count;
             });
  auto shape = cast<RankedTensorType>(input.getType()).getShape();
  SmallVector<int> marks(shape.size(), 0);
  for (int64_t dimension : reduce.getDimensions())
    marks[dimension] = 1;
  LoopNest nest(shape, marks);
  ElementBody body(group, nest, reduce);
  body.read();
  body.read(reduce->getOpOperand(0));
  (void)nest.collapse();
  SmallVector<int64_t> reduced;
  for (auto [i, mark] : llvm::enumerate(nest.marks()))
    if (mark == 1)
      reduced.push_back(i);
  Operation *place = group.place();
  OpBuilder builder(place);
  auto type = cast<RankedTensorType>(reduce.getResult(0).getType());
  auto made = builder.create<ReduceOp>(
      group.locationFrom(reduce), type, body.inputs(), nest.sizes(), reduced,
      simpleCombiner(reduce.getBody())->getName().stripDialect(),
      splatOf(reduce.getInitValues()[0]), body.views());
  made.getBody().push_back(body.write({input}, place->getLoc()));
  reduce.getResult(0).replaceAllUsesWith(made.getResult());
  taken.insert(group.operations().begin(), group.operations().end());
}

class FormReductions : public impl::FormReductionsBase<FormReductions> {
public:
  using FormReductionsBase::FormReductionsBase;

  void runOnOperation() override {
    formGroups(getOperation(), [this](Operation *op, Taken &taken) {
      if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op); reduce && isSimpleReduction(reduce))
        form(reduce, taken, fuse);
    });
  }
};

} // namespace

} // namespace cupel::tir
