#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <cmath>
#include <numbers>

namespace cupel::tir {

static double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

static double geluByTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

const NamedFusion kGeluFusion{
    .name = "gelu", .summary = "x times the normal distribution up to x, or its approximation by tanh", .elements = {gelu, geluByTanh}};

} // namespace cupel::tir
