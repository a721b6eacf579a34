// The float types that came to MLIR's bytecode after version 19: their codes, their names, and
// whether MLIR 19 has them at all. They are written as text for it: those it lacks as types of
// stablehlo (see TextFloats.h), the others by their names.
#pragma once

#include <cstdint>

namespace cupel::bytecode {

/// The float types that newer MLIR gives codes of their own, from `kFirstNewFloat` on.
inline constexpr uint64_t kFirstNewFloat = 21;
struct NewFloat {
  const char *name;
  unsigned width;
  /// MLIR 19 has the type, though no code for it.
  bool known;
};
inline constexpr NewFloat kNewFloats[] = {
    {"tf32", 19, true},         {"f8E5M2", 8, true},     {"f8E4M3", 8, true},
    {"f8E4M3FN", 8, true},      {"f8E5M2FNUZ", 8, true}, {"f8E4M3FNUZ", 8, true},
    {"f8E4M3B11FNUZ", 8, true}, {"f8E3M4", 8, false},    {"f4E2M1FN", 4, false},
    {"f6E2M3FN", 6, false},     {"f6E3M2FN", 6, false},  {"f8E8M0FNU", 8, false},
};

} // namespace cupel::bytecode
