#include "cupel/reference/Loops.h"

#include "cupel/reference/Widen.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cupel::reference {

using tensor::DType;
using tensor::Kind;

namespace {

struct OpInfo {
  std::string_view name;
  int operands;
};
constexpr OpInfo kOps[] = {
#define X(name, text, operands) {text, operands},
    CUPEL_ELEMENT_OPS(X)
#undef X
};

constexpr int64_t kChunk = 256;

/// f32 has enough digits to round twice without harm for these; all others go through f64.
bool isBasic(ElementOp op) { return floatLoop(op) != nullptr; }

/// Of the normal numbers of a type that has fewer exponents than f32.
std::optional<int> leastExponent(DType type) {
  switch (type) {
  case DType::F8E4M3:
  case DType::F8E4M3FN:
    return -6;
  case DType::F8E4M3FNUZ:
    return -7;
  case DType::F8E4M3B11FNUZ:
    return -10;
  case DType::F8E5M2:
  case DType::F16:
    return -14;
  case DType::F8E5M2FNUZ:
    return -15;
  case DType::F4E2M1FN:
  case DType::F6E2M3FN:
    return 0;
  case DType::F6E3M2FN:
  case DType::F8E3M4:
    return -2;
  default:
    return std::nullopt;
  }
}

/// What reduce_precision does to numbers that are subnormal in their own type and normal in f32:
/// the bits of the fraction are those that the type has, as for subnormals of f32 itself.
void roundFractions(float *values, int64_t count, int leastExponent, int mantissaBits) {
  if (mantissaBits > 30)
    return; // All of them stay.
  float quantum = std::ldexp(1.0f, leastExponent - mantissaBits);
  float normal = std::ldexp(1.0f, leastExponent);
  for (int64_t i = 0; i < count; ++i)
    if (std::fabs(values[i]) < normal)
      values[i] = std::copysign(std::nearbyint(values[i] / quantum) * quantum, values[i]);
}

int exponentBits(DType type) {
  switch (type) {
  case DType::F4E2M1FN:
  case DType::F6E2M3FN:
    return 2;
  case DType::F6E3M2FN:
  case DType::F8E3M4:
    return 3;
  case DType::F8E4M3:
  case DType::F8E4M3FN:
  case DType::F8E4M3FNUZ:
  case DType::F8E4M3B11FNUZ:
    return 4;
  case DType::F8E5M2:
  case DType::F8E5M2FNUZ:
  case DType::F16:
    return 5;
  default:
    return 8;
  }
}

} // namespace

std::string_view name(ElementOp op) { return kOps[static_cast<int>(op)].name; }
int operandCount(ElementOp op) { return kOps[static_cast<int>(op)].operands; }

std::optional<ElementOp> parseElementOp(std::string_view name) {
  for (size_t i = 0; i < std::size(kOps); ++i)
    if (kOps[i].name == name)
      return static_cast<ElementOp>(i);
  return std::nullopt;
}

std::optional<Loop> Loop::find(ElementOp op, DType operand, DType result) {
  int operands = operandCount(op);
  auto make = [&](LoopFunction function, Path path) -> std::optional<Loop> {
    if (!function)
      return std::nullopt;
    return Loop(function, path, operands, operand, result);
  };
  if (op == ElementOp::Select)
    return make(selectLoop(info(operand).bytes), Path::Direct);
  if (op == ElementOp::Convert)
    return Loop(nullptr, Path::Convert, operands, operand, result);
  switch (info(operand).kind) {
  case Kind::Boolean:
    return make(booleanLoop(op), Path::Direct);
  case Kind::Signed:
  case Kind::Unsigned:
    return make(integerLoop(op, operand), Path::Direct);
  case Kind::Complex:
    if (operand == DType::C128)
      return make(complexDoubleLoop(op), Path::Direct);
    if (LoopFunction function = complexLoop(op))
      return make(function, Path::Direct);
    return make(complexDoubleLoop(op), Path::ComplexDouble);
  case Kind::Float:
    if (operand == DType::F64)
      return make(doubleLoop(op), Path::Direct);
    if (!isBasic(op))
      return make(narrowLoop(op), Path::Double);
    if (op == ElementOp::Complex && operand != DType::F32)
      return std::nullopt;
    return make(floatLoop(op), operand == DType::F32 ? Path::Direct : Path::Float);
  }
  return std::nullopt;
}

void Loop::runWidened(const LoopArguments &arguments) const {
  int inBytes = info(operand).bytes, outBytes = info(result).bytes;
  if (path == Path::Convert) {
    if (!arguments.scalar[0]) {
      convertLanes(operand, result, arguments.in[0], arguments.out, arguments.lanes);
      return;
    }
    for (int64_t i = 0; i < arguments.lanes; ++i)
      convertLanes(operand, result, arguments.in[0],
                   static_cast<char *>(arguments.out) + i * outBytes, 1);
    return;
  }
  alignas(64) std::complex<double> wideIn[3][kChunk];
  alignas(64) std::complex<double> wideOut[kChunk];
  LoopArguments chunk = arguments;
  // A small type's own exponent range never matters to it.
  if (arguments.exponentBits >= exponentBits(operand))
    chunk.exponentBits = 64;
  auto load = [&](int i, const void *in, int64_t count) {
    switch (path) {
    case Path::Float:
      return loadFloat(operand, in, reinterpret_cast<float *>(wideIn[i]), count);
    case Path::Double:
      return loadDouble(operand, in, reinterpret_cast<double *>(wideIn[i]), count);
    default:
      return convertLanes(operand, DType::C128, in, wideIn[i], count);
    }
  };
  bool toSelf = result == operand;
  std::optional<int> least;
  if (path == Path::Float && function == floatLoop(ElementOp::ReducePrecision))
    least = leastExponent(operand);
  for (int i = 0; i < operands; ++i) {
    chunk.in[i] = wideIn[i];
    if (arguments.scalar[i])
      load(i, arguments.in[i], 1);
  }
  for (int64_t done = 0; done < arguments.lanes; done += kChunk) {
    int64_t count = std::min(kChunk, arguments.lanes - done);
    for (int i = 0; i < operands; ++i)
      if (!arguments.scalar[i])
        load(i, static_cast<const char *>(arguments.in[i]) + done * inBytes, count);
    void *out = static_cast<char *>(arguments.out) + done * outBytes;
    chunk.lanes = count;
    chunk.out = toSelf ? wideOut : out;
    if (least)
      roundFractions(reinterpret_cast<float *>(wideIn[0]), arguments.scalar[0] ? 1 : count, *least,
                     arguments.mantissaBits);
    function(chunk);
    if (!toSelf)
      continue; // Comparisons and is_finite write their result directly.
    switch (path) {
    case Path::Float:
      storeFloat(result, reinterpret_cast<float *>(wideOut), out, count);
      break;
    case Path::Double:
      storeDouble(result, reinterpret_cast<double *>(wideOut), out, count);
      break;
    default:
      convertLanes(DType::C128, result, wideOut, out, count);
      break;
    }
  }
}

} // namespace cupel::reference
