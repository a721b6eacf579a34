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

/// Takes out the private functions that nobody needs any more, but perhaps each other. One walk, however many there are.
static void eraseUncalled(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::DenseSet<Operation *> needed;
  SmallVector<Operation *> pending;
  auto need = [&](Operation *op) {
    if (op && needed.insert(op).second)
      pending.push_back(op);
  };
  for (Operation &op : *module.getBody())
    if (auto function = dyn_cast<func::FuncOp>(op); !function || !function.isPrivate())
      need(&op);
  while (!pending.empty()) {
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(pending.pop_back_val());
    if (!uses)
      return; // Something that nobody knows may name any of them.
    for (SymbolTable::SymbolUse use : *uses)
      need(symbols.lookup(use.getSymbolRef().getRootReference()));
  }
  for (func::FuncOp function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!needed.contains(function))
      function.erase();
}

bool inlineCalls(func::FuncOp entry, bool keepsComposites) {
  // As many as were written, some times over: functions that call others twice are short and
  // without end.
  constexpr int64_t kFew = 20'000, kTimes = 4;
  auto module = entry->getParentOfType<ModuleOp>();
  int64_t most = kFew;
  module.walk([&](Operation *) { most += kTimes; });
  const SymbolTable symbols(module);
  auto calleeOf = [&](Operation *op) -> func::FuncOp {
    if (auto call = dyn_cast<func::CallOp>(op))
      return symbols.lookup<func::FuncOp>(call.getCallee());
    if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      return symbols.lookup<func::FuncOp>(composite.getDecomposition());
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
        operations > most)
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
  eraseUncalled(module);
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
