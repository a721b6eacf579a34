#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <cmath>

namespace cupel::tir {

static double hardSigmoid(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }

const NamedFusion kHardSigmoidFusion{.name = "hardsigmoid", .summary = "min(max(x + 3, 0), 6) / 6", .elements = {hardSigmoid}};

} // namespace cupel::tir
