// fft: Fourier transforms over the last one to three dimensions, of any length. Everything is
// computed in f64 with twiddle factors that are the same on every machine, and rounded once.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

enum class FftType : uint8_t { Fft, Ifft, Rfft, Irfft };

/// Forward transforms are not normalised, inverse ones divide by the lengths. RFFT keeps the first
/// half of the last dimension (n / 2 + 1), IRFFT completes it by symmetry, ignoring the imaginary
/// parts that a real signal cannot have; its length tells odd from even.
Result<tensor::Tensor> fft(const tensor::Tensor &operand, FftType type,
                           std::span<const int64_t> lengths);

} // namespace cupel::reference
