#include "cupel/compiler/codegen/Elementwise.h"

#include "cupel/compiler/codegen/VectorMath.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::codegen {
namespace {

using llvm::Intrinsic::ID;
using llvm::StringRef;
using Case = const ElementCase &;
using Operands = ArrayRef<V>;

bool isDouble(V value) { return value->getType()->getScalarType()->isDoubleTy(); }

/// f32 by a function of our own, f64 by the runtime's.
template <V (*function)(Emitter &, V)> V unary(Emitter &e, V x, StringRef runtime) {
  return isDouble(x) ? e.callRuntime(runtime, {x}) : function(e, x);
}
template <V (*function)(Emitter &, V, V)> V binary(Emitter &e, V x, V y, StringRef runtime) {
  return isDouble(x) ? e.callRuntime(runtime, {x, y}) : function(e, x, y);
}

/// x^0.5, whose root is rounded once as well: of both zeros it is +0, of both infinities +infinity.
V emitRootAsPower(Emitter &e, V x) {
  llvm::Type *t = x->getType();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  V root = e.intrinsic(llvm::Intrinsic::sqrt, e.CreateFAdd(x, e.number(t, 0)));
  return e.CreateSelect(e.CreateFCmpOEQ(x, e.number(t, -kInfinity)), e.number(t, kInfinity), root);
}

/// The squares and roots that norms are made of, and the cubes of activations, need no logarithm; a
/// square is rounded once, as a power is, a cube and the inverse of a root twice.
V emitPower(Emitter &e, Case, Operands x) {
  if (auto *constant = llvm::dyn_cast<llvm::Constant>(x[1]))
    if (auto *value = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant->getSplatValue())) {
      if (value->isExactlyValue(2))
        return e.CreateFMul(x[0], x[0]);
      if (value->isExactlyValue(3))
        return e.CreateFMul(e.CreateFMul(x[0], x[0]), x[0]);
      if (value->isExactlyValue(0.5))
        return emitRootAsPower(e, x[0]);
      if (value->isExactlyValue(-0.5))
        return e.CreateFDiv(e.number(x[0]->getType(), 1), emitRootAsPower(e, x[0]));
      if (value->isExactlyValue(1))
        return x[0];
    }
  return binary<emitPow>(e, x[0], x[1], "pow");
}

template <ID id> V plain(Emitter &e, Case, Operands x) { return e.intrinsic(id, x[0]); }

V emitSign(Emitter &e, Case, Operands x) {
  V zero = e.number(x[0]->getType(), 0);
  V isItself = e.CreateFCmpUEQ(x[0], zero); // zeros and NaN
  return e.CreateSelect(isItself, x[0], e.copySign(e.number(x[0]->getType(), 1), x[0]));
}

V emitIsFinite(Emitter &e, Case, Operands x) {
  V infinity = e.number(x[0]->getType(), std::numeric_limits<double>::infinity());
  return e.CreateFCmpOLT(e.fabs(x[0]), infinity);
}

/// Integers in the order of the floats: -NaN < -inf < ... < -0 < +0 < ... < NaN.
V totalKey(Emitter &e, V x) {
  V bits = e.asBits(x);
  llvm::Type *t = bits->getType();
  V sign = e.CreateAShr(bits, e.integer(t, t->getScalarSizeInBits() - 1));
  return e.CreateXor(bits, e.CreateLShr(sign, e.integer(t, 1)));
}

V emitCompare(Emitter &e, Case c, Operands x) {
  using P = llvm::CmpInst::Predicate;
  auto compare = mlir::cast<stablehlo::CompareOp>(c.op);
  auto direction = compare.getComparisonDirection();
  bool isFloat = tensor::isFloat(c.operand);
  V a = x[0], b = x[1];
  if (isFloat && compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER) {
    a = totalKey(e, a), b = totalKey(e, b);
    isFloat = false;
  }
  bool isSigned =
      tensor::info(c.operand).kind == tensor::Kind::Signed || tensor::isFloat(c.operand);
  auto pick = [&](P floats, P signedOnes, P unsignedOnes) {
    return isFloat ? e.CreateFCmp(floats, a, b)
                   : e.CreateICmp(isSigned ? signedOnes : unsignedOnes, a, b);
  };
  switch (direction) {
  case stablehlo::ComparisonDirection::EQ:
    return pick(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
  case stablehlo::ComparisonDirection::NE:
    return pick(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
  case stablehlo::ComparisonDirection::GE:
    return pick(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  case stablehlo::ComparisonDirection::GT:
    return pick(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
  case stablehlo::ComparisonDirection::LE:
    return pick(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
  case stablehlo::ComparisonDirection::LT:
    return pick(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
  }
  llvm_unreachable("all directions are above");
}

V emitSelect(Emitter &e, Case, Operands x) { return e.CreateSelect(x[0], x[1], x[2]); }

V emitReduce(Emitter &e, Case c, Operands x) {
  auto op = mlir::cast<stablehlo::ReducePrecisionOp>(c.op);
  int exponentBits = static_cast<int>(op.getExponentBits());
  // bf16 has the exponents of f32.
  return emitReducePrecision(e, x[0], exponentBits, static_cast<int>(op.getMantissaBits()));
}

V emitConvertCase(Emitter &e, Case c, Operands x) {
  return emitConvert(e, c.operand, c.result, x[0], c.op->getOperand(0));
}

/// Elements of as many bits, which lie in registers as they lie in memory: no halves.
V emitBits(Emitter &e, Case c, Operands x) {
  if (tensor::isFloat(c.operand) == tensor::isFloat(c.result))
    return x[0];
  return tensor::isFloat(c.operand) ? e.asBits(x[0]) : e.asFloat(x[0], e.vectorOf(e.computeType(c.result)));
}

bool canBeOtherBits(DType from, DType to) {
  int bits = tensor::info(from).bits;
  return bits == tensor::info(to).bits && (bits == 32 || bits == 64);
}

#define RULE(expression)                                                                           \
  [](Emitter &e, Case, Operands x) -> V { return expression; }

struct FloatRow {
  StringRef name;
  ElementRule rule;
  int cost;
};
const FloatRow kFloats[] = {
    {"abs", RULE(e.fabs(x[0])), 1},
    {"bitcast_convert", emitBits, 0},
    {"cbrt", RULE(unary<emitCbrt>(e, x[0], "cbrt")), 40},
    {"ceil", plain<llvm::Intrinsic::ceil>, 1},
    {"cosine", RULE(unary<emitCos>(e, x[0], "cos")), 40},
    {"exponential", RULE(unary<emitExp>(e, x[0], "exp")), 15},
    {"exponential_minus_one", RULE(unary<emitExpm1>(e, x[0], "expm1")), 30},
    {"floor", plain<llvm::Intrinsic::floor>, 1},
    {"is_finite", emitIsFinite, 2},
    {"log", RULE(unary<emitLog>(e, x[0], "log")), 20},
    {"log_plus_one", RULE(unary<emitLog1p>(e, x[0], "log1p")), 25},
    {"logistic", RULE(unary<emitLogistic>(e, x[0], "logistic")), 25},
    {"negate", RULE(e.CreateFNeg(x[0])), 1},
    {"real", RULE(x[0]), 0},
    {"reduce_precision", emitReduce, 8},
    {"round_nearest_afz", plain<llvm::Intrinsic::round>, 3},
    {"round_nearest_even", plain<llvm::Intrinsic::nearbyint>, 1},
    {"rsqrt", RULE(emitRsqrt(e, x[0])), 15},
    {"sign", emitSign, 3},
    {"sine", RULE(unary<emitSin>(e, x[0], "sin")), 40},
    {"sqrt", plain<llvm::Intrinsic::sqrt>, 8},
    {"tan", RULE(unary<emitTan>(e, x[0], "tan")), 50},
    {"tanh", RULE(unary<emitTanh>(e, x[0], "tanh")), 30},
    {"erf", RULE(unary<emitErf>(e, x[0], "erf")), 30},
    {"add", RULE(e.CreateFAdd(x[0], x[1])), 1},
    {"atan2", RULE(binary<emitAtan2>(e, x[0], x[1], "atan2")), 60},
    {"divide", RULE(e.CreateFDiv(x[0], x[1])), 6},
    {"maximum", RULE(emitMaximum(e, x[0], x[1])), 3},
    {"minimum", RULE(emitMinimum(e, x[0], x[1])), 3},
    {"multiply", RULE(e.CreateFMul(x[0], x[1])), 1},
    {"power", emitPower, 80},
    {"remainder", RULE(binary<emitRemainder>(e, x[0], x[1], "fmod")), 30},
    {"subtract", RULE(e.CreateFSub(x[0], x[1])), 1},
    {"compare", emitCompare, 1},
    {"clamp", RULE(emitMinimum(e, emitMaximum(e, x[1], x[0]), x[2])), 6},
    {"select", emitSelect, 1},
    {"convert", emitConvertCase, 1},
};

/// A table entry's name: chlo.erf is the one that has an entry beside StableHLO's.
StringRef tableName(mlir::Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  StringRef name = op->getName().stripDialect();
  if (dialect == "stablehlo")
    return name == "erf" ? "" : name;
  return op->getName().getStringRef() == "chlo.erf" ? "erf" : "";
}

const FloatRow *floatRow(StringRef name) {
  for (const FloatRow &row : kFloats)
    if (row.name == name)
      return &row;
  return nullptr;
}

ElementRule ruleFor(StringRef name, DType operand) {
  if (name == "convert")
    return emitConvertCase;
  if (name == "select")
    return emitSelect;
  if (name == "bitcast_convert")
    return emitBits;
  switch (tensor::info(operand).kind) {
  case tensor::Kind::Float: {
    const FloatRow *row = floatRow(name);
    return row ? row->rule : nullptr;
  }
  case tensor::Kind::Boolean:
    return name == "compare" ? emitCompare : booleanRule(name);
  default:
    return name == "compare" ? emitCompare : integerRule(name);
  }
}

} // namespace

std::optional<DType> elementTypeOf(mlir::Type type) {
  auto shaped = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!shaped)
    return std::nullopt;
  mlir::Type element = shaped.getElementType();
  if (element.isF16())
    return DType::F16;
  if (element.isBF16())
    return DType::BF16;
  if (element.isF32())
    return DType::F32;
  if (element.isF64())
    return DType::F64;
  auto integer = mlir::dyn_cast<mlir::IntegerType>(element);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return isUnsigned ? std::nullopt : std::optional(DType::I1);
  case 8:
    return isUnsigned ? DType::U8 : DType::I8;
  case 16:
    return isUnsigned ? DType::U16 : DType::I16;
  case 32:
    return isUnsigned ? DType::U32 : DType::I32;
  case 64:
    return isUnsigned ? DType::U64 : DType::I64;
  default:
    return std::nullopt;
  }
}

Status checkElementwise(mlir::Operation *op) {
  std::string full = op->getName().getStringRef().str();
  auto refuse = [&](const std::string &why) {
    return Error{ErrorCode::Unsupported, "no code is made for " + full + why};
  };
  StringRef name = tableName(op);
  if (name.empty() || !floatRow(name)) {
    if (name.empty() || !(integerRule(name) || booleanRule(name)))
      return refuse("");
  }
  if (op->getNumOperands() == 0 || op->getNumResults() != 1)
    return refuse("");
  for (mlir::Type type : llvm::concat<const mlir::Type>(
           llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
    if (!elementTypeOf(type)) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return refuse(" on " + text);
    }
  DType operand = *elementTypeOf(op->getOperands().back().getType());
  if (!ruleFor(name, operand))
    return refuse(" on elements of type " + std::string(tensor::info(operand).name));
  if (name == "bitcast_convert" && !canBeOtherBits(operand, *elementTypeOf(op->getResult(0).getType())))
    return refuse(" on elements of type " + std::string(tensor::info(operand).name));
  if (name == "reduce_precision" && operand == DType::F16)
    return refuse(" on elements of type f16"); // Its subnormals are no subnormals in f32.
  return {};
}

V emitElementwise(Emitter &e, mlir::Operation *op, ArrayRef<V> operands) {
  ElementCase c{op, *elementTypeOf(op->getOperands().back().getType()),
                *elementTypeOf(op->getResult(0).getType())};
  StringRef name = tableName(op);
  V result = ruleFor(name, c.operand)(e, c, operands);
  // Conversions round as they need to; picking one of the operands needs no rounding.
  return name == "convert" || name == "select" || name == "bitcast_convert" ? result : e.roundTo(c.result, result);
}

int costOf(mlir::Operation *op) {
  if (op->getNumOperands() == 0)
    return 0;
  std::optional<DType> type = elementTypeOf(op->getOperands().back().getType());
  const FloatRow *row = floatRow(tableName(op));
  if (type && tensor::isFloat(*type) && row)
    return *type == DType::F64 ? 2 * row->cost : row->cost;
  return 2;
}

} // namespace cupel::codegen
