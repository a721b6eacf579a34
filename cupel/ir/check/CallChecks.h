// The bounds of checks that stand in programs as custom calls (@check.expect_close, @check.eq, ...),
// as those that went through JAX's export do: calls name none, so they are those of the project that
// the calls are from. Used by the reference, which judges by them, and by whoever takes checks out of
// a program for a device. No verdict of Cupel's own goes by them.
#pragma once

#include <cstdint>

namespace cupel::check {

/// Of every element, absolutely.
inline constexpr double kAlmostEqTolerance = 1e-3, kEqTolerance = 1e-4;
/// Units in the last place.
inline constexpr uint64_t kCloseUlps = 3;

} // namespace cupel::check
