// Where a composite of a user's begins and ends: cupel::mark_tensor, which cupel.torch.composites calls.

#include "cupel/frontends/torch/MarkedComposites.h"
#include "cupel/frontends/torch/OpTable.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

static void markTensor(Node &n) {
  Value x = n.in("x");
  if (n.failed())
    return;
  OpBuilder &ops = n.b.builder();
  OperationState state(n.b.location(), stablehlo::CustomCallOp::getOperationName());
  state.addOperands(x);
  state.addTypes(x.getType());
  state.addAttribute("call_target_name", ops.getStringAttr(kMarkCall));
  state.addAttribute("backend_config", ops.getStringAttr(n.text("mark")));
  n.out(ops.create(state)->getResult(0));
}

void registerMarks(OpTable &table) { table.add("cupel.mark_tensor", markTensor); }

} // namespace cupel::frontends::torch_import
