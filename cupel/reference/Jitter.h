// Evaluates a program as a device of a declared precision might have: values are moved by up to one
// rounding of that precision, at random but the same for the same seed. Two such runs beside the
// exact one tell how much of a result is rounding. Used by runs that are asked for it
// (RunOptions::jitter); a run that is not must never pay for it.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstdint>
#include <optional>

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

/// A tensor that `jitter` would move, for who reads it once from its beginning to its end: a part at
/// a time, without memory for the whole.
class MovedParts {
public:
  /// Nothing where it has to be moved as a whole: it is not of floats that lie together, or of more
  /// than positions have bits for, or nothing moves.
  static std::optional<MovedParts> of(tensor::Tensor tensor, double epsilon, double doubles,
                                      uint64_t key, double times = 1);
  /// What moves, as it is.
  const tensor::Tensor &unmoved() const { return source; }
  /// Elements from `begin` on, moved.
  void write(int64_t begin, int64_t count, std::byte *to) const { writer(*this, begin, count, to); }
  /// All of them.
  Result<tensor::Tensor> whole() const;

private:
  using Writer = void (*)(const MovedParts &, int64_t begin, int64_t count, std::byte *to);
  template <tensor::DType type> static Writer writerOf(const tensor::Tensor &source);

  MovedParts(tensor::Tensor source, double step, uint64_t key, Writer writer)
      : source(std::move(source)), step(step), key(key), writer(writer) {}

  tensor::Tensor source;
  double step;
  uint64_t key;
  Writer writer;
};

/// The same, as a value.
Result<tensor::Tensor> jittered(tensor::Tensor tensor, double epsilon, double doubles, uint64_t key,
                                double times = 1);

} // namespace cupel::reference
