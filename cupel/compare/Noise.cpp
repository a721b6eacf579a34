#include "cupel/compare/Noise.h"

#include "cupel/compare/NoiseSums.h"
#include "cupel/compare/PartPictures.h"
#include "cupel/compare/Pictures.h"
#include "cupel/compare/Verdict.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

using namespace cupel;
using namespace cupel::compare;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// Fewer elements correlate by chance.
constexpr int64_t kLeastForCorrelation = 64;

/// 3 %, 0.05 %, 1.2e-07: as people say a share.
std::string shareText(double share) {
  return share >= 1e-4 ? fmt::format("{:.2g} %", share * 100) : fmt::format("{:.2g}", share);
}

std::string timesText(double ratio) {
  return std::isinf(ratio) ? "infinitely many times" : fmt::format("{:.3g}x", ratio);
}

/// How many elements, in a few words.
std::string countText(int64_t part, int64_t whole) {
  if (part == whole)
    return whole == 1 ? "the element is" : "all elements are";
  double percent = 100.0 * double(part) / double(whole);
  if (whole < 100 || percent < 0.1)
    return fmt::format("{} of {} elements {}", part, whole, part == 1 ? "is" : "are");
  return percent > 99 ? fmt::format("{:.4g} % of elements are", std::min(percent, 99.99))
                      : fmt::format("{:.2g} % of elements are", percent);
}

bool isInexact(const tensor::ElementType &type) {
  return tensor::isFloat(type.storage) || tensor::isComplex(type.storage);
}

struct Samples {
  std::vector<ElementReader> readers;
  std::optional<ElementReader> center; // where that is not what is expected
  std::vector<Statistics> found;       // of each, compared with the one without jitter
  int64_t mostDifferent = 0;     // elements

  static Result<Samples> make(const Noise &noise, const Tensor &expected, int parts,
                              const Options &options) {
    Samples samples;
    const Tensor &center = noise.center ? *noise.center : expected;
    if (!std::ranges::equal(center.shape(), expected.shape()))
      return Error{ErrorCode::Internal, "a jittered output has another shape than the output"};
    if (noise.center) {
      Result<ElementReader> reader = ElementReader::make(center, parts);
      if (!reader)
        return reader.error();
      samples.center = std::move(*reader);
    }
    for (const Tensor &sample : noise.samples) {
      if (!std::ranges::equal(sample.shape(), expected.shape()))
        return Error{ErrorCode::Internal, "a jittered output has another shape than the output"};
      Result<ElementReader> reader = ElementReader::make(sample, parts);
      if (!reader)
        return reader.error();
      Result<Statistics> found =
          compare::compare(sample, center, Tolerance{.atol = 0.0},
                           {.worst = 0, .firstMismatches = 0, .threads = options.threads});
      if (!found)
        return found.error();
      samples.mostDifferent = std::max(samples.mostDifferent, found->different);
      samples.readers.push_back(std::move(*reader));
      samples.found.push_back(std::move(*found));
    }
    return samples;
  }
};

//===----------------------------------------------------------------------===//
// Integers and booleans
//===----------------------------------------------------------------------===//

/// Elements of a quantized type that are off by more than one step, and by just one.
std::pair<int64_t, int64_t> countSteps(const Tensor &actual, const Tensor &expected) {
  Result<ElementReader> a = ElementReader::make(actual.withElementType(actual.dtype()), 1);
  Result<ElementReader> e = ElementReader::make(expected.withElementType(expected.dtype()), 1);
  int64_t far = 0, near = 0;
  for (int64_t i = 0; a && e && i < e->size(); ++i) {
    double steps = std::fabs(a->at(i) - e->at(i));
    far += steps > 1;
    near += steps == 1;
  }
  return {far, near};
}

Result<NoiseVerdict> judgeIntegers(const Tensor &actual, const Tensor &expected,
                                   const Noise &noise, const NoiseFactors &factors,
                                   const Samples &samples, NoiseVerdict verdict,
                                   const Options &options) {
  int64_t different = verdict.statistics.different, moved = samples.mostDifferent;
  double allowed = factors.count * double(moved);
  bool isQuantized = actual.elementType().quantization && expected.elementType().quantization &&
                     actual.dtype() == expected.dtype();
  if (isQuantized && different > 0) {
    // A number on the border of two steps may be either.
    auto [far, near] = countSteps(actual, expected);
    if (far == 0)
      allowed = std::max(allowed, 1 + 0.01 * double(verdict.count));
  }
  verdict.beyond = different;
  verdict.passed = double(different) <= allowed;
  verdict.noise = verdict.count ? double(moved) / double(verdict.count) : 0;
  verdict.error = verdict.count ? double(different) / double(verdict.count) : 0;
  verdict.worst = verdict.whole = different == 0 ? 0
                                  : allowed > 0  ? factors.count * double(different) / allowed
                                                 : kInfinite;
  if (different == 0) {
    verdict.sentence = verdict.count ? "all elements are equal" : "no elements";
    return verdict;
  }
  if (verdict.passed) {
    verdict.sentence = fmt::format("{} different, where rounding decides as many ({} change by one "
                                   "rounding of {})",
                                   countText(different, verdict.count), moved, noise.precision.text());
    return verdict;
  }
  if (noise.isNone) {
    verdict.sentence = fmt::format("{} different", countText(different, verdict.count));
    return verdict;
  }
  verdict.sentence = judge(verdict.statistics, Tolerance{.atol = 0.0}).sentence;
  if (moved)
    verdict.sentence +=
        fmt::format("; {} change by one rounding of {}, which allows {} times as many", moved,
                    noise.precision.text(), factors.count);
  if (options.picture)
    addPicture(verdict, actual, expected, options);
  return verdict;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

class FloatJudge {
public:
  FloatJudge(const Tensor &actual, const Tensor &expected, const Noise &noise,
             const NoiseFactors &factors, const Options &options, NoiseVerdict verdict)
      : actual(actual), expected(expected), noise(noise), factors(factors), options(options),
        verdict(std::move(verdict)) {}

  Result<NoiseVerdict> run(const ElementReader &a, const ElementReader &e,
                           const Samples &samples) {
    NoiseReaders readers{a, e, samples.center ? *samples.center : e, samples.readers};
    sizes = measureNoise(readers, options.threads);
    limits = limitsFor(expected.dtype(), noise, factors, sizes);
    isMeasured = !samples.readers.empty();
    beyond = findBeyond(readers, limits, options.threads);
    double wholeLimit =
        factors.whole * sizes.noise + limits.least * sizes.expected + limits.smallest;
    verdict.noise = share(sizes.noise);
    verdict.error = share(sizes.error);
    verdict.worst = factors.element * beyond.ratio;
    verdict.whole = factors.whole * sizes.error / wholeLimit;
    verdict.beyond = beyond.count;
    verdict.low = beyond.low, verdict.high = beyond.high;
    judgeCorrelation(samples);
    verdict.passed = beyond.count == 0 && verdict.whole <= factors.whole && correlates;
    // A few roundings of a narrow format are its nature, not the program's.
    double step = std::max(noise.precision.coarsest().step,
                           std::ldexp(1.0, -mantissaBits(partType(expected.dtype()))));
    if (verdict.noise > std::max(0.01, 16 * step))
      verdict.note = fmt::format("ill-conditioned: {} noise in {}", shareText(verdict.noise),
                                 noise.precision.text());
    if (verdict.passed)
      verdict.sentence = praise();
    else
      blame(a, e);
    return std::move(verdict);
  }

private:
  double share(double size) const {
    return size == 0 ? 0 : sizes.expected > 0 ? size / sizes.expected : kInfinite;
  }

  /// What is left of the result beside the best multiple of what is expected, in units of what is
  /// left of the samples: 1 - pcc is half its square.
  void judgeCorrelation(const Samples &samples) {
    const Statistics &found = verdict.statistics;
    if (found.pccState != PccState::Measured || found.finitePairs < kLeastForCorrelation)
      return;
    double lost = 0;
    for (const Statistics &sample : samples.found) {
      if (sample.pccState != PccState::Measured && sample.pccState != PccState::Equal)
        return;
      lost = std::max(lost, 1 - sample.pcc);
    }
    // Around the mean there may be less than the whole has: limits that follow from the size are
    // larger there by as much.
    double spread = spreadShare();
    if (spread <= 0)
      return;
    double floor = limits.least;
    if (lost <= 0) // Nothing is known of the noise but its size.
      floor += factors.element * share(sizes.noise);
    floor /= spread;
    double allowed =
        std::max(factors.element * factors.element * lost + floor * floor / 2, 0x1p-40);
    pccLimit = 1 - allowed;
    correlates = 1 - found.pcc <= allowed;
  }

  /// The standard deviation of what is expected as a share of its root mean square.
  double spreadShare() const {
    return sizes.expected == 0 ? 0 : std::sqrt(std::max(0.0, 1 - sizes.meanShare * sizes.meanShare));
  }

  std::string noiseText() const {
    return fmt::format("{} {} in {}", isMeasured ? "noise" : "no noise measured, taken for",
                       shareText(verdict.noise), noise.precision.text());
  }

  std::string praise() const {
    if (beyond.ratio == 0)
      return verdict.count ? "all elements are equal" : "no elements";
    return fmt::format("within noise: the worst element is off by {} of it (limit {}x), the whole "
                       "by {} ({}x); {}",
                       timesText(verdict.worst), factors.element, timesText(verdict.whole),
                       factors.whole, noiseText());
  }

  void blame(const ElementReader &a, const ElementReader &e) {
    std::vector<std::string> words;
    if (beyond.count > 0) {
      int64_t position = beyond.position / e.parts();
      words.push_back(fmt::format("{} beyond {}x noise, worst at [{}]: {} vs {}, {} noise",
                                  countText(beyond.count, verdict.count), factors.element,
                                  fmt::join(verdict.statistics.indexOf(position), ","),
                                  a.text(position, 6), e.text(position, 6),
                                  timesText(verdict.worst)));
    }
    if (verdict.whole > factors.whole)
      words.push_back(fmt::format("the whole is off by {} of its size, {} noise (limit {}x)",
                                  shareText(verdict.error), timesText(verdict.whole),
                                  factors.whole));
    if (!correlates)
      words.push_back(fmt::format("pcc {:.12g} < {:.12g}", verdict.statistics.pcc, pccLimit));
    words.push_back(noiseText());
    verdict.sentence = fmt::format("{}", fmt::join(words, "; "));
    // Whoever asks without noise asks again with it.
    if (options.picture && !noise.isNone)
      addPicture(verdict, actual, expected, options);
  }

  const Tensor &actual, &expected;
  const Noise &noise;
  const NoiseFactors &factors;
  const Options &options;
  NoiseVerdict verdict;
  NoiseSizes sizes;
  ElementLimits limits;
  ElementsBeyond beyond;
  bool isMeasured = false, correlates = true;
  double pccLimit = 0;
};

} // namespace

double compare::leastShare(DType type, const DevicePrecision &precision,
                           const NoiseFactors &factors) {
  int bits = mantissaBits(partType(type));
  if (bits > 23)
    return factors.leastSteps * precision.doubles.step;
  // What a device gives is rounded to what it computes in, whatever the type of the output is.
  double given = precision.rest.step > 0x1p-23 ? factors.leastGiven * precision.rest.step : 0;
  return std::max(given, bits < 23 ? factors.leastNarrow * std::ldexp(1.0, -bits)
                                   : factors.leastSteps * 0x1p-23);
}

double compare::smallestNormal(DType type) {
  switch (partType(type)) {
  case DType::F64:
    return 0x1p-1022;
  case DType::F16:
    return 0x1p-14;
  default:
    return 0x1p-126;
  }
}

Result<NoiseVerdict> compare::checkByNoise(const Tensor &actual, const Tensor &expected,
                                           const Noise &noise, const NoiseFactors &factors,
                                           const Options &options) {
  NoiseVerdict verdict;
  verdict.count = expected.size();
  Result<Statistics> found = compare(actual, expected, Tolerance{.atol = 0.0}, options);
  if (!found)
    return found.error();
  verdict.statistics = std::move(*found);
  if (!verdict.statistics.sameShape()) {
    verdict.sentence = judge(verdict.statistics, Tolerance{.atol = 0.0}).sentence;
    verdict.beyond = verdict.count;
    verdict.worst = verdict.whole = kInfinite;
    return verdict;
  }
  int parts = tensor::isComplex(actual.dtype()) || tensor::isComplex(expected.dtype()) ? 2 : 1;
  Result<Samples> samples = Samples::make(noise, expected, parts, options);
  if (!samples)
    return samples.error();
  if (!isInexact(expected.elementType()))
    return judgeIntegers(actual, expected, noise, factors, *samples, std::move(verdict), options);
  Result<ElementReader> a = ElementReader::make(actual, parts);
  if (!a)
    return a.error();
  Result<ElementReader> e = ElementReader::make(expected, parts);
  if (!e)
    return e.error();
  return FloatJudge(actual, expected, noise, factors, options, std::move(verdict))
      .run(*a, *e, *samples);
}

void compare::addPicture(NoiseVerdict &verdict, const Tensor &actual, const Tensor &expected,
                         const Options &options) {
  if (!verdict.statistics.sameShape())
    return;
  verdict.picture = recognisePicture(actual, expected, verdict.statistics, options.threads);
  // Else of the part that is wrong.
  if (verdict.picture.empty()) {
    if (verdict.low.empty() && !isInexact(expected.elementType())) {
      Result<ElementReader> a = ElementReader::make(actual, 1), e = ElementReader::make(expected, 1);
      if (a && e) {
        ElementsBeyond wrong = findBeyond({*a, *e, *e, {}}, {}, options.threads);
        verdict.low = std::move(wrong.low), verdict.high = std::move(wrong.high);
      }
    }
    if (!verdict.low.empty())
      verdict.picture =
          recognisePartPicture(actual, expected, verdict.low, verdict.high, options.threads);
  }
  if (!verdict.picture.empty())
    verdict.sentence += "; looks like: " + verdict.picture;
}

Result<NoiseVerdict> compare::checkWithoutNoise(const Tensor &actual, const Tensor &expected,
                                                const DevicePrecision &precision,
                                                const Options &options) {
  Result<NoiseVerdict> verdict =
      checkByNoise(actual, expected, {.precision = precision, .isNone = true}, {}, options);
  if (verdict && verdict->passed && verdict->statistics.different > 0)
    verdict->sentence = fmt::format("off by at most {:.3g} of what every program is allowed",
                                    verdict->worst / NoiseFactors().element);
  return verdict;
}

std::optional<std::string> compare::vacuous(const Tensor &expected) {
  if (expected.size() < 2)
    return std::nullopt;
  int parts = tensor::isComplex(expected.dtype()) ? 2 : 1;
  Result<ElementReader> reader = ElementReader::make(expected, parts);
  if (!reader)
    return std::nullopt;
  bool anyFinite = false, anyOther = false;
  double first[2] = {reader->at(0), reader->at(parts - 1)}, firstLow = 0;
  double values[1024], low[1024] = {};
  for (int64_t at = 0; at < reader->size() && !(anyFinite && anyOther); at += 1024) {
    int64_t count = std::min<int64_t>(1024, reader->size() - at);
    reader->read(at, count, values, low);
    if (at == 0)
      firstLow = low[0];
    for (int64_t i = 0; i < count; ++i) {
      double other = first[i % parts];
      anyFinite |= std::isfinite(values[i]);
      anyOther |= values[i] != other && !(std::isnan(values[i]) && std::isnan(other));
      anyOther |= reader->isWide() && low[i] != firstLow;
    }
  }
  if (!anyFinite)
    return "no element is a finite number";
  if (!anyOther)
    return "all elements are the same";
  return std::nullopt;
}
