// The processor that code is made for: LLVM's names for it and how many f32 lanes a vector has. The
// host's own by default; the environment variable CUPEL_ISA (avx512, avx2 or baseline) masks what
// the host has, for tests. Asking for more than the host has is an error.

#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <string_view>

namespace cupel::codegen {

struct Target {
  std::string triple, cpu, features; ///< As LLVM has them.
  int lanes = 4;                     ///< f32 lanes of a vector: 4, 8 or 16.
  bool hasFma = false;               ///< Fused multiply-add of f32 and f64.
  bool hasHalf = false;              ///< Conversions between f16 and f32.
  bool hasScale = false;             ///< f32 times a power of two as an instruction.
  int maskedBytes = 0; ///< Elements of so many bytes and more have masked moves; 0: none.

  /// What the environment variable leaves of the host; the host itself if it names something
  /// unknown or more than there is.
  static const Target &host();
  /// "avx512", "avx2" or "baseline" on this host.
  static Result<Target> named(std::string_view isa);
};

} // namespace cupel::codegen
