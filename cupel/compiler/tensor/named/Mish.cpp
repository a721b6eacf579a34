#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <cmath>

namespace cupel::tir {

static double mish(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

const NamedFusion kMishFusion{.name = "mish", .summary = "x * tanh(log(1 + exp(x)))", .elements = {mish}};

} // namespace cupel::tir
