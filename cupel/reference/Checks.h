// The checks of self-checking programs, as comparisons: each says in one sentence what is wrong.
// Used by the plan; knows nothing of MLIR.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

/// All elements equal by `==` of the type: NaN equals nothing, +0 equals -0.
Status expectEqual(const tensor::Tensor &actual, const tensor::Tensor &expected);

/// Equal, both NaN, or finite and no further apart than `tolerance`.
Status expectAlmostEqual(const tensor::Tensor &actual, const tensor::Tensor &expected,
                         double tolerance);

/// Between `least` and `most` units in the last place apart. Floats and complex numbers only.
Status expectClose(const tensor::Tensor &actual, const tensor::Tensor &expected, uint64_t least,
                   uint64_t most);

} // namespace cupel::reference
