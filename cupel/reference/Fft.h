// fft: Fourier transforms over the last one to three dimensions, of any length, with twiddle factors
// that are the same on every machine. Wide: everything is computed in f64 and rounded once. Native:
// every step is rounded to the operand's type (StepwiseFft.h), unless a length has a large factor.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

enum class FftType : uint8_t { Fft, Ifft, Rfft, Irfft };

/// Forward transforms are not normalised, inverse ones divide by the lengths. RFFT keeps the first
/// half of the last dimension (n / 2 + 1), IRFFT completes it by symmetry, ignoring the imaginary
/// parts that a real signal cannot have; its length tells odd from even.
Result<tensor::Tensor> fft(const tensor::Tensor &operand, FftType type,
                           std::span<const int64_t> lengths,
                           Accumulate accumulate = Accumulate::Wide);

} // namespace cupel::reference
