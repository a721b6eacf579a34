// The options of our own device that decide what a program is compiled to, as `cupel explore --option`
// and `cupel compile --option` take them: read by the table that the plugin reads, so that what is shown
// is a program which the device runs with these options.
#pragma once

#include "cupel/compiler/fusions/Fusions.h"
#include "cupel/runtime/Trace.h"
#include "cupel/compiler/passes/RoundWeights.h"
#include "cupel/support/Error.h"

#include <cstdint>
#include <llvm/Support/JSON.h>
#include <mlir/IR/BuiltinOps.h>
#include <string>
#include <vector>

namespace cupel::cli {

struct GraphOptions {
  int64_t rewriteLimit = -1, level = 2, sramBytes = 0;
  int64_t traceRegionBytes = runtime::TraceRegion::kDefaultBytes;
  std::string architecture = "cpu";
  /// Why the program runs whole on the reference with these options; empty: it is compiled.
  std::string notCompiled;
  bool isGiven = false;
  std::string fusionPatterns, withoutFusions;
  std::vector<compiler::FusionCount> fusions; ///< Of users, and how often each was done.
  std::vector<compiler::RoundedWeight> weights; ///< Those that are held in block floats.
  int64_t narrowProducts = 0; ///< That take bf16 where the program has f32,
  bool keepsNarrow = false;   ///< and so do all that read what they read.

  /// Reads `given` (name -> text) and brings the program to what the common passes make of it with
  /// these options. An error names an option that is none, or a value that it does not take.
  /// Fusions of users are done as well, unless the caller does them (`fuse`).
  static Result<GraphOptions> apply(const llvm::json::Object &given, mlir::ModuleOp module, bool fuses = true);
  Status fuse(mlir::ModuleOp module);
};

} // namespace cupel::cli
