// StableHLO's elementwise operations as plain loops over a few elements that lie one after the other:
// what a body is made of where making machine code would take longer than running it. The semantics
// are those of compiler/codegen/Elementwise.h, in code of their own; nothing of the golden reference
// may appear here, which judges what this computes.

#pragma once

#include "cupel/tensor/DType.h"

#include <cstdint>
#include <string_view>

namespace cupel::brief {

using tensor::DType;

/// What a loop is told besides its operands.
struct LoopFacts {
  int exponentBits = 0, mantissaBits = 0; // Of reduce_precision.
};

/// out[i] = f(in[0][i], in[1][i], ...) for `count` elements. f16 and bf16 are worked on as f32.
using ElementLoop = void (*)(const void *const *in, void *out, int64_t count,
                             const LoopFacts &facts);

/// In what elements are worked on.
constexpr DType computeType(DType type) {
  return type == DType::F16 || type == DType::BF16 ? DType::F32 : type;
}

enum class Direction : uint8_t { EQ, NE, GE, GT, LE, LT };

/// By the operation's name without its dialect, on operands of a compute type; null for what there is
/// none of.
ElementLoop floatLoop(std::string_view name, DType type);
ElementLoop integerLoop(std::string_view name, DType type);
ElementLoop booleanLoop(std::string_view name);
ElementLoop compareLoop(Direction direction, bool isTotal, DType type);
ElementLoop selectLoop(DType type);
ElementLoop convertLoop(DType from, DType to);
/// Rounds f32 to what a narrower type can hold; null for types that need none. In place.
ElementLoop roundLoop(DType type);

} // namespace cupel::brief
