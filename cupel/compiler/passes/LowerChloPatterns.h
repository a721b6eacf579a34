// What the parts of the chlo decomposition share: the way from an operation to formulas and back.
// Only the LowerChlo*.cpp files include it.
#pragma once

#include "cupel/compiler/passes/Expr.h"
#include "cupel/ir/chlo/Chlo.h"

#include "mlir/IR/PatternMatch.h"

namespace cupel::compiler {

// One function a family; each adds its patterns.
void populateLowerChloInverseTrig(mlir::RewritePatternSet &patterns);
void populateLowerChloElementary(mlir::RewritePatternSet &patterns);
void populateLowerChloErrorFunctions(mlir::RewritePatternSet &patterns);
void populateLowerChloGammaFunctions(mlir::RewritePatternSet &patterns);
void populateLowerChloBits(mlir::RewritePatternSet &patterns);
void populateLowerChloBroadcast(mlir::RewritePatternSet &patterns);
void populateLowerChloStructured(mlir::RewritePatternSet &patterns);
void populateLowerChloRaggedDot(mlir::RewritePatternSet &patterns);

// Formulas that other families need as well.
Expr nextAfter(const Expr &x, const Expr &y);
Expr polygamma(const Expr &n, const Expr &x);
Expr zeta(const Expr &x, const Expr &q);

/// The type in which a function of this element type is computed: f32 for narrower floats.
mlir::Type getComputeType(mlir::Type elementType);

/// Converts the operands to the type to compute in, applies `formula` and converts back.
Expr compute(llvm::ArrayRef<Expr> operands, llvm::function_ref<Expr(llvm::ArrayRef<Expr>)> formula);

/// An emitter for an elementwise operation: all operands and results share one shape. Fails, with
/// an error at `op`, if a type is unranked.
mlir::FailureOr<Emitter> makeEmitter(mlir::Operation *op, mlir::PatternRewriter &rewriter);

/// Replaces `op` by `result`, which may be typed more precisely than the result of `op`.
void replaceWith(mlir::Operation *op, const Expr &result, mlir::PatternRewriter &rewriter);

/// An operation that is a formula of its operands.
template <typename OpT, auto formula> struct FormulaPattern : public mlir::OpRewritePattern<OpT> {
  using mlir::OpRewritePattern<OpT>::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const override {
    auto emitter = makeEmitter(op, rewriter);
    if (failed(emitter))
      return mlir::failure();
    auto wrap = [&](unsigned i) { return emitter->wrap(op->getOperand(i)); };
    if constexpr (std::is_invocable_v<decltype(formula), Expr, Expr>)
      replaceWith(op, formula(wrap(0), wrap(1)), rewriter);
    else
      replaceWith(op, formula(wrap(0)), rewriter);
    return mlir::success();
  }
};

/// One that has a formula for real and one for complex operands.
template <typename OpT, auto realFormula, auto complexFormula>
struct RealOrComplexPattern : public mlir::OpRewritePattern<OpT> {
  using mlir::OpRewritePattern<OpT>::OpRewritePattern;
  mlir::LogicalResult matchAndRewrite(OpT op, mlir::PatternRewriter &rewriter) const override {
    auto emitter = makeEmitter(op, rewriter);
    if (failed(emitter))
      return mlir::failure();
    Expr x = emitter->wrap(op->getOperand(0));
    auto formula = [](llvm::ArrayRef<Expr> operands) { return realFormula(operands.front()); };
    replaceWith(op, x.isComplex() ? complexFormula(x) : compute(x, formula), rewriter);
    return mlir::success();
  }
};

} // namespace cupel::compiler
