#include "cupel/compare/Repeat.h"

#include "cupel/compare/NoiseSums.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace cupel;
using namespace cupel::compare;
using tensor::Tensor;

namespace {

/// In fewer elements one that is wrong makes most of the root mean square.
constexpr int64_t kLeastForSpread = 64;

Result<std::vector<ElementReader>> readersOf(const std::vector<Tensor> &tensors, int parts,
                                             const Tensor &like) {
  std::vector<ElementReader> readers;
  for (const Tensor &tensor : tensors) {
    if (!std::ranges::equal(tensor.shape(), like.shape()))
      return Error{ErrorCode::Internal, "a jittered output has another shape than the output"};
    Result<ElementReader> reader = ElementReader::make(tensor, parts);
    if (!reader)
      return reader.error();
    readers.push_back(std::move(*reader));
  }
  return readers;
}

/// Of results that differ by one factor throughout, as rounding makes none: how much they differ by;
/// nothing where they differ each in its own way. In three elements chance does so.
std::optional<double> commonFactor(const ElementReader &now, const ElementReader &before) {
  constexpr int64_t kLeast = 4;
  constexpr double kRest = 0.1;
  double squares = 0, products = 0, differences = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < before.size(); ++i) {
    double b = before.at(i), d = now.at(i) - b;
    if (!std::isfinite(b) || !std::isfinite(d) || b == 0)
      continue;
    squares += b * b;
    products += b * d;
    differences += d * d;
    ++count;
  }
  if (count < kLeast || differences == 0)
    return {};
  double factor = products / squares;
  double rest = std::max(0.0, differences - factor * products);
  // Numbers that are nothing but rounding may be others altogether.
  bool isFactor = std::fabs(factor) < 0.5 && rest <= kRest * kRest * differences;
  return isFactor ? std::optional(factor) : std::nullopt;
}

Result<RepeatVerdict> judgeIntegers(const Statistics &found, const Tensor &center,
                                    const std::vector<Tensor> &samples,
                                    const RepeatFactors &factors, const Options &options) {
  int64_t moved = 0;
  for (const Tensor &sample : samples) {
    Result<Statistics> other =
        compare::compare(sample, center, Tolerance{.atol = 0.0},
                         {.worst = 0, .firstMismatches = 0, .threads = options.threads});
    if (!other)
      return other.error();
    moved = std::max(moved, other->different);
  }
  if (double(found.different) <= factors.count * double(moved))
    return RepeatVerdict{};
  return RepeatVerdict{false, fmt::format("{} of {} elements are others, where rounding decides {}",
                                          found.different, found.count, moved)};
}

} // namespace

Result<RepeatVerdict> compare::checkRepeated(const Tensor &now, const Tensor &before,
                                             const Noise &noise, const RepeatFactors &factors,
                                             const Options &options) {
  Result<Statistics> found =
      compare(now, before, Tolerance{.atol = 0.0},
              {.worst = 0, .firstMismatches = 0, .threads = options.threads});
  if (!found)
    return found.error();
  if (!found->sameShape())
    return RepeatVerdict{false, "the shape is another"};
  tensor::DType type = before.dtype();
  bool isComplex = tensor::isComplex(type);
  int parts = isComplex ? 2 : 1;
  Result<ElementReader> a = ElementReader::make(now, parts), b = ElementReader::make(before, parts);
  Result<ElementReader> center = ElementReader::make(noise.center ? *noise.center : before, parts);
  Result<std::vector<ElementReader>> samples = readersOf(noise.samples, parts, before);
  if (!a || !b || !center || !samples)
    return Error{ErrorCode::Internal, "the results of two executions cannot be compared"};
  if (!tensor::isFloat(type) && !isComplex)
    return judgeIntegers(*found, noise.center ? *noise.center : before, noise.samples, factors,
                         options);

  NoiseReaders readers{*a, *b, *center, *samples};
  NoiseSizes sizes = measureNoise(readers, options.threads);
  ElementLimits limits = limitsFor(type, noise, {.element = factors.element}, sizes);
  if (before.size() >= kLeastForSpread)
    limits.noise = std::max(limits.noise, factors.spread / factors.element * sizes.error);
  ElementsBeyond beyond = findBeyond(readers, limits, options.threads);
  double wholeLimit = factors.whole * sizes.noise + limits.least * sizes.expected + limits.smallest;
  std::vector<std::string> words;
  if (beyond.count > 0) {
    int64_t position = beyond.position / parts;
    words.push_back(fmt::format("{} of {} elements are apart by more than {}x noise and than the "
                                "others are, worst at [{}]: {} after {}",
                                beyond.count, before.size(), factors.element,
                                fmt::join(found->indexOf(position), ","), a->text(position, 6),
                                b->text(position, 6)));
  }
  if (sizes.error > wholeLimit)
    words.push_back(fmt::format("the whole is apart by {:.3g} of its size, {:.3g}x noise (limit {}x)",
                                sizes.error / std::max(sizes.expected, 1e-300),
                                factors.whole * sizes.error / wholeLimit, factors.whole));
  // Below that a last bit of one number that all are multiplied by may be it.
  double commonLimit = factors.common * sizes.noise + limits.least * sizes.expected + limits.smallest;
  if (words.empty() && sizes.error > commonLimit)
    if (std::optional<double> factor = commonFactor(*a, *b))
      words.push_back(fmt::format("all elements are apart by the same factor {:.5g}", 1 + *factor));
  return RepeatVerdict{words.empty(), fmt::format("{}", fmt::join(words, "; "))};
}

double compare::noiseSize(const Tensor &expected, const Noise &noise) {
  int parts = tensor::isComplex(expected.dtype()) ? 2 : 1;
  Result<ElementReader> center =
      ElementReader::make(noise.center ? *noise.center : expected, parts);
  Result<std::vector<ElementReader>> samples = readersOf(noise.samples, parts, expected);
  if (!center || !samples || samples->empty())
    return 0;
  return measureNoise({*center, *center, *center, *samples}, threadsFor(expected.size())).noise;
}

bool compare::areNearlySame(const Tensor &now, const Tensor &before,
                            const DevicePrecision &precision) {
  Result<NoiseVerdict> verdict = checkWithoutNoise(now, before, precision, {.threads = threadsFor(before.size())});
  return verdict && verdict->passed;
}
