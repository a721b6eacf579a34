// What the cpu backend makes of a program, for people and tools: every launch with its kernel, what
// it computes and moves, what was fused into it, and, if the program was run, where the time goes.
// Used by `cupel compile --report`; the program itself is not changed.

#pragma once

#include "cupel/compiler/analysis/CompositesUsed.h"
#include "cupel/compiler/fusions/Fusions.h"
#include "cupel/compiler/passes/RoundWeights.h"
#include "cupel/support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::compiler {

struct LaunchReport {
  std::string program; // "main", or the step of a loop or branch that it stands in.
  std::string kernel, operation, location;
  std::vector<std::string> fused; // The operations that it does at once.
  bool isFallback = false;
  double flops = 0, transcendentals = 0; // Of one run.
  int64_t bytes = 0, sramBytes = 0;      // That it reads and writes; of these, in SRAM.
  int64_t runs = 0;                      // While the program ran once.
  double seconds = 0; // Of these runs together, without launches that it made itself.
};

struct CpuReport {
  std::vector<LaunchReport> launches;
  int64_t arenaBytes = 0, constantBytes = 0, argumentBytes = 0, resultBytes = 0;
  int64_t kept = 0; // Launches that are left out of a run while the small arguments that they read stay.
  int64_t sramBytes = 0, inSram = 0, spilled = 0, spilledBytes = 0; // Of the main program.
  std::optional<double> seconds; // The best run, if there was any.
  int64_t runs = 0;
  std::string trace; // Whether its commands can be recorded, and what that comes to.
  std::vector<CompositeUse> composites; // Of the program that was compiled, before they were put in line.
  std::vector<FusionCount> fusions; // Of users.
  std::vector<FusionCount> recognised; // What has a name in the program (tensor/named).
  std::vector<RoundedWeight> weights; // Those that are held in block floats.
  int64_t narrowProducts = 0; // With operands in bf16 where the program has f32,
  bool keepsNarrow = false;   // which all read so that read them.
};

/// What `name-fusions` found in a module that has been lowered.
std::vector<FusionCount> namedFusionsOf(mlir::ModuleOp module);

/// Of a module at the device stage, which gets functions for what falls back. It is run as often as
/// `runs` says, on numbers of about size one; times are those of the best run.
Result<CpuReport> reportForCpu(mlir::ModuleOp module, int64_t runs);

/// The assembly of all code that the launches of such a module run, each behind a line that names
/// it. What runs on kernels that are no code of the program's own says so.
Result<std::string> assemblyForCpu(mlir::ModuleOp module);

/// What a machine can do, as far as that is known; 0 where it is not.
struct MachineRates {
  double flopsPerSecond = 0, bytesPerSecond = 0; // Of its DRAM.
};
/// How long a run takes at least: each launch as long as its numbers or its bytes take, whichever is
/// more. What lies in SRAM costs nothing beside. Nothing where a rate is not known; loops count once.
std::optional<double> estimatedSeconds(const CpuReport &report, const MachineRates &rates);

/// The same program at one optimization level.
struct LevelReport {
  int64_t level = 0;
  CpuReport report;
  std::optional<double> estimated;
};
/// A table with a line for each level.
std::string asText(llvm::ArrayRef<LevelReport> levels);

std::string asText(const CpuReport &report);
/// One object, with a line break at its end.
std::string asJson(const CpuReport &report, llvm::ArrayRef<LevelReport> levels = {});

} // namespace cupel::compiler
