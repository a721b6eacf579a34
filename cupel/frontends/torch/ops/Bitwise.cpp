// Bitwise logic, shifts, and logic on truth values.

#include "cupel/frontends/torch/ops/Elementwise.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

Value bitAnd(HloBuilder &b, Value x, Value y) { return b.logicalAnd(x, y); }
Value bitOr(HloBuilder &b, Value x, Value y) { return b.logicalOr(x, y); }
Value bitXor(HloBuilder &b, Value x, Value y) { return b.binary<stablehlo::XorOp>(x, y); }
Value bitNot(HloBuilder &b, Value x) { return b.logicalNot(x); }

Value shiftLeft(HloBuilder &b, Value x, Value y) { return b.binary<stablehlo::ShiftLeftOp>(x, y); }
Value shiftRight(HloBuilder &b, Value x, Value y) {
  return HloBuilder::isUnsigned(x) ? b.binary<stablehlo::ShiftRightLogicalOp>(x, y)
                                   : b.binary<stablehlo::ShiftRightArithmeticOp>(x, y);
}

/// `x << y` on floats is a multiplication with a power of two.
template <bool left> void lowerShift(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promote({"self", "other"});
  Value x = n.in("self", type), y = n.in("other", type);
  if (!fitTogether(n, {x, y}))
    return;
  if (HloBuilder::isFloat(x))
    return n.out(left ? b.multiply(x, b.power(b.like(y, 2), y))
                      : b.divide(x, b.power(b.like(y, 2), y)));
  // Beyond the width torch gives 0 (or -1 for negative numbers shifted right).
  std::tie(x, y) = b.broadcastPair(x, y);
  int64_t width = type.getIntOrFloatBitWidth();
  Value outside = b.greaterEqual(y, b.splatInteger(width, type, HloBuilder::shapeOf(y)));
  if (!HloBuilder::isUnsigned(y))
    outside = b.logicalOr(outside, b.less(y, b.like(y, 0)));
  Value inside = b.select(outside, b.like(y, 0), y), zero = b.like(x, 0);
  if (left)
    return n.out(b.select(outside, zero, shiftLeft(b, x, inside)));
  Value rest = HloBuilder::isUnsigned(x) ? zero : b.select(b.less(x, zero), b.like(x, -1), zero);
  n.out(b.select(outside, rest, shiftRight(b, x, inside)));
}

template <BinaryFormula formula> void lowerLogical(Node &n) {
  Value x = cast(n.b, n.in("self"), n.b.i1()), y = cast(n.b, n.in("other"), n.b.i1());
  if (fitTogether(n, {x, y}))
    n.out(formula(n.b, x, y));
}

void lowerLogicalNot(Node &n) { n.out(n.b.logicalNot(cast(n.b, n.in("self"), n.b.i1()))); }

} // namespace

void registerBitwise(OpTable &table) {
  for (const char *name : {"aten.bitwise_and", "aten.__and__", "aten.__rand__"})
    table.add(name, promotedBinary<bitAnd>);
  for (const char *name : {"aten.bitwise_or", "aten.__or__", "aten.__ror__"})
    table.add(name, promotedBinary<bitOr>);
  for (const char *name : {"aten.bitwise_xor", "aten.__xor__", "aten.__rxor__"})
    table.add(name, promotedBinary<bitXor>);
  table.add("aten.bitwise_not", sameUnary<bitNot>);
  for (const char *name : {"aten.bitwise_left_shift", "aten.__lshift__"})
    table.add(name, lowerShift<true>);
  for (const char *name : {"aten.bitwise_right_shift", "aten.__rshift__"})
    table.add(name, lowerShift<false>);
  table.add("aten.logical_and", lowerLogical<bitAnd>);
  table.add("aten.logical_or", lowerLogical<bitOr>);
  table.add("aten.logical_xor", lowerLogical<bitXor>);
  table.add("aten.logical_not", lowerLogicalNot);
}

} // namespace cupel::frontends::torch_import
