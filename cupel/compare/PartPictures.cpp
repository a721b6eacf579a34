#include "cupel/compare/PartPictures.h"

#include "cupel/compare/Compare.h"
#include "cupel/compare/Elements.h"
#include "cupel/compare/Pictures.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace cupel;
using namespace cupel::compare;
using tensor::Tensor;

namespace {

std::string range(int64_t low, int64_t high) {
  return low == high ? fmt::format("{}", low) : fmt::format("{}..{}", low, high);
}

/// `row 7`, `columns 3..4`, `dimension 1 at 3`, `[0, 2..5, 7]`.
std::string placeOf(std::span<const int64_t> shape, std::span<const int64_t> low,
                    std::span<const int64_t> high) {
  std::vector<size_t> cut; // dimensions that the box does not fill
  for (size_t d = 0; d < shape.size(); ++d)
    if (low[d] != 0 || high[d] != shape[d] - 1)
      cut.push_back(d);
  if (cut.size() == 1) {
    size_t d = cut[0];
    const char *many = low[d] == high[d] ? "" : "s";
    if (shape.size() == 1)
      return fmt::format("element{} {}", many, range(low[d], high[d]));
    if (shape.size() == 2)
      return fmt::format("{}{} {}", d == 0 ? "row" : "column", many, range(low[d], high[d]));
    return fmt::format("dimension {} at {}", d, range(low[d], high[d]));
  }
  std::vector<std::string> ranges;
  for (size_t d = 0; d < shape.size(); ++d)
    ranges.push_back(range(low[d], high[d]));
  return fmt::format("[{}]", fmt::join(ranges, ", "));
}

/// Which bits of two stored elements differ, if it is one alone.
std::string flippedBit(const Tensor &actual, const Tensor &expected) {
  int64_t bytes = tensor::info(actual.dtype()).bytes;
  if (actual.dtype() != expected.dtype() || bytes > 8)
    return "";
  uint64_t a = 0, e = 0;
  std::memcpy(&a, actual.data(), size_t(bytes));
  std::memcpy(&e, expected.data(), size_t(bytes));
  if (std::popcount(a ^ e) != 1)
    return "";
  return fmt::format("bit {} is flipped", std::countr_zero(a ^ e));
}

/// One element: what could have made the one of the other.
std::string pictureOfOne(const Tensor &actual, const Tensor &expected) {
  Result<ElementReader> a = ElementReader::make(actual, 1), e = ElementReader::make(expected, 1);
  if (!a || !e || tensor::isComplex(actual.dtype()))
    return "";
  double is = a->at(0), should = e->at(0);
  if (std::isnan(is) || std::isinf(is))
    return std::isnan(is) ? "NaN" : "infinite";
  if (is == 0)
    return "zero";
  if (is == -should)
    return "the sign is flipped";
  if (std::string bit = flippedBit(actual, expected); !bit.empty())
    return bit;
  double factor = should != 0 ? is / should : 0;
  int exponent = 0;
  if (std::frexp(std::fabs(factor), &exponent) == 0.5)
    return fmt::format("scaled by {}2^{}", factor < 0 ? "-" : "", exponent - 1);
  return "";
}

} // namespace

std::string compare::recognisePartPicture(const Tensor &actual, const Tensor &expected,
                                          std::span<const int64_t> low,
                                          std::span<const int64_t> high, int threads) {
  int64_t volume = 1;
  std::vector<int64_t> limit, stride(low.size(), 1);
  for (size_t d = 0; d < low.size(); ++d) {
    volume *= high[d] - low[d] + 1;
    limit.push_back(high[d] + 1);
  }
  if (low.empty() || volume == expected.size())
    return "";
  Result<Tensor> a = actual.sliced(low, limit, stride).contiguous();
  Result<Tensor> e = expected.sliced(low, limit, stride).contiguous();
  if (!a || !e)
    return "";
  std::string where = placeOf(expected.shape(), low, high);
  if (volume == 1) {
    std::string picture = pictureOfOne(*a, *e);
    return fmt::format("a single wrong element at {}{}{}", where, picture.empty() ? "" : ": ",
                       picture);
  }
  // Dimensions that the box is one deep in say nothing of how it lies.
  tensor::Shape shape;
  for (int64_t size : e->shape())
    if (size > 1)
      shape.push_back(size);
  Tensor flatActual = a->reshaped(shape), flatExpected = e->reshaped(shape);
  Result<Statistics> found =
      compare(flatActual, flatExpected, Tolerance{.atol = 0.0}, {.threads = threads});
  if (!found)
    return "";
  std::string picture = recognisePicture(flatActual, flatExpected, *found, threads);
  return picture.empty() ? fmt::format("only {} is wrong", where)
                         : fmt::format("in {}: {}", where, picture);
}
