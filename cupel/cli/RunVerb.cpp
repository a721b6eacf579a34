// `cupel run`: collect, schedule, run, journal, store, report, and the exit code.

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/RunOptions.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Changes.h"
#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Terminal.h"
#include "cupel/results/store/Store.h"
#include "cupel/support/Process.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/runner/Journal.h"
#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/KilledRuns.h"
#include "cupel/testbench/triage/Explain.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>

namespace cupel::cli {
namespace {

namespace fs = std::filesystem;
using results::KnownTest;
using results::Outcome;
using results::RunInfo;
using results::Store;
using results::TestRecord;
using testbench::TestItem;
using testbench::runner::Journal;
using testbench::runner::JournalContents;
using testbench::runner::RunnerOptions;
using testbench::runner::RunOutcome;

int fail(std::string_view message, ExitCode code = kExitUsage) {
  return reportError("run", message, code);
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Passes what the runner tells on to the terminal, and counts.
class Telling : public testbench::runner::Observer {
public:
  explicit Telling(results::Reporter &reporter) : reporter(reporter) {}

  void started(size_t, const TestItem &item, uint32_t slot, uint32_t attempt) override {
    reporter.testStarted(item.fullName(), slot, attempt);
  }
  void stage(size_t, const TestItem &item, uint32_t slot, results::Stage stage) override {
    reporter.stageEntered(item.fullName(), slot, stage);
  }
  void finished(size_t, const TestItem &, const TestRecord &record) override {
    ++told;
    reporter.testEnded(record);
  }
  void notice(const std::string &text) override { reporter.note(text); }
  void tick() override { reporter.tick(); }

  size_t told = 0;

private:
  results::Reporter &reporter;
};

/// What this run happens in, for those who compare it later.
std::map<std::string, std::string> environmentNow(const RunOptions &options) {
  std::map<std::string, std::string> environment;
  environment["cupel"] = version();
  environment["build"] = buildKind();
  environment["cpus"] = std::to_string(std::thread::hardware_concurrency());
  environment["seed"] = std::to_string(options.seed);
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

/// Where the workers of a run have their folders.
std::string scratchFolder(const std::string &run) {
  return fs::temp_directory_path() / ("cupel-run-" + run);
}

/// How many workers pay for their start. That of torch takes as long as hundreds of operator cases,
/// so that one worker is the fastest way through a short list of these.
unsigned workersWorthStarting(const std::vector<TestItem> &items, const RunnerOptions &running) {
  constexpr size_t kCasesAWorker = 500;
  constexpr double kLongSeconds = 20; // Cases that are known to take long are worth more.
  double known = 0;
  for (const TestItem &item : items) {
    if (item.suite != "opcases" || running.compileBackend != "cupel")
      return running.jobs;
    if (auto found = running.forecasts.find(item.fullName()); found != running.forecasts.end())
      known += found->second.seconds;
  }
  return known > kLongSeconds ? running.jobs : unsigned(1 + items.size() / kCasesAWorker);
}

/// A sentence for each --shape that no model of the run had an input for.
std::vector<std::string> shapesNotTaken(const std::vector<std::string> &shapes,
                                        const std::vector<TestRecord> &records) {
  std::vector<std::string> sentences;
  for (const std::string &shape : shapes) {
    bool taken = false;
    std::string why;
    for (const TestRecord &record : records) {
      if (auto note = record.notes.find("shape"); note != record.notes.end())
        taken |= ("; " + note->second + "; ").find("; " + shape + "; ") != std::string::npos;
      if (auto note = record.notes.find("shape not taken"); note != record.notes.end())
        why = why.empty() ? record.id + ": " + note->second : why;
    }
    if (!taken)
      sentences.push_back(fmt::format("--shape {}: no model of this run took it{}", shape,
                                      why.empty() ? "" : " (" + why + ")"));
  }
  return sentences;
}

/// One `cupel run`, new or resumed.
class TestRun {
public:
  int begin(const RunOptions &given, const Arguments &arguments);
  int resume(const RunOptions &given);

private:
  Status findResults(const std::string &option);
  void openStore();
  void learn();
  Status repeatAfter(testbench::matrix::CollectOptions &collect);
  Result<std::vector<TestItem>> select();
  int go(std::vector<TestItem> items, std::unordered_map<std::string, TestRecord> done);
  int finish(RunOutcome outcome, size_t told, size_t selected);
  void say(const std::string &line) { fmt::print(stderr, "cupel run: {}\n", line); }

  RunOptions options;
  std::string folder; ///< Of the results.
  std::optional<Store> store;
  std::vector<KnownTest> known;
  std::optional<std::vector<std::string>> only; ///< Of a resumed run: what was selected.
  std::string nothingSelected;                  ///< Why there is nothing to run.
  size_t collectionErrors = 0;                  ///< Files that could not be read.
  RunInfo info;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<results::Reporter> reporter;
};

Status TestRun::findResults(const std::string &option) {
  Result<std::string> where = resultsFolder(option);
  if (!where)
    return where.error();
  folder = *where;
  std::error_code error;
  fs::create_directories(folder + "/journals", error);
  if (error)
    return Error{folder + ": " + error.message() + " (--results names another folder)"};
  return {};
}

/// A store that cannot be used costs its memory of this run, never the run: the journal stays.
void TestRun::openStore() {
  Result<Store> opened = Store::open(folder);
  if (!opened)
    return say("the results store cannot be used, outcomes go to the journal only: " +
               opened.message());
  store = std::move(*opened);
  // Runs that were killed are part of what is known.
  if (auto imported = store->importPending(); !imported)
    say(imported.message());
}

void TestRun::learn() {
  if (!store)
    return;
  Result<std::vector<KnownTest>> read = store->known(options.collect.arch, options.deviceText());
  if (read)
    known = std::move(*read);
  else
    say("what earlier runs taught cannot be read: " + read.message());
}

/// -R: what did not succeed when it last had an outcome, and what is new.
Status TestRun::repeatAfter(testbench::matrix::CollectOptions &collect) {
  if (!store)
    return Error{"-R needs the results store"};
  Result<std::unordered_map<std::string, bool>> succeeded =
      succeededBefore(*store, options.repeat, options.collect.arch, options.deviceText());
  if (!succeeded)
    return succeeded.error();
  collect.succeededBefore = std::move(*succeeded);
  return {};
}

Result<std::vector<TestItem>> TestRun::select() {
  testbench::matrix::CollectOptions collect = options.collect;
  if (!options.repeat.empty() && !only)
    if (Status status = repeatAfter(collect); !status)
      return status.error();
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
  Result<testbench::matrix::Collection> collection = testbench::matrix::collect(collect);
  if (!collection)
    return collection.error();
  showRemarks("run", *collection);
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

int TestRun::begin(const RunOptions &given, const Arguments &arguments) {
  options = given;
  if (options.listModels || options.listCases) {
    Result<testbench::matrix::Collection> collection = testbench::matrix::collect(options.collect);
    return collection ? showOpCases("run", *collection, options.listModels)
                      : fail(collection.message());
  }
  // Before anything is written: a wrong option begins no run.
  if (Result<RunnerOptions> running = options.running(); !running)
    return fail(running.message());
  if (Status status = findResults(options.results); !status)
    return fail(status.message());
  for (const testbench::runner::KilledRun &run :
       testbench::runner::closeKilledRuns(folder + "/journals")) {
    std::error_code ignored;
    fs::remove_all(scratchFolder(run.id), ignored);
    say(fmt::format("run {} was killed: {} of its tests count as interrupted, {} as not run "
                    "(cupel run --resume {} goes on with it)",
                    run.id, run.interrupted, run.notRun, run.id));
  }
  openStore();
  learn();
  Result<std::vector<TestItem>> items = select();
  if (!items)
    return fail(items.message());
  if (items->empty())
    return fail(nothingSelected, kExitNothingSelected);
  info.startedAt = now();
  info.id = results::newRunId(info.startedAt);
  info.commandLine = {"cupel", "run"};
  info.commandLine.insert(info.commandLine.end(), arguments.begin(), arguments.end());
  info.arch = options.collect.arch;
  info.device = options.deviceText();
  info.selected = uint32_t(items->size());
  info.environment = environmentNow(options);
  std::vector<std::string> names;
  names.reserve(items->size());
  for (const TestItem &item : *items)
    names.push_back(item.fullName());
  Result<std::unique_ptr<Journal>> created =
      Journal::create(folder + "/journals/" + info.id + ".jsonl", info, names);
  if (!created)
    return fail(created.message());
  journal = std::move(*created);
  return go(std::move(*items), {});
}

/// The journal to go on with: the one named, else the newest that is not done.
Result<std::pair<std::string, JournalContents>> findJournal(const std::string &folder,
                                                            const std::string &wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder + "/journals", error), end; !error && it != end;
       it.increment(error))
    if (it->path().extension() == ".jsonl" &&
        (wanted.empty() || it->path().stem().string().starts_with(wanted)))
      names.push_back(it->path());
  std::ranges::sort(names, std::greater<>());
  if (names.empty())
    return Error{wanted.empty() ? folder + ": no run is kept here"
                                : folder + ": no run '" + wanted + "' is kept here"};
  if (!wanted.empty() && names.size() > 1)
    return Error{fmt::format("'{}' begins the names of {} runs", wanted, names.size())};
  for (const std::string &path : names) {
    Result<JournalContents> contents = testbench::runner::readJournal(path);
    if (contents && contents->selectionComplete && contents->canResume())
      return std::pair(path, std::move(*contents));
    if (!wanted.empty())
      return Error{contents ? "run " + contents->run.id + " has ended; nothing is left of it to do"
                            : contents.message()};
  }
  return Error{"no run is left to go on with: all that are kept in " + folder + " have ended"};
}

int TestRun::resume(const RunOptions &given) {
  if (given.collect.arguments.size() > 1)
    return fail("--resume goes on with one run as it was begun; it takes its id and no more");
  if (Status status = findResults(given.results); !status)
    return fail(status.message());
  openStore();
  auto found =
      findJournal(folder, given.collect.arguments.empty() ? "" : given.collect.arguments[0]);
  if (!found)
    return fail(found.message());
  std::string path = fs::absolute(found->first);
  Result<std::unique_ptr<Journal>> reopened = Journal::reopen(path);
  if (!reopened)
    return fail(reopened.message());
  journal = std::move(*reopened);
  // Once more, now that nobody else can go on with it.
  Result<JournalContents> read = testbench::runner::readJournal(path);
  if (!read || !read->canResume())
    return fail(read ? "run " + read->run.id + " has ended meanwhile" : read.message());
  JournalContents &contents = *read;
  // As it was begun, from where it was begun.
  info = std::move(contents.run);
  info.endedAt = 0;
  info.exitCode = -1;
  const std::vector<std::string> &words = info.commandLine;
  if (words.size() < 2)
    return fail(path + ": does not say how the run was begun");
  if (std::optional<int> exit = options.parse(Arguments(words.begin() + 2, words.end())))
    return *exit;
  options.quiet |= given.quiet;
  if (given.jobs)
    options.jobs = given.jobs;
  for (auto [of, to] : {std::pair(&given.junit, &options.junit),
                        {&given.json, &options.json},
                        {&given.markdown, &options.markdown}})
    if (!of->empty())
      *to = fs::absolute(*of);
  folder = fs::absolute(folder);
  if (auto begun = info.environment.find("folder"); begun != info.environment.end())
    if (chdir(begun->second.c_str()) != 0)
      return fail(begun->second + ": the folder the run was begun in cannot be entered any more");
  learn();
  only = contents.selection;
  Result<std::vector<TestItem>> present = select();
  if (!present)
    return fail(present.message());
  if (Status status = journal->cutAt(contents.validBytes); !status)
    return fail(status.message());
  journal->resumed();

  // In the order of the selection; what is gone from the disk is still accounted for.
  std::unordered_map<std::string, size_t> at;
  for (size_t i = 0; i < present->size(); ++i)
    at[(*present)[i].fullName()] = i;
  std::vector<TestItem> items;
  std::unordered_map<std::string, TestRecord> done;
  for (const std::string &name : contents.selection) {
    auto recorded = contents.records.find(name);
    if (auto item = at.find(name); item != at.end()) {
      items.push_back(std::move((*present)[item->second]));
    } else {
      TestItem gone;
      size_t colons = name.find("::");
      gone.suite = name.substr(0, colons);
      gone.id = colons == std::string::npos ? "" : name.substr(colons + 2);
      items.push_back(std::move(gone));
    }
    if (recorded != contents.records.end() && JournalContents::isFinal(recorded->second)) {
      done[name] = std::move(recorded->second);
      continue;
    }
    TestRecord record;
    record.suite = items.back().suite;
    record.id = items.back().id;
    record.file = items.back().file;
    auto kills = contents.killedWhileRunning.find(name);
    if (!at.contains(name)) {
      record.outcome = Outcome::NotRun;
      record.message = "it is not there any more";
    } else if (kills != contents.killedWhileRunning.end() &&
               kills->second >= testbench::runner::kMostKills) {
      record.outcome = Outcome::Interrupted;
      record.errorClass = testbench::runner::kKilledRunner;
      record.message =
          fmt::format("it was running each of the {} times that the run was killed", kills->second);
    } else {
      continue;
    }
    journal->record(record);
    done[name] = std::move(record);
  }
  return go(std::move(items), std::move(done));
}

int TestRun::go(std::vector<TestItem> items, std::unordered_map<std::string, TestRecord> done) {
  Result<RunnerOptions> running = options.running();
  if (!running)
    return fail(running.message());
  std::vector<std::string> reasonFiles = options.reasons;
  if (std::string file = testbench::triage::defaultReasonsFile(); !file.empty())
    reasonFiles.insert(reasonFiles.begin(), file);
  Result<testbench::triage::ReasonTable> reasons =
      testbench::triage::ReasonTable::load(reasonFiles);
  if (!reasons)
    return fail(reasons.message());
  running->complete = [&](TestRecord &record, const TestItem &item) {
    testbench::triage::explain(record, item.expectation, *reasons);
  };
  // Workers make the environments of models, and heed these.
  if (options.noModelRequirements)
    setenv("CUPEL_DISABLE_MODEL_REQS", "1", 1);
  if (options.verboseRequirements)
    setenv("TT_XLA_REQS_DEBUG", "1", 1);
  running->scratchFolder = scratchFolder(info.id);
  options.keepBelow(fs::absolute(folder).lexically_normal().string() + "/failed/" + info.id,
                    *running);
  for (const KnownTest &test : known)
    if (test.seconds > 0)
      running->forecasts[test.fullName()] = {.seconds = test.seconds,
                                             .memoryBytes = test.peakMemoryBytes};
  if (!options.jobs)
    running->jobs = std::min(running->jobs, workersWorthStarting(items, *running));
  results::TerminalOptions terminal = results::TerminalOptions::forStream(stdout);
  terminal.quiet = options.quiet;
  terminal.commandTail = resultsTail(options.results);
  terminal.runWords = wordsToRunAgain(info, /*otherSelection=*/false);
  reporter = results::makeTerminalReporter(std::move(terminal));
  reporter->runStarted(info);
  for (const TestItem &item : items)
    if (auto found = done.find(item.fullName()); found != done.end())
      reporter->testEnded(found->second);
  Telling telling(*reporter);
  telling.told = done.size();
  // While tests run, the runner heeds it. What comes after is short and must not be torn apart.
  std::signal(SIGINT, SIG_IGN);
  Result<RunOutcome> outcome = testbench::runner::run(items, *running, *journal, telling, done);
  if (!outcome) {
    reporter->note(outcome.message());
    return fail(outcome.message(), kExitUnaccounted);
  }
  return finish(std::move(*outcome), telling.told, items.size());
}

int TestRun::finish(RunOutcome outcome, size_t told, size_t selected) {
  bool bad = false;
  for (const TestRecord &record : outcome.records)
    bad |= results::isBad(record.outcome);
  bool complete = told == selected && !outcome.stoppedAtOnce;
  bad |= collectionErrors != 0; // A test that could not be read has not passed.
  info.exitCode = !complete ? kExitUnaccounted : bad ? kExitFailure : kExitSuccess;
  if (std::vector<std::string> unused = shapesNotTaken(options.shapes, outcome.records);
      complete && !unused.empty()) {
    for (const std::string &sentence : unused)
      reporter->note(sentence);
    // What was asked for has not been done.
    if (info.exitCode == kExitSuccess)
      info.exitCode = kExitUsage;
  }
  // Stopped at once, the run has not ended: it can be resumed.
  if (complete) {
    info.endedAt = now();
    journal->ended(info);
  }
  if (Status status = journal->flush(); !status)
    return fail(status.message(), kExitUnaccounted);
  if (store)
    if (auto imported = store->importJournal(journal->path()); !imported)
      reporter->note("the results store could not take the run, its journal is kept (" +
                     journal->path() + "): " + imported.message());
  if (!complete) {
    reporter.reset(); // Takes its bar away, and not what is said next.
    fmt::print("{} of {} tests have an outcome; 'cupel run --resume' goes on\n", told, selected);
    return kExitUnaccounted;
  }
  std::vector<results::OutcomeRow> rows;
  rows.reserve(outcome.records.size());
  for (const TestRecord &record : outcome.records)
    rows.push_back(results::briefly(record, info.id));
  std::erase_if(known, [&](const KnownTest &test) { return test.run == info.id; });
  results::RunChanges changes = results::compareWithKnown(known, rows);
  reporter->runEnded(info, known.empty() ? nullptr : &changes);
  auto report = [&](const std::string &path, auto &&write) {
    if (path.empty())
      return;
    if (Status status = results::writeReportFile(path, write); !status) {
      fail(status.message());
      if (info.exitCode == kExitSuccess)
        info.exitCode = kExitUsage;
    }
  };
  results::RecordSource source = results::recordsIn(outcome.records);
  report(options.junit, [&](std::ostream &out) { return results::writeJUnit(out, info, source); });
  report(options.json, [&](std::ostream &out) { return results::writeJson(out, info, source); });
  report(options.markdown, [&](std::ostream &out) {
    return results::writeMarkdown(out, info, source, known.empty() ? nullptr : &changes);
  });
  return info.exitCode;
}

} // namespace

int runRunVerb(const Arguments &arguments) {
  RunOptions options;
  if (std::optional<int> exit = options.parse(arguments))
    return *exit;
  // Somebody who closed our output is no reason to lose outcomes.
  std::signal(SIGPIPE, SIG_IGN);
  TestRun run;
  return options.resume ? run.resume(options) : run.begin(options, arguments);
}

} // namespace cupel::cli
