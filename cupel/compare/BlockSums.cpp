#include "cupel/compare/BlockSums.h"

#include <cmath>
#include <vector>

using namespace cupel;
using namespace cupel::compare;

namespace {

/// Inlined once for each instruction set. Without branches; NaN and infinities show in the sums.
template <Source source, bool isWide, bool hasRtol>
__attribute__((always_inline)) inline void addLanes(const RawBlock &block, const Watch &watch,
                                                    PivotSums &sums, BlockFindings &findings) {
  using Stored = typename StoredOf<source>::type;
  const auto *actual = static_cast<const Stored *>(block.actual);
  const auto *expected = static_cast<const Stored *>(block.expected);
  const Masks magnitude = Masks{} + INT64_MAX;
  const Lanes zero{};
  Lanes actualSum = zero, expectedSum = zero, actualSquares = zero, expectedSquares = zero;
  Lanes products = zero, errorSquares = zero, maxError = zero, maxExcess = zero;
  Masks different{}, misses{}, grows{};
  const double pivotActual = watch.pivotActual, pivotExpected = watch.pivotExpected;
  const double atol = watch.atol, rtol = watch.rtol, relativeError = watch.relativeError;

  auto add = [&](Lanes &a, Lanes &e, const Lanes &al, const Lanes &el, const Masks &inside)
                 __attribute__((always_inline)) {
                   Lanes d = a - e;
                   if constexpr (isWide) {
                     d += al - el;
                     a += al;
                     e += el;
                   }
                   d = (Lanes)((Masks)d & inside);
                   Lanes error = (Lanes)((Masks)d & magnitude);
                   Lanes size = (Lanes)((Masks)e & magnitude);
                   maxError = error > maxError ? error : maxError;
                   different -= error > zero;
                   grows |= (error > relativeError * size) & (size > zero);
                   if constexpr (hasRtol) {
                     Lanes allowed = rtol * size;
                     Lanes excess = error - allowed;
                     maxExcess = excess > maxExcess ? excess : maxExcess;
                     misses |= error > atol + allowed;
                   }
                   Lanes x = (Lanes)((Masks)(a - pivotActual) & inside);
                   Lanes y = (Lanes)((Masks)(e - pivotExpected) & inside);
                   actualSum += x;
                   expectedSum += y;
                   actualSquares += x * x;
                   expectedSquares += y * y;
                   products += x * y;
                   errorSquares += d * d;
                 };
  int64_t i = 0;
  const Masks all = Masks{} - 1;
  Lanes a, e, al = zero, el = zero;
  for (; i + kLanes <= block.count; i += kLanes) {
    load<source>(actual + i, a);
    load<source>(expected + i, e);
    if constexpr (isWide) {
      load<Source::Doubles>(block.actualLow + i, al);
      load<Source::Doubles>(block.expectedLow + i, el);
    }
    add(a, e, al, el, all);
  }
  if (i < block.count) {
    Stored lastActual[kLanes]{}, lastExpected[kLanes]{};
    Masks inside{};
    al = el = zero;
    for (int k = 0; i + k < block.count; ++k) {
      lastActual[k] = actual[i + k];
      lastExpected[k] = expected[i + k];
      if constexpr (isWide) {
        al[k] = block.actualLow[i + k];
        el[k] = block.expectedLow[i + k];
      }
      inside[k] = -1;
    }
    load<source>(lastActual, a);
    load<source>(lastExpected, e);
    add(a, e, al, el, inside);
  }
  findings.maxError = maxOf(maxError);
  findings.maxExcess = hasRtol ? maxOf(maxExcess) : findings.maxError;
  findings.anyMisses = hasRtol ? sumOf(misses) != 0 : findings.maxError > atol;
  findings.different = sumOf(different);
  findings.relativeErrorGrows = sumOf(grows) != 0;
  sums.count = block.count;
  sums.actual = sumOf(actualSum);
  sums.expected = sumOf(expectedSum);
  sums.actualSquared = sumOf(actualSquares);
  sums.expectedSquared = sumOf(expectedSquares);
  sums.product = sumOf(products);
  sums.errorSquared = sumOf(errorSquares);
}

using AddLanes = void (*)(const RawBlock &, const Watch &, PivotSums &, BlockFindings &);

struct PlainSet {
  template <Source source, bool isWide, bool hasRtol>
  static void add(const RawBlock &b, const Watch &w, PivotSums &s, BlockFindings &f) {
    addLanes<source, isWide, hasRtol>(b, w, s, f);
  }
};
#if defined(__x86_64__)
struct Avx2Set {
  template <Source source, bool isWide, bool hasRtol>
  __attribute__((target("avx2"))) static void add(const RawBlock &b, const Watch &w, PivotSums &s,
                                                  BlockFindings &f) {
    addLanes<source, isWide, hasRtol>(b, w, s, f);
  }
};
struct Avx512Set {
  template <Source source, bool isWide, bool hasRtol>
  __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) static void
  add(const RawBlock &b, const Watch &w, PivotSums &s, BlockFindings &f) {
    addLanes<source, isWide, hasRtol>(b, w, s, f);
  }
};
#endif

/// The loops of one instruction set.
struct Loops {
  AddLanes doubles[2][2]; // [wide][rtol]
  AddLanes f32[2], bf16[2], f16[2];
};

template <typename Set> Loops loopsOf() {
  return {
      {{Set::template add<Source::Doubles, false, false>,
        Set::template add<Source::Doubles, false, true>},
       {Set::template add<Source::Doubles, true, false>,
        Set::template add<Source::Doubles, true, true>}},
      {Set::template add<Source::F32, false, false>, Set::template add<Source::F32, false, true>},
      {Set::template add<Source::BF16, false, false>, Set::template add<Source::BF16, false, true>},
      {Set::template add<Source::F16, false, false>, Set::template add<Source::F16, false, true>}};
}

struct Machine {
  std::vector<Loops> sets = {loopsOf<PlainSet>()};
  Machine() {
#if defined(__x86_64__)
    if (instructionSets() > 1)
      sets.push_back(loopsOf<Avx2Set>());
    if (instructionSets() > 2)
      sets.push_back(loopsOf<Avx512Set>());
#endif
  }
};

const Machine &machine() {
  static const Machine machine;
  return machine;
}

} // namespace

BlockFindings compare::addBlock(const RawBlock &block, const Watch &watch, PivotSums &sums,
                                int instructionSet) {
  const auto &sets = machine().sets;
  const Loops &loops = instructionSet < 0 ? sets.back() : sets[instructionSet];
  bool hasRtol = watch.rtol != 0;
  AddLanes add = block.source == Source::F32    ? loops.f32[hasRtol]
                 : block.source == Source::BF16 ? loops.bf16[hasRtol]
                 : block.source == Source::F16  ? loops.f16[hasRtol]
                                               : loops.doubles[block.actualLow != nullptr][hasRtol];
  BlockFindings findings;
  PivotSums added;
  add(block, watch, added, findings);
  // A NaN or an infinity anywhere makes one of these not finite (so does an overflow).
  findings.finite = std::isfinite(added.actualSquared) && std::isfinite(added.expectedSquared) &&
                    std::isfinite(added.errorSquared);
  if (!findings.finite)
    return findings;
  sums.count += added.count;
  sums.actual += added.actual;
  sums.expected += added.expected;
  sums.actualSquared += added.actualSquared;
  sums.expectedSquared += added.expectedSquared;
  sums.product += added.product;
  sums.errorSquared += added.errorSquared;
  return findings;
}

void compare::addCarefully(const Block &block, const Watch &watch, PivotSums &sums) {
  for (int64_t i = 0; i < block.count; ++i) {
    double a = block.actual[i], e = block.expected[i];
    if (!std::isfinite(a) || !std::isfinite(e))
      continue;
    if (block.actualLow) {
      a += block.actualLow[i];
      e += block.expectedLow[i];
    }
    double error = watch.scale == 1 ? block.difference(i) : a * watch.scale - e * watch.scale;
    double x = a * watch.scale - watch.pivotActual, y = e * watch.scale - watch.pivotExpected;
    ++sums.count;
    sums.actual += x;
    sums.expected += y;
    sums.actualSquared += x * x;
    sums.expectedSquared += y * y;
    sums.product += x * y;
    sums.errorSquared += error * error;
  }
}

int64_t compare::countMisses(const Block &block, const Watch &watch) {
  int64_t misses = 0;
  for (int64_t i = 0; i < block.count; ++i) {
    double size =
        std::fabs(block.actualLow ? block.expected[i] + block.expectedLow[i] : block.expected[i]);
    misses += std::fabs(block.difference(i)) > watch.atol + watch.rtol * size;
  }
  return misses;
}
