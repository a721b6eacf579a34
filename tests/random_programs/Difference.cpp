#include "tests/random_programs/Difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cupel::random_programs {

using tensor::DType;
using tensor::Tensor;

namespace {

/// Of the largest number of the result, or of the numbers of about size one that a small one is the
/// difference of.
constexpr double kTolerance = 2e-4, kNarrowTolerance = 0.05, kLeastScale = 0.1;
/// Another order of summation may err as much as this many times the one that was measured.
constexpr double kTimesNoise = 4;

double numberAt(const Tensor &tensor, int64_t i) {
  switch (tensor.dtype()) {
  case DType::F32: return double(tensor.dataAs<float>()[i]);
  case DType::F64: return tensor.dataAs<double>()[i];
  default: {
    uint32_t bits = uint32_t(tensor.dataAs<uint16_t>()[i]) << 16;
    float wide;
    std::memcpy(&wide, &bits, sizeof wide);
    return double(wide);
  }
  }
}

} // namespace

bool hasSameBits(const Tensor &a, const Tensor &b) {
  return a.byteSize() == b.byteSize() &&
         (a.byteSize() == 0 || std::memcmp(a.data(), b.data(), size_t(a.byteSize())) == 0);
}

/// Empty if all is well.
std::string difference(const Tensor &expected, const Tensor &actual, bool isExact, double noise) {
  if (expected.dtype() != actual.dtype() || !std::ranges::equal(expected.shape(), actual.shape()))
    return "another type or shape";
  if (hasSameBits(expected, actual))
    return "";
  if (!tensor::isFloat(expected.dtype()))
    return "other integers";
  double scale = kLeastScale;
  for (int64_t i = 0; i < expected.size(); ++i)
    if (double number = std::abs(numberAt(expected, i)); std::isfinite(number))
      scale = std::max(scale, number);
  double limit = scale * (expected.dtype() == DType::BF16 ? kNarrowTolerance : kTolerance) +
                 kTimesNoise * noise;
  for (int64_t i = 0; i < expected.size(); ++i) {
    double a = numberAt(expected, i), b = numberAt(actual, i);
    bool isSame = (std::isnan(a) && std::isnan(b)) || a == b;
    // NaN has many bits, and which of them an operation gives is left open.
    if (isExact ? !isSame : !isSame && !(std::abs(a - b) <= limit))
      return "element " + std::to_string(i) + " is " + std::to_string(b) + " and not " +
             std::to_string(a) + (isExact ? ", which is exact" : "");
  }
  return "";
}

double largestDistance(const Tensor &a, const Tensor &b) {
  double largest = 0;
  if (tensor::isFloat(a.dtype()) && a.dtype() == b.dtype() && a.size() == b.size())
    for (int64_t i = 0; i < a.size(); ++i)
      if (double distance = std::abs(numberAt(a, i) - numberAt(b, i)); std::isfinite(distance))
        largest = std::max(largest, distance);
  return largest;
}

} // namespace cupel::random_programs
