// Tensors filled with random values from a seed, the same on every machine: test inputs that a name
// and a number bring back. docs/reference/random-fill.md states the algorithm to the bit; the
// values must never change. Uses IEEE double addition, multiplication, division and square root
// only, no mathematical library.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <array>
#include <variant>

namespace cupel::tensor {

/// Which numbers: every pair is a sequence of its own. Callers number their tensors by stream.
struct FillKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
};

/// Real numbers between low and high; on integer types the integers between them.
struct Uniform {
  double low = -1, high = 1;
};
/// Normally distributed; on integer types rounded to even and saturated. Not for i1.
struct Normal {
  double mean = 0, deviation = 1;
};
/// Integers low, low + 1, ..., low + span, evenly.
struct Integers {
  int64_t low = 0;
  uint64_t span = 0;
  static Integers between(int64_t low, int64_t high);
  /// All values of an integer type or i1; for other types, those of i8.
  static Integers all(DType type);
};
/// One with the given probability, else zero.
struct Booleans {
  double probability = 0.5;
};
using FillSpec = std::variant<Uniform, Normal, Integers, Booleans>;

/// What suits a type when nothing was asked for: floats and complex numbers uniform in [-1, 1],
/// signed integers -8 to 7 and unsigned ones 0 to 15 (as far as the type goes), i1 even, quantized
/// types all stored values.
FillSpec defaultFill(const ElementType &type);

/// Complex types draw both parts. Quantized types draw real numbers and quantize them (Uniform,
/// Normal), or draw what is stored (Integers, Booleans). A range that the type cannot hold is an
/// error.
Result<Tensor> randomTensor(const ElementType &type, Shape shape, const FillSpec &spec,
                            FillKey key);

/// One block of the generator under it: Philox4x32 with ten rounds.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// The point below which a standard normal variable lies with probability p, 0 < p < 1.
double normalQuantile(double p);

} // namespace cupel::tensor
