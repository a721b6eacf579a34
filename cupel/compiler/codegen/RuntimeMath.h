// Functions that generated code calls by name, on a vector in memory at a time: what vectors of our
// own do not do (f64, huge angles, fmod). Named "cupel_codegen_NAME_f32" or "..._f64"; objects on
// disk refer to these names.

#pragma once

#include <cstdint>
#include <span>

namespace cupel::codegen {

struct RuntimeSymbol {
  const char *name;
  void *address; ///< Of a `void (T *result, const T *a, const T *b, int64_t lanes)`.
};

std::span<const RuntimeSymbol> runtimeSymbols();

} // namespace cupel::codegen
