// Whether two executions of the same program on the same inputs may differ as they do. A device whose
// sums run in another order each time varies by a share of the noise, everywhere alike; what is off
// by more, or in a few places alone, was not rounded but wrong. Used where tests are executed more
// than once. It says nothing of whether either result is right.

#pragma once

#include "cupel/compare/Noise.h"

namespace cupel::compare {

/// How far executions may be apart: less than a device may be from the reference, which rounds
/// every operation otherwise.
struct RepeatFactors {
  double element = 2; ///< Of an element's noise,
  double spread = 6;  ///< or of the root mean square of all differences, if there are many elements.
  double whole = 2;   ///< Of the noise of all elements together.
  double common = 0.3; ///< The same, where all elements are apart by one factor.
  double count = 1;   ///< Of the number of integers that change.
};

struct RepeatVerdict {
  bool passed = true;
  std::string sentence; ///< Of one that did not pass: what is apart, and by how much.
};

/// `noise` is that of the output, around the reference's.
Result<RepeatVerdict> checkRepeated(const tensor::Tensor &now, const tensor::Tensor &before,
                                    const Noise &noise, const RepeatFactors &factors = {},
                                    const Options &options = {});

/// How much an output moves by rounding: the larger root mean square of its evaluations; 0 where
/// there are none.
double noiseSize(const tensor::Tensor &expected, const Noise &noise);

/// Whether results are within what every program is allowed, so that noise need not be known.
bool areNearlySame(const tensor::Tensor &now, const tensor::Tensor &before,
                   const DevicePrecision &precision);

} // namespace cupel::compare
