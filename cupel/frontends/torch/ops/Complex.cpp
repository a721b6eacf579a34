// Complex numbers: parts, conjugates, angles, and pairs of reals seen as complex numbers.

#include "cupel/frontends/torch/ops/Elementwise.h"
#include "cupel/ir/chlo/Chlo.h"

#include <limits>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

Type partOf(Value x) { return llvm::cast<ComplexType>(HloBuilder::elementOf(x)).getElementType(); }
Value realOf(HloBuilder &b, Value x) { return b.unary<stablehlo::RealOp>(x, partOf(x)); }
Value imagOf(HloBuilder &b, Value x) { return b.unary<stablehlo::ImagOp>(x, partOf(x)); }
Value complexOf(HloBuilder &b, Value real, Value imaginary) {
  auto [x, y] = b.broadcastPair(real, imaginary);
  auto type = b.tensorType(HloBuilder::shapeOf(x), ComplexType::get(HloBuilder::elementOf(x)));
  return b.builder().create<stablehlo::ComplexOp>(b.location(), TypeRange{type}, ValueRange{x, y});
}

void lowerReal(Node &n) {
  Value x = n.in("self");
  n.out(HloBuilder::isComplex(x) ? realOf(n.b, x) : x);
}
void lowerImag(Node &n) {
  Value x = n.in("self");
  if (!HloBuilder::isComplex(x))
    return n.fail("argument 'self' is not complex");
  n.out(imagOf(n.b, x));
}

void lowerViewAsReal(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  if (!HloBuilder::isComplex(x))
    return n.fail("argument 'self' is not complex");
  int64_t rank = HloBuilder::rankOf(x);
  n.out(b.concatenate({b.unsqueeze(realOf(b, x), rank), b.unsqueeze(imagOf(b, x), rank)}, rank));
}

void lowerViewAsComplex(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  int64_t last = HloBuilder::rankOf(x) - 1;
  if (last < 0 || HloBuilder::shapeOf(x)[last] != 2 || !HloBuilder::isFloat(x))
    return n.fail("argument 'self' is no tensor of pairs");
  Dims shape(HloBuilder::shapeOf(x));
  shape.pop_back();
  if (!HloBuilder::elementOf(x).isF64())
    x = b.convert(x, b.f32());
  n.out(complexOf(b, b.reshape(b.sliceDim(x, last, 0, 1), shape),
                  b.reshape(b.sliceDim(x, last, 1, 2), shape)));
}

void lowerComplex(Node &n) {
  Type part = n.promote({"real", "imag"});
  if (!part.isF64())
    part = n.b.f32();
  Value x = n.in("real", part), y = n.in("imag", part);
  if (fitTogether(n, {x, y}))
    n.out(complexOf(n.b, x, y));
}

void lowerPolar(Node &n) {
  HloBuilder &b = n.b;
  Type part = n.promote({"abs", "angle"});
  Value size = n.in("abs", part), angle = n.in("angle", part);
  if (!fitTogether(n, {size, angle}))
    return;
  n.out(complexOf(b, b.multiply(size, b.unary<stablehlo::CosineOp>(angle)),
                  b.multiply(size, b.unary<stablehlo::SineOp>(angle))));
}

void lowerConjugate(Node &n) {
  Value x = n.in("self");
  n.out(HloBuilder::isComplex(x) ? complexOf(n.b, realOf(n.b, x), n.b.negate(imagOf(n.b, x))) : x);
}

void lowerAngle(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self", n.computeType(n.promoteToFloat({"self"})));
  if (HloBuilder::isComplex(x))
    return n.out(b.binary<stablehlo::Atan2Op>(imagOf(b, x), realOf(b, x)));
  Value zero = b.like(x, 0);
  Value angle = b.select(b.less(x, zero), b.like(x, std::numbers::pi), zero);
  n.out(b.select(isNan(b, x), x, angle));
}

void lowerIdentity(Node &n) { n.out(n.in("self")); }

void lowerNegateView(Node &n) { n.out(n.b.negate(n.in("self"))); }

} // namespace

void registerComplex(OpTable &table) {
  table.addView("aten.real", lowerReal);
  table.addView("aten.imag", lowerImag);
  table.addView("aten.view_as_real", lowerViewAsReal);
  table.add("aten.view_as_real_copy", lowerViewAsReal);
  table.addView("aten.view_as_complex", lowerViewAsComplex);
  table.add("aten.view_as_complex_copy", lowerViewAsComplex);
  table.add("aten.complex", lowerComplex);
  table.add("aten.polar", lowerPolar);
  table.addView("aten.conj", lowerConjugate);
  table.addView("aten._conj", lowerConjugate);
  for (const char *name : {"aten.conj_physical", "aten._conj_physical", "aten._conj_copy"})
    table.add(name, lowerConjugate);
  table.addView("aten.resolve_conj", lowerIdentity);
  table.addView("aten.resolve_neg", lowerIdentity);
  table.addView("aten._neg_view", lowerNegateView);
  table.add("aten._neg_view_copy", lowerNegateView);
  table.add("aten.angle", lowerAngle);
  table.add("aten.chalf", lowerIdentity);
}

} // namespace cupel::frontends::torch_import
