// Windows that reach from the beginning of a line to each of its elements (cumulative sums, products,
// maxima): what the walk over every window gives, bit for bit, in one walk over the line. Used by
// reduceWindow; never where the result could depend on the order in which a window is folded.

#pragma once

#include "cupel/reference/Windows.h"

namespace cupel::reference {

/// The dimension along which windows are prefixes, every other window being one element; nothing if
/// they are not. The numbers are complete.
std::optional<size_t> prefixDimension(const WindowNumbers &window, const tensor::Tensor &input);

/// The fold of all prefixes along the dimension; nothing if the body has to see every window.
Result<std::optional<std::vector<tensor::Tensor>>>
foldPrefixes(std::span<const tensor::Tensor> inputs, std::span<const tensor::Tensor> inits,
             size_t dimension, const ElementFunction &body, Accumulate accumulate);

} // namespace cupel::reference
