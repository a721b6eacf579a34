// One session of `cupel bench`: has programs made ready by cupel-worker, starts a process for each
// contestant (cupel-device for a device, Python for a peer), lets them run in turns, so that what
// else the machine does hits all of them, and gives what was measured. It links no MLIR and loads no
// plugin; a contestant that crashes or hangs costs itself alone.
#pragma once

#include "cupel/runtime/DeviceName.h"
#include "cupel/testbench/bench/LineProcess.h"
#include "cupel/testbench/bench/Measurement.h"

#include <functional>

namespace cupel::testbench::bench {

struct BenchOptions {
  std::vector<std::string> devices, peers; ///< As typed.
  std::vector<std::string> shapes;         ///< Of models: NAME=2x3.
  std::string python, peerScript;          ///< What runs peers.
  std::string scratch;                     ///< An empty folder.
  uint32_t threads = 1, rounds = 8;
  uint64_t seed = 0;
  double seconds = 2;   ///< Of runs, for each contestant.
  double timeout = 600; ///< For one answer.
  bool checks = true;   ///< By the golden reference.
};

/// The peers there are.
const std::vector<std::string> &knownPeers();
/// Whether a peer multiplies programs in f32 in bf16. Such a one is asked for by name.
bool isNarrowPeer(const std::string &name);

class BenchSession {
public:
  /// `tell` hears what is being done and how much of this model is done, from 0 to 1. `stop` ends
  /// everything soon.
  using Tell = std::function<void(const std::string &what, double part)>;
  BenchSession(BenchOptions options, Tell tell, const volatile std::sig_atomic_t &stop)
      : options(std::move(options)), tell(std::move(tell)), stop(stop) {}

  Measurement measure(const std::string &file);
  /// What the program takes, without running it.
  Result<BenchProgram> describe(const std::string &file);

private:
  struct Running {
    Contestant result;
    LineProcess process;
  };

  Status prepare(const std::string &file, BenchProgram &program);
  Running startDevice(const std::string &name, const BenchProgram &program);
  Running startPeer(const std::string &name, const BenchProgram &program);
  /// Waits for the contestant to be ready for its first round.
  void awaitReady(Running &running, const BenchProgram &program);
  void runRound(Running &running, double seconds);
  void finish(Running &running);
  void measureLimits(Measurement &measurement);
  void lose(Running &running, const Error &error);

  BenchOptions options;
  Tell tell;
  const volatile std::sig_atomic_t &stop;
  LineProcess limits;
  uint32_t models = 0;
};

} // namespace cupel::testbench::bench
