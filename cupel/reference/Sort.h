// The kernel of sort: stable, any number of operands, any comparator. The plan binds it to the op.
// A comparator that is no strict weak order (NaN with IEEE comparisons) gives some order of the
// same elements, never a lost element or an access out of bounds.

#pragma once

#include "cupel/reference/ElementFunction.h"

#include <optional>
#include <vector>

namespace cupel::reference {

/// Sorts all inputs (of one shape) along `dimension` (negative: counted from the end) by
/// `comparator`, whose arguments are (lhs0, rhs0, lhs1, rhs1, ...) and which says "lhs comes
/// first". A comparator with known() must compare operand 0 and nothing else. Equal ones keep their
/// order; unless `ties` is given, by which they come in another one.
Result<std::vector<tensor::Tensor>> sort(std::span<const tensor::Tensor> inputs, int64_t dimension,
                                         const ElementFunction &comparator,
                                         std::optional<uint64_t> ties = {});

} // namespace cupel::reference
