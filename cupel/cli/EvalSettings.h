// What `cupel eval` asks of the workers that evaluate for it, as a value with a JSON form: the verb
// reads the command line, cupel-worker does what this says. No MLIR.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cupel::cli {

struct EvalSettings {
  std::string entry;
  std::vector<std::string> args; ///< "random", "zeros", either with ":SHAPE", a .npy file or `dense<...>`.
  std::string saveFolder, probeFolder;
  std::string trace; ///< Which operations; empty: none.
  uint64_t seed = 0;
  bool print = false, wideSums = false;
  uint32_t replicas = 1, partitions = 1, threads = 0;
  uint64_t maxMemory = 0, maxSteps = 0;
  double timeout = 0;
  std::string standardInput; ///< The file that holds what came there.

  // Instead of the golden reference alone:
  std::string device, workloadFolder;
  std::vector<std::string> versions; ///< Of StableHLO, for saved workloads.
  std::string precision; ///< What the device computes in; empty: what its name says, or f32.
  uint32_t noise = 2;    ///< Jittered evaluations that its results are judged by.

  bool usesDevice() const { return !device.empty() || !workloadFolder.empty(); }
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(EvalSettings, entry, args, saveFolder, probeFolder,
                                                trace, seed, print, wideSums, replicas, partitions,
                                                threads, maxMemory, maxSteps, timeout,
                                                standardInput, device, workloadFolder, versions,
                                                precision, noise)

} // namespace cupel::cli
