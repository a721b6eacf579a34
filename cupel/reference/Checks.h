// The checks of self-checking programs: exact, absolute and by units in the last place. Each says
// which element is wrong, and both values. Used by the plan; knows nothing of MLIR.

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

/// One element as text; `index` counts in row-major order.
std::string elementText(const tensor::Tensor &tensor, int64_t index);

/// A whole value: "tensor<2xi8> {", one row a line, "}".
std::string valueText(const tensor::Tensor &tensor);

} // namespace cupel::reference
