// Conversions between element types and what copies without computing.

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

Value cast(HloBuilder &b, Value x, Type element) {
  Type from = HloBuilder::elementOf(x);
  if (from == element)
    return x;
  if (auto complex = dyn_cast<ComplexType>(from)) {
    if (isa<ComplexType>(element))
      return b.unary<stablehlo::ConvertOp>(x, element);
    Type part = complex.getElementType();
    Value real = b.unary<stablehlo::RealOp>(x, part);
    if (element.isInteger(1)) {
      Value imaginary = b.unary<stablehlo::ImagOp>(x, part);
      return b.logicalOr(b.convert(real, element), b.convert(imaginary, element));
    }
    return cast(b, real, element);
  }
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && integer.getWidth() > 1 && isa<FloatType>(from)) {
    // A float that does not fit a narrow integer keeps its low bits.
    if (integer.getWidth() < 32)
      return b.convert(b.convert(x, b.i32()), element);
    return b.convert(x, element);
  }
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Value real = cast(b, x, complex.getElementType());
    Value zero = b.like(real, 0);
    auto type = b.tensorType(HloBuilder::shapeOf(x), element);
    return b.builder().create<stablehlo::ComplexOp>(b.location(), TypeRange{type},
                                                    ValueRange{real, zero});
  }
  return b.convert(x, element);
}

namespace {

/// The result's declared type says it all. Primitives call their argument otherwise.
void lowerCast(Node &n) { n.out(n.in(n.declares("self") ? "self" : "a")); }

void lowerTypeAs(Node &n) { n.out(n.in("self")); }

void lowerCopy(Node &n) {
  Value source = n.in("src");
  Dims shape(n.shape("self"));
  std::optional<Dims> common = HloBuilder::broadcastShape(HloBuilder::shapeOf(source), shape);
  if (!common || *common != shape)
    return n.fail("argument 'src' does not broadcast to 'self'");
  n.out(n.b.broadcastTo(cast(n.b, source, n.element("self")), shape));
}

/// The same bits under another type; the last dimension shrinks or grows with the width.
void lowerViewDtype(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Type from = n.element("self"), to = n.resultElement();
  if (from == to)
    return n.out(x);
  if (isa<ComplexType>(from) || isa<ComplexType>(to))
    return n.notYet("argument 'dtype': complex numbers seen as other types");
  auto widthOf = [](Type type) { return std::max<int64_t>(type.getIntOrFloatBitWidth(), 8); };
  if (from.isInteger(1)) // torch keeps a bool in a byte.
    x = b.convert(x, from = b.builder().getIntegerType(8));
  bool toBool = to.isInteger(1);
  Type target = toBool ? b.builder().getIntegerType(8) : to;
  int64_t have = widthOf(from), want = widthOf(target);
  if (have > want) {
    Dims shape(HloBuilder::shapeOf(x));
    shape.push_back(have / want);
    x = b.builder().create<stablehlo::BitcastConvertOp>(
        b.location(), TypeRange{b.tensorType(shape, target)}, ValueRange{x});
  } else if (have < want) {
    Dims shape(HloBuilder::shapeOf(x));
    int64_t group = want / have;
    if (shape.empty() || shape.back() % group)
      return n.fail("argument 'self': its last dimension is no multiple of the new width");
    Dims wide = shape;
    wide.back() /= group;
    Dims split = wide;
    split.push_back(group);
    x = b.builder().create<stablehlo::BitcastConvertOp>(
        b.location(), TypeRange{b.tensorType(wide, target)}, ValueRange{b.reshape(x, split)});
  } else if (HloBuilder::elementOf(x) != target) {
    x = b.unary<stablehlo::BitcastConvertOp>(x, target);
  }
  n.out(b.reshape(x, n.resultShape()));
}

} // namespace

void registerCasts(OpTable &table) {
  // to() and its like return self itself where nothing changes, so a write to the result of one
  // that changes nothing is a write to self; the others are copies and have another type.
  for (const char *name : {"aten.to", "aten.contiguous", "aten.type_as", "aten._to_cpu"})
    table.addView(name, lowerCast);
  for (const char *name : {"aten._to_copy",
                           "aten.clone",
                           "aten.lift_fresh_copy",
                           "aten.lift_fresh",
                           "aten.lift",
                           "aten._cast_Byte",
                           "aten._cast_Char",
                           "aten._cast_Double",
                           "aten._cast_Float",
                           "aten._cast_Half",
                           "aten._cast_Int",
                           "aten._cast_Long",
                           "aten._cast_Short",
                           "aten._autocast_to_full_precision",
                           "aten._autocast_to_reduced_precision",
                           "aten.alias_copy",
                           "aten.detach_copy",
                           "prims.convert_element_type",
                           "aten._fw_primal",
                           "aten._lazy_clone"})
    table.add(name, lowerCast);
  table.add("aten.copy", lowerCopy);
  table.addView("aten.view.dtype", lowerViewDtype);
  table.add("aten.view_copy.dtype", lowerViewDtype);
  table.add("aten.type_as", lowerTypeAs);
}

} // namespace cupel::frontends::torch_import
