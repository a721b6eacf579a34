#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_INLINECOMPOSITES
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

struct InlineCompositesPass : public impl::InlineCompositesBase<InlineCompositesPass> {
  using InlineCompositesBase::InlineCompositesBase;

  void runOnOperation() override {
    SmallVector<stablehlo::CompositeOp> composites;
    getOperation().walk([&](stablehlo::CompositeOp op) {
      if (!llvm::is_contained(keep, op.getName()))
        composites.push_back(op);
    });
    SymbolTableCollection symbols;
    for (stablehlo::CompositeOp op : composites)
      if (failed(replaceByCall(op, symbols)))
        signalPassFailure();
  }

  static LogicalResult replaceByCall(stablehlo::CompositeOp op, SymbolTableCollection &symbols) {
    StringRef name = op.getDecomposition();
    auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
    if (!function)
      return op.emitError("composite \"") << op.getName() << "\" names the decomposition @" << name
                                          << ", but there is no such function";
    if (!op.getCompositeRegions().empty())
      return op.emitError("composite \"")
             << op.getName() << "\" has regions, which a call of @" << name
             << " cannot pass on; name it in 'keep' to leave it alone";
    if (function.getFunctionType() !=
        FunctionType::get(op.getContext(), op->getOperandTypes(), op->getResultTypes()))
      return op.emitError("composite \"")
             << op.getName() << "\" does not have the type of its decomposition @" << name << ", "
             << function.getFunctionType();
    OpBuilder builder(op);
    auto call = builder.create<func::CallOp>(op.getLoc(), function, op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
    return success();
  }
};

} // namespace

} // namespace cupel::compiler
