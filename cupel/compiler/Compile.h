// The door of the compiler: a program, as bytes, becomes an executable. Used by the PJRT plugin.
// Nothing of PJRT may appear here, and no MLIR: those who compile programs need not know it.

#pragma once

#include "cupel/runtime/Executable.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::compiler {

struct CompileOptions {
  int64_t replicas = 1, partitions = 1;
  /// The program is written on whole tensors, of which partitions hold pieces. Otherwise, and
  /// where it speaks of no pieces, every device runs it on what that device is given.
  bool isGlobal = true;
  /// Sums and products of floats of 32 bits and below accumulate in f64 instead of in the
  /// program's own types, which is what the golden reference does unless told.
  bool wideAccumulation = false;
  /// A scatter skips a window of which a part hangs over an edge whole, as XLA does; otherwise, as
  /// the specification and the golden reference do, the elements that are outside.
  bool scatterSkipsWindows = false;
  /// The element types that devices compute in; what a program computes in others is rounded to them.
  /// Empty: all.
  std::vector<tensor::DType> types;
  /// Programs on whole tensors of which devices hold pieces are split over the devices where that
  /// can be done without more work; otherwise one computes for all of them.
  bool splitsWork = true;
  /// Which results may get a sharding that the compiler finds; one entry may stand for all.
  std::vector<bool> propagateToResults;
  /// A folder for the stages of compilation; empty: none are written.
  std::string dumpFolder;
};

/// Compiles a program in any of its forms (portable artifact, bytecode or text).
Result<std::shared_ptr<const runtime::Executable>>
compile(std::string_view program, const CompileOptions &options);

Result<std::shared_ptr<const runtime::Executable>> deserialize(std::string_view bytes);

} // namespace cupel::compiler
