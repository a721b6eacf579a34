#include "cupel/compiler/passes/InlineCalls.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_INLINECALLS
#include "cupel/compiler/passes/Passes.h.inc"

bool inlineCalls(func::FuncOp entry, bool keepsComposites) {
  constexpr int64_t kMostOperations = 20'000;
  auto module = entry->getParentOfType<ModuleOp>();
  auto calleeOf = [&](Operation *op) -> func::FuncOp {
    if (auto call = dyn_cast<func::CallOp>(op))
      return module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      return module.lookupSymbol<func::FuncOp>(composite.getDecomposition());
    return {};
  };
  SmallVector<Operation *> calls;
  int64_t operations = 0;
  auto collect = [&](Operation *op) {
    ++operations;
    if (isa<func::CallOp>(op) || (isa<stablehlo::CompositeOp>(op) && !keepsComposites))
      calls.push_back(op);
  };
  entry.walk(collect);
  while (!calls.empty()) {
    Operation *call = calls.pop_back_val();
    func::FuncOp callee = calleeOf(call);
    if (!callee || callee.isExternal() || callee == entry || !callee.getBody().hasOneBlock() ||
        operations > kMostOperations)
      return false;
    OpBuilder builder(call);
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), call->getOperands()))
      mapping.map(argument, operand);
    Block &body = callee.getBody().front();
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping)->walk(collect);
    for (auto [result, value] :
         llvm::zip_equal(call->getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookup(value));
    call->erase();
  }
  // Nobody calls these any more; some call each other.
  bool changed = true;
  while (std::exchange(changed, false))
    for (func::FuncOp function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module)) {
        function.erase();
        changed = true;
      }
  return true;
}

namespace {

struct InlineCallsPass : public impl::InlineCallsBase<InlineCallsPass> {
  void runOnOperation() override {
    func::FuncOp entry = entryOf(getOperation());
    if (entry && !entry.isExternal() && !inlineCalls(entry)) {
      entry.emitError("its calls cannot be put in line: one calls itself or is only declared, or "
                      "there are too many");
      signalPassFailure();
    }
  }
};

} // namespace

} // namespace cupel::compiler
