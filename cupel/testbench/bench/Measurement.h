// What a measurement is: a program, the machine's limits, and of each contestant (a device, or a
// peer: another runtime) how long it took to be ready and how long its runs took. Made by
// `Session.h`, shown by `Report.h`. Values only: nothing here measures, and times that nobody took
// stay empty rather than zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::bench {

/// What the machine can do at best, measured in the same session.
struct MachineLimits {
  double flopsPerSecond = 0; ///< Of a large product in f32.
  double bytesPerSecond = 0; ///< Of a copy that is larger than the caches: read and written.
};

/// A program as it goes to the contestants.
struct BenchProgram {
  std::string file, form; ///< As typed; mlir, onnx, pt2 or workload.
  std::string folder;     ///< The workload that was made of it.
  uint64_t arguments = 0, inputs = 0; ///< Arguments behind the inputs are weights.
  std::vector<std::string> inputNames; ///< Of a model.
  std::vector<std::vector<int64_t>> inputShapes;
  double flops = 0;                    ///< Of one run, by its operations.
  double transcendentals = 0;
  double inputBytes = 0, weightBytes = 0, resultBytes = 0;
  bool isNarrow = false;    ///< A result has fewer bits than f32: contestants may differ by more.
  bool hasExpected = false; ///< By the golden reference.
  double importSeconds = 0; ///< From the file to StableHLO.
};

/// How long runs took, in seconds.
struct Latency {
  std::vector<double> first;  ///< The first runs, in order.
  std::vector<double> steady; ///< Of all rounds.

  /// Of the steady ones; `percent` from 0 (the best) to 100. Nearest rank: a time that was measured.
  double percentile(double percent) const;
  double throughput() const; ///< Runs a second.
};

struct Contestant {
  std::string name;
  bool isPeer = false;
  /// Why it was not run, or ended before the others.
  std::string failure;
  std::string version; ///< Of a peer.
  std::string sram;    ///< What of it lies in the SRAM of our own device; empty where that has none.
  std::string note;    ///< What one should know, such as weights that it holds as constants.
  std::optional<double> compileSeconds, recompileSeconds; ///< Again in another process.
  Latency latency;
  /// Resident at the worst moment, and before the program came.
  std::optional<double> peakBytes, baseBytes;
  /// How far results are from what is expected, as a part of its norm.
  std::optional<double> difference;
  bool isWrong = false; ///< By more than roundings explain: its times are no answer.

  bool ran() const { return !latency.steady.empty(); }
  bool counts() const { return ran() && !isWrong; }
};

struct Measurement {
  BenchProgram program;
  uint32_t threads = 0;
  std::optional<MachineLimits> limits;
  std::vector<Contestant> contestants;
  bool isInterrupted = false;
  std::string failure; ///< Why nothing was measured.

  /// The fastest peer by its median; null where none ran.
  const Contestant *bestPeer() const;
};

} // namespace cupel::testbench::bench
