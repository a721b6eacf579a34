// A task of a run on Slurm: takes its chips, asks for their health, runs what it can claim with a
// journal of its own, and leaves. Slurm may start it twice, kill it at any moment or put it on
// another node: what is in its journal counts, and nothing else does.

#include "cupel/results/store/MergeJournals.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/session/Conclude.h"
#include "cupel/testbench/session/Elapsed.h"
#include "cupel/testbench/session/Session.h"
#include "cupel/testbench/session/TaskClaims.h"
#include "cupel/testbench/slurm/ChipLocks.h"
#include "cupel/testbench/slurm/Commands.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

namespace cupel::testbench::session {
namespace {

namespace fs = std::filesystem;
using results::Outcome;
using results::TestRecord;
using runner::Journal;
using runner::RunOutcome;

constexpr double kDiskPatienceSeconds = 600, kLockPatienceSeconds = 600;

std::string fromEnvironment(const char *name, const std::string &otherwise = "") {
  const char *value = std::getenv(name);
  return value && *value ? value : otherwise;
}

uint64_t numberFrom(const char *name) {
  return std::strtoull(fromEnvironment(name, "0").c_str(), nullptr, 10);
}

std::string nodeName() {
  utsname names;
  return fromEnvironment("SLURMD_NODENAME", ::uname(&names) == 0 ? names.nodename : "node");
}

/// `12_3.1.n2.4711`: array, number in it, how often it was started again, node, process. No other has
/// it, also where Slurm starts a task twice.
std::string taskName() {
  return fmt::format("{}_{}.{}.{}.{}", fromEnvironment("SLURM_ARRAY_JOB_ID", "0"),
                     fromEnvironment("SLURM_ARRAY_TASK_ID", "0"),
                     fromEnvironment("SLURM_RESTART_COUNT", "0"), nodeName(), ::getpid());
}

/// What `cupel doctor` says against a device; empty: it is well.
std::string ailment(const std::string &device) {
  if (device == "reference" || device.find('@') != std::string::npos)
    return ""; // Cupel itself; reached through a command, the runner's own check has to do.
  Result<CommandOutput> said = runCommand(
      {executableFolder() + "/cupel", "doctor", "--device", device}, std::chrono::seconds(120));
  if (!said)
    return said.message();
  if (said->exitCode == 0)
    return "";
  // The last line is the one that says it.
  std::string text = said->text;
  while (text.ends_with('\n'))
    text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// A folder that takes files again.
bool hasRoom(const slurm::RunFolder &folder, const std::string &task) {
  std::string probe = folder.journals() + "/." + task;
  std::FILE *file = std::fopen(probe.c_str(), "w");
  if (!file)
    return false;
  std::string bytes(1 << 16, ' ');
  bool isWritten = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
                   std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  std::fclose(file);
  ::unlink(probe.c_str());
  return isWritten;
}

/// Whether somebody follows the run; then its end is his.
bool isFollowed(const slurm::RunFolder &folder) {
  int file = ::open(folder.follower().c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  bool isHeld = ::flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(file);
  return isHeld;
}

} // namespace

Ending Session::runTask(const std::string &path, uint32_t chunk, const ReadOptions &readOptions) {
  slurm::RunFolder folder(path);
  Result<slurm::RunDescription> description = folder.read();
  if (!description)
    return {kExitUsage, description.message()};
  if (chunk >= description->plan.chunks.size())
    return {kExitUsage, fmt::format("--task {}:{}: the run has {} chunks", path, chunk,
                                    description->plan.chunks.size())};
  const slurm::Profile &profile = description->profile;
  info = description->run;
  if (auto begun = info.environment.find("folder"); begun != info.environment.end())
    if (chdir(begun->second.c_str()) != 0)
      return {kExitUsage, begun->second + ": this node does not have the folder the run was begun "
                                          "in; it must be on a file system that all nodes share"};
  std::optional<SessionOptions> begun = readOptions(info.commandLine);
  if (!begun)
    return {kExitUsage};
  options = std::move(*begun);
  options.results = fs::path(path).parent_path().parent_path();
  options.database.clear();
  task = taskName();
  const std::string node = nodeName();
  auto tell = [&](const std::string &line) {
    folder.note(task, line);
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  if (folder.isCancelled())
    return {};
  if (Status status = loadReasons(); !status)
    return {kExitUsage, status.message()};

  // Chips first, then their health: whoever asks a device that another uses disturbs both.
  const scale::Resources &needs = description->plan.classes[description->plan.chunks[chunk].resources];
  std::optional<slurm::ChipLocks> chips;
  if (!profile.gres.empty()) {
    std::string details;
    if (std::string job = fromEnvironment("SLURM_JOB_ID"); !job.empty())
      if (Result<CommandOutput> shown = runCommand({"scontrol", "-d", "show", "job", job}))
        details = shown->text;
    auto began = std::chrono::steady_clock::now();
    Result<slurm::ChipLocks> taken = slurm::ChipLocks::take(
        fromEnvironment("CUPEL_CHIP_LOCKS", "/tmp/cupel-chips"), node,
        slurm::chipsOfJob(fromEnvironment("SLURM_JOB_GPUS"), details), needs.chips,
        [&] { return secondsSince(began) < kLockPatienceSeconds && !folder.isCancelled(); });
    if (!taken) {
      tell(taken.message());
      return {kExitFailure, taken.message()};
    }
    chips.emplace(std::move(*taken));
    std::string numbers = fmt::format("{}", fmt::join(chips->numbers(), ","));
    setenv("CUPEL_CHIPS", numbers.c_str(), 1);
    if (!profile.chipsVariable.empty())
      setenv(profile.chipsVariable.c_str(), numbers.c_str(), 1);
  }
  auto refuse = [&](const std::string &device, const std::string &why) {
    tell(fmt::format("bad node {}: device {}: {}", node, device, why));
    if (profile.drain)
      if (Status status = slurm::drainNode(node, "cupel: " + why.substr(0, 200)); !status)
        tell("it may not be drained: " + status.message());
  };
  for (const runner::DeviceSpec &device : options.running.devices)
    if (std::string why = ailment(device.name); !why.empty()) {
      refuse(device.name, why);
      return {kExitFailure, "device " + device.name + " is bad: " + why};
    }

  // Every task means the same tests, whatever the store learned meanwhile.
  std::vector<std::string> names;
  for (const scale::PlannedTest &test : description->tests)
    names.push_back(test.name);
  only = names;
  Result<std::vector<TestItem>> present = select();
  if (!present)
    return {kExitUsage, present.message()};
  std::unordered_map<std::string, size_t> at;
  for (size_t i = 0; i < present->size(); ++i)
    at[(*present)[i].fullName()] = i;
  std::vector<TestItem> items;
  std::set<size_t> gone;
  for (const std::string &name : names) {
    if (auto found = at.find(name); found != at.end()) {
      items.push_back((*present)[found->second]);
      continue;
    }
    gone.insert(items.size());
    size_t colons = name.find("::");
    TestItem &item = items.emplace_back();
    item.suite = name.substr(0, colons);
    item.id = colons == std::string::npos ? "" : name.substr(colons + 2);
  }
  for (size_t i = 0; i < items.size(); ++i)
    if (description->tests[i].seconds >= 0)
      options.running.forecasts[names[i]] = {.seconds = description->tests[i].seconds,
                                             .memoryBytes = description->tests[i].memoryBytes};
  if (options.chooseJobs) {
    options.chooseJobs = false;
    if (uint64_t cpus = numberFrom("SLURM_CPUS_ON_NODE"))
      options.running.jobs = unsigned(std::min<uint64_t>(cpus, 1024));
  }
  if (uint64_t megabytes = numberFrom("SLURM_MEM_PER_NODE"))
    options.running.memoryBudgetBytes = megabytes * 9 / 10 << 20;
  if (options.keepByDefault) // The limit is the run's.
    options.keepByDefault->runBytes =
        std::max(options.keepByDefault->testBytes,
                 options.keepByDefault->runBytes / description->plan.chunks.size());

  info.shard = task;
  info.selected = 0;
  info.environment["node"] = node;
  const std::string log = fmt::format("{}/{}_{}.txt", folder.logs(), fromEnvironment("SLURM_ARRAY_JOB_ID", "0"),
                                      fromEnvironment("SLURM_ARRAY_TASK_ID", "0"));
  reporter = options.makeReporter(info);
  reporter->runStarted(info);
  TaskClaims claims(folder, *description, chunk, task);
  claims.note = tell;
  claims.withoutTurn = [&](size_t test, uint32_t deaths) -> std::optional<TestRecord> {
    TestRecord record;
    record.suite = items[test].suite;
    record.id = items[test].id;
    record.file = items[test].file;
    if (gone.contains(test)) {
      record.outcome = Outcome::NotRun;
      record.message = "it is not there any more";
      return record;
    }
    if (deaths < runner::kMostKills)
      return std::nullopt;
    record.outcome = Outcome::Interrupted;
    record.errorClass = runner::kKilledRunner;
    record.message = fmt::format("it was running each of the {} times that its task died", deaths);
    return record;
  };
  claims.keepRecord = [&](size_t test, const TestRecord &record) {
    journal->record(record);
    if (journal->flush())
      claims.finished(test, record);
  };
  std::string written, shared;
  if (profile.localJournal)
    claims.beforeDone = [&]() -> Status {
      std::error_code error;
      fs::copy_file(written, shared + ".part", fs::copy_options::overwrite_existing, error);
      if (!error)
        fs::rename(shared + ".part", shared, error);
      return error ? Status(Error{shared + ": " + error.message()}) : Status();
    };
  std::string trouble;
  for (uint32_t part = 0;; ++part) {
    std::string name = part ? fmt::format("{}.{}", task, part) : task;
    info.shard = name;
    shared = folder.journal(name);
    written = profile.localJournal
                  ? (fs::temp_directory_path() / ("cupel-" + info.id + "-" + name + ".jsonl")).string()
                  : shared;
    Result<std::unique_ptr<Journal>> created = Journal::create(written, info, {});
    Result<RunOutcome> outcome = created ? Result<RunOutcome>(RunOutcome{}) : created.error();
    if (created) {
      journal = std::move(*created);
      options.running.handOut = [&] { return claims.handOut(); };
      options.running.complete = [&](TestRecord &record, const TestItem &) {
        record.notes["node"] = node;
        record.notes["log"] = log;
      };
      outcome = runTests(items, {}, [&](size_t test, const TestRecord &record) {
        claims.finished(test, record);
      });
    }
    claims.giveBack();
    if (outcome) {
      for (const auto &[device, why] : outcome->badDevices)
        refuse(device, why);
      if (!outcome->badDevices.empty())
        trouble = "a device went bad";
      // With its fraction, as the beginning: a run may be shorter than a second.
      info.endedAt = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
      info.exitCode = kExitSuccess;
      journal->ended(info);
      if (Status status = journal->flush(); status && claims.beforeDone)
        (void)claims.beforeDone();
      break;
    }
    // Most likely a full disk. What was written before counts; the rest is run again, here or
    // elsewhere, once there is room.
    tell(outcome.message());
    auto began = std::chrono::steady_clock::now();
    while (!hasRoom(folder, task) && secondsSince(began) < kDiskPatienceSeconds && !folder.isCancelled())
      std::this_thread::sleep_for(std::chrono::seconds(1));
    if (part >= 20 || secondsSince(began) >= kDiskPatienceSeconds || folder.isCancelled())
      return {kExitUnaccounted, outcome.message()};
  }
  if (profile.localJournal) {
    std::error_code ignored;
    fs::remove(written, ignored);
  }
  if (claims.isEverythingDone() && !isFollowed(folder)) {
    collectionErrors = description->collectionErrors;
    Result<Conclusion> concluded = conclude(
        {.folder = folder, .description = *description, .results = options.results,
         .exitCode = [&](const results::MergeSummary &sum) {
           return exitCodeOf(sum.isAnyBad, sum.isAnyJudged, sum.isAnyUnjudged);
         }});
    if (!concluded)
      tell(concluded.message());
  }
  reporter.reset();
  return {trouble.empty() ? kExitSuccess : kExitFailure, trouble};
}

} // namespace cupel::testbench::session
