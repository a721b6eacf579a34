// Jitter of quantized results: the real number moves before it is rounded to a step, so that it
// becomes another step only where it lies between two. Kernels round through `quantizedMoving`; the
// jittered run says around a step that it wants it. Without that nothing is moved.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstdint>

namespace cupel::reference {

/// While it lives, what this thread quantizes is moved first.
class MovesQuantized {
public:
  /// By one to two steps of `epsilon`, one way under an even seed and the other way under the odd
  /// one behind it: of two such runs one at least tells of a number between two steps.
  MovesQuantized(double epsilon, double doubles, uint64_t key, bool isOdd);
  ~MovesQuantized();
  MovesQuantized(const MovesQuantized &) = delete;
  MovesQuantized &operator=(const MovesQuantized &) = delete;
  /// Whether anybody of this thread asks for it.
  static bool isOn();
};

/// tensor::quantize, of moved numbers where that is asked for.
Result<tensor::Tensor> quantizedMoving(const tensor::Tensor &real, const tensor::ElementType &type);
/// tensor::requantize; where numbers are moved, by way of real ones.
Result<tensor::Tensor> requantizedMoving(const tensor::Tensor &stored,
                                         const tensor::ElementType &type);

} // namespace cupel::reference
