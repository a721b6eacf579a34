// Runs a selection: feeds workers one test at a time, watches time, memory and devices, and sees to
// it that every selected test ends in exactly one outcome. Used by `cupel run`. It links no MLIR,
// loads no plugin, and never shows an outcome that the journal does not hold yet.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/Kinds.h"
#include "cupel/testbench/worker/Protocol.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::runner {

class Journal;

/// A device that tests can go to. Several stand for each other: a test goes to any that is free.
struct DeviceSpec {
  std::string name = "reference"; ///< As the worker knows it.
  uint32_t chips = 0;             ///< How many there are to share; 0: as many as are asked for.
};

/// What is known of a test beforehand: from earlier runs, or declared.
struct Forecast {
  double seconds = -1;      ///< Negative: unknown.
  uint64_t memoryBytes = 0; ///< 0: unknown.
  uint32_t chips = 1;
  uint32_t group = 0; ///< Tests of a group follow each other: they share what their servers load.
};

/// How a server of tests is started.
struct ServerSpec {
  /// Program by its path, and arguments; the descriptors of the protocol are added to them.
  std::vector<std::string> command;
  double startSeconds = 30; ///< Until it has said hello.
  std::string hint = {};    ///< What to do where it does not start.
};

/// A test before its first server sees it: over already, or what that server needs besides it.
struct Prepared {
  std::optional<results::TestRecord> ended;
  std::string handover; ///< A JSON object; empty: nothing.
  std::string python = {}; ///< The interpreter that serves it; empty: that of the run.
};

/// Tests that somebody hands out while the run goes on.
struct Handout {
  std::vector<size_t> tests; ///< Places in the selection.
  bool isLast = false;       ///< Nothing comes after these.
};

/// Which failed tests are saved as workloads, each in a folder of its own.
struct KeepOptions {
  std::string folder;                   ///< Empty: none.
  uint32_t explain = 0; ///< Of so many failed tests the operation to blame is looked for.
  double explainSeconds = 0; ///< In all these searches together; 0: no limit.
  uint64_t testBytes = 0, runBytes = 0; ///< Of one test, and of all together; 0: no limit.
};

struct RunnerOptions {
  unsigned jobs = 1;
  /// By the number of the Server. The worker, which has the devices, must be there.
  std::array<ServerSpec, kServerCount> servers;
  ServerSpec &server(Server which) { return servers[size_t(which)]; }
  /// Called before a test that goes to other servers than the worker; may be empty. `isDoubted`:
  /// its graph is to be compared with its model.
  std::function<Prepared(const TestItem &, const std::string &device, bool isDoubted)> prepare;
  /// Where set, a test has its turn only once this hands it out, which is asked while workers are
  /// idle; one that is never handed out has no record. Otherwise all have it from the beginning.
  std::function<Handout()> handOut;
  std::vector<DeviceSpec> devices = {DeviceSpec{}};
  std::string arch; ///< For the records.
  std::optional<uint32_t> repeat; ///< Executions of each test; nothing: more than one if cheap.
  std::string compileBackend = "cupel"; ///< Of operator cases: torch.compile's under test.
  std::vector<std::string> shapes; ///< Of models' inputs, NAME=2x3.
  /// How results are judged: see worker::Request.
  std::string comparison, precision;
  bool strict = false;
  std::optional<uint32_t> noise, pieces;
  /// How far tests go, and how they are taken apart: see worker::Request.
  std::string depth, opByOpBackend, opTables;
  double opTimeoutSeconds = 30;

  double timeoutSeconds = 300;                    ///< Of one try of a test; 0: none.
  std::map<results::Stage, double> stageTimeouts; ///< Of single stages.
  double timeoutSlackSeconds = 0.25; ///< How much later than the worker itself we end a test.
  double terminateGraceSeconds = 1;  ///< Between SIGTERM and SIGKILL.
  double healthTimeoutSeconds = 30;
  uint64_t memoryLimitBytes = 0;       ///< Of one test; 0: only the budget of all.
  uint64_t memoryBudgetBytes = 0;      ///< Of all workers together; 0: four fifths of the machine.
  uint32_t threadsPerTest = 0;         ///< 0: the cores, shared by the workers.
  uint64_t outputCapBytes = 256 << 10; ///< Of what is kept of a test's output.
  uint64_t passedOutputCapBytes = 16 << 10; ///< The same where the test passed.

  uint32_t retries = 0;
  bool forceRun = false; ///< Run what the configuration says to skip.
  bool runXfail = false; ///< Report known failures as if they were not known.
  uint64_t seed = 0;

  KeepOptions keep;
  worker::SearchRequest search; ///< Tests are searched rather than run, where it says so.
  std::string scratchFolder; ///< Workers get folders of their own below it.
  std::unordered_map<std::string, Forecast> forecasts; ///< By full name.
  /// Called once on every record before it is written: reasons, guidance, bring-up status.
  std::function<void(results::TestRecord &, const TestItem &)> complete;
  /// False: devices other than the reference are checked before they get their first test.
  bool trustDevices = false;
  /// Whether SIGINT, SIGTERM and SIGHUP end the run in order.
  bool handleSignals = true;
};

/// Is told what happens, in the runner's thread. Outcomes come after they are safe on disk.
class Observer {
public:
  virtual ~Observer() = default;
  /// `slot` is the worker that runs it, from 0; `attempt` counts from 1.
  virtual void started(size_t index, const TestItem &item, uint32_t slot, uint32_t attempt) {}
  virtual void stage(size_t index, const TestItem &item, uint32_t slot, results::Stage stage) {}
  /// A line about how far a test is.
  virtual void told(size_t index, const TestItem &item, const std::string &line) {}
  /// Once for each test of the selection that a resumed journal did not hold already, in the order
  /// in which they ended.
  virtual void finished(size_t index, const TestItem &item, const results::TestRecord &record) {}
  /// Something the user should know that belongs to no test: a device that went bad.
  virtual void notice(const std::string &text) {}
  /// Several times a second, for clocks and progress bars.
  virtual void tick() {}
};

/// The name of a test's folder among those that are kept: its full name as far as file names go.
std::string keptName(const TestItem &item);

struct RunOutcome {
  std::vector<results::TestRecord> records; ///< One for each selected test, in their order.
  bool interrupted = false;                 ///< By a signal.
  bool stoppedAtOnce = false; ///< By a second one: records lack what was running or waiting.
  std::map<std::string, std::string> badDevices; ///< Name and why.
};

/// Runs `items`; with no journal nothing is written down, and outcomes are shown at once. Those that `done` holds (by full name, from a resumed journal) are not run again;
/// their records are taken over. An error means that the run could not be held at all, or that the
/// journal could not be written any more.
Result<RunOutcome> run(const std::vector<TestItem> &items, const RunnerOptions &options,
                       Journal *journal, Observer &observer,
                       const std::unordered_map<std::string, results::TestRecord> &done = {});

} // namespace cupel::testbench::runner
