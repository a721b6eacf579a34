// Eight numbers at a time: what the inner loops of comparisons are written with. Always eight lanes
// and sums in the same order, so that results have the same bits on every machine, whatever its
// vectors; each loop is compiled once for each instruction set and chosen when it runs. Only files
// with such loops include this.

#pragma once

#include <cstdint>
#include <cstring>

namespace cupel::compare {

inline constexpr int kLanes = 8;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
typedef int64_t Masks __attribute__((vector_size(kLanes * sizeof(int64_t))));

template <typename V> auto sumOf(const V &lanes) {
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}
inline double maxOf(const Lanes &lanes) {
  double max = lanes[0];
  for (int i = 1; i < kLanes; ++i)
    max = lanes[i] > max ? lanes[i] : max;
  return max;
}

/// How numbers are stored. The usual types are widened on the way; the others come as doubles.
enum class Source : uint8_t { Doubles, F32, BF16, F16 };

template <Source source> struct StoredOf {
  using type = double;
};
template <> struct StoredOf<Source::F32> {
  using type = float;
};
template <> struct StoredOf<Source::BF16> {
  using type = uint16_t;
};
template <> struct StoredOf<Source::F16> {
  using type = uint16_t;
};

/// Eight numbers from memory. (By reference: vectors are passed differently by different targets.)
template <Source source>
__attribute__((always_inline)) inline void load(const typename StoredOf<source>::type *from,
                                                Lanes &lanes) {
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
  typedef uint32_t Words __attribute__((vector_size(kLanes * sizeof(uint32_t))));
  typedef uint16_t Halves __attribute__((vector_size(kLanes * sizeof(uint16_t))));
  if constexpr (source == Source::Doubles) {
    std::memcpy(&lanes, from, sizeof(lanes));
  } else if constexpr (source == Source::F32) {
    Floats floats;
    std::memcpy(&floats, from, sizeof(floats));
    lanes = __builtin_convertvector(floats, Lanes);
  } else if constexpr (source == Source::BF16) { // the upper half of a float
    Halves halves;
    std::memcpy(&halves, from, sizeof(halves));
    lanes = __builtin_convertvector((Floats)(__builtin_convertvector(halves, Words) << 16), Lanes);
  } else {
    // Read as a float's exponent and mantissa, a half is too small by 2^112, also if subnormal;
    // only infinities and NaN need their exponent back.
    Halves halves;
    std::memcpy(&halves, from, sizeof(halves));
    Words words = __builtin_convertvector(halves, Words);
    Words shifted = (words & 0x7fffu) << 13;
    Words special = (Words)(shifted >= (0x7c00u << 13)) & 0x7f800000u;
    Words widened = (Words)((Floats)shifted * 0x1p112f) | special | ((words & 0x8000u) << 16);
    lanes = __builtin_convertvector((Floats)widened, Lanes);
  }
}

/// How many versions of a loop this machine can run: the plain one is 0, AVX2's 1, AVX-512's 2; the
/// last is used.
int instructionSets();

/// Numbers as they are stored, as doubles. Tests ask for an instruction set.
void widen(Source source, const void *from, int64_t count, double *to, int instructionSet = -1);

} // namespace cupel::compare
