// Limits of an output are as wide as its largest numbers ask for: every element may be off by a share of
// the root mean square of all. Where an output joins what is of different sizes (boxes in pixels and
// scores, in one tensor), the small ones could be anything. Asked of results that passed, by whoever can
// judge what computed them piece by piece.
#pragma once

#include "cupel/compare/Strict.h"

namespace cupel::compare {

/// Whether slices of a result (columns, channels, rows) that the limits of the whole hide, by themselves,
/// are off by more than their own noise. `noiseShare` is the noise that it passed with, as a share of its
/// size. What is not seen this way: small elements that fill no slice.
Result<bool> areSmallPartsOff(const tensor::Tensor &actual, const tensor::Tensor &expected,
                              const DevicePrecision &precision, double noiseShare,
                              const NoiseOf &noise, const Options &options = {});

} // namespace cupel::compare
