#include "cupel/compiler/analysis/Cost.h"

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/SymbolTable.h"

#include <map>

namespace cupel::compiler {

using namespace mlir;
using runtime::CostEstimate;

namespace {

class Estimator {
public:
  CostEstimate of(func::FuncOp function) {
    auto [it, isNew] = known.try_emplace(function.getOperation());
    if (isNew && !function.isExternal()) {
      CostEstimate cost = of(function.getBody());
      // Arguments and what is returned belong to the caller.
      known[function.getOperation()] = cost;
      return cost;
    }
    return known[function.getOperation()];
  }

private:
  CostEstimate of(Region &region) {
    CostEstimate total;
    for (Block &block : region)
      for (Operation &op : block)
        add(op, total);
    return total;
  }

  /// Adds an operation and what it runs.
  void add(Operation &op, CostEstimate &total) {
    ++total.operations;
    double in = 0, out = 0, results = 0;
    for (mlir::Value operand : op.getOperands())
      in += bytesOf(operand.getType());
    for (mlir::Value result : op.getResults()) {
      out += bytesOf(result.getType());
      results += stablehlo::elementsOf(result.getType());
    }
    if (!op.hasTrait<OpTrait::IsTerminator>())
      total.bytesAccessed += in + out;
    bool isOurs = op.getName().getDialectNamespace() == "stablehlo";
    if (auto known = dyn_cast<stablehlo::FlopsOpInterface>(op))
      total.flops += known.getFlops();
    else if (op.hasTrait<stablehlo::Transcendental>())
      total.transcendentals += results;
    else if (isOurs && !op.hasTrait<stablehlo::NoArithmetic>())
      total.flops += op.getNumRegions() && op.getNumOperands()
                         ? stablehlo::elementsOf(op.getOperand(0).getType())
                         : results;
    total.hasLoop |= op.hasTrait<stablehlo::Loops>();
    total.hasSideEffect |= op.hasTrait<stablehlo::ActsOutside>();
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      total.callsPython |= call.getCallTargetName().starts_with("cupel_python_");

    auto merge = [&](const CostEstimate &cost) {
      total.flops += cost.flops;
      total.transcendentals += cost.transcendentals;
      total.bytesAccessed += cost.bytesAccessed;
      total.operations += cost.operations;
      total.hasLoop |= cost.hasLoop;
      total.hasSideEffect |= cost.hasSideEffect;
      total.callsPython |= cost.callsPython;
    };
    // Bodies on scalars are counted with the operation that applies them.
    bool runsRegions = op.hasTrait<stablehlo::Loops>() || op.hasTrait<stablehlo::Branches>() ||
                       op.hasTrait<stablehlo::RunsOnce>() ||
                       isa<sdy::ManualComputationOp, sdy::NamedComputationOp>(op);
    for (Region &region : op.getRegions())
      if (runsRegions)
        merge(of(region));
    SymbolRefAttr callee;
    if (auto call = dyn_cast<func::CallOp>(op))
      callee = call.getCalleeAttr();
    else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      callee = FlatSymbolRefAttr::get(op.getContext(), composite.getDecomposition());
    if (callee)
      if (auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(&op, callee))
        merge(of(function));
  }

  std::map<Operation *, CostEstimate> known;
};

} // namespace

CostEstimate estimateCost(func::FuncOp entry) { return Estimator().of(entry); }

double workOf(const CostEstimate &cost) {
  return cost.flops + 16 * cost.transcendentals + cost.bytesAccessed / 4;
}

} // namespace cupel::compiler
