#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <cmath>

namespace cupel::tir {

static double relu6(double x) { return std::min(std::max(x, 0.0), 6.0); }

const NamedFusion kRelu6Fusion{.name = "relu6", .summary = "min(max(x, 0), 6)", .elements = {relu6}};

} // namespace cupel::tir
