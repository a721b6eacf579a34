#include "cupel/reference/MatrixLines.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

/// Larger than what can be the smallest.
constexpr double kNoElement = std::numeric_limits<double>::infinity();

[[gnu::always_inline]] inline void takeElement(LineMeasures::State &state, int64_t lane, double x) {
  double size = std::fabs(x), nonzero = size == 0 ? kNoElement : size;
  state.squares[lane] += x * x;
  state.largest[lane] = size > state.largest[lane] ? size : state.largest[lane];
  state.smallest[lane] = nonzero < state.smallest[lane] ? nonzero : state.smallest[lane];
  state.mantissas[lane] |= std::bit_cast<uint64_t>(x);
}

[[gnu::always_inline]] inline void linesAcross(LineMeasures::State &state, const double *elements,
                                               int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    takeElement(state, i, elements[i]);
}
[[gnu::always_inline]] inline void lineAlong(LineMeasures::State &state, const double *elements,
                                             int64_t count) {
  constexpr int64_t kLanes = LineMeasures::kLanes;
  double squares[kLanes], largest[kLanes], smallest[kLanes];
  uint64_t mantissas[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) {
    squares[l] = state.squares[l];
    largest[l] = state.largest[l];
    smallest[l] = state.smallest[l];
    mantissas[l] = state.mantissas[l];
  }
  for (int64_t i = 0; i < count; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) {
      double x = elements[i + l], size = std::fabs(x), nonzero = size == 0 ? kNoElement : size;
      squares[l] += x * x;
      largest[l] = size > largest[l] ? size : largest[l];
      smallest[l] = nonzero < smallest[l] ? nonzero : smallest[l];
      mantissas[l] |= std::bit_cast<uint64_t>(x);
    }
  for (int64_t l = 0; l < kLanes; ++l) {
    state.squares[l] = squares[l];
    state.largest[l] = largest[l];
    state.smallest[l] = smallest[l];
    state.mantissas[l] = mantissas[l];
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void
linesAcrossAvx2(LineMeasures::State &state, const double *elements, int64_t count) {
  linesAcross(state, elements, count);
}
__attribute__((target("avx2"))) void
lineAlongAvx2(LineMeasures::State &state, const double *elements, int64_t count) {
  lineAlong(state, elements, count);
}
bool hasAvx2ForLines() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}
#endif

} // namespace

LineMeasures::LineMeasures(int64_t lines) {
  lines = std::max(lines, kLanes);
  std::fill_n(state.squares, lines, 0.0);
  std::fill_n(state.largest, lines, 0.0);
  std::fill_n(state.smallest, lines, kNoElement);
  std::fill_n(state.mantissas, lines, uint64_t{0});
}

void LineMeasures::takeAcross(const double *elements, int64_t count) {
#if defined(__x86_64__)
  if (hasAvx2ForLines())
    return linesAcrossAvx2(state, elements, count);
#endif
  linesAcross(state, elements, count);
}

void LineMeasures::takeAlong(const double *elements, int64_t count) {
#if defined(__x86_64__)
  if (hasAvx2ForLines())
    return lineAlongAvx2(state, elements, count);
#endif
  lineAlong(state, elements, count);
}

void LineMeasures::joinLanes() {
  for (int64_t l = 1; l < kLanes; ++l) {
    state.squares[0] += state.squares[l];
    state.largest[0] = std::max(state.largest[0], state.largest[l]);
    state.smallest[0] = std::min(state.smallest[0], state.smallest[l]);
    state.mantissas[0] |= state.mantissas[l];
  }
}

double LineMeasures::length(int64_t line) const {
  constexpr double kLonger = 1 + 0x1p-10;
  return std::sqrt(state.squares[line]) * kLonger;
}

int LineMeasures::bits(int64_t line) const {
  if (!std::isfinite(state.squares[line])) // Squares of f32 do not overflow.
    return kNeverExact;
  if (state.largest[line] == 0)
    return 0;
  constexpr int kMantissa = 52;
  uint64_t mantissa = state.mantissas[line] & ((uint64_t{1} << kMantissa) - 1);
  int significant = mantissa ? kMantissa + 1 - std::countr_zero(mantissa) : 1;
  return std::ilogb(state.largest[line]) - std::ilogb(state.smallest[line]) + significant;
}

} // namespace cupel::reference
