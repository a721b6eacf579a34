#include "cupel/compare/SmallParts.h"

#include "cupel/compare/Elements.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

using namespace cupel;
using namespace cupel::compare;
using tensor::Tensor;

namespace {

/// Fewer elements than this have no noise of their own that limits could follow from.
constexpr int64_t kLeastInSlice = 16;
/// A slice is hidden where what is allowed to each of its elements is so large beside them that a factor
/// of 1.25 is within it, and is small beside the whole.
constexpr double kVisible = 0.25, kSmall = 0.25;
/// What is small may again join what is of different sizes.
constexpr int kMostLevels = 4;
constexpr int64_t kBlock = 1 << 16;

/// The sum of squares of each slice along each axis; what is not finite counts as zero.
std::vector<std::vector<double>> squaresBySlice(const ElementReader &reader) {
  const std::span<const int64_t> shape = reader.tensor().shape();
  const size_t rank = shape.size();
  std::vector<std::vector<double>> sums(rank);
  for (size_t axis = 0; axis < rank; ++axis)
    sums[axis].resize(size_t(shape[axis]));
  const int64_t row = std::max<int64_t>(1, shape.back()), rows = reader.size() / row;
  const int64_t atOnce = std::max<int64_t>(1, kBlock / row);
  std::vector<double> block(size_t(atOnce * row));
  std::vector<double> low(reader.isWide() ? block.size() : 0);
  std::vector<int64_t> place(rank, 0);
  for (int64_t first = 0; first < rows; first += atOnce) {
    const int64_t count = std::min(atOnce, rows - first);
    reader.read(first * row, count * row, block.data(), low.empty() ? nullptr : low.data());
    for (int64_t r = 0; r < count; ++r) {
      double sum = 0;
      for (int64_t i = 0; i < row; ++i) {
        const double value = block[size_t(r * row + i)];
        const double square = std::isfinite(value) ? value * value : 0;
        sums[rank - 1][size_t(i)] += square;
        sum += square;
      }
      for (size_t axis = 0; axis + 1 < rank; ++axis)
        sums[axis][size_t(place[axis])] += sum;
      for (size_t axis = rank - 1; axis-- > 0;) {
        if (++place[axis] < shape[axis])
          break;
        place[axis] = 0;
      }
    }
  }
  return sums;
}

/// The slices of these numbers along an axis as a tensor of their own.
Result<Tensor> gather(const Tensor &from, size_t axis, const std::vector<int64_t> &numbers) {
  Result<Tensor> whole = from.contiguous();
  if (!whole)
    return whole;
  tensor::Shape shape(from.shape().begin(), from.shape().end());
  shape[axis] = int64_t(numbers.size());
  Result<Tensor> made = Tensor::uninitialized(from.dtype(), shape);
  if (!made)
    return made;
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i)
    outer *= shape[i];
  for (size_t i = axis + 1; i < shape.size(); ++i)
    inner *= shape[i];
  const size_t bytes = size_t(inner) * tensor::info(from.dtype()).bytes;
  const std::byte *source = whole->data();
  std::byte *target = made->mutableData();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t number : numbers) {
      std::memcpy(target, source + size_t(o * from.shape()[axis] + number) * bytes, bytes);
      target += bytes;
    }
  return made;
}

/// The same of every evaluation; without samples where one cannot be taken apart.
Noise gather(const Noise &from, size_t axis, const std::vector<int64_t> &numbers) {
  Noise part{.precision = from.precision};
  if (from.center) {
    Result<Tensor> center = gather(*from.center, axis, numbers);
    if (!center)
      return part;
    part.center = std::move(*center);
  }
  for (const Tensor &sample : from.samples)
    if (Result<Tensor> own = gather(sample, axis, numbers))
      part.samples.push_back(std::move(*own));
  return part;
}

Result<bool> areOff(const Tensor &actual, const Tensor &expected, const DevicePrecision &precision,
                    double noiseShare, const NoiseOf &ask, const Options &options, int level) {
  const std::span<const int64_t> shape = expected.shape();
  if (level == kMostLevels || !tensor::isFloat(expected.dtype()) || shape.size() < 2 ||
      expected.size() < 2 * kLeastInSlice || actual.dtype() != expected.dtype() ||
      expected.elementType().quantization || tensor::info(expected.dtype()).bytes == 0)
    return false;
  Result<ElementReader> reader = ElementReader::make(expected, 1);
  if (!reader)
    return reader.error();
  const std::vector<std::vector<double>> sums = squaresBySlice(*reader);
  double all = 0;
  for (double sum : sums.front())
    all += sum;
  const double size = std::sqrt(all / double(expected.size()));
  const NoiseFactors factors;
  const double allowed =
      (factors.element * noiseShare + leastShare(expected.dtype(), precision, factors)) * size;
  const double hidden = std::min(allowed / kVisible, kSmall * size);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t each = expected.size() / shape[axis];
    if (shape[axis] < 2 || each < kLeastInSlice)
      continue;
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < shape[axis]; ++i)
      if (double own = std::sqrt(sums[axis][size_t(i)] / double(each)); own > 0 && own < hidden)
        numbers.push_back(i);
    if (numbers.empty())
      continue;
    Result<Tensor> a = gather(actual, axis, numbers), e = gather(expected, axis, numbers);
    if (!a || !e)
      return !a ? a.error() : e.error();
    Result<NoiseVerdict> verdict = checkWithoutNoise(*a, *e, precision, options);
    for (NoiseLook look : {NoiseLook::First, NoiseLook::Few}) {
      if (!verdict)
        return verdict.error();
      if (verdict->passed)
        break;
      const Noise noise = ask(look);
      if (!noise.samples.empty()) // Who knows nothing of the noise has nothing to doubt by.
        verdict = checkByNoise(*a, *e, gather(noise, axis, numbers), factors, options);
      else if (look == NoiseLook::Few)
        verdict->passed = true;
    }
    if (!verdict)
      return verdict.error();
    if (!verdict->passed)
      return true;
    auto askOfThese = [&](NoiseLook look) { return gather(ask(look), axis, numbers); };
    Result<bool> smaller =
        areOff(*a, *e, precision, verdict->noise, askOfThese, options, level + 1);
    if (!smaller || *smaller)
      return smaller;
  }
  return false;
}

} // namespace

Result<bool> compare::areSmallPartsOff(const Tensor &actual, const Tensor &expected,
                                       const DevicePrecision &precision, double noiseShare,
                                       const NoiseOf &noise, const Options &options) {
  return areOff(actual, expected, precision, noiseShare, noise, options, 0);
}
