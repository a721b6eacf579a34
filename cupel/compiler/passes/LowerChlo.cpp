#include "cupel/compiler/passes/LowerChlo.h"

#include "cupel/compiler/passes/LowerChloPatterns.h"
#include "cupel/compiler/passes/Passes.h"

#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_LOWERCHLO
#include "cupel/compiler/passes/Passes.h.inc"

Type getComputeType(Type elementType) {
  if (stablehlo::isFloat(elementType) && stablehlo::getElementBits(elementType) < 32)
    return Float32Type::get(elementType.getContext());
  return elementType;
}

Expr compute(ArrayRef<Expr> operands, llvm::function_ref<Expr(ArrayRef<Expr>)> formula) {
  Type type = operands.front().getElementType();
  SmallVector<Expr> converted;
  for (const Expr &operand : operands)
    converted.push_back(convert(operand, getComputeType(type)));
  return convert(formula(converted), type);
}

FailureOr<Emitter> makeEmitter(Operation *op, PatternRewriter &rewriter) {
  // Sizes that any operand or result knows are known to all.
  SmallVector<Type> shapes;
  Type i1 = rewriter.getI1Type();
  for (Type type : llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()),
                                      llvm::to_vector(op->getResultTypes()))) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    if (!ranked) {
      op->emitOpError("cannot be decomposed to stablehlo: ")
          << type << " has no rank; stablehlo has ranked tensors only";
      return failure();
    }
    shapes.push_back(ranked.clone(i1));
  }
  std::optional<Type> shape = stablehlo::mostSpecific(shapes);
  if (!shape) {
    op->emitError("operand and result shapes are incompatible");
    return failure();
  }
  return Emitter(rewriter, op->getLoc(), cast<RankedTensorType>(*shape), op->getOperand(0));
}

void replaceWith(Operation *op, const Expr &result, PatternRewriter &rewriter) {
  Value value = result.getValue();
  Type type = op->getResult(0).getType();
  if (value.getType() != type)
    value =
        rewriter.create<stablehlo::ConvertOp>(op->getLoc(), TypeRange{type}, value)->getResult(0);
  rewriter.replaceOp(op, value);
}

void populateLowerChloPatterns(RewritePatternSet &patterns) {
  populateLowerChloInverseTrig(patterns);
  populateLowerChloElementary(patterns);
  populateLowerChloErrorFunctions(patterns);
  populateLowerChloGammaFunctions(patterns);
  populateLowerChloBits(patterns);
  populateLowerChloBroadcast(patterns);
  populateLowerChloStructured(patterns);
  populateLowerChloRaggedDot(patterns);
}

namespace {
// The plain rewriter: no listener, no folding.
class Rewriter : public PatternRewriter {
public:
  using PatternRewriter::PatternRewriter;
};
} // namespace

LogicalResult lowerChlo(ModuleOp module) {
  // Patterns make no chlo operations, so one walk is enough, inner regions first. A greedy driver
  // would also fold, hoist and delete what is none of our business.
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<chlo::ChloDialect>(op->getDialect()))
      ops.push_back(op);
  });
  if (ops.empty())
    return success();
  MLIRContext *context = module.getContext();
  RewritePatternSet patterns(context);
  populateLowerChloPatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  PatternApplicator applicator(frozen);
  applicator.applyDefaultCostModel();
  Rewriter rewriter(context);
  LogicalResult result = success();
  for (Operation *op : ops) {
    rewriter.setInsertionPoint(op);
    unsigned errorsBefore = 0;
    ScopedDiagnosticHandler countErrors(context, [&](Diagnostic &diagnostic) {
      errorsBefore += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // let the next handler show it
    });
    if (succeeded(applicator.matchAndRewrite(op, rewriter)))
      continue;
    if (errorsBefore == 0)
      op->emitOpError("cannot be decomposed to stablehlo");
    result = failure();
  }
  return result;
}

namespace {
struct LowerChloPass : public impl::LowerChloBase<LowerChloPass> {
  void runOnOperation() override {
    if (failed(lowerChlo(getOperation())))
      signalPassFailure();
  }
};
} // namespace

} // namespace cupel::compiler
