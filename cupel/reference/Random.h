// rng_bit_generator, bit by bit as XLA computes it, and rng, whose values the specification leaves
// open. Used by the plan. Nothing here may depend on time, threads or the machine.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

/// Default is PHILOX, XLA's own choice on the CPU.
enum class RngAlgorithm : uint8_t { Default, ThreeFry, Philox };

struct RandomBits {
  tensor::Tensor state, bits;
};

/// The state is two 64-bit words (key, counter), for PHILOX also three (key and a counter of 128
/// bits, low word first); 32-bit elements count as halves, low first. Output:
///   THREE_FRY, 64 bits   Threefry-2x32 of counter + i for element i, low word first
///   THREE_FRY, 32 bits   the two words of one counter lie side by side along the first dimension
///   of
///                        even size (else along the first of the largest ones, an odd last word
///                        dropped)
///   PHILOX               the words of counter, counter + 1, ... in row-major order
///   narrower types       the low bits of a 32-bit element
/// The counter moves on by the number of counters used.
Result<RandomBits> rngBitGenerator(const tensor::Tensor &state, RngAlgorithm algorithm,
                                   tensor::DType type, tensor::Shape shape);

/// Where the numbers of one rng op come from: Philox with `seed` as key, counting from stream *
/// 2^64.
struct RandomSource {
  uint64_t seed = 0, stream = 0;
};

/// Numbers in [a, b): integers a + word modulo (b - a); floats a + (b - a) * u in f64 with 53
/// random bits, rounded to the type (to a, should rounding reach b); i1 is a random bit. `a` and
/// `b` are scalars of the result's type. An empty range gives a.
Result<tensor::Tensor> rngUniform(const tensor::Tensor &a, const tensor::Tensor &b,
                                  tensor::Shape shape, RandomSource source);

/// Mean `a`, standard deviation `b`, by Box and Muller's transform in f64, rounded once.
Result<tensor::Tensor> rngNormal(const tensor::Tensor &a, const tensor::Tensor &b,
                                 tensor::Shape shape, RandomSource source);

} // namespace cupel::reference
