// Lowerings made from formulas: one operand or two that broadcast, computed in the type torch's CPU
// kernels compute in. Used by the families of elementwise operators under ops/ only; must never
// broadcast what does not fit: a program is checked first.
#pragma once

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using UnaryFormula = mlir::Value (*)(HloBuilder &, mlir::Value);
using BinaryFormula = mlir::Value (*)(HloBuilder &, mlir::Value, mlir::Value);

/// Whether the values broadcast together; if not, a complaint.
bool fitTogether(Node &n, mlir::ValueRange values);

/// Functions of one number that keep the type: abs, floor...
template <UnaryFormula formula> void sameUnary(Node &n) {
  mlir::Value x = n.in("self");
  n.out(formula(n.b, n.in("self", n.computeType(HloBuilder::elementOf(x)))));
}

/// Functions of one number that make floats of integers: exp, sin...
template <UnaryFormula formula> void floatUnary(Node &n) {
  n.out(formula(n.b, n.in("self", n.computeType(n.promoteToFloat({"self"})))));
}

template <BinaryFormula formula> void promotedBinary(Node &n) {
  mlir::Type type = n.computeType(n.promote({"self", "other"}));
  mlir::Value x = n.in("self", type), y = n.in("other", type);
  if (fitTogether(n, {x, y}))
    n.out(formula(n.b, x, y));
}

template <BinaryFormula formula> void floatBinary(Node &n) {
  mlir::Type type = n.computeType(n.promoteToFloat({"self", "other"}));
  mlir::Value x = n.in("self", type), y = n.in("other", type);
  if (fitTogether(n, {x, y}))
    n.out(formula(n.b, x, y));
}

/// A StableHLO or CHLO operation as a formula.
template <typename Op> mlir::Value unaryOf(HloBuilder &b, mlir::Value x) { return b.unary<Op>(x); }
template <typename Op> mlir::Value binaryOf(HloBuilder &b, mlir::Value x, mlir::Value y) {
  return b.binary<Op>(x, y);
}

// Pieces of formulas.
mlir::Value isNan(HloBuilder &b, mlir::Value x);
mlir::Value isInfinite(HloBuilder &b, mlir::Value x); ///< Also of complex numbers and integers.
/// Whether the sign bit is set; also of NaN and -0.
mlir::Value signBit(HloBuilder &b, mlir::Value x);
mlir::Value copySign(HloBuilder &b, mlir::Value magnitude, mlir::Value sign);
mlir::Value truncate(HloBuilder &b, mlir::Value x);
mlir::Value floorDivide(HloBuilder &b, mlir::Value x, mlir::Value y);
/// With the divisor's sign.
mlir::Value floorRemainder(HloBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value logAddExp(HloBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value xlogy(HloBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value log1p(HloBuilder &b, mlir::Value x);
mlir::Value expm1(HloBuilder &b, mlir::Value x);
/// A power as torch takes it: integers with negative exponents become 0 or +-1.
mlir::Value powerOf(HloBuilder &b, mlir::Value x, mlir::Value y);

} // namespace cupel::frontends::torch_import
