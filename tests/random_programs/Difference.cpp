#include "tests/random_programs/Difference.h"

#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace cupel::random_programs {

using tensor::DType;
using tensor::Tensor;

namespace {

/// Of the largest number of the result, or of the numbers of about size one that a small one is the
/// difference of.
constexpr double kTolerance = 2e-4, kNarrowTolerance = 0.05, kLeastScale = 0.1;
/// Another order of summation may err as much as this many times the one that was measured.
constexpr double kTimesNoise = 4;

/// Its numbers; nothing of what has none.
std::optional<Tensor> numbersOf(const Tensor &tensor) {
  Result<Tensor> wide = tensor::convert(tensor, DType::F64);
  return wide ? std::optional(std::move(*wide)) : std::nullopt;
}

/// NaN has many bits, and which of them an operation gives is left open. Zero has a sign.
bool isSameNumber(double a, double b, bool withSign) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && (!withSign || std::signbit(a) == std::signbit(b)));
}

} // namespace

bool hasSameBits(const Tensor &a, const Tensor &b) {
  return a.byteSize() == b.byteSize() &&
         (a.byteSize() == 0 || std::memcmp(a.data(), b.data(), size_t(a.byteSize())) == 0);
}

bool hasSameNumbers(const Tensor &a, const Tensor &b) {
  if (hasSameBits(a, b))
    return true;
  std::optional<Tensor> ofA = numbersOf(a), ofB = numbersOf(b);
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.shape(), b.shape()) || !tensor::isFloat(a.dtype()) || !ofA || !ofB)
    return false;
  const double *x = ofA->dataAs<double>(), *y = ofB->dataAs<double>();
  for (int64_t i = 0; i < a.size(); ++i)
    if (!isSameNumber(x[i], y[i], true))
      return false;
  return true;
}

std::string difference(const Tensor &expected, const Tensor &actual, Roundings roundings, double noise) {
  if (expected.dtype() != actual.dtype() || !std::ranges::equal(expected.shape(), actual.shape()))
    return "another type or shape";
  if (hasSameBits(expected, actual))
    return "";
  if (!tensor::isFloat(expected.dtype()))
    return "other integers";
  std::optional<Tensor> ofExpected = numbersOf(expected), ofActual = numbersOf(actual);
  if (!ofExpected || !ofActual)
    return "no numbers to compare";
  const double *a = ofExpected->dataAs<double>(), *b = ofActual->dataAs<double>();
  double scale = kLeastScale;
  for (int64_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(a[i]))
      scale = std::max(scale, std::abs(a[i]));
  const bool isExact = roundings == Roundings::None;
  const bool isNarrow = roundings == Roundings::Narrow || tensor::kDTypes[int(expected.dtype())].bits < 32;
  double limit = scale * (isNarrow ? kNarrowTolerance : kTolerance) + kTimesNoise * noise;
  for (int64_t i = 0; i < expected.size(); ++i) {
    bool isSame = isSameNumber(a[i], b[i], isExact);
    if (isExact ? !isSame : !isSame && !(std::abs(a[i] - b[i]) <= limit))
      return "element " + std::to_string(i) + " is " + std::to_string(b[i]) + " and not " + std::to_string(a[i]) +
             (isExact ? ", which is exact" : "");
  }
  return "";
}

double largestDistance(const Tensor &a, const Tensor &b) {
  double largest = 0;
  if (!tensor::isFloat(a.dtype()) || a.dtype() != b.dtype() || a.size() != b.size())
    return largest;
  std::optional<Tensor> ofA = numbersOf(a), ofB = numbersOf(b);
  for (int64_t i = 0; ofA && ofB && i < a.size(); ++i)
    if (double distance = std::abs(ofA->dataAs<double>()[i] - ofB->dataAs<double>()[i]); std::isfinite(distance))
      largest = std::max(largest, distance);
  return largest;
}

} // namespace cupel::random_programs
