// Copies of dense tensors with their dimensions in another order. Used by the runtime of device
// programs where a permutation cannot be read in place. Works on elements of any size, never reads or
// writes outside the tensors, allocates nothing.

#pragma once

#include "cupel/kernels/Pool.h"

#include <span>

namespace cupel::kernels {

/// Dimension i of `to` is dimension permutation[i] of `from`, whose sizes are given. Both are
/// row-major and do not overlap.
void permute(std::span<const int64_t> sizes, std::span<const int64_t> permutation,
             int64_t elementBytes, const void *from, void *to, const Pool &pool);

} // namespace cupel::kernels
