#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <cmath>

namespace cupel::tir {

static double relu(double x) { return std::max(x, 0.0); }

const NamedFusion kReluFusion{.name = "relu", .summary = "max(x, 0), however it is written", .elements = {relu}};

} // namespace cupel::tir
