// Kernels of the ops on windows, reduce_window and select_and_scatter, and of map, which is a
// window of one element. The plan binds them to ops.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/reference/ElementFunction.h"

#include <vector>

namespace cupel::reference {

/// One entry per dimension each; empty lists stand for the defaults (1, or 0 for padding).
struct WindowNumbers {
  std::vector<int64_t> sizes, strides, baseDilations, windowDilations, paddingLow, paddingHigh;
};

/// Pads and dilates the inputs with the init values, then folds each window from init, row-major.
/// Element types as for reduce.
Result<std::vector<tensor::Tensor>>
reduceWindow(std::span<const tensor::Tensor> inputs, std::span<const tensor::Tensor> inits,
             const WindowNumbers &window, const ElementFunction &body, Accumulate accumulate);

/// In each window the first element inside the operand is the candidate, and `select(candidate,
/// element)` being false makes the element the candidate; then, windows in row-major order,
/// result[place] = scatter(scatter(init, source), result[place]) with a result that starts as
/// init. Dilations are not part of the op and ignored.
Result<tensor::Tensor> selectAndScatter(const tensor::Tensor &operand, const tensor::Tensor &source,
                                        const tensor::Tensor &init, const WindowNumbers &window,
                                        const ElementFunction &select,
                                        const ElementFunction &scatter);

/// results[i...] = body(inputs[i...]); all inputs of one shape (at least one).
Result<std::vector<tensor::Tensor>> map(std::span<const tensor::Tensor> inputs,
                                        const ElementFunction &body);

} // namespace cupel::reference
