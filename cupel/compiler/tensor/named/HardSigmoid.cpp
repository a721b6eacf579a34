#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

static double hardSigmoid(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }

static std::optional<FusionMembers> matchHardSigmoid(Operation *op) { return matchElements(op, hardSigmoid); }

const NamedFusion kHardSigmoidFusion{.name = "hardsigmoid", .summary = "min(max(x + 3, 0), 6) / 6", .match = matchHardSigmoid};

} // namespace cupel::tir
