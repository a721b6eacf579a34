// Conversions between element types, and reduce_precision.

#include "cupel/compiler/codegen/Elementwise.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cmath>
#include <limits>

namespace cupel::codegen {
namespace {

bool isSigned(DType type) { return tensor::info(type).kind == tensor::Kind::Signed; }

/// An integer as f64 that rounds to any narrow float as the integer does: exact below 2^53; above,
/// what is lost leaves a bit, so that no tie appears.
V asDouble(Emitter &e, DType from, V value) {
  llvm::Type *wide = e.vectorOf(e.getDoubleTy());
  if (tensor::info(from).bits <= 32)
    return isSigned(from) ? e.CreateSIToFP(value, wide) : e.CreateUIToFP(value, wide);
  llvm::Type *t = value->getType();
  V isNegative = isSigned(from) ? e.CreateICmpSLT(value, e.integer(t, 0))
                                : llvm::Constant::getNullValue(e.vectorOf(e.getInt1Ty()));
  V magnitude = e.CreateSelect(isNegative, e.CreateNeg(value), value);
  V lost = e.CreateICmpNE(e.CreateAnd(magnitude, e.integer(t, 0xfff)), e.integer(t, 0));
  V sticky = e.CreateSelect(lost, e.integer(t, 0x800), e.integer(t, 0));
  V shortened = e.CreateOr(e.CreateAnd(magnitude, e.integer(t, ~uint64_t{0xfff})), sticky);
  V isLarge = e.CreateICmpUGE(magnitude, e.integer(t, uint64_t{1} << 53));
  V result = e.CreateUIToFP(e.CreateSelect(isLarge, shortened, magnitude), wide);
  return e.CreateSelect(isNegative, e.CreateFNeg(result), result);
}

V toFloat(Emitter &e, DType from, DType to, V value) {
  llvm::Type *type = e.vectorOf(e.computeType(to));
  if (from == DType::I1)
    return e.CreateUIToFP(value, type);
  bool isNarrow = to == DType::F16 || to == DType::BF16;
  if (tensor::isFloat(from)) {
    if (from == DType::F64)
      return isNarrow ? e.narrowDouble(to, value) : e.CreateFPTrunc(value, type);
    return to == DType::F64 ? e.CreateFPExt(value, type) : e.roundTo(to, value);
  }
  if (isNarrow)
    return e.narrowDouble(to, asDouble(e, from, value));
  return isSigned(from) ? e.CreateSIToFP(value, type) : e.CreateUIToFP(value, type);
}

/// Within which numbers a value is, if it is one, by what bounds it on the way.
std::pair<double, double> boundsOf(mlir::Value value, int depth = 0) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr int kDeepest = 6;
  std::pair<double, double> any = {-kInfinity, kInfinity};
  mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
  if (!op || depth > kDeepest)
    return any;
  auto of = [&](unsigned operand) { return boundsOf(op->getOperand(operand), depth + 1); };
  auto greater = [](std::pair<double, double> a, std::pair<double, double> b) {
    return std::pair(std::max(a.first, b.first), std::max(a.second, b.second));
  };
  auto less = [](std::pair<double, double> a, std::pair<double, double> b) {
    return std::pair(std::min(a.first, b.first), std::min(a.second, b.second));
  };
  if (auto constant = mlir::dyn_cast<stablehlo::ConstantOp>(op)) {
    auto numbers = mlir::dyn_cast<mlir::DenseFPElementsAttr>(constant.getValue());
    if (!numbers || !numbers.isSplat() || numbers.getSplatValue<llvm::APFloat>().isNaN())
      return any;
    bool losesInfo;
    auto number = numbers.getSplatValue<llvm::APFloat>();
    number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return {number.convertToDouble(), number.convertToDouble()};
  }
  if (mlir::isa<stablehlo::MaximumOp>(op))
    return greater(of(0), of(1));
  if (mlir::isa<stablehlo::MinimumOp>(op))
    return less(of(0), of(1));
  if (mlir::isa<stablehlo::ClampOp>(op))
    return less(greater(of(0), of(1)), of(2));
  if (mlir::isa<stablehlo::RoundNearestEvenOp>(op)) // At most to what whole bounds are.
    return {std::floor(of(0).first), std::ceil(of(0).second)};
  return any;
}

/// Toward zero, into the range; NaN gives 0. LLVM's own instruction for this takes lanes one by one.
V toInteger(Emitter &e, DType to, V value, llvm::Type *type, std::pair<double, double> bounds) {
  int bits = tensor::info(to).bits;
  llvm::Type *from = value->getType();
  auto least = isSigned(to) ? llvm::APInt::getSignedMinValue(unsigned(bits)) : llvm::APInt::getZero(unsigned(bits));
  auto most = isSigned(to) ? llvm::APInt::getSignedMaxValue(unsigned(bits)) : llvm::APInt::getMaxValue(unsigned(bits));
  V inside = isSigned(to) ? e.CreateFPToSI(value, type) : e.CreateFPToUI(value, type); // Where it is.
  V result = e.CreateSelect(e.isNan(value), e.integer(type, 0), inside);
  double first = isSigned(to) ? -std::ldexp(1.0, bits - 1) : 0.0, behind = std::ldexp(1.0, isSigned(to) ? bits - 1 : bits);
  if (bounds.first >= first && bounds.second < behind)
    return result;
  V isBelow = e.CreateFCmpOLT(value, e.number(from, first)), isAbove = e.CreateFCmpOGE(value, e.number(from, behind));
  result = e.CreateSelect(isBelow, llvm::ConstantInt::get(type, least), result);
  return e.CreateSelect(isAbove, llvm::ConstantInt::get(type, most), result);
}

} // namespace

V emitConvert(Emitter &e, DType from, DType to, V value, mlir::Value operand) {
  if (from == to)
    return value;
  if (tensor::isFloat(to))
    return toFloat(e, from, to, value);
  llvm::Type *type = e.vectorOf(e.computeType(to));
  if (tensor::isFloat(from)) {
    if (to == DType::I1) // NaN is not zero.
      return e.CreateFCmpUNE(value, e.number(value->getType(), 0));
    return toInteger(e, to, value, type, boundsOf(operand));
  }
  if (to == DType::I1)
    return e.CreateICmpNE(value, e.integer(value->getType(), 0));
  return isSigned(from) ? e.CreateSExtOrTrunc(value, type) : e.CreateZExtOrTrunc(value, type);
}

V emitReducePrecision(Emitter &e, V value, int exponentBits, int mantissaBits) {
  bool isDouble = value->getType()->getScalarType()->isDoubleTy();
  int mantissa = isDouble ? 52 : 23, exponent = isDouble ? 11 : 8;
  int bias = (1 << (exponent - 1)) - 1;
  V bits = e.asBits(value);
  llvm::Type *t = bits->getType();
  auto c = [&](uint64_t pattern) { return e.integer(t, pattern); };
  uint64_t signBit = uint64_t{1} << (isDouble ? 63 : 31);
  uint64_t infinity = ((uint64_t{1} << exponent) - 1) << mantissa;
  V sign = e.CreateAnd(bits, c(signBit));
  V magnitude = e.CreateAnd(bits, c(signBit - 1));
  V rounded = magnitude;
  if (mantissaBits < mantissa) {
    int shift = mantissa - mantissaBits;
    V odd = e.CreateAnd(e.CreateLShr(magnitude, c(shift)), c(1));
    V half = e.CreateAdd(odd, c((uint64_t{1} << (shift - 1)) - 1));
    rounded = e.CreateAnd(e.CreateAdd(magnitude, half), c(~((uint64_t{1} << shift) - 1)));
  }
  if (exponentBits < exponent) {
    int largest = (1 << (exponentBits - 1)) - 1;
    V power = e.CreateLShr(rounded, c(mantissa)); // with bias
    V isTooLarge = e.CreateICmpSGT(power, c(static_cast<uint64_t>(largest + bias)));
    V isTooSmall = e.CreateICmpSLT(power, c(static_cast<uint64_t>(1 - largest + bias)));
    rounded = e.CreateSelect(isTooSmall, c(0), rounded);
    rounded = e.CreateSelect(isTooLarge, c(infinity), rounded);
  }
  V result = e.asFloat(e.CreateOr(sign, rounded), value->getType());
  // Without a mantissa there is no NaN; infinities stay.
  V ofNan = mantissaBits ? value : e.asFloat(e.CreateOr(sign, c(infinity)), value->getType());
  V isSpecial = e.CreateICmpUGE(magnitude, c(infinity));
  V special = e.CreateSelect(e.CreateICmpUGT(magnitude, c(infinity)), ofNan, value);
  return e.CreateSelect(isSpecial, special, result);
}

} // namespace cupel::codegen
