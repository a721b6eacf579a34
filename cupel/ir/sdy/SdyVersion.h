// The version of the sdy dialect that bytecode can name. Whoever writes portable artifacts sets one
// on the writer; without one, none is written, which is what Shardy does.
#pragma once

#include "mlir/Bytecode/BytecodeImplementation.h"

#include <array>
#include <cstdint>

namespace cupel::sdy {

struct SdyVersion : public mlir::DialectVersion {
  SdyVersion(uint64_t major, uint64_t minor, uint64_t patch) : numbers{major, minor, patch} {}

  /// Before this version a sharding's unreduced axes could only stand for sums.
  static SdyVersion firstWithReductionOp() { return {0, 0, 2}; }
  static SdyVersion current() { return {0, 0, 2}; }
  static SdyVersion minimum() { return {0, 0, 1}; }

  bool operator<(const SdyVersion &other) const { return numbers < other.numbers; }

  std::array<uint64_t, 3> numbers;
};

} // namespace cupel::sdy
