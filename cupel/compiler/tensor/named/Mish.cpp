#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

static std::optional<FusionMembers> matchMish(Operation *op) { return matchElements(op, mish); }

const NamedFusion kMishFusion{.name = "mish", .summary = "x * tanh(log(1 + exp(x)))", .match = matchMish};

} // namespace cupel::tir
