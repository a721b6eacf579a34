// What a program is compiled for, and how. Filled by the PJRT plugin, read by the compiler and its
// backends; saved executables hold it. No MLIR and nothing of PJRT.

#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/DType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::runtime {
class TraceRegion;
} // namespace cupel::runtime

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
  /// The element types that devices compute in; what a program computes in others is rounded to
  /// them. Empty: all.
  std::vector<tensor::DType> types;
  /// Which weights of products are held in block floats, as parseWeightFormats reads it
  /// (passes/RoundWeights.h); empty: none.
  std::string weightFormats;
  /// Products and convolutions of f32 of default precision take bf16, with sums in f32.
  bool narrowsProducts = false;
  /// And what they read is bf16 for all that read it.
  bool keepsNarrow = false;
  /// Programs on whole tensors of which devices hold pieces are split over the devices where that
  /// can be done without more work; otherwise one computes for all of them.
  bool splitsWork = true;
  /// A program that is to be split and cannot be is an error; otherwise that is noted.
  bool isStrict = false;
  /// Who makes the executable; see Backends.h.
  std::string backend = "reference";
  /// Which results may get a sharding that the compiler finds; one entry may stand for all.
  std::vector<bool> propagateToResults;
  /// Of compiled programs: what is small gets machine code too, instead of being run operation by
  /// operation.
  bool alwaysMakesCode = false;
  /// How far programs are changed for the sake of speed: 0, 1 or 2; see device/Passes.h.
  int64_t level = 2;
  int64_t sramBytes = 0; // Of each device; 0: none.
  /// Only so many of the rewrites that passes may leave are done (see rewrites/Rewrites.h), and they
  /// are counted; -1: all of them, and nobody counts.
  int64_t rewriteLimit = -1;
  /// For tests of those who find wrong rewrites: the rewrite of `plant-wrong-rewrite` that is wrong,
  /// from 1 on; 0: the pass does not run.
  int64_t wrongRewrite = 0;
  /// Rewrites that users added, as text of the PDL dialect (fusions/Fusions.h), and the names of those that are left out.
  std::string fusions, withoutFusions;
  /// Commands are recorded at the second run and replayed from then on (backends/cpu/TracedRuns.h), in
  /// this memory; null: the process's.
  bool enablesTrace = false;
  std::shared_ptr<runtime::TraceRegion> traceRegion = nullptr;
  /// A folder for the stages of compilation; empty: none are written.
  std::string dumpFolder;
  /// The first run writes the program as standalone code.
  struct Code {
    std::string language; // py or cpp; empty: no code is written.
    std::string folder;
    bool exportsTensors = true;
  };
  Code code;
};

/// All of it but the folder and what decides nothing about results, as one line of words.
std::string describe(const CompileOptions &options);
/// The options that `describe` wrote so.
Result<CompileOptions> parseCompileOptions(std::string_view line);

} // namespace cupel::compiler
