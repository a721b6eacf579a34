// The element types of tensors: one list, from which sizes, names and typed dispatch come. Used by
// everything that touches values; knows nothing of MLIR.

#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cupel::tensor {

// X(enumerator, name in text, C++ storage type, bits of one value, kind)
// Every element occupies a whole number of bytes: i1, i2 and i4 take one byte each (i1 is 0 or 1;
// signed sub-byte values are kept sign-extended, unsigned ones zero-extended). f16, bf16 and the
// narrower floats are kept as their bit patterns, those of four and six bits in the low ones.
#define CUPEL_DTYPES(X)                                                                            \
  X(I1, "i1", uint8_t, 1, Boolean)                                                                 \
  X(I2, "i2", int8_t, 2, Signed)                                                                   \
  X(I4, "i4", int8_t, 4, Signed)                                                                   \
  X(I8, "i8", int8_t, 8, Signed)                                                                   \
  X(I16, "i16", int16_t, 16, Signed)                                                               \
  X(I32, "i32", int32_t, 32, Signed)                                                               \
  X(I64, "i64", int64_t, 64, Signed)                                                               \
  X(U2, "ui2", uint8_t, 2, Unsigned)                                                               \
  X(U4, "ui4", uint8_t, 4, Unsigned)                                                               \
  X(U8, "ui8", uint8_t, 8, Unsigned)                                                               \
  X(U16, "ui16", uint16_t, 16, Unsigned)                                                           \
  X(U32, "ui32", uint32_t, 32, Unsigned)                                                           \
  X(U64, "ui64", uint64_t, 64, Unsigned)                                                           \
  X(F4E2M1FN, "f4E2M1FN", uint8_t, 4, Float)                                                       \
  X(F6E2M3FN, "f6E2M3FN", uint8_t, 6, Float)                                                       \
  X(F6E3M2FN, "f6E3M2FN", uint8_t, 6, Float)                                                       \
  X(F8E3M4, "f8E3M4", uint8_t, 8, Float)                                                           \
  X(F8E8M0FNU, "f8E8M0FNU", uint8_t, 8, Float)                                                     \
  X(F8E4M3, "f8E4M3", uint8_t, 8, Float)                                                           \
  X(F8E4M3FN, "f8E4M3FN", uint8_t, 8, Float)                                                       \
  X(F8E4M3FNUZ, "f8E4M3FNUZ", uint8_t, 8, Float)                                                   \
  X(F8E4M3B11FNUZ, "f8E4M3B11FNUZ", uint8_t, 8, Float)                                             \
  X(F8E5M2, "f8E5M2", uint8_t, 8, Float)                                                           \
  X(F8E5M2FNUZ, "f8E5M2FNUZ", uint8_t, 8, Float)                                                   \
  X(F16, "f16", uint16_t, 16, Float)                                                               \
  X(BF16, "bf16", uint16_t, 16, Float)                                                             \
  X(F32, "f32", float, 32, Float)                                                                  \
  X(F64, "f64", double, 64, Float)                                                                 \
  X(C64, "complex<f32>", std::complex<float>, 64, Complex)                                         \
  X(C128, "complex<f64>", std::complex<double>, 128, Complex)

enum class DType : uint8_t {
#define X(name, text, storage, bits, kind) name,
  CUPEL_DTYPES(X)
#undef X
};

enum class Kind : uint8_t { Boolean, Signed, Unsigned, Float, Complex };

/// The C++ type one element is stored as.
template <DType> struct StorageOf;
#define X(name, text, storage, bits, kind)                                                         \
  template <> struct StorageOf<DType::name> {                                                      \
    using type = storage;                                                                          \
  };
CUPEL_DTYPES(X)
#undef X
template <DType type> using Storage = typename StorageOf<type>::type;

struct DTypeInfo {
  std::string_view name; // as MLIR writes it
  uint8_t bytes;         // of storage
  uint8_t bits;          // of the value
  Kind kind;
};

inline constexpr DTypeInfo kDTypes[] = {
#define X(name, text, storage, bits, kind) {text, sizeof(storage), bits, Kind::kind},
    CUPEL_DTYPES(X)
#undef X
};
inline constexpr int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

constexpr const DTypeInfo &info(DType type) { return kDTypes[static_cast<int>(type)]; }
constexpr bool isInteger(DType type) {
  return info(type).kind == Kind::Signed || info(type).kind == Kind::Unsigned;
}
constexpr bool isFloat(DType type) { return info(type).kind == Kind::Float; }
constexpr bool isComplex(DType type) { return info(type).kind == Kind::Complex; }
/// The floats that MLIR 19 has no type for. Few programs hold them: kernels convert them instead of
/// having loops of their own for each.
constexpr bool isRareFloat(DType type) {
  return type == DType::F4E2M1FN || type == DType::F6E2M3FN || type == DType::F6E3M2FN ||
         type == DType::F8E3M4 || type == DType::F8E8M0FNU;
}

/// "f32" -> F32.
std::optional<DType> parseDType(std::string_view name);

/// Calls `f.template operator()<DType>()` for the run-time type; for kernels written per type.
template <typename F> decltype(auto) dispatch(DType type, F &&f) {
  switch (type) {
#define X(name, text, storage, bits, kind)                                                         \
  case DType::name:                                                                                \
    return f.template operator()<DType::name>();
    CUPEL_DTYPES(X)
#undef X
  }
  __builtin_unreachable();
}

} // namespace cupel::tensor
