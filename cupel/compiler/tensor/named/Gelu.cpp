#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace cupel::tir {

static double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }

static double geluByTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

static std::optional<FusionMembers> matchGelu(Operation *op) {
  if (std::optional<FusionMembers> exact = matchElements(op, gelu))
    return exact;
  return matchElements(op, geluByTanh);
}

const NamedFusion kGeluFusion{
    .name = "gelu", .summary = "x times the normal distribution up to x, or its approximation by tanh", .match = matchGelu};

} // namespace cupel::tir
