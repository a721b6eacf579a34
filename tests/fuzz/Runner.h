// Runs a reading function over many inputs in child processes, so that a crash, a hang or too much
// memory is pinned on the input that caused it and the rest goes on. Used by the fuzz test; knows
// nothing of MLIR.
#pragma once

#include "tests/fuzz/Inputs.h"

#include <array>
#include <functional>
#include <map>

namespace cupel::fuzz {

enum class Outcome : uint8_t {
  /// A sound program came out.
  Valid,
  /// It was refused before MLIR saw it.
  Guarded,
  /// MLIR or a dialect refused it, with a message.
  Refused,
  /// It was refused without a message: a defect.
  Silent,
};
inline constexpr unsigned kOutcomes = 4;

using Reader = std::function<Outcome(const Input &)>;

struct RunOptions {
  unsigned jobs = 2;
  double secondsPerInput = 10;
  uint64_t memoryLimit = uint64_t(1) << 30;
  /// Where inputs that failed are written; nowhere if empty.
  std::string saveTo;
  /// Of saved inputs; empty: that of StableHLO, text or bytecode.
  std::string extension;
  /// Stop after so many failures.
  unsigned failures = 50;
  bool progress = true;
};

struct Failure {
  uint64_t number;
  std::string name;
  std::string what;
  std::string savedAs;
};

struct Summary {
  /// By kind of input.
  std::map<std::string, std::array<uint64_t, kOutcomes>> counts;
  std::vector<Failure> failures;
  uint64_t largestMemory = 0;
  double longest = 0;
  std::string longestName;
};

Summary run(const InputSource &inputs, const Reader &reader, const RunOptions &options);

} // namespace cupel::fuzz
