// Pictures (Pictures.h) of the part of a result that is wrong, where the whole shows none: one row,
// one channel, one element of the batch, a single element. Used for results that were judged wrong.

#pragma once

#include "cupel/compare/Statistics.h"

#include <span>

namespace cupel::compare {

/// What the box [low, high] around the wrong elements looks like: `in row 7: scaled by 1.5`. Empty
/// where the box is the whole tensor or nothing is recognised. Both tensors have the same shape.
std::string recognisePartPicture(const tensor::Tensor &actual, const tensor::Tensor &expected,
                                 std::span<const int64_t> low, std::span<const int64_t> high,
                                 int threads);

} // namespace cupel::compare
