// Comparisons, exact and near, and membership.

#include "cupel/frontends/torch/ops/Elementwise.h"

namespace cupel::frontends::torch_import {

using namespace mlir;
using stablehlo::ComparisonDirection;

namespace {

template <ComparisonDirection direction> void lowerCompare(Node &n) {
  Type type = n.promote({"self", "other"});
  Value x = n.in("self", type), y = n.in("other", type);
  if (fitTogether(n, {x, y}))
    n.out(n.b.compare(x, y, direction));
}

void lowerIsClose(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.promote({"self", "other"});
  Value x = n.in("self", type), y = n.in("other", type);
  if (!fitTogether(n, {x, y}))
    return;
  std::tie(x, y) = b.broadcastPair(x, y);
  Value close = b.equal(x, y);
  if (n.flag("equal_nan"))
    close = b.logicalOr(close, b.logicalAnd(isNan(b, x), isNan(b, y)));
  double rtol = n.real("rtol"), atol = n.real("atol");
  if (rtol == 0 && atol == 0)
    return n.out(close);
  // The difference of integers is taken before they become floats.
  Value difference = b.abs(b.subtract(x, y)), size = b.abs(y);
  if (!HloBuilder::isFloat(difference)) {
    difference = cast(b, difference, b.f32());
    size = cast(b, size, b.f32());
  }
  Value allowed = b.add(b.like(size, atol), b.multiply(b.like(size, rtol), size));
  Value bounded = b.logicalAnd(b.unary<stablehlo::IsFiniteOp>(difference, b.i1()),
                               b.lessEqual(difference, allowed));
  n.out(b.logicalOr(close, bounded));
}

void lowerIsIn(Node &n) {
  HloBuilder &b = n.b;
  StringRef elements = n.declares("elements") ? "elements" : "element";
  StringRef tests = n.declares("test_elements") ? "test_elements" : "test_element";
  Type type = n.promote({elements, tests});
  Value x = n.in(elements, type), y = n.in(tests, type);
  Value flat = b.reshape(y, {HloBuilder::countOf(y)});
  int64_t rank = HloBuilder::rankOf(x);
  Value hit = b.equal(b.unsqueeze(x, rank), flat);
  Value found = b.reduce(hit, {rank}, Fold::Or);
  n.out(n.flag("invert") ? b.logicalNot(found) : found);
}

void lowerAsNumber(Node &n) {
  n.refuse(ErrorCode::DataDependent,
           "its result is a Python value that depends on the tensors' values");
}

void lowerIsReal(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  auto complex = dyn_cast<ComplexType>(HloBuilder::elementOf(x));
  if (!complex)
    return n.out(b.splatInteger(1, b.i1(), HloBuilder::shapeOf(x)));
  Value imaginary = b.unary<stablehlo::ImagOp>(x, complex.getElementType());
  n.out(b.equal(imaginary, b.like(imaginary, 0)));
}

} // namespace

void registerComparison(OpTable &table) {
  for (const char *name : {"aten.eq", "aten.__eq__"})
    table.add(name, lowerCompare<ComparisonDirection::EQ>);
  for (const char *name : {"aten.ne", "aten.not_equal", "aten.__ne__"})
    table.add(name, lowerCompare<ComparisonDirection::NE>);
  for (const char *name : {"aten.lt", "aten.less", "aten.__lt__"})
    table.add(name, lowerCompare<ComparisonDirection::LT>);
  for (const char *name : {"aten.le", "aten.less_equal", "aten.__le__"})
    table.add(name, lowerCompare<ComparisonDirection::LE>);
  for (const char *name : {"aten.gt", "aten.greater", "aten.__gt__"})
    table.add(name, lowerCompare<ComparisonDirection::GT>);
  for (const char *name : {"aten.ge", "aten.greater_equal", "aten.__ge__"})
    table.add(name, lowerCompare<ComparisonDirection::GE>);
  table.add("aten.isclose", lowerIsClose);
  table.add("aten.isin", lowerIsIn);
  table.add("aten.isreal", lowerIsReal);
  for (const char *name :
       {"aten.equal", "aten.allclose", "aten.is_nonzero", "aten.item", "aten._local_scalar_dense"})
    table.add(name, lowerAsNumber);
}

} // namespace cupel::frontends::torch_import
