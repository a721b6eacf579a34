// Copies elements that lie apart into a row-major block, fast for the usual pictures (rows,
// broadcasts, transposes). Used by Tensor::contiguous; looks at sizes only, never at meaning.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cupel::tensor {

/// Writes the elements (of 1, 2, 4, 8 or 16 bytes) at `source + sum(index * step)` row-major to
/// `target`. Steps are in bytes and may be zero or negative.
void copyStrided(std::byte *target, const std::byte *source, std::span<const int64_t> shape,
                 std::span<const int64_t> steps, int elementBytes);

} // namespace cupel::tensor
