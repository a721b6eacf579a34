// How values are split over devices: cupel::constrain_sharding, which cupel.torch puts behind the
// modules whose outputs a loader speaks of.

#include "cupel/frontends/torch/OpTable.h"
#include "cupel/frontends/torch/ShardingCall.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

static void constrainSharding(Node &n) {
  Value x = n.in("x");
  if (n.failed())
    return;
  OpBuilder &ops = n.b.builder();
  OperationState state(n.b.location(), stablehlo::CustomCallOp::getOperationName());
  state.addOperands(x);
  state.addTypes(x.getType());
  state.addAttribute("call_target_name", ops.getStringAttr(kShardingCall));
  state.addAttribute("backend_config", ops.getStringAttr(n.text("spec")));
  n.out(ops.create(state)->getResult(0));
}

void registerShardings(OpTable &table) {
  table.add("cupel.constrain_sharding", constrainSharding);
}

} // namespace cupel::frontends::torch_import
