#include "cupel/compare/BlockSums.h"

#include <cmath>
#include <cstring>

using namespace cupel;
using namespace cupel::compare;

namespace {

constexpr int kLanes = 4;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
typedef int64_t Masks __attribute__((vector_size(kLanes * sizeof(int64_t))));

double sumOf(const Lanes &lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }
int64_t sumOf(const Masks &lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }
double maxOf(const Lanes &lanes) {
  double max = lanes[0];
  for (int i = 1; i < kLanes; ++i)
    max = lanes[i] > max ? lanes[i] : max;
  return max;
}

/// Inlined once for each instruction set. Without branches; NaN and infinities show in the sums.
template <bool isWide>
__attribute__((always_inline)) inline void addLanes(const Block &block, const Watch &watch,
                                                    PivotSums &sums, BlockFindings &findings) {
  constexpr int64_t signBit = INT64_MIN;
  const Masks magnitude = Masks{} + ~signBit;
  const Lanes zero{};
  Lanes actualSum = zero, expectedSum = zero, actualSquares = zero, expectedSquares = zero;
  Lanes products = zero, errorSquares = zero;
  Lanes maxError = zero, maxExcess = zero, maxActual = zero, maxExpected = zero;
  Masks different{}, misses{}, grows{};
  for (int64_t i = 0; i < block.count; i += kLanes) {
    // The last lanes repeat nothing: they hold pairs of zeros that are taken back below.
    Lanes a = zero, e = zero, al = zero, el = zero;
    if (i + kLanes <= block.count) {
      std::memcpy(&a, block.actual + i, sizeof(a));
      std::memcpy(&e, block.expected + i, sizeof(e));
      if constexpr (isWide) {
        std::memcpy(&al, block.actualLow + i, sizeof(al));
        std::memcpy(&el, block.expectedLow + i, sizeof(el));
      }
    } else {
      for (int k = 0; k < kLanes; ++k) {
        bool inside = i + k < block.count;
        a[k] = inside ? block.actual[i + k] : watch.pivotActual;
        e[k] = inside ? block.expected[i + k] : watch.pivotExpected;
        if constexpr (isWide) {
          al[k] = inside ? block.actualLow[i + k] : 0;
          el[k] = inside ? block.expectedLow[i + k] : 0;
        }
      }
    }
    Lanes d = a - e;
    if constexpr (isWide) {
      d += al - el;
      a += al;
      e += el;
    }
    if (i + kLanes > block.count)
      for (int k = 0; k < kLanes; ++k)
        if (i + k >= block.count)
          d[k] = 0;
    Lanes error = (Lanes)((Masks)d & magnitude);
    Lanes am = (Lanes)((Masks)a & magnitude);
    Lanes em = (Lanes)((Masks)e & magnitude);
    Lanes allowed = watch.rtol * em;
    Lanes excess = error - allowed;
    maxError = error > maxError ? error : maxError;
    maxExcess = excess > maxExcess ? excess : maxExcess;
    maxActual = am > maxActual ? am : maxActual;
    maxExpected = em > maxExpected ? em : maxExpected;
    different -= error > zero;
    misses -= error > watch.atol + allowed;
    grows |= (error > watch.relativeError * em) & (em > zero);
    Lanes x = a - watch.pivotActual;
    Lanes y = e - watch.pivotExpected;
    actualSum += x;
    expectedSum += y;
    actualSquares += x * x;
    expectedSquares += y * y;
    products += x * y;
    errorSquares += d * d;
  }
  findings.maxError = maxOf(maxError);
  findings.maxExcess = maxOf(maxExcess);
  findings.maxActual = maxOf(maxActual);
  findings.maxExpected = maxOf(maxExpected);
  findings.different = sumOf(different);
  findings.misses = sumOf(misses);
  findings.relativeErrorGrows = sumOf(grows) != 0;
  sums.count = block.count;
  sums.actual = sumOf(actualSum);
  sums.expected = sumOf(expectedSum);
  sums.actualSquared = sumOf(actualSquares);
  sums.expectedSquared = sumOf(expectedSquares);
  sums.product = sumOf(products);
  sums.errorSquared = sumOf(errorSquares);
}

using AddLanes = void (*)(const Block &, const Watch &, PivotSums &, BlockFindings &);

template <bool isWide>
void addLanesPlain(const Block &b, const Watch &w, PivotSums &s, BlockFindings &f) {
  addLanes<isWide>(b, w, s, f);
}
#if defined(__x86_64__)
template <bool isWide>
__attribute__((target("avx2"))) void addLanesAvx2(const Block &b, const Watch &w, PivotSums &s,
                                                  BlockFindings &f) {
  addLanes<isWide>(b, w, s, f);
}
#endif

template <bool isWide> AddLanes choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return addLanesAvx2<isWide>;
#endif
  return addLanesPlain<isWide>;
}

/// Pair by pair: leaves out those that are not finite, and scales.
void addCarefully(const Block &block, const Watch &watch, PivotSums &sums,
                  BlockFindings &findings) {
  for (int64_t i = 0; i < block.count; ++i) {
    double a = block.actual[i], e = block.expected[i], d = block.difference(i);
    if (block.actualLow) {
      a += block.actualLow[i];
      e += block.expectedLow[i];
    }
    if (std::isfinite(a))
      findings.maxActual = std::max(findings.maxActual, std::fabs(a));
    if (std::isfinite(e))
      findings.maxExpected = std::max(findings.maxExpected, std::fabs(e));
    if (!std::isfinite(a) || !std::isfinite(e))
      continue;
    double error = std::fabs(d);
    findings.maxError = std::max(findings.maxError, error);
    findings.relativeErrorGrows |= e != 0 && error > watch.relativeError * std::fabs(e);
    double x = a * watch.scale - watch.pivotActual, y = e * watch.scale - watch.pivotExpected;
    double scaled = a * watch.scale - e * watch.scale;
    ++sums.count;
    sums.actual += x;
    sums.expected += y;
    sums.actualSquared += x * x;
    sums.expectedSquared += y * y;
    sums.product += x * y;
    sums.errorSquared += scaled * scaled;
  }
}

} // namespace

BlockFindings compare::addBlock(const Block &block, const Watch &watch, PivotSums &sums) {
  static const AddLanes addNarrow = choose<false>(), addWide = choose<true>();
  BlockFindings findings;
  PivotSums added;
  bool plain = watch.scale == 1;
  if (plain) {
    (block.actualLow ? addWide : addNarrow)(block, watch, added, findings);
    // A NaN or an infinity anywhere makes one of these not finite (so does an overflow).
    findings.finite = std::isfinite(added.actualSquared) && std::isfinite(added.expectedSquared) &&
                      std::isfinite(added.errorSquared);
  }
  if (!plain || !findings.finite) {
    bool finite = findings.finite;
    findings = BlockFindings{};
    findings.finite = finite && plain;
    added = PivotSums{};
    addCarefully(block, watch, added, findings);
  }
  sums.count += added.count;
  sums.actual += added.actual;
  sums.expected += added.expected;
  sums.actualSquared += added.actualSquared;
  sums.expectedSquared += added.expectedSquared;
  sums.product += added.product;
  sums.errorSquared += added.errorSquared;
  return findings;
}
