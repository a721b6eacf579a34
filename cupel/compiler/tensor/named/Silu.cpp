#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <cmath>

namespace cupel::tir {

static double silu(double x) { return x / (1 + std::exp(-x)); }

const NamedFusion kSiluFusion{.name = "silu", .summary = "x * sigmoid(x)", .elements = {silu}};

} // namespace cupel::tir
