// One execution of a small program on the device under test, in a process of its own and with a
// deadline of its own, judged against the reference. What came of it is remembered by content, so
// that a search that was killed goes on where it was. Used by whoever looks for the operation to
// blame and by whoever shrinks programs; it never takes a device's word for what is right.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/ContentCache.h"
#include "cupel/testbench/worker/GoldenCache.h"
#include "cupel/testbench/worker/Prepared.h"
#include "cupel/testbench/worker/RemoteDevice.h"
#include "cupel/testbench/worker/TestNoise.h"

#include <mutex>
#include <span>

namespace cupel::testbench::worker {

/// What came of a program on the device under test.
struct TriedPiece {
  bool passed = false;
  std::string sentence = {}; ///< Why not, or how well.
  bool isSilent = false; ///< It passed, and would have whatever it gave: all of it is noise for the most part.
  bool isPartlySilent = false; ///< It passed, and some of what it gives tells little.
  /// Of one that did not come to its end; nothing where results are wrong or right.
  std::optional<RemoteFailure> failure = {};
  std::string errorClass = {}; ///< Of such a one: `unsupported`, `device_lost`, ...
  // Of one with wrong results: the first of them.
  size_t output = 0;
  std::string picture = {};
  std::optional<double> pcc = {}, maxAbsolute = {}, relativeL2 = {};

  /// Whether both failed in the same way: the same stage, the same kind of end and a message of the
  /// same shape; of wrong results, that both are wrong.
  bool failsLike(const TriedPiece &other) const;
};

/// What a message says, without names, numbers and places.
std::string shapeOfMessage(const std::string &message);

class Prober {
public:
  /// `device` is named as it is opened for each of `jobs` processes (isolatedName). The reference
  /// must outlive this.
  Prober(const Request &request, Device &reference, std::string device, unsigned jobs);

  /// The reference's results of a program.
  Result<TensorLists> evaluate(const Prepared &program);
  /// Runs a program whose expected values are the reference's. `attempt` tells executions of the
  /// same apart. An error means that nothing can be said: the device cannot be reached, or the
  /// comparison cannot be made.
  Result<TriedPiece> probe(Prepared &program, uint32_t attempt = 0);
  /// What the device gives for a program.
  Result<std::vector<tensor::Tensor>> execute(const Prepared &program);
  /// What our own plugin said of what was executed so.
  std::map<std::string, std::string> notes() const;
  /// What is wrong with `actual` by the noise of the program; empty where nothing is.
  Result<std::string> describeDifference(const Prepared &program, const TensorLists &expected,
                                         const TensorLists &actual);
  /// Several at once, in their order.
  std::vector<Result<TriedPiece>> probeAll(std::span<Prepared *> programs);

  /// Each probe may take so long.
  void setDeadline(double seconds) { probeSeconds = seconds; }
  /// Probes may take this much longer than the slowest that passed, and no longer than the deadline.
  void setPatience(double factor) { patience = factor; }
  /// Where a test is known to hang; kNoStage where that is not known, or it comes to its end. A probe
  /// that comes to its deadline in an earlier stage may have been slow for other reasons, such as a
  /// machine with other work, and says nothing of the program: it is asked again with more time.
  void awaitStage(std::string stage) { awaited = std::move(stage); }
  static constexpr const char *kNoStage = "";
  /// How many probes there were, and how many of them were known already.
  size_t probes() const { return asked; }
  size_t known() const { return found; }
  unsigned jobs() const { return unsigned(devices.size()); }
  /// What the cache knows this device by; empty where nothing of it is kept.
  const std::string &identity() const { return deviceIdentity; }

private:
  struct Slot {
    std::unique_ptr<Device> device;
  };
  Result<TriedPiece> run(Device &device, Prepared &program, double seconds);
  Result<TriedPiece> runUntilDecided(Device &device, Prepared &program);
  bool isUndecided(const TriedPiece &tried) const;
  Status open(Slot &slot);
  /// `isReferences`: what is expected is the reference's word; else its own results are evaluated.
  TestNoise noiseOf(const Prepared &program, bool isReferences = true);
  TriedPiece judge(const Prepared &program, const std::vector<tensor::Tensor> &actual);
  Result<TriedPiece> probeOn(Slot &slot, Prepared &program, uint32_t attempt);
  double secondsAllowed() const;

  const Request &request;
  Device &reference;
  std::string deviceName, deviceIdentity;
  std::string awaited = "compile";
  std::vector<Slot> devices;
  double probeSeconds = 20, patience = 0, slowest = 0;
  std::atomic<size_t> asked = 0, found = 0;
  /// Of `slowest`, and of the context that all programs share, which is no context for threads.
  std::mutex mutex;
  GoldenCache golden;
  ContentCache cache;
};

/// How a device runs the program beyond what stands in it, for keys; empty: on one, without flags.
std::string describeDevices(const Program &program);

} // namespace cupel::testbench::worker
