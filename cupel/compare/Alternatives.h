// What rounding might have made of an output instead: where a program decides by floats (the largest
// of some, an order, a step), evaluations that are moved by several roundings take the other way in
// places, and what they give there is as right as what is expected. Used by the strict rule
// (Strict.h) before it calls a result wrong. It never takes a value that no evaluation gave, unless
// they give so many that rounding alone decides.

#pragma once

#include "cupel/compare/Noise.h"

namespace cupel::compare {

struct Alternatives {
  /// What is expected, with the values of moved evaluations where the result has those.
  tensor::Tensor expected;
  int64_t taken = 0; ///< Elements that were taken from an evaluation, or that rounding decides.
  /// Of integers: the most that one evaluation has differently and no other one so. As many may a
  /// right device have that none has, if they are no farther off than those of evaluations are.
  int64_t alone = 0;
  bool areRestNear = false;
};

/// Floats are taken where they are beyond their limits and within them of what an evaluation gave
/// that is far beyond them itself, so that it took another way and was not just moved (by `moved`
/// roundings), or where every evaluation has either what is expected or what the result has; others
/// where they differ and an evaluation gave just that. Where others than the reference said what is
/// expected (`noise.center`), an evaluation must give that too: else it is no rounding that tells them
/// apart. Evaluations of another type or shape say nothing.
Result<Alternatives> takeAlternatives(const tensor::Tensor &actual, const tensor::Tensor &expected,
                                      const Noise &noise,
                                      std::span<const tensor::Tensor> evaluations, double moved,
                                      const NoiseFactors &factors = {});

} // namespace cupel::compare
