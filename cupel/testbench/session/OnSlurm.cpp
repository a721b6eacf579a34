// A run on Slurm, as whoever starts or follows it sees it: selected and cut, submitted and followed,
// merged into one journal, remembered and reported like any other.

#include "cupel/results/report/Text.h"
#include "cupel/results/store/Journal.h"
#include "cupel/results/store/MergeJournals.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/Outcomes.h"
#include "cupel/testbench/session/Conclude.h"
#include "cupel/testbench/session/Follower.h"
#include "cupel/testbench/session/Session.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace cupel::testbench::session {
namespace {

namespace fs = std::filesystem;
using results::TestRecord;

/// The right to follow a run; the lock goes with the process.
class FollowLock {
public:
  explicit FollowLock(const slurm::RunFolder &folder)
      : file(::open(folder.follower().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {}
  ~FollowLock() {
    if (file >= 0)
      ::close(file);
  }
  Status take(const std::string &run) {
    if (file < 0)
      return Error{run + ": its folder cannot be written: " + std::strerror(errno)};
    // A task that looks whether it is held holds it for an instant.
    for (int tries = 0; tries < 20; ++tries) {
      if (::flock(file, LOCK_EX | LOCK_NB) == 0)
        return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return Error{"run " + run + " is being followed by another process; end that one first"};
  }

private:
  int file;
};

/// The run that is meant: the one whose name begins so, else the newest that has not ended.
Result<std::string> findRun(const std::string &results, const std::string &wanted) {
  std::vector<std::string> found;
  for (const std::string &run : slurm::RunFolder::runsIn(results)) {
    std::error_code error;
    bool isOver = fs::exists(results + "/journals/" + run + ".jsonl", error);
    if (wanted.empty() ? !isOver : run.starts_with(wanted))
      found.push_back(run);
    if (wanted.empty() && !found.empty())
      break;
  }
  if (found.size() == 1)
    return found.front();
  if (found.empty())
    return Error{wanted.empty() ? results + ": no run on Slurm goes on here"
                                : results + ": no run '" + wanted + "' on Slurm is kept here"};
  return Error{fmt::format("'{}' begins the names of {} runs", wanted, found.size())};
}

/// Whether the folder takes what a run writes at its beginning; told before anything is begun.
Status findRoom(const std::string &results) {
  std::string probe = fmt::format("{}/.room.{}", results, ::getpid());
  Status written = writeOutput(probe, std::string(1 << 16, ' '));
  std::error_code ignored;
  fs::remove(probe, ignored);
  return written ? Status()
                 : Status(Error{written.message() +
                                "; make room there, or name another place with --results"});
}

} // namespace

Ending Session::beginOnSlurm(SessionOptions given, const slurm::Profile &profile) {
  options = std::move(given);
  if (Status status = slurm::findCluster(); !status)
    return {kExitUsage, status.message()};
  Result<uint32_t> largest = slurm::largestArray();
  if (!largest)
    return {kExitUsage, largest.message()};
  if (Status status = useResults(fs::absolute(options.results).lexically_normal()); !status)
    return {kExitUsage, status.message()};
  if (Status status = findRoom(options.results); !status)
    return {kExitUsage, status.message()};
  if (Status status = loadReasons(); !status)
    return {kExitUsage, status.message()};
  openStore();
  learn();
  Result<std::vector<TestItem>> items = select();
  if (!items)
    return {kExitUsage, items.message()};
  if (items->empty())
    return {kExitNothingSelected, nothingSelected};
  nameRun(items->size());
  info.environment["slurm"] = profile.name;
  slurm::RunDescription description;
  description.run = info;
  description.profile = profile;
  description.collectionErrors = uint32_t(collectionErrors);
  std::unordered_map<std::string, const results::KnownTest *> before;
  for (const results::KnownTest &test : known)
    before[test.fullName()] = &test;
  for (const TestItem &item : *items) {
    auto found = before.find(item.fullName());
    bool isKnown = found != before.end();
    description.tests.push_back({item.fullName(), item.suite,
                                 isKnown && found->second->seconds > 0 ? found->second->seconds : -1,
                                 runner::declaredChips(item),
                                 isKnown ? found->second->peakMemoryBytes : 0});
  }
  description.plan = scale::makePlan(description.tests,
                                     {.leastSeconds = profile.chunkSeconds,
                                      .blockSeconds = std::max(0.1, profile.chunkSeconds / 4),
                                      .slots = profile.slots,
                                      .mostChunks = std::min(*largest, 1000u)});
  // What a profile cannot mean shows before anything is made.
  for (const scale::Resources &needs : description.plan.classes)
    if (auto words = slurm::submitWords(profile, {.name = {}, .tasks = {}, .needs = needs, .arch = info.arch,
                                                  .script = {}, .logs = {}, .folder = {}, .excludedNodes = {}});
        !words)
      return {kExitUsage, words.message()};
  slurm::RunFolder folder = slurm::RunFolder::of(options.results, info.id);
  if (Status status = folder.make(description); !status) {
    std::error_code ignored;
    fs::remove_all(folder.path(), ignored);
    return {kExitUsage, status.message()};
  }
  return follow(folder.path(), false, false);
}

Ending Session::followOnSlurm(const FollowRequest &request, const ReadOptions &readOptions) {
  options.say = request.run.say;
  const std::string results = fs::absolute(request.run.results).lexically_normal();
  Result<std::string> run = findRun(results, request.run.run);
  if (!run)
    return {kExitUsage, run.message()};
  slurm::RunFolder folder = slurm::RunFolder::of(results, *run);
  Result<slurm::RunDescription> description = folder.read();
  if (!description)
    return {kExitUsage, description.message()};
  if (auto begun = description->run.environment.find("folder");
      begun != description->run.environment.end())
    if (chdir(begun->second.c_str()) != 0)
      return {kExitUsage,
              begun->second + ": the folder the run was begun in cannot be entered any more"};
  std::optional<SessionOptions> begun = readOptions(description->run.commandLine);
  if (!begun)
    return {kExitUsage};
  options = std::move(*begun);
  options.results = results;
  options.database = request.run.database;
  if (Status status = useResults(results); !status)
    return {kExitUsage, status.message()};
  openStore();
  learn();
  return follow(folder.path(), request.cancel, request.goOn);
}

Ending Session::follow(const std::string &path, bool cancel, bool goOn) {
  slurm::RunFolder folder(path);
  Result<slurm::RunDescription> description = folder.read();
  if (!description)
    return {kExitUsage, description.message()};
  info = description->run;
  collectionErrors = description->collectionErrors;
  // Tables of operations are where the tasks put them.
  if (options.running.opTables.empty()) {
    std::error_code error;
    if (std::string tables = options.results + "/op-by-op/" + info.id;
        fs::exists(tables, error) || options.running.depth.ends_with("op-by-op"))
      options.running.opTables = tables;
  } else if (!options.running.depth.ends_with("op-by-op")) {
    options.running.opTables.clear();
  }
  FollowLock lock(folder);
  if (Status status = lock.take(info.id); !status)
    return {kExitUsage, status.message()};
  if (goOn)
    if (Status status = folder.cancel(false); !status)
      return {kExitUsage, status.message()};
  Result<slurm::Submissions> submissions = slurm::Submissions::open(folder.submissions());
  if (!submissions)
    return {kExitUsage, submissions.message()};
  bool isNew = submissions->all().empty();
  reporter = options.makeReporter(info);
  reporter->runStarted(info);
  if (isNew)
    reporter->note(fmt::format("run {} on Slurm: {} in {}; cupel run --attach {} follows it again",
                               info.id, results::counted(description->tests.size(), "test"),
                               results::counted(description->plan.chunks.size(), "task"), info.id));
  Follower follower(folder, *description, std::move(*submissions), *reporter);
  Follower::End end = Follower::End::Cancelled;
  if (cancel) {
    if (Status status = follower.cancel(); !status)
      reporter->note(status.message());
    if (follower.ended() == description->tests.size())
      end = Follower::End::Done;
  } else {
    Result<Follower::End> followed = follower.follow();
    if (!followed) {
      reporter.reset();
      // What Slurm refused from the beginning has never been a run.
      if (Result<slurm::Submissions> now = slurm::Submissions::open(folder.submissions());
          isNew && now && now->all().empty()) {
        std::error_code ignored;
        fs::remove_all(folder.path(), ignored);
        return {kExitUsage, followed.message()};
      }
      return {kExitUnaccounted, followed.message() + " (cupel run --attach " + info.id + " goes on)"};
    }
    end = *followed;
  }
  if (end == Follower::End::Left) {
    size_t ended = follower.ended();
    reporter.reset();
    return {.code = kExitUnaccounted,
            .note = fmt::format("{} of {} tests have an outcome; the run goes on in Slurm: cupel run "
                                "--attach {} follows it, --cancel {} calls it off",
                                ended, description->tests.size(), info.id, info.id)};
  }
  ConcludeRequest request{.folder = folder, .description = *description, .results = options.results};
  if (end == Follower::End::Cancelled) {
    request.lostClass = runner::kInterrupted;
    request.lostMessage = "the run was cancelled before it began";
  }
  request.exitCode = [&](const results::MergeSummary &sum) {
    return exitCodeOf(sum.isAnyBad, sum.isAnyJudged, sum.isAnyUnjudged);
  };
  // A disk that is full now has room again sooner or later; outcomes are safe where they are.
  Result<Conclusion> concluded = conclude(request);
  for (int tries = 0; !concluded && tries < 120; ++tries) {
    if (tries == 0)
      reporter->note(concluded.message() + "; trying again");
    std::this_thread::sleep_for(std::chrono::seconds(1));
    concluded = conclude(request);
  }
  if (!concluded) {
    reporter.reset();
    return {kExitUnaccounted, concluded.message() + "; what tasks wrote is kept, and cupel run "
                                                    "--attach " + info.id + " goes on"};
  }
  info = concluded->summary.run;
  for (const std::string &name : concluded->summary.conflicts)
    reporter->note(name + " ran twice and ended differently: a flake");
  if (end == Follower::End::Lost)
    reporter->note(fmt::format("tasks died again and again without an outcome: {} not run ({} has "
                               "what they said)",
                               results::counted(concluded->summary.open.size(), "test"), folder.logs()));
  if (store)
    if (auto imported = store->importJournal(concluded->journal); !imported)
      reporter->note("the results store could not take the run, its journal is kept (" +
                     concluded->journal + "; cupel results ingest enters it): " + imported.message());
  // What was not run was told by nobody yet.
  std::unordered_set<std::string> open(concluded->summary.open.begin(), concluded->summary.open.end());
  for (const TestRecord &record : concluded->records)
    if (open.contains(record.fullName()))
      reporter->testEnded(record);
  return report(concluded->records);
}

} // namespace cupel::testbench::session
