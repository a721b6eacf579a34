// How far results of the same program may differ, and whether they do.

#pragma once

#include "tests/random_programs/Generate.h"

#include "cupel/tensor/Tensor.h"

#include <string>

namespace cupel::random_programs {

bool hasSameBits(const tensor::Tensor &a, const tensor::Tensor &b);

/// The same bits, but for those of NaN: of two that meet, instructions keep the one that a compiler happened to write first.
bool hasSameNumbers(const tensor::Tensor &a, const tensor::Tensor &b);

/// Empty if all is well: equal numbers if the result is exact, else within roundings. `noise` is how
/// far roundings move this result, where somebody has measured that.
std::string difference(const tensor::Tensor &expected, const tensor::Tensor &actual, Roundings roundings,
                       double noise = 0);

/// The largest distance of two finite elements at the same place.
double largestDistance(const tensor::Tensor &a, const tensor::Tensor &b);

} // namespace cupel::random_programs
