#include "cupel/testbench/session/Session.h"

#include "cupel/results/report/Changes.h"
#include "cupel/results/report/OpReports.h"
#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Text.h"
#include "cupel/support/Process.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/runner/KilledRuns.h"
#include "cupel/testbench/session/CaseRequests.h"
#include "cupel/testbench/session/FailedFolders.h"
#include "cupel/testbench/session/ModelEnvironments.h"
#include "cupel/testbench/triage/Explain.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <thread>

namespace cupel::testbench::session {
namespace {

namespace fs = std::filesystem;
using results::KnownTest;
using results::Store;
using results::TestRecord;
using runner::Journal;
using runner::RunnerOptions;
using runner::RunOutcome;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Passes what the runner tells on to the reporter, and counts.
class Telling : public runner::Observer {
public:
  using Finished = std::function<void(size_t, const TestRecord &)>;
  Telling(results::Reporter &reporter, const Finished &tell) : reporter(reporter), tell(tell) {}

  void started(size_t, const TestItem &item, uint32_t slot, uint32_t attempt) override {
    reporter.testStarted(item.fullName(), slot, attempt);
  }
  void stage(size_t, const TestItem &item, uint32_t slot, results::Stage stage) override {
    reporter.stageEntered(item.fullName(), slot, stage);
  }
  void told(size_t, const TestItem &item, const std::string &line) override {
    reporter.testTold(item.fullName(), line);
  }
  void finished(size_t test, const TestItem &, const TestRecord &record) override {
    tell(test, record);
    reporter.testEnded(record);
  }
  void notice(const std::string &text) override { reporter.note(text); }
  void tick() override { reporter.tick(); }

private:
  results::Reporter &reporter;
  const Finished &tell;
};

/// What this run happens in, for those who compare it later.
/// By which rule results are judged, for every report.
std::string describeJudging(const RunnerOptions &running) {
  std::string text = running.strict ? "strict, also where a comparator is configured"
                     : running.comparison == "pcc"
                         ? "pcc 0.99 where no comparator is configured"
                         : "strict where no comparator is configured";
  text += running.noise && *running.noise == 0
              ? ", limits from the declared precision alone"
              : fmt::format(", noise from {} jittered evaluations", running.noise.value_or(2));
  return running.precision.empty() ? text : text + ", precision " + running.precision;
}

std::map<std::string, std::string> environmentNow(uint64_t seed) {
  std::map<std::string, std::string> environment;
  environment["cupel"] = version();
  environment["build"] = buildKind();
  environment["cpus"] = std::to_string(std::thread::hardware_concurrency());
  environment["seed"] = std::to_string(seed);
  std::error_code error;
  environment["folder"] = fs::current_path(error);
  utsname names;
  if (uname(&names) == 0) {
    environment["host"] = names.nodename;
    environment["kernel"] = std::string(names.sysname) + " " + names.release;
  }
  for (fs::path folder = fs::current_path(error); !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", error)) {
      Result<CommandOutput> git =
          runCommand({"git", "-C", folder.string(), "rev-parse", "--short=12", "HEAD"});
      if (git && git->exitCode == 0)
        environment["git"] = git->text.substr(0, git->text.find('\n'));
      break;
    }
    if (folder == folder.parent_path())
      break;
  }
  return environment;
}

/// Whether tests end before anybody could judge their results.
bool stopsBeforeJudging(const std::string &depth) {
  return !depth.empty() && depth != "execute-op-by-op";
}

/// Where the workers of a run have their folders.
std::string scratchFolder(const std::string &run) {
  return fs::temp_directory_path() / ("cupel-run-" + run);
}

/// How many workers pay for their start. One is the fastest way through a short list of tests whose
/// server takes long to start and each of which takes next to nothing.
unsigned workersWorthStarting(const std::vector<TestItem> &items, const RunnerOptions &running) {
  constexpr double kLongSeconds = 20; // Tests that are known to take long are worth more.
  double known = 0, workers = 1;
  for (const TestItem &item : items) {
    uint32_t each = kindOf(item).testsAWorker;
    if (!each || running.compileBackend != "cupel")
      return running.jobs;
    workers += 1.0 / each;
    if (auto found = running.forecasts.find(item.fullName()); found != running.forecasts.end())
      known += found->second.seconds;
  }
  return known > kLongSeconds ? running.jobs : unsigned(workers);
}

/// A sentence for each --shape that no model of the run had an input for.
std::vector<std::string> shapesNotTaken(const std::vector<std::string> &shapes,
                                        const std::vector<TestRecord> &records) {
  std::vector<std::string> sentences;
  for (const std::string &shape : shapes) {
    bool taken = false;
    std::string why;
    for (const TestRecord &record : records) {
      taken |= std::ranges::count(record.shapesTaken, shape) != 0;
      if (why.empty() && !record.shapesNotTaken.empty())
        why = " (" + record.id + ": " + record.shapesNotTaken + ")";
    }
    if (!taken)
      sentences.push_back(fmt::format("--shape {}: no model of this run took it{}", shape, why));
  }
  return sentences;
}

} // namespace

Result<std::unordered_map<std::string, bool>> succeededBefore(Store &store,
                                                              const std::string &wanted,
                                                              const std::string &arch,
                                                              const std::string &device) {
  Result<std::string> run = store.resolveRun(wanted);
  if (!run)
    return run.error().within("-R");
  // The last run may have been of a few tests only: the others are no news because of that.
  Result<std::vector<KnownTest>> known = store.known(arch, device);
  if (!known)
    return known.error().within("-R");
  std::unordered_map<std::string, bool> succeeded;
  for (const KnownTest &test : *known)
    succeeded[test.fullName()] = !results::isBad(test.outcome);
  if (wanted != "latest") {
    Result<std::vector<results::OutcomeRow>> rows = store.outcomes(*run);
    if (!rows)
      return rows.error().within("-R");
    for (const results::OutcomeRow &row : *rows)
      succeeded[row.fullName()] = !results::isBad(row.outcome);
  }
  return succeeded;
}

Status Session::useResults(const std::string &folder) {
  options.results = folder;
  std::error_code error;
  fs::create_directories(folder + "/journals", error);
  if (error)
    return Error{folder + ": " + error.message() + " (--results names another folder)"};
  return {};
}

/// A store that cannot be used costs its memory of this run, never the run: the journal stays.
void Session::openStore() {
  Result<Store> opened =
      Store::open(results::StorePlace{options.results, options.database});
  if (!opened)
    return options.say("the results store cannot be used, outcomes go to the journal only (cupel "
                       "results ingest enters them later): " +
                       opened.message());
  store = std::move(*opened);
  // Runs that were killed are part of what is known.
  if (auto imported = store->importPending(); !imported)
    options.say(imported.message());
}

void Session::learn() {
  if (!store)
    return;
  Result<std::vector<KnownTest>> read = store->known(options.collect.arch, options.device);
  if (read)
    known = std::move(*read);
  else
    options.say("what earlier runs taught cannot be read: " + read.message());
}

/// Why no run begins: judged by a default, a test would be another one than was asked for.
static std::string describeNotTaken(const std::vector<Remark> &values) {
  constexpr size_t kShown = 20;
  std::string lines = fmt::format("the configuration has {} that no test can be judged by:",
                                  values.size() == 1 ? "a value" : fmt::format("{} values", values.size()));
  for (size_t i = 0; i < std::min(kShown, values.size()); ++i)
    lines += "\n  " + values[i].text();
  if (values.size() > kShown)
    lines += fmt::format("\n  and {} more", values.size() - kShown);
  return lines + "\ncorrect this first; cupel config check says more";
}

Result<std::vector<TestItem>> Session::select() {
  matrix::CollectOptions collect = options.collect;
  if (!options.repeat.empty() && !only) {
    if (!store)
      return Error{"-R needs the results store"};
    auto succeeded = succeededBefore(*store, options.repeat, collect.arch, options.device);
    if (!succeeded)
      return succeeded.error();
    collect.succeededBefore = std::move(*succeeded);
  }
  std::unordered_map<std::string, double> seconds;
  for (const KnownTest &test : known)
    if (test.seconds > 0)
      seconds[test.fullName()] = test.seconds;
  collect.knownSeconds = [&](const std::string &name) -> std::optional<double> {
    auto found = seconds.find(name);
    return found == seconds.end() ? std::nullopt : std::optional(found->second);
  };
  if (only) {
    // What was selected is selected still, whatever happened since.
    collect.only = only;
    collect.shards = 1;
    collect.shard = 0;
  }
  Result<matrix::Collection> collection = matrix::collect(collect);
  if (!collection)
    return collection.error();
  if (!collection->notTaken.empty())
    return Error{describeNotTaken(collection->notTaken)};
  options.remark(*collection);
  collectionErrors = collection->errors.size();
  if (collection->size() == 0)
    nothingSelected =
        collection->found && collect.succeededBefore
            ? fmt::format("nothing selected: of {} tests that were found all that are meant "
                          "succeeded when they last ran, and none is new",
                          collection->found)
        : collection->found
            ? fmt::format("nothing selected: of {} tests that were found none is meant",
                          collection->found)
            : "nothing selected: no tests were found (give a PATH, or see cupel run --help)";
  return collection->items();
}

void Session::nameRun(size_t selected) {
  info.startedAt = now();
  info.id = results::newRunId(info.startedAt);
  // Many machines share a database: the name is taken there before anybody uses it.
  if (store && !options.database.empty()) {
    info.id.clear();
    info.commandLine = options.commandLine;
    info.arch = options.collect.arch;
    info.device = options.device;
    if (Status status = store->beginRun(info); !status)
      options.say(status.message());
  }
  info.commandLine = options.commandLine;
  info.arch = options.collect.arch;
  info.device = options.device;
  info.selected = uint32_t(selected);
  info.environment = environmentNow(options.running.seed);
  info.environment["comparison"] = describeJudging(options.running);
  info.environment.insert(options.environment.begin(), options.environment.end());
}

Ending Session::begin(SessionOptions given) {
  options = std::move(given);
  if (Status status = useResults(options.results); !status)
    return {kExitUsage, status.message()};
  for (const runner::KilledRun &run : runner::closeKilledRuns(options.results + "/journals")) {
    std::error_code ignored;
    fs::remove_all(scratchFolder(run.id), ignored);
    options.say(fmt::format("run {} was killed: {} of its tests count as interrupted, {} as not "
                            "run (cupel run --resume {} goes on with it)",
                            run.id, run.interrupted, run.notRun, run.id));
  }
  openStore();
  learn();
  Result<std::vector<TestItem>> items = select();
  if (!items)
    return {kExitUsage, items.message()};
  if (items->empty())
    return {kExitNothingSelected, nothingSelected};
  nameRun(items->size());
  std::vector<std::string> names;
  names.reserve(items->size());
  for (const TestItem &item : *items)
    names.push_back(item.fullName());
  Result<std::unique_ptr<Journal>> created =
      Journal::create(options.results + "/journals/" + info.id + ".jsonl", info, names);
  if (!created)
    return {kExitUsage, created.message()};
  journal = std::move(*created);
  return go(std::move(*items), {});
}

Status Session::loadReasons() {
  std::vector<std::string> files = options.reasons;
  if (std::string file = triage::defaultReasonsFile(); !file.empty())
    files.insert(files.begin(), file);
  Result<triage::ReasonTable> table = triage::ReasonTable::load(files);
  if (!table)
    return table.error();
  reasons = std::move(*table);
  return {};
}

Ending Session::go(std::vector<TestItem> items, std::unordered_map<std::string, TestRecord> done) {
  if (Status status = loadReasons(); !status)
    return {kExitUsage, status.message()};
  reporter = options.makeReporter(info);
  reporter->runStarted(info);
  for (const TestItem &item : items)
    if (auto found = done.find(item.fullName()); found != done.end())
      reporter->testEnded(found->second);
  size_t told = done.size();
  Result<RunOutcome> outcome = runTests(items, done, [&](size_t, const TestRecord &) { ++told; });
  if (!outcome)
    return {kExitUnaccounted, outcome.message()};
  return finish(std::move(*outcome), told, items.size());
}

Result<RunOutcome>
Session::runTests(const std::vector<TestItem> &items,
                  const std::unordered_map<std::string, TestRecord> &done,
                  const std::function<void(size_t, const TestRecord &)> &finished) {
  RunnerOptions &running = options.running;
  running.complete = [&, also = running.complete](TestRecord &record, const TestItem &item) {
    if (also)
      also(record, item);
    triage::explain(record, item.expectation, *reasons);
  };
  CaseRequests cases(running.compileBackend, running.arch);
  ModelEnvironments environments;
  size_t captured = 0;
  running.prepare = [&](const TestItem &item, const std::string &device, bool isDoubted) {
    if (kindOf(item).preparation == Preparation::Case)
      return cases.prepare(item, device);
    // Where the Python worker puts what the worker runs next.
    std::string folder = running.scratchFolder + "/captured/" + std::to_string(captured++);
    auto chosen = std::ranges::find(running.devices, device, &runner::DeviceSpec::name);
    runner::Prepared prepared = environments.prepare(item);
    prepared.handover = fmt::format(
        R"({{"folder":"{}","chips":{},"weights":"{}","layers":{},"dtype":"{}","dropout":{},"op_by_op":"{}","check_export":{}}})", folder,
        chosen == running.devices.end() ? 0 : chosen->chips, options.weights, options.layers,
        options.modelDtype, !options.noDropout,
        depthOf(item, running.depth).ends_with("op-by-op") ? running.opByOpBackend : "", isDoubted);
    return prepared;
  };
  running.scratchFolder = scratchFolder(info.id + task);
  // Runs that begin within 15 us of each other have one name where they have stores of their own, and the first that ended took the
  // folder of the others with it: whoever makes it has it.
  std::error_code notMade;
  for (int other = 1; !fs::create_directory(running.scratchFolder, notMade) && !notMade; ++other)
    running.scratchFolder = scratchFolder(info.id + task) + "." + std::to_string(other);
  if (options.keepByDefault) {
    running.keep = *options.keepByDefault;
    running.keep.folder =
        fs::absolute(options.results).lexically_normal().string() + "/failed/" + info.id;
  }
  bool isOpByOp = std::ranges::any_of(items, [&](const TestItem &item) {
    return depthOf(item, running.depth).ends_with("op-by-op");
  });
  if (!isOpByOp)
    running.opTables.clear();
  if (isOpByOp) {
    if (running.opTables.empty())
      running.opTables =
          fs::absolute(options.results).lexically_normal().string() + "/op-by-op/" + info.id;
    std::error_code ignored; // What models of another run told each other is no news.
    if (task.empty())
      fs::remove_all(running.opTables + "/.done", ignored);
  }
  for (const KnownTest &test : known)
    if (test.seconds > 0)
      running.forecasts[test.fullName()] = {.seconds = test.seconds,
                                            .memoryBytes = test.peakMemoryBytes};
  if (options.chooseJobs)
    running.jobs = std::min(running.jobs, workersWorthStarting(items, running));
  auto note = [&](const std::string &text) { reporter->note(text); };
  if (running.handOut)
    // What is handed out is known only then.
    running.handOut = [&, handOut = running.handOut] {
      runner::Handout handout = handOut();
      std::vector<TestItem> given;
      for (size_t test : handout.tests)
        given.push_back(items[test]);
      environments.make(given, running, note);
      return handout;
    };
  else
    environments.make(items, running, note);
  Telling telling(*reporter, finished);
  // While tests run, the runner heeds it. What comes after is short and must not be torn apart.
  std::signal(SIGINT, SIG_IGN);
  Result<RunOutcome> outcome = runner::run(items, running, journal.get(), telling, done);
  if (!outcome)
    reporter->note(outcome.message());
  return outcome;
}

ExitCode Session::exitCodeOf(bool isAnyBad, bool isAnyJudged, bool isAnyUnjudged) const {
  // A test that could not be read has not passed.
  if (isAnyBad || collectionErrors != 0)
    return kExitFailure;
  // A run that judged nothing is no evidence of anything, and must not look like it.
  // One that was not to judge did what it was asked for.
  return isAnyUnjudged && (options.unjudgedFails || !isAnyJudged) &&
                 !stopsBeforeJudging(options.running.depth)
             ? kExitFailure
             : kExitSuccess;
}

Ending Session::finish(RunOutcome outcome, size_t told, size_t selected) {
  bool bad = false, isAnyJudged = false, isAnyUnjudged = false;
  for (const TestRecord &record : outcome.records) {
    bad |= results::isBad(record.outcome);
    isAnyJudged |= results::isVerdict(record.outcome);
    isAnyUnjudged |= results::familyOf(record.outcome) == results::Family::Unjudged;
  }
  bool complete = told == selected && !outcome.stoppedAtOnce;
  ExitCode code = !complete                       ? kExitUnaccounted
                  : bad || collectionErrors != 0 ? kExitFailure
                                                 : kExitSuccess;
  if (std::vector<std::string> unused = shapesNotTaken(options.running.shapes, outcome.records);
      complete && !unused.empty()) {
    for (const std::string &sentence : unused)
      reporter->note(sentence);
    // What was asked for has not been done.
    if (code == kExitSuccess)
      code = kExitUsage;
  }
  if (code == kExitSuccess)
    code = exitCodeOf(bad, isAnyJudged, isAnyUnjudged);
  info.exitCode = code;
  // Stopped at once, the run has not ended: it can be resumed.
  if (complete) {
    info.endedAt = now();
    journal->ended(info);
  }
  if (Status status = journal->flush(); !status)
    return {kExitUnaccounted, status.message()};
  if (store)
    if (auto imported = store->importJournal(journal->path()); !imported)
      reporter->note("the results store could not take the run, its journal is kept (" +
                     journal->path() + "): " + imported.message());
  // What earlier runs kept makes room for what this one did.
  if (options.keepByDefault)
    if (auto gone = pruneFailed(options.results + "/failed", info.id, failedLimit()); !gone.empty())
      reporter->note(fmt::format("the failed tests of {} are kept no longer (CUPEL_FAILED_LIMIT)",
                                 results::counted(gone.size(), "earlier run")));
  if (!complete) {
    reporter.reset(); // Takes its bar away, and not what is said next.
    return {.code = kExitUnaccounted,
            .note = fmt::format("{} of {} tests have an outcome; 'cupel run --resume' goes on",
                                told, selected)};
  }
  return report(outcome.records);
}

Ending Session::report(const std::vector<TestRecord> &records) {
  auto code = ExitCode(info.exitCode);
  std::vector<results::OutcomeRow> rows;
  rows.reserve(records.size());
  for (const TestRecord &record : records)
    rows.push_back(results::briefly(record, info.id));
  std::erase_if(known, [&](const KnownTest &test) { return test.run == info.id; });
  results::RunChanges changes = results::compareWithKnown(known, rows);
  const results::RunChanges *shown = known.empty() ? nullptr : &changes;
  reporter->runEnded(info, shown);
  Ending ending{code};
  if (!options.running.opTables.empty())
    ending.note = "Operations: " + options.running.opTables +
                  "/ has a table a model, models.md, ops.json and models_op_per_op.xlsx";
  if (Status status = writeReports(records, shown); !status)
    ending = {code == kExitSuccess ? kExitUsage : code, status.message()};
  return ending;
}

/// All that can be written are; the error is the first.
Status Session::writeReports(const std::vector<TestRecord> &records,
                             const results::RunChanges *changes) {
  results::RecordSource source = results::recordsIn(records);
  Status first;
  auto report = [&](const std::string &path, auto &&write) {
    if (path.empty())
      return;
    if (Status status = results::writeReportFile(path, write); !status && first)
      first = status;
  };
  report(options.junit, [&](std::ostream &out) { return results::writeJUnit(out, info, source); });
  report(options.json, [&](std::ostream &out) { return results::writeJson(out, info, source); });
  report(options.markdown, [&](std::ostream &out) {
    return results::writeMarkdown(out, info, source, changes);
  });
  if (!options.running.opTables.empty())
    if (Status status = results::writeOpReports(options.running.opTables, info); !status && first)
      first = status;
  return first;
}

} // namespace cupel::testbench::session
