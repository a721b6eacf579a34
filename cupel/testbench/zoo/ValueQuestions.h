// What the parts of the evaluator share among themselves and with nobody else: its limits, and
// small questions about values.
#pragma once

#include "cupel/testbench/zoo/PythonValue.h"

namespace cupel::testbench::zoo {

/// Loaders need a few thousand; a runaway loop is stopped within a tenth of a second.
inline constexpr uint64_t kMaxSteps = 1'000'000;
inline constexpr int kMaxDepth = 250;
/// No text or list of a loader comes near these.
inline constexpr size_t kMaxText = size_t{1} << 20;
inline constexpr size_t kMaxItems = 200'000;

inline bool isNumber(Value value) {
  return value.kind == ValueKind::Int || value.kind == ValueKind::Float ||
         value.kind == ValueKind::Bool;
}

inline double asDouble(Value value) {
  return value.kind == ValueKind::Float  ? value.number
         : value.kind == ValueKind::Bool ? (value.truth ? 1.0 : 0.0)
                                         : static_cast<double>(value.integer);
}

inline int64_t asInteger(Value value) {
  return value.kind == ValueKind::Bool ? (value.truth ? 1 : 0) : value.integer;
}

/// What a member of a string enum is as a string.
inline Value unwrapped(Value value) {
  if (value.kind == ValueKind::Member && value.member->type->isStringEnum)
    return value.member->value;
  return value;
}

} // namespace cupel::testbench::zoo
