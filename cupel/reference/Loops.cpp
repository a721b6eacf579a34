#include "cupel/reference/Loops.h"

#include "cupel/reference/Widen.h"

#include <algorithm>

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

int exponentBits(DType type) {
  switch (type) {
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
