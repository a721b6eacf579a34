#include "cupel/compare/Compare.h"

#include "cupel/compare/BlockSums.h"
#include "cupel/compare/Elements.h"
#include "cupel/compare/UlpDistance.h"
#include "cupel/support/ThreadPool.h"
#include "cupel/tensor/Quantize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

std::vector<int64_t> Statistics::indexOf(int64_t position) const {
  std::vector<int64_t> index(expectedShape.size());
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = position % expectedShape[i];
    position /= expectedShape[i];
  }
  return index;
}

namespace {

/// Parts a chunk: what one thread takes at a time, and what is summed about one pair of pivots.
constexpr int64_t kChunk = 32 * kBlock;

/// Means and centred sums, which merge without cancellation (Chan, Golub and LeVeque, 1979).
struct Moments {
  double count = 0, actual = 0, expected = 0; // means
  double actualSquared = 0, expectedSquared = 0, product = 0, errorSquared = 0;

  static Moments about(const PivotSums &sums, const Watch &watch) {
    Moments m;
    m.count = static_cast<double>(sums.count);
    m.errorSquared = sums.errorSquared;
    if (sums.count == 0)
      return m;
    m.actual = watch.pivotActual + sums.actual / m.count;
    m.expected = watch.pivotExpected + sums.expected / m.count;
    m.actualSquared = std::max(0.0, sums.actualSquared - sums.actual * sums.actual / m.count);
    m.expectedSquared =
        std::max(0.0, sums.expectedSquared - sums.expected * sums.expected / m.count);
    m.product = sums.product - sums.actual * sums.expected / m.count;
    return m;
  }

  void merge(const Moments &other) {
    if (other.count == 0)
      return;
    double total = count + other.count;
    double da = other.actual - actual, de = other.expected - expected;
    double weight = count * other.count / total;
    actualSquared += other.actualSquared + da * da * weight;
    expectedSquared += other.expectedSquared + de * de * weight;
    product += other.product + da * de * weight;
    errorSquared += other.errorSquared;
    actual += da * (other.count / total);
    expected += de * (other.count / total);
    count = total;
  }
};

/// The same bits on every machine, which std::hypot does not promise; without overflow.
double modulus(double x, double y) {
  double large = std::max(std::fabs(x), std::fabs(y)), small = std::min(std::fabs(x), std::fabs(y));
  if (large == 0)
    return 0;
  double ratio = small / large;
  return large * std::sqrt(1 + ratio * ratio);
}

struct Ranked {
  double key; // how bad
  int64_t position;
  double error;
  bool operator<(const Ranked &other) const {
    return key != other.key ? key > other.key : position < other.position;
  }
};

void first(std::optional<int64_t> &seen, std::optional<int64_t> candidate) {
  if (candidate && (!seen || *candidate < *seen))
    seen = candidate;
}

/// What threads gather apart and is merged in any order: counts, maxima, smallest positions.
struct Findings {
  int64_t different = 0, mismatches = 0, ulpMismatches = 0, closeMismatches = 0;
  int64_t nonFiniteMismatches = 0, bothNan = 0;
  double maxError = 0, maxRelativeError = 0;
  NonFinite actual, expected;
  UlpStatistics ulp;
  std::vector<Ranked> worst; // sorted
  std::vector<int64_t> firstMismatches;

  void merge(const Findings &other, const Options &options) {
    different += other.different;
    mismatches += other.mismatches;
    ulpMismatches += other.ulpMismatches;
    closeMismatches += other.closeMismatches;
    nonFiniteMismatches += other.nonFiniteMismatches;
    bothNan += other.bothNan;
    maxError = std::max(maxError, other.maxError);
    maxRelativeError = std::max(maxRelativeError, other.maxRelativeError);
    for (auto [mine, theirs] :
         {std::pair{&actual, &other.actual}, std::pair{&expected, &other.expected}}) {
      mine->nans += theirs->nans;
      mine->infinities += theirs->infinities;
      first(mine->firstNan, theirs->firstNan);
      first(mine->firstInfinity, theirs->firstInfinity);
    }
    ulp.max = std::max(ulp.max, other.ulp.max);
    ulp.maxFinite = std::max(ulp.maxFinite, other.ulp.maxFinite);
    ulp.infinite += other.ulp.infinite;
    for (int i = 0; i < UlpStatistics::kBuckets; ++i)
      ulp.histogram[i] += other.ulp.histogram[i];
    worst.insert(worst.end(), other.worst.begin(), other.worst.end());
    std::sort(worst.begin(), worst.end());
    worst.resize(std::min<size_t>(worst.size(), options.worst));
    firstMismatches.insert(firstMismatches.end(), other.firstMismatches.begin(),
                           other.firstMismatches.end());
    std::sort(firstMismatches.begin(), firstMismatches.end());
    firstMismatches.resize(std::min<size_t>(firstMismatches.size(), options.firstMismatches));
  }
};

class Comparison {
public:
  Comparison(const ElementReader &actual, const ElementReader &expected, const Tolerance &tolerance,
             const Options &options)
      : actual(actual), expected(expected), tolerance(tolerance), options(options),
        meter(actual.tensor(), expected.tensor()), parts(actual.parts()),
        isWide(actual.isWide() || expected.isWide()), ulpWanted(options.ulp || tolerance.ulp) {
    constexpr double never = std::numeric_limits<double>::infinity();
    watch.rtol = tolerance.rtol.value_or(0);
    watch.atol = tolerance.boundsDifference() ? tolerance.atol.value_or(0) : never;
    if (watch.rtol == never) // infinity times zero must not be NaN
      watch.rtol = std::numeric_limits<double>::max();
    rankByUlp = tolerance.ulp && !tolerance.boundsDifference();
  }

  /// Runs over everything and leaves results in `findings` and `moments`.
  void run(double scale) {
    watch.scale = scale;
    int64_t chunks = (actual.size() + kChunk - 1) / kChunk;
    std::vector<Moments> partial(chunks);
    int64_t threads = options.threads > 0 ? options.threads : coreCount();
    threads = std::clamp<int64_t>(threads, 1, std::max<int64_t>(1, chunks / 4));
    std::vector<Findings> found(threads);
    std::atomic<int64_t> next = 0;
    // Every thread sees ascending positions: the first of equals is the one to keep.
    auto work = [&](Findings &mine) {
      for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks;)
        partial[chunk] = addChunk(chunk, mine);
    };
    std::vector<std::thread> others;
    for (int64_t i = 1; i < threads; ++i)
      others.emplace_back([&, i] { work(found[i]); });
    work(found[0]);
    for (std::thread &thread : others)
      thread.join();
    findings = Findings{};
    for (const Findings &each : found)
      findings.merge(each, options);
    moments = Moments{};
    for (const Moments &each : partial)
      moments.merge(each);
  }

  Findings findings;
  Moments moments;
  DType ulpUnit() const { return meter.unit(); }
  bool measuresUlp() const { return ulpWanted; }

private:
  struct Buffers {
    alignas(64) double actual[kBlock], expected[kBlock], actualLow[kBlock], expectedLow[kBlock];
    alignas(64) uint64_t ulp[kBlock];
  };

  /// Near the mean, and exactly the value of numbers that are all the same.
  static double pivotOf(const double *values, int64_t count, double scale) {
    double base = 0, sum = 0;
    int64_t seen = 0;
    for (int64_t i = 0; i < count; i += 17) {
      double value = values[i] * scale;
      if (!std::isfinite(value))
        continue;
      if (seen == 0)
        base = value;
      sum += value - base;
      ++seen;
    }
    double pivot = seen ? base + sum / static_cast<double>(seen) : 0;
    return std::isfinite(pivot) ? pivot : 0;
  }

  /// The type that the inner loop reads itself, if both sides are of it.
  Source directSource() const {
    if (actual.tensor().dtype() != expected.tensor().dtype() ||
        actual.tensor().elementType().quantization)
      return Source::Doubles;
    DType type = partType(actual.tensor().dtype());
    return type == DType::F32    ? Source::F32
           : type == DType::BF16 ? Source::BF16
           : type == DType::F16  ? Source::F16
                                 : Source::Doubles;
  }

  Moments addChunk(int64_t chunk, Findings &mine) const {
    Buffers buffers;
    PivotSums sums;
    Watch here = watch;
    double *actualLow = isWide ? buffers.actualLow : nullptr;
    double *expectedLow = isWide ? buffers.expectedLow : nullptr;
    int64_t begin = chunk * kChunk, end = std::min(begin + kChunk, actual.size());
    for (int64_t at = begin; at < end; at += kBlock) {
      Block block{buffers.actual, actualLow, buffers.expected, expectedLow,
                  std::min(kBlock, end - at)};
      bool isRead = false;
      auto read = [&] {
        if (!std::exchange(isRead, true)) {
          actual.read(at, block.count, buffers.actual, actualLow);
          expected.read(at, block.count, buffers.expected, expectedLow);
        }
      };
      if (at == begin || source == Source::Doubles || here.scale != 1)
        read();
      if (at == begin) {
        here.pivotActual = pivotOf(block.actual, block.count, here.scale);
        here.pivotExpected = pivotOf(block.expected, block.count, here.scale);
      }
      if (here.scale != 1) { // the second time over: only sums
        addCarefully(block, here, sums);
        continue;
      }
      here.relativeError = mine.maxRelativeError;
      BlockFindings found = addBlock(rawBlock(block, at), here, sums);
      if (!found.finite) {
        read();
        addCarefully(block, here, sums);
      }
      if (ulpWanted)
        measureUlp(at / parts, block.count / parts, buffers.ulp, mine);

      // Most blocks have nothing to add to the lists.
      bool listsGrow = (found.anyMisses &&
                        static_cast<int>(mine.firstMismatches.size()) < options.firstMismatches) ||
                       (options.worst > 0 && found.maxExcess > worstKey(mine));
      if (!found.finite || tolerance.ulp || (parts == 2 && found.different) || listsGrow ||
          found.relativeErrorGrows) {
        read();
        examine(block, at / parts, buffers.ulp, mine);
        continue;
      }
      mine.maxError = std::max(mine.maxError, found.maxError);
      mine.different += found.different;
      if (found.anyMisses) {
        read();
        int64_t misses = countMisses(block, here);
        mine.mismatches += misses;
        mine.closeMismatches += misses;
      }
    }
    return Moments::about(sums, here);
  }

  RawBlock rawBlock(const Block &block, int64_t first) const {
    if (source == Source::Doubles)
      return {source,          block.actual,      block.expected,
              block.actualLow, block.expectedLow, block.count};
    int64_t bytes = info(partType(actual.tensor().dtype())).bytes;
    return {source,
            actual.tensor().data() + first * bytes,
            expected.tensor().data() + first * bytes,
            nullptr,
            nullptr,
            block.count};
  }

  double worstKey(const Findings &mine) const {
    return static_cast<int>(mine.worst.size()) < options.worst ? 0 : mine.worst.back().key;
  }

  void measureUlp(int64_t position, int64_t count, uint64_t *distances, Findings &mine) const {
    meter.measure(position, count, distances);
    for (int64_t i = 0; i < count; ++i) {
      uint64_t distance = distances[i];
      mine.ulp.max = std::max(mine.ulp.max, distance);
      if (distance == kInfiniteUlp) {
        ++mine.ulp.infinite;
        continue;
      }
      mine.ulp.maxFinite = std::max(mine.ulp.maxFinite, distance);
      ++mine.ulp.histogram[UlpStatistics::bucketOf(distance)];
    }
  }

  /// One element as the tolerance sees it.
  struct Judged {
    double error = 0, excess = 0;
    bool different = false, misses = false, nonFiniteMismatch = false, bothNan = false;
    bool actualNan = false, actualInfinite = false, expectedNan = false, expectedInfinite = false;
  };

  void judgeNonFinite(double a, double e, Judged &element) const {
    element.actualNan |= std::isnan(a);
    element.actualInfinite |= std::isinf(a);
    element.expectedNan |= std::isnan(e);
    element.expectedInfinite |= std::isinf(e);
    bool nans = std::isnan(a) && std::isnan(e);
    element.bothNan |= nans;
    if (a == e || (nans && tolerance.nan == NanPolicy::Equal))
      return;
    element.different |= !nans;
    element.nonFiniteMismatch = true;
    element.error = element.excess = std::numeric_limits<double>::infinity();
  }

  /// A difference and what it is relative to, both finite.
  void judgeFinite(double error, double magnitude, Judged &element,
                   double &maxRelativeError) const {
    double allowed = watch.rtol * magnitude;
    element.different |= error != 0;
    element.misses |= error > watch.atol + allowed;
    element.error = std::max(element.error, error);
    element.excess = std::max(element.excess, error - allowed);
    if (magnitude > 0)
      maxRelativeError = std::max(maxRelativeError, error / magnitude);
  }

  Judged judge(const Block &block, int64_t first, double &maxRelativeError) const {
    Judged element;
    if (parts == 2 && tolerance.complex == ComplexPolicy::Modulus) {
      const double *a = block.actual + first, *e = block.expected + first;
      double error = modulus(block.difference(first), block.difference(first + 1));
      // Parts that are not finite have no distance; then each part is judged by itself.
      if (std::isfinite(a[0]) && std::isfinite(a[1]) && std::isfinite(e[0]) &&
          std::isfinite(e[1])) {
        judgeFinite(error, modulus(e[0], e[1]), element, maxRelativeError);
        return element;
      }
    }
    for (int64_t k = first; k < first + parts; ++k) {
      double a = block.actual[k], e = block.expected[k];
      if (!std::isfinite(a) || !std::isfinite(e)) {
        judgeNonFinite(a, e, element);
        continue;
      }
      double error = std::fabs(block.difference(k));
      double magnitude = std::fabs(block.actualLow ? e + block.expectedLow[k] : e);
      judgeFinite(error, magnitude, element, maxRelativeError);
    }
    return element;
  }

  static void countNonFinite(bool nan, bool infinite, int64_t position, NonFinite &seen) {
    seen.nans += nan;
    seen.infinities += infinite;
    if (nan)
      first(seen.firstNan, position);
    if (infinite)
      first(seen.firstInfinity, position);
  }

  double ulpKey(uint64_t distance) const {
    if (distance == kInfiniteUlp)
      return std::numeric_limits<double>::infinity();
    uint64_t min = tolerance.ulp->min;
    return static_cast<double>(distance < min ? min - distance : distance);
  }

  /// Element by element: who misses, who is worst, where NaN and infinities are.
  void examine(const Block &block, int64_t position, const uint64_t *ulp, Findings &mine) const {
    for (int64_t i = 0; i < block.count; i += parts, ++position, ++ulp) {
      Judged element = judge(block, i, mine.maxRelativeError);
      mine.maxError = std::max(mine.maxError, element.error);
      bool missesUlp = tolerance.ulp && (*ulp < tolerance.ulp->min || *ulp > tolerance.ulp->max);
      bool mismatch = element.misses || missesUlp || element.nonFiniteMismatch;
      mine.different += element.different;
      mine.mismatches += mismatch;
      mine.closeMismatches += element.misses || element.nonFiniteMismatch;
      mine.ulpMismatches += missesUlp;
      mine.nonFiniteMismatches += element.nonFiniteMismatch;
      mine.bothNan += element.bothNan;
      countNonFinite(element.actualNan, element.actualInfinite, position, mine.actual);
      countNonFinite(element.expectedNan, element.expectedInfinite, position, mine.expected);
      if (mismatch && static_cast<int>(mine.firstMismatches.size()) < options.firstMismatches)
        mine.firstMismatches.push_back(position);
      double key = rankByUlp && !element.nonFiniteMismatch ? ulpKey(*ulp) : element.excess;
      if (options.worst > 0 && key > worstKey(mine)) {
        Ranked entry{key, position, element.error};
        mine.worst.insert(std::upper_bound(mine.worst.begin(), mine.worst.end(), entry), entry);
        if (static_cast<int>(mine.worst.size()) > options.worst)
          mine.worst.pop_back();
      }
    }
  }

  const ElementReader &actual, &expected;
  const Tolerance &tolerance;
  const Options &options;
  UlpMeter meter;
  Watch watch;
  int parts;
  bool isWide, ulpWanted, rankByUlp;
  Source source = directSource();
};

/// Of the coarser of two types: the distance of 1 to the next value.
double coarserStep(DType actual, DType expected) {
  double step = 0;
  for (DType type : {actual, expected})
    if (int bits = mantissaBits(type))
      step = std::max(step, std::ldexp(1.0, -bits));
  return step;
}

/// Values that vary by no more than this share of their size are nearly one number: their spread is
/// some roundings of their type, and all of them have about the same rounding.
double nearlyConstant(double step) { return std::min(64 * step, 0x1p-4); }
/// The share of their size by which each of them may be off before it is more than the rounding of
/// a short computation. Half of it, a typical error then, moves the correlation of values that vary
/// by 64 roundings by less than a hundredth: beyond that spread correlation decides by itself.
double fewRoundings(double step) { return std::min(16 * step, 0x1p-7); }

void deriveSums(const Moments &m, double scale, Statistics &result) {
  double actual = m.actualSquared + m.count * m.actual * m.actual;
  double expected = m.expectedSquared + m.count * m.expected * m.expected;
  if (m.errorSquared == 0)
    result.relativeL2 = 0;
  else
    result.relativeL2 = expected > 0 ? std::sqrt(m.errorSquared / expected)
                                     : std::numeric_limits<double>::infinity();
  if (m.errorSquared == 0)
    result.cosine = 1;
  else if (actual == 0 || expected == 0)
    result.cosine = 0;
  else
    result.cosine = std::clamp((m.product + m.count * m.actual * m.expected) /
                                   (std::sqrt(actual) * std::sqrt(expected)),
                               -1.0, 1.0);
  double rms = m.count > 0 ? std::sqrt(expected / m.count) : 0;
  result.rmsExpected = rms / scale;

  double nothing = std::numeric_limits<double>::quiet_NaN();
  double spread = m.count > 0 ? std::sqrt(m.expectedSquared / m.count) : 0;
  double step = coarserStep(result.actualType.storage, result.expectedType.storage);
  if (result.different == 0)
    result.pccState = PccState::Equal, result.pcc = 1;
  else if (m.count == 0)
    result.pccState = PccState::NothingFinite, result.pcc = nothing;
  else if (m.count < 3)
    result.pccState = PccState::TooFew, result.pcc = nothing;
  else if (spread <= step * rms)
    result.pccState = PccState::ExpectedConstant, result.pcc = nothing;
  else if (spread <= nearlyConstant(step) * rms &&
           result.maxError <= fewRoundings(step) * result.rmsExpected)
    result.pccState = PccState::WithinRounding, result.pcc = nothing;
  else if (m.actualSquared == 0)
    result.pccState = PccState::ActualConstant, result.pcc = 0;
  else {
    result.pccState = PccState::Measured;
    result.pcc = std::clamp(m.product / (std::sqrt(m.actualSquared) * std::sqrt(m.expectedSquared)),
                            -1.0, 1.0);
  }
}

/// Doubles whose squares overflow or vanish are summed a second time, scaled by what this returns.
double scaleFor(const ElementReader &actual, const ElementReader &expected,
                const Moments &moments) {
  double size = moments.actualSquared + moments.expectedSquared + moments.errorSquared;
  double means = std::fabs(moments.actual) + std::fabs(moments.expected);
  bool harmless = size < 0x1p1000 && (size > 0x1p-800 || means > 0x1p-400);
  if (harmless || (partType(actual.tensor().dtype()) != DType::F64 &&
                   partType(expected.tensor().dtype()) != DType::F64))
    return 1;
  double largest = 0;
  for (const ElementReader *side : {&actual, &expected})
    for (int64_t i = 0; i < side->size(); ++i)
      if (double value = std::fabs(side->at(i)); std::isfinite(value))
        largest = std::max(largest, value);
  if (largest == 0 || (largest < 0x1p400 && largest > 0x1p-400))
    return 1;
  return std::ldexp(1.0, std::min(-std::ilogb(largest), 1000));
}

} // namespace

int compare::threadsFor(int64_t elements) {
  constexpr int64_t kLarge = 1 << 22; // some ten milliseconds
  return elements < kLarge ? 1 : coreCount();
}

Result<Statistics> compare::compare(const Tensor &actual, const Tensor &expected,
                                    const Tolerance &tolerance, const Options &options) {
  if (Status status = tolerance.validate(); !status)
    return status.error();
  Statistics result;
  result.actualType = actual.elementType();
  result.expectedType = expected.elementType();
  result.actualShape.assign(actual.shape().begin(), actual.shape().end());
  result.expectedShape.assign(expected.shape().begin(), expected.shape().end());
  result.count = expected.size();
  if (!result.sameShape())
    return result;

  // Quantized values of one type are compared as they are stored; else all are real numbers.
  Tensor sides[] = {actual, expected};
  if (!(actual.elementType() == expected.elementType()))
    for (Tensor &side : sides)
      if (side.elementType().quantization) {
        Result<Tensor> real = tensor::dequantize(side);
        if (!real)
          return real.error();
        side = std::move(*real);
      }
  int parts = isComplex(actual.dtype()) || isComplex(expected.dtype()) ? 2 : 1;
  Result<ElementReader> actualReader = ElementReader::make(sides[0], parts);
  if (!actualReader)
    return actualReader.error();
  Result<ElementReader> expectedReader = ElementReader::make(sides[1], parts);
  if (!expectedReader)
    return expectedReader.error();

  Comparison comparison(*actualReader, *expectedReader, tolerance, options);
  comparison.run(1);
  Findings found = std::move(comparison.findings);
  double scale =
      found.different == 0 ? 1 : scaleFor(*actualReader, *expectedReader, comparison.moments);
  if (scale != 1)
    comparison.run(scale);

  result.different = found.different;
  result.mismatches = found.mismatches;
  result.ulpMismatches = found.ulpMismatches;
  result.closeMismatches = found.closeMismatches;
  result.nonFiniteMismatches = found.nonFiniteMismatches;
  result.bothNan = found.bothNan;
  result.maxError = found.maxError;
  result.maxRelativeError = found.maxRelativeError;
  result.nonFiniteActual = found.actual;
  result.nonFiniteExpected = found.expected;
  result.finitePairs = static_cast<int64_t>(comparison.moments.count);
  result.firstMismatches = std::move(found.firstMismatches);
  deriveSums(comparison.moments, scale, result);
  if (comparison.measuresUlp()) {
    result.ulp = found.ulp;
    result.ulp->unit = comparison.ulpUnit();
  }
  for (const Ranked &each : found.worst) {
    constexpr int digits = 6;
    Element element{each.position, result.indexOf(each.position),
                    actualReader->text(each.position, digits),
                    expectedReader->text(each.position, digits), each.error};
    if (element.actual == element.expected) {
      element.actual = actualReader->text(each.position, 0);
      element.expected = expectedReader->text(each.position, 0);
    }
    result.worst.push_back(std::move(element));
  }
  return result;
}
