#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static double relu6(double x) { return std::min(std::max(x, 0.0), 6.0); }

static std::optional<FusionMembers> matchRelu6(Operation *op) { return matchElements(op, relu6); }

const NamedFusion kRelu6Fusion{.name = "relu6", .summary = "min(max(x, 0), 6)", .match = matchRelu6};

} // namespace cupel::tir
