#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static double silu(double x) { return x / (1 + std::exp(-x)); }

static std::optional<FusionMembers> matchSilu(Operation *op) { return matchElements(op, silu); }

const NamedFusion kSiluFusion{.name = "silu", .summary = "x * sigmoid(x)", .match = matchSilu};

} // namespace cupel::tir
