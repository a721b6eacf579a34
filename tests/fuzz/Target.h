// What the fuzz test feeds its inputs to: the way Cupel reads a program, up to printing it.
#pragma once

#include "tests/fuzz/Runner.h"

namespace cupel::fuzz {

struct TargetOptions {
  /// Give inputs to MLIR unchecked, to see what the guard is for.
  bool guard = true;
  /// Print what is said of each input.
  bool verbose = false;
};

/// A text that reads, written as bytecode of every version; nothing for one that does not.
std::vector<CorpusFile> asBytecode(const CorpusFile &text);

Outcome readProgram(const Input &input, const TargetOptions &options);

} // namespace cupel::fuzz
