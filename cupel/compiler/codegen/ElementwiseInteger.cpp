// Integers and booleans: everything wraps, nothing traps.

#include "cupel/compiler/codegen/Elementwise.h"

namespace cupel::codegen {
namespace {

using llvm::StringRef;
using Case = const ElementCase &;
using Operands = ArrayRef<V>;

bool isSigned(Case c) { return tensor::info(c.operand).kind == tensor::Kind::Signed; }
V zero(Emitter &e, V like) { return e.integer(like->getType(), 0); }
V one(Emitter &e, V like) { return e.integer(like->getType(), 1); }
V ones(Emitter &e, V like) { return llvm::Constant::getAllOnesValue(like->getType()); }

/// a op b for divisors that are replaced by 1 where the machine's division would trap.
V divided(Emitter &e, Case c, Operands x, bool isQuotient) {
  V a = x[0], b = x[1];
  V isZero = e.CreateICmpEQ(b, zero(e, b));
  V byZero = isQuotient ? ones(e, a) : a;
  if (!isSigned(c)) {
    V safe = e.CreateSelect(isZero, one(e, b), b);
    V result = isQuotient ? e.CreateUDiv(a, safe) : e.CreateURem(a, safe);
    return e.CreateSelect(isZero, byZero, result);
  }
  V isMinusOne = e.CreateICmpEQ(b, ones(e, b));
  V safe = e.CreateSelect(e.CreateOr(isZero, isMinusOne), one(e, b), b);
  V result = isQuotient ? e.CreateSDiv(a, safe) : e.CreateSRem(a, safe);
  V byMinusOne = isQuotient ? e.CreateNeg(a) : zero(e, a);
  result = e.CreateSelect(isMinusOne, byMinusOne, result);
  return e.CreateSelect(isZero, byZero, result);
}
V emitDivide(Emitter &e, Case c, Operands x) { return divided(e, c, x, true); }
V emitRemainder(Emitter &e, Case c, Operands x) { return divided(e, c, x, false); }

V emitPower(Emitter &e, Case c, Operands x) {
  V base = x[0], exponent = x[1];
  // By squaring, a bit at a time, as long as any lane has bits left.
  llvm::BasicBlock *before = e.GetInsertBlock();
  llvm::BasicBlock *inside = e.block("power"), *after = e.block("powered");
  e.CreateBr(inside);
  e.SetInsertPoint(inside);
  llvm::PHINode *result = e.CreatePHI(base->getType(), 2);
  llvm::PHINode *square = e.CreatePHI(base->getType(), 2);
  llvm::PHINode *left = e.CreatePHI(base->getType(), 2);
  result->addIncoming(one(e, base), before);
  square->addIncoming(base, before);
  left->addIncoming(exponent, before);
  V isSet = e.CreateICmpNE(e.CreateAnd(left, one(e, left)), zero(e, left));
  V product = e.CreateSelect(isSet, e.CreateMul(result, square), result);
  V nextLeft = e.CreateLShr(left, one(e, left));
  result->addIncoming(product, inside);
  square->addIncoming(e.CreateMul(square, square), inside);
  left->addIncoming(nextLeft, inside);
  e.CreateCondBr(e.any(e.CreateICmpNE(nextLeft, zero(e, left))), inside, after);
  e.SetInsertPoint(after);
  if (!isSigned(c))
    return product;
  // Negative exponents: 1/base, which only 1 and -1 have among the integers.
  V isOdd = e.CreateICmpNE(e.CreateAnd(exponent, one(e, base)), zero(e, base));
  V ofMinusOne = e.CreateSelect(isOdd, ones(e, base), one(e, base));
  V inverse = e.CreateSelect(e.CreateICmpEQ(base, ones(e, base)), ofMinusOne, zero(e, base));
  inverse = e.CreateSelect(e.CreateICmpEQ(base, one(e, base)), one(e, base), inverse);
  return e.CreateSelect(e.CreateICmpSLT(exponent, zero(e, base)), inverse, product);
}

/// Shifts by the width and more: all bits are gone, or are the sign.
V shifted(Emitter &e, Operands x, StringRef name) {
  llvm::Type *t = x[0]->getType();
  uint64_t width = t->getScalarSizeInBits();
  V isWithin = e.CreateICmpULT(x[1], e.integer(t, width));
  if (name == "shift_right_arithmetic")
    return e.CreateAShr(x[0], e.CreateSelect(isWithin, x[1], e.integer(t, width - 1)));
  V amount = e.CreateSelect(isWithin, x[1], e.integer(t, 0));
  V result = name == "shift_left" ? e.CreateShl(x[0], amount) : e.CreateLShr(x[0], amount);
  return e.CreateSelect(isWithin, result, e.integer(t, 0));
}

V extreme(Emitter &e, Case c, V a, V b, bool isMaximum) {
  using P = llvm::CmpInst::Predicate;
  P less = isSigned(c) ? P::ICMP_SLT : P::ICMP_ULT;
  V isLess = e.CreateICmp(less, a, b);
  return isMaximum ? e.CreateSelect(isLess, b, a) : e.CreateSelect(isLess, a, b);
}

V emitSign(Emitter &e, Case, Operands x) {
  V positive = e.CreateZExt(e.CreateICmpSGT(x[0], zero(e, x[0])), x[0]->getType());
  V negative = e.CreateZExt(e.CreateICmpSLT(x[0], zero(e, x[0])), x[0]->getType());
  return e.CreateSub(positive, negative);
}
V emitAbs(Emitter &e, Case, Operands x) {
  return e.CreateSelect(e.CreateICmpSLT(x[0], zero(e, x[0])), e.CreateNeg(x[0]), x[0]);
}
V emitLeadingZeros(Emitter &e, Case, Operands x) {
  return e.intrinsic(llvm::Intrinsic::ctlz, x[0], e.getFalse());
}

#define RULE(expression)                                                                           \
  [](Emitter &e, Case c, Operands x) -> V { return (void)c, expression; }

struct Row {
  StringRef name;
  ElementRule rule;
};
const Row kIntegers[] = {
    {"abs", emitAbs},
    {"add", RULE(e.CreateAdd(x[0], x[1]))},
    {"and", RULE(e.CreateAnd(x[0], x[1]))},
    {"clamp", RULE(extreme(e, c, extreme(e, c, x[1], x[0], true), x[2], false))},
    {"count_leading_zeros", emitLeadingZeros},
    {"divide", emitDivide},
    {"maximum", RULE(extreme(e, c, x[0], x[1], true))},
    {"minimum", RULE(extreme(e, c, x[0], x[1], false))},
    {"multiply", RULE(e.CreateMul(x[0], x[1]))},
    {"negate", RULE(e.CreateNeg(x[0]))},
    {"not", RULE(e.CreateNot(x[0]))},
    {"or", RULE(e.CreateOr(x[0], x[1]))},
    {"popcnt", RULE(e.intrinsic(llvm::Intrinsic::ctpop, x[0]))},
    {"power", emitPower},
    {"remainder", emitRemainder},
    {"shift_left", RULE(shifted(e, x, "shift_left"))},
    {"shift_right_arithmetic", RULE(shifted(e, x, "shift_right_arithmetic"))},
    {"shift_right_logical", RULE(shifted(e, x, "shift_right_logical"))},
    {"sign", emitSign},
    {"subtract", RULE(e.CreateSub(x[0], x[1]))},
    {"xor", RULE(e.CreateXor(x[0], x[1]))},
};
const Row kBooleans[] = {
    {"add", RULE(e.CreateOr(x[0], x[1]))},
    {"and", RULE(e.CreateAnd(x[0], x[1]))},
    {"clamp", RULE(e.CreateAnd(e.CreateOr(x[1], x[0]), x[2]))},
    {"maximum", RULE(e.CreateOr(x[0], x[1]))},
    {"minimum", RULE(e.CreateAnd(x[0], x[1]))},
    {"multiply", RULE(e.CreateAnd(x[0], x[1]))},
    {"not", RULE(e.CreateNot(x[0]))},
    {"or", RULE(e.CreateOr(x[0], x[1]))},
    {"xor", RULE(e.CreateXor(x[0], x[1]))},
};

ElementRule ruleOf(ArrayRef<Row> rows, StringRef name) {
  for (const Row &row : rows)
    if (row.name == name)
      return row.rule;
  return nullptr;
}

} // namespace

ElementRule integerRule(StringRef name) { return ruleOf(kIntegers, name); }
ElementRule booleanRule(StringRef name) { return ruleOf(kBooleans, name); }

} // namespace cupel::codegen
