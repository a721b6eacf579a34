#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static double relu(double x) { return std::max(x, 0.0); }

static std::optional<FusionMembers> matchRelu(Operation *op) { return matchElements(op, relu); }

const NamedFusion kReluFusion{.name = "relu", .summary = "max(x, 0), however it is written", .match = matchRelu};

} // namespace cupel::tir
