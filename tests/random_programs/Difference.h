// How far results of the same program may differ, and whether they do.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <string>

namespace cupel::random_programs {

bool hasSameBits(const tensor::Tensor &a, const tensor::Tensor &b);

/// Empty if all is well: equal numbers if the result is exact, else within roundings.
std::string difference(const tensor::Tensor &expected, const tensor::Tensor &actual, bool isExact);

} // namespace cupel::random_programs
