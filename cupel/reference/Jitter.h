// Evaluates a program as a device of a declared precision might have: values are moved by up to one
// rounding of that precision, at random but the same for the same seed. Two such runs beside the
// exact one tell how much of a result is rounding. Used by runs that are asked for it
// (RunOptions::jitter); a run that is not must never pay for it.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstdint>

namespace cupel::reference {

struct Jitter {
  /// One rounding of what a device multiplies matrices in, and of all else it computes in, as a
  /// share of a value (2^-23 for f32). 0: nothing is moved.
  double products = 0, rest = 0;
  double doubles = 0x1p-52; ///< Of f64.
  uint64_t seed = 0;
  double times = 1; ///< How many roundings a value is moved by, also in the program's own types.
  uint64_t order = 0; ///< In which order updates that meet in a scatter come; 0: as they stand.
  bool isOn() const { return products > 0 || rest > 0; }
};

/// What of an operation is moved. A sum's error is that of its terms; other operations round what
/// they give.
enum class Jittered : uint8_t { Nothing, Operands, Results };

/// Makes every float (part) x into x (1 + e u), u in [-1, 1] by position and `key`; e is `epsilon`,
/// but never less than a step of f32, half a step of a narrower type; of f64 it is `doubles`; all
/// `times` as much. Zero, infinity and NaN stay. Other tensors stay as they are, quantized ones too:
/// their numbers move before they are rounded to steps (QuantizedJitter.h). Happens in the tensor's
/// own memory where no other tensor shares it, else in memory of its own.
Status jitter(tensor::Tensor &tensor, double epsilon, double doubles, uint64_t key,
              double times = 1);

/// The same, as a value.
Result<tensor::Tensor> jittered(tensor::Tensor tensor, double epsilon, double doubles, uint64_t key,
                                double times = 1);

} // namespace cupel::reference
