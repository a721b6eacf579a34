// How the runner and its workers talk: frames over two pipes of their own, never over the test's
// standard streams. A frame is its length (4 bytes, little endian) and a payload; a payload is one
// line of words and, after the line break, a JSON object. The runner asks for one test at a time;
// the worker says hello, names each stage as it enters it and ends with a result. Knows neither
// MLIR nor processes, so that workers of any kind and tests can speak it. Described for those who
// write a worker in docs/reference/worker-protocol.md.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/TestItem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <variant>
#include <vector>

namespace cupel::testbench::worker {

/// Runner and worker must agree on it exactly; the worker's hello names its own.
inline constexpr int kProtocolVersion = 1;

/// A longer frame is taken for garbage.
inline constexpr uint32_t kMaxFrameBytes = 64u << 20;

/// Exit code of a worker that can no longer reach its runner.
inline constexpr int kExitLostConnection = 97;

/// Error class of a check of health where the device cannot be opened at all.
inline constexpr std::string_view kNoDevice = "no_device";

/// Where a failed test is to be saved, and how it failed.
struct KeepRequest {
  std::string folder;    ///< Of the workload, by its whole path.
  uint64_t maxBytes = 0; ///< 0: no limit.
  std::string outcome, stage, message;
  bool save = true; ///< Otherwise it is there already.
  /// The operation to blame is looked for as well, on the device, after all else is done.
  bool explain = false;
};

/// A search for why a test fails instead of its verdict alone.
struct SearchRequest {
  std::string what;          ///< `explain`, `reduce`; empty: the test is run.
  uint64_t memoryBytes = 0;  ///< Of intermediate values; 0: as the search likes.
  double probeSeconds = 0;   ///< Of one execution on the device; likewise.
  double seconds = 0;        ///< Of all of it: what was found by then is given; 0: no limit.
  uint32_t tries = 0;        ///< Of what fails now and then; likewise.
  uint32_t jobs = 0;         ///< Processes with the device at once; likewise.
  std::string folder;        ///< Where what it makes goes, by its whole path; empty: a cache.
  std::string keepFolder;    ///< Where intermediate values go; empty: nowhere.
  bool isFresh = false;      ///< What is remembered is not looked at.
  bool bisectPasses = false; ///< Our own compiler's passes are searched too.
};

/// What the runner asks of a worker. `test`: run this item. `health`: run a small program that is
/// known to be good, to learn whether the device still works. `keep`: save this item, which failed,
/// as a workload, without the device; the record names its folder, or says why there is none.
struct Request {
  enum class Kind : uint8_t { Test, Health, Keep };
  Kind kind = Kind::Test;
  uint64_t number = 0;           ///< Of this request; replies repeat it.
  TestItem item;                 ///< Empty for health.
  std::string folder;            ///< Where relative paths of the item begin: the runner's own.
  std::string device;            ///< `reference`, or what --device names.
  uint64_t seed = 0;             ///< Of inputs that are made up.
  double timeoutSeconds = 0;     ///< After which the worker should give up by itself; 0: never.
  uint32_t threads = 0;          ///< For the work of one test; 0: as many as there are cores.
  uint64_t memoryLimitBytes = 0; ///< Likewise; 0: no limit.
  std::string arch;              ///< --arch, for conditions of the test.
  std::string compileBackend;    ///< Of operator cases: `cupel`, or a backend of torch.compile.
  std::optional<uint32_t> repeat; ///< --repeat: how often to execute; nothing: where it is cheap.
  std::vector<std::string> shapes; ///< --shape, as typed: of models, shapes of inputs by name.
  /// How results are judged where no comparator is configured: by noise, or `pcc`.
  std::string comparison;
  bool strict = false; ///< The strict rule is the verdict even where a comparator is configured.
  /// Jittered evaluations (2 if nothing is said); 0: limits from the declared precision alone.
  std::optional<uint32_t> noise;
  std::string precision; ///< --precision; empty: what the device's name or architecture says.
  /// Into how many pieces a test is cut to be judged once more; nothing: as the precision asks.
  std::optional<uint32_t> pieces;
  /// How far the test goes: stablehlo, device-ir, compile-op-by-op, execute-op-by-op; empty: to its
  /// end.
  std::string depth;
  std::string opByOpBackend;   ///< What an operation is: a call of `torch`, or one of `stablehlo`.
  std::string opTables;        ///< The folder that gets the model's table of operations.
  double opTimeoutSeconds = 0; ///< Of one operation; 0: none of its own.
  /// What the runner and the servers before this one made of the test: a JSON object, or empty.
  std::string handover;
  /// A file in memory for tensors that one server hands to the next; both map it.
  std::string tensors;
  KeepRequest keep;                ///< For keep alone.
  SearchRequest search;            ///< Of tests and of keep.

  bool isOpByOp() const { return depth.ends_with("op-by-op"); }
};

/// The first thing a worker says.
struct Hello {
  int protocol = 0;
  std::string worker; ///< Name and version, for messages.
  /// Why it can serve nothing and ends: a sentence that says what to do; empty where it can.
  std::string unusable = {};
};

/// The worker enters a stage of a test.
struct StageEntered {
  uint64_t number = 0;
  results::Stage stage = results::Stage::None;
};

/// A line about how far the test is, for whoever watches.
struct Told {
  uint64_t number = 0;
  std::string line;
};

/// The test is over. Of the record only what the test itself found out is filled: outcome (before
/// statuses of the configuration act), stages, comparisons, error class, message, notes.
/// The note of a record after which the worker has to be replaced: a device answers it no more.
inline constexpr const char *kGivenUpNote = "device_given_up";
/// The note of a test whose device computes what the reference does, where something else is
/// expected: what is looked at next is the program, and whether it is the model.
inline constexpr const char *kExpectedOffNote = "reference is off as far";

struct Finished {
  uint64_t number = 0;
  results::TestRecord record;
  /// Processes that the worker keeps for itself; all others below it are the test's and are ended.
  std::vector<pid_t> kept = {};
  /// Of a test that passed so far: what the next server needs, a JSON object. Empty: it is over.
  std::string handover = {};
};

using Reply = std::variant<Hello, StageEntered, Finished, Told>;

// Payloads, without the length.
std::string encode(const Request &request);
std::string encode(const Hello &hello);
std::string encode(const StageEntered &stage);
std::string encode(const Finished &finished);
std::string encode(const Told &told);

Result<Request> decodeRequest(std::string_view payload);
Result<Reply> decodeReply(std::string_view payload);

/// The payload with its length before it.
std::string framed(std::string_view payload);

/// Takes bytes as they come and gives payloads back.
class FrameReader {
public:
  void append(std::string_view bytes) { buffer.append(bytes); }
  /// The next payload, valid until the next call; nothing if it is not complete.
  Result<std::optional<std::string_view>> next();
  /// Whether part of a frame is left over.
  bool hasRest() const { return consumed < buffer.size(); }

private:
  std::string buffer;
  size_t consumed = 0;
};

} // namespace cupel::testbench::worker
