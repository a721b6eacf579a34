// Operators of cupel.torch that hand a value through and say something of it: how it is split over devices
// (cupel::constrain_sharding), and where a composite of a user's begins and ends (cupel::mark_tensor). Each is
// an identity with the word in its configuration, until whoever reads such words replaces it.

#include "cupel/frontends/torch/MarkedComposites.h"
#include "cupel/frontends/torch/OpTable.h"
#include "cupel/frontends/torch/ShardingCall.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

static void annotate(Node &n, const char *call) {
  Value x = n.in("x");
  if (n.failed())
    return;
  OpBuilder &ops = n.b.builder();
  OperationState state(n.b.location(), stablehlo::CustomCallOp::getOperationName());
  state.addOperands(x);
  state.addTypes(x.getType());
  state.addAttribute("call_target_name", ops.getStringAttr(call));
  state.addAttribute("backend_config", ops.getStringAttr(n.text("word")));
  n.out(ops.create(state)->getResult(0));
}

void registerAnnotations(OpTable &table) {
  table.add("cupel.constrain_sharding", [](Node &n) { annotate(n, kShardingCall); });
  table.add("cupel.mark_tensor", [](Node &n) { annotate(n, kMarkCall); });
}

} // namespace cupel::frontends::torch_import
