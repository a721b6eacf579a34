#include "cupel/frontends/onnx/CodedTypes.h"

#include "onnx-ml.pb.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

// ONNX's numbers; the schema may be older than these.
constexpr int64_t kFloat4E2M1 = 23, kFloat8E8M0 = 24, kFloat6E2M3 = 27, kFloat6E3M2 = 28;

/// Small floats without infinities and NaN: widths of exponent and mantissa.
struct Small {
  int exponent, mantissa;
};
Small smallOf(int64_t number) {
  return number == kFloat4E2M1 ? Small{2, 1} : number == kFloat6E2M3 ? Small{2, 3} : Small{3, 2};
}

/// The non-negative values in the order of their bits.
SmallVector<double> valuesOf(Small form) {
  SmallVector<double> values;
  int bias = (1 << (form.exponent - 1)) - 1;
  for (int e = 0; e < 1 << form.exponent; ++e)
    for (int m = 0; m < 1 << form.mantissa; ++m) {
      double fraction = double(m) / (1 << form.mantissa) + (e ? 1 : 0);
      values.push_back(std::ldexp(fraction, std::max(e, 1) - bias));
    }
  return values;
}

Type unsignedType(HloBuilder &b, unsigned width) {
  return IntegerType::get(b.context(), width, IntegerType::Unsigned);
}

Value decodeScale(HloBuilder &b, Value bits) {
  // The bits are the exponent of a float32; the smallest is below its normal range, the largest
  // NaN.
  Value wide = b.convert(bits, b.i32());
  Value shifted = b.binary<stablehlo::ShiftLeftOp>(wide, b.like(wide, 23));
  shifted = b.select(b.equal(wide, b.like(wide, 0)), b.like(wide, 0x00400000), shifted);
  shifted = b.select(b.equal(wide, b.like(wide, 255)), b.like(wide, 0x7fc00000), shifted);
  return b.unary<stablehlo::BitcastConvertOp>(shifted, b.f32());
}

Value encodeScale(HloBuilder &b, Value x, bool saturate, StringRef rounding) {
  Value bits = b.unary<stablehlo::BitcastConvertOp>(x, b.i32());
  auto number = [&](int64_t value) {
    return b.splatInteger(value, b.i32(), HloBuilder::shapeOf(bits));
  };
  Value exponent =
      b.logicalAnd(b.binary<stablehlo::ShiftRightLogicalOp>(bits, number(23)), number(0xff));
  Value fraction = b.logicalAnd(bits, number(0x7fffff));
  Value special = b.equal(exponent, number(0xff));
  Value up;
  if (rounding == "up") {
    up = b.greater(fraction, number(0));
  } else if (rounding == "nearest") {
    // Half goes up, but for the smallest exponent.
    Value half = number(0x400000);
    up = b.logicalOr(b.greater(fraction, half),
                     b.logicalAnd(b.equal(fraction, half), b.greater(exponent, number(0))));
  }
  if (up) {
    if (saturate)
      up = b.logicalAnd(up, b.less(exponent, number(0xfe)));
    exponent = b.add(exponent, b.convert(up, b.i32()));
  }
  return b.convert(b.select(special, number(0xff), exponent), unsignedType(b, 8));
}

} // namespace

bool isCoded(int64_t number) {
  return number == kFloat4E2M1 || number == kFloat8E8M0 || number == kFloat6E2M3 ||
         number == kFloat6E3M2;
}

bool movesElements(StringRef op) {
  static constexpr StringRef kNames[] = {"Concat",   "Expand",  "Flatten",   "Gather",
                                         "Identity", "Reshape", "Slice",     "Split",
                                         "Squeeze",  "Tile",    "Transpose", "Unsqueeze"};
  return llvm::is_contained(kNames, op);
}

bool takesCoded(StringRef op) {
  static constexpr StringRef kNames[] = {"Cast",  "CastLike", "QuantizeLinear", "DequantizeLinear",
                                         "Shape", "Size"};
  return llvm::is_contained(kNames, op);
}

Value decode(HloBuilder &b, Value bits, int64_t number) {
  if (number == kFloat8E8M0)
    return decodeScale(b, bits);
  SmallVector<double> values = valuesOf(smallOf(number));
  SmallVector<float> table(values.begin(), values.end());
  for (double value : values)
    table.push_back(float(-value));
  Result<tensor::Tensor> made = tensor::Tensor::of<tensor::DType::F32>(
      {int64_t(table.size())}, std::vector<float>(table.begin(), table.end()));
  return b.take(b.constant(*made), b.convert(bits, b.i32()), 0);
}

Value encode(HloBuilder &b, Value x, int64_t number, bool saturate, StringRef rounding) {
  x = b.convert(x, b.f32());
  if (number == kFloat8E8M0)
    return encodeScale(b, x, saturate, rounding);
  SmallVector<double> values = valuesOf(smallOf(number));
  // How many midpoints lie below; one that is met exactly counts if that makes the bits even.
  Value size = b.abs(x), code = b.splatInteger(0, b.i32(), HloBuilder::shapeOf(x));
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    Value middle = b.like(size, (values[i] + values[i + 1]) / 2);
    Value beyond = i % 2 ? b.greaterEqual(size, middle) : b.greater(size, middle);
    code = b.add(code, b.convert(beyond, b.i32()));
  }
  Value bits = b.unary<stablehlo::BitcastConvertOp>(x, b.i32());
  // What is no number becomes minus zero.
  Value negative = b.logicalOr(b.less(bits, b.like(bits, 0)), b.notEqual(x, x));
  code = b.add(code, b.select(negative, b.like(code, double(values.size())), b.like(code, 0)));
  return b.convert(code, unsignedType(b, number == kFloat4E2M1 ? 4 : 8));
}

} // namespace cupel::frontends::onnx_import
