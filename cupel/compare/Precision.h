// The number formats that devices compute in, and what a device declares of itself: one for products
// of matrices, one for everything else, one for f64. Noise is measured and limits are set in these
// terms. Knows nothing of programs, whose own types set a floor (Noise.h, reference/Jitter.h).

#pragma once

#include "cupel/support/Error.h"

#include <span>
#include <string>
#include <string_view>

namespace cupel::compare {

struct Precision {
  std::string_view name; ///< `f32`, `tf32`, `bf16`, ...
  double step;           ///< From a number to the next, as a share of it.
  bool operator==(const Precision &) const = default;
};

/// All, finest first.
std::span<const Precision> precisions();
/// Null where there is none of that name.
const Precision *findPrecision(std::string_view name);

/// What a device computes in. Who says nothing computes in f32, and f64 as f64.
struct DevicePrecision {
  Precision products = *findPrecision("f32"), rest = *findPrecision("f32");
  Precision doubles = *findPrecision("f64"); ///< What a program says in f64.

  /// Of `bf16` (for all but f64), `tf32/f32` (products / the rest), `f32/f32/f32` (and f64).
  static Result<DevicePrecision> parse(std::string_view text);
  /// As parse takes it.
  std::string text() const;
  /// The coarser of the two.
  const Precision &coarsest() const { return products.step >= rest.step ? products : rest; }
  /// The same, but in nothing finer than `narrow` (but for f64).
  DevicePrecision coarsenedTo(const Precision &narrow) const;
  bool operator==(const DevicePrecision &) const = default;
};

} // namespace cupel::compare
