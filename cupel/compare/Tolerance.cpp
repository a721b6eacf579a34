#include "cupel/compare/Tolerance.h"

#include <fmt/format.h>

using namespace cupel;
using namespace cupel::compare;

Status Tolerance::validate() const {
  auto outside = [](const std::optional<double> &bound, double low, double high) {
    return bound && !(*bound >= low && *bound <= high);
  };
  constexpr double infinity = __builtin_huge_val();
  struct {
    const char *name;
    const std::optional<double> &bound;
    double low, high;
  } bounds[] = {
      {"pcc", pcc, -1, 1},         {"atol", atol, 0, infinity},
      {"rtol", rtol, 0, infinity}, {"largest", largest, 0, infinity},
      {"cosine", cosine, -1, 1},   {"relative L2", relativeL2, 0, infinity},
  };
  for (const auto &[name, bound, low, high] : bounds)
    if (outside(bound, low, high))
      return Error{
          fmt::format("tolerance: {} of {} is not between {} and {}", name, *bound, low, high)};
  if (ulp && ulp->min > ulp->max)
    return Error{fmt::format("tolerance: at least {} ULP and at most {} ULP cannot both hold",
                             ulp->min, ulp->max)};
  return {};
}
