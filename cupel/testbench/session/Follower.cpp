#include "cupel/testbench/session/Follower.h"

#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/session/Elapsed.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <iostream>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace cupel::testbench::session {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr double kReadSeconds = 0.5, kSlurmSeconds = 3, kWaitingSeconds = 10;
constexpr uint32_t kMostBarren = 3; ///< Submissions in a row that may bring no outcome.
constexpr uint32_t kMostRounds = 50;

} // namespace

Follower::Follower(const slurm::RunFolder &folder, const slurm::RunDescription &description,
                   slurm::Submissions submissions, results::Reporter &reporter)
    : folder(folder), description(description), submissions(std::move(submissions)),
      reporter(reporter), tails(folder) {
  tails.onStart = [this](const std::string &name) {
    if (!finals.contains(name))
      takeSlot(name);
  };
  tails.onRecord = [this](const results::TestRecord &record) {
    std::string name = record.fullName();
    freeSlot(name);
    // One that was cut off is somebody else's turn; of two that were not the first is shown.
    if (runner::JournalContents::isFinal(record) && finals.insert(name).second)
      this->reporter.testEnded(record);
  };
  tails.onNote = [this](const std::string &task, const std::string &line) {
    constexpr std::string_view kBad = "bad node ";
    if (line.starts_with(kBad))
      badNodes.insert(line.substr(kBad.size(), line.find(':') - kBad.size()));
    this->reporter.note(task + ": " + line);
  };
}

void Follower::takeSlot(const std::string &name) {
  if (slots.contains(name))
    return;
  uint32_t slot = uint32_t(slots.size());
  if (!freeSlots.empty()) {
    slot = *freeSlots.begin();
    freeSlots.erase(freeSlots.begin());
  }
  slots[name] = slot;
  reporter.testStarted(name, slot, 1);
}

void Follower::freeSlot(const std::string &name) {
  if (auto found = slots.find(name); found != slots.end()) {
    freeSlots.insert(found->second);
    slots.erase(found);
  }
}

uint32_t Follower::firstChunk(uint32_t resources) const {
  uint32_t chunk = 0;
  while (chunk < description.plan.chunks.size() &&
         description.plan.chunks[chunk].resources != resources)
    ++chunk;
  return chunk;
}

/// The tasks of a class that have something to do: `0-3,7`, counted from its first chunk.
std::string Follower::openTasks(uint32_t resources) const {
  const std::vector<scale::Chunk> &chunks = description.plan.chunks;
  uint32_t first = firstChunk(resources);
  std::string text;
  std::optional<uint32_t> from;
  auto close = [&](uint32_t end) {
    if (from)
      text += fmt::format("{}{}", text.empty() ? "" : ",",
                          end - *from == 1 ? std::to_string(*from)
                                           : fmt::format("{}-{}", *from, end - 1));
    from.reset();
  };
  uint32_t chunk = first;
  for (; chunk < chunks.size() && chunks[chunk].resources == resources; ++chunk) {
    bool isOpen = std::ranges::any_of(chunks[chunk].blocks, [&](const scale::Block &block) {
      return std::ranges::any_of(block.tests, [&](uint32_t test) {
        return !finals.contains(description.tests[test].name);
      });
    });
    if (isOpen && !from)
      from = chunk - first;
    else if (!isOpen)
      close(chunk - first);
  }
  close(chunk - first);
  return text;
}

/// Blocks that are marked as done although a test of theirs has no outcome (its journal was lost).
void Follower::reopenBlocks(uint32_t resources) {
  scale::Claims claims(folder.claims(), description.plan, description.profile.staleSeconds);
  if (!claims.refresh())
    return;
  for (uint32_t chunk = 0; chunk < description.plan.chunks.size(); ++chunk)
    for (uint32_t block = 0; block < description.plan.chunks[chunk].blocks.size(); ++block)
      if (description.plan.chunks[chunk].resources == resources &&
          claims.progress().get({chunk, block}) == scale::Progress::State::Done &&
          std::ranges::any_of(description.plan.chunks[chunk].blocks[block].tests, [&](uint32_t t) {
            return !finals.contains(description.tests[t].name);
          }))
        (void)claims.reopen({chunk, block});
}

/// Sees to it that what was intended is Slurm's, once.
Status Follower::place(const slurm::Submission &submission) {
  std::string name = submission.name;
  Result<std::string> known = slurm::findArray(name);
  if (!known)
    return known.error();
  if (!known->empty())
    return submissions.submitted(name, *known);
  slurm::JobRequest request;
  request.name = name;
  request.tasks = submission.tasks;
  request.firstChunk = firstChunk(submission.resources);
  request.needs = description.plan.classes[submission.resources];
  request.arch = description.run.arch;
  request.script = folder.script();
  request.logs = folder.logs();
  auto begun = description.run.environment.find("folder");
  request.folder = begun == description.run.environment.end() ? folder.path() : begun->second;
  request.excludedNodes = fmt::format("{}", fmt::join(badNodes, ","));
  Result<std::string> job = slurm::submit(description.profile, request);
  if (!job && !slurm::isAway(job.error())) {
    (void)submissions.refused(name);
    return job.error();
  }
  if (!job)
    return job.error();
  return submissions.submitted(name, *job);
}

/// Another array for what is open of a class.
Status Follower::submitOpen(uint32_t resources) {
  Class &state = classes[resources];
  size_t round = 0;
  for (const slurm::Submission &each : submissions.all())
    round += each.resources == resources;
  state.barren = round && finals.size() == state.outcomes ? state.barren + 1 : 0;
  if (state.barren > kMostBarren || round > kMostRounds) {
    isLost = true;
    return {};
  }
  if (round)
    reopenBlocks(resources);
  slurm::Submission next{fmt::format("cupel-{}-{}.{}", description.run.id, resources, round),
                         resources, openTasks(resources), ""};
  if (Status status = submissions.intend(next); !status)
    return status;
  state.outcomes = finals.size();
  state.missed = 0;
  if (!round)
    return place(next);
  reporter.note(fmt::format("tasks ended and left tests open: submitting array {} of Slurm",
                            next.name));
  Status status = place(next);
  if (!status && !slurm::isAway(status.error()) && !slurm::isFullDisk(status.error())) {
    // It took the first ones: what has changed is which nodes are left.
    reporter.note(status.message());
    isLost = true;
    return {};
  }
  return status;
}

void Follower::releaseHeld(const std::vector<slurm::LiveTask> &tasks) {
  for (const slurm::LiveTask &task : tasks) {
    // After a restart of the controller both kinds look alike; whoever holds it on purpose and means
    // it holds it once more.
    bool isMistaken = wasSlurmAway && task.isHeldByUser() &&
                      !released.contains(task.job + "_" + task.number);
    if ((task.isHeldByAccident() || isMistaken) && slurm::release(task)) {
      released.insert(task.job + "_" + task.number);
      reporter.note(fmt::format("Slurm held task {}_{} ({}): released", task.job, task.number,
                                task.reason));
    }
  }
}

/// Nobody runs, somebody waits: says once what for.
void Follower::tellOfWaiting(const std::vector<slurm::LiveTask> &tasks) {
  bool isWaiting = !tasks.empty() &&
                   std::ranges::all_of(tasks, [](const auto &task) { return task.state == "PENDING"; });
  if (!isWaiting)
    waitingSince = Clock::now();
  else if (secondsSince(waitingSince) > kWaitingSeconds && toldReason != tasks.front().reason) {
    reporter.note(fmt::format("{} wait in Slurm: {} (squeue -j {} tells more)", tasks.size(),
                              toldReason = tasks.front().reason, tasks.front().job));
    if (Result<std::vector<slurm::NodesOut>> out = slurm::nodesOut(); out && !out->empty())
      reporter.note(slurm::explain(*out));
  }
}

Status Follower::lookAtSlurm() {
  // A copy: what is found out changes the list.
  for (const slurm::Submission &each : std::vector(submissions.all()))
    if (each.job.empty())
      if (Status status = place(each); !status)
        return status;
  std::vector<std::string> names;
  for (const slurm::Submission &each : submissions.all())
    names.push_back(each.name);
  Result<std::vector<slurm::LiveTask>> live = slurm::liveTasks(names);
  if (!live)
    return live.error();
  releaseHeld(*live);
  tellOfWaiting(*live);
  // Once more, now that who is gone has written what he will.
  tails.read();
  for (uint32_t resources = 0; resources < description.plan.classes.size(); ++resources) {
    if (openTasks(resources).empty())
      continue;
    bool isAnySubmitted = false, isAlive = false;
    for (const slurm::Submission &each : submissions.all())
      if (each.resources == resources) {
        isAnySubmitted = true;
        isAlive |= std::ranges::any_of(
            *live, [&](const slurm::LiveTask &task) { return task.name == each.name; });
      }
    // A controller that has just come back may not know all of its jobs yet.
    Class &state = classes[resources];
    state.missed = isAlive ? 0 : state.missed + 1;
    if (!isAlive && (!isAnySubmitted || state.missed >= 2))
      if (Status status = submitOpen(resources); !status)
        return status;
  }
  return {};
}

std::vector<std::string> Follower::jobs() const {
  std::vector<std::string> numbers;
  for (const slurm::Submission &each : submissions.all())
    if (!each.job.empty())
      numbers.push_back(each.job);
  return numbers;
}

Status Follower::cancel() {
  if (Status status = folder.cancel(true); !status)
    return status;
  Status cancelled = slurm::cancelArrays(jobs());
  auto began = Clock::now();
  constexpr double kPatience = 30;
  while (secondsSince(began) < kPatience) {
    std::vector<std::string> names;
    for (const slurm::Submission &each : submissions.all())
      names.push_back(each.name);
    Result<std::vector<slurm::LiveTask>> live = slurm::liveTasks(names);
    if (!live || live->empty())
      break;
    reporter.tick();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  tails.read();
  return cancelled;
}

Follower::Wish Follower::ask(int signal) {
  std::string again = "cupel run --attach " + description.run.id;
  if (signal != SIGINT)
    return Wish::Leave;
  if (!::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO))
    return Wish::Cancel; // Nobody is there to be asked, and somebody wants it to stop.
  reporter.note("interrupted. The run goes on in Slurm. [l]eave it to itself (" + again +
                " follows it again), [c]ancel it, or go on following (Enter)?");
  std::string answer;
  if (!std::getline(std::cin, answer))
    return Wish::Leave;
  return answer.starts_with('l') ? Wish::Leave : answer.starts_with('c') ? Wish::Cancel : Wish::GoOn;
}

Result<Follower::End> Follower::follow() {
  runner::Signals signals(true);
  int heeded = 0;
  auto lastRead = Clock::now(), lastSlurm = lastRead - std::chrono::hours(1);
  waitingSince = lastRead;
  tails.read();
  while (finals.size() < description.tests.size()) {
    if (secondsSince(lastRead) >= kReadSeconds) {
      lastRead = Clock::now();
      tails.read();
      if (folder.isCancelled()) {
        // By somebody else.
        if (Status status = cancel(); !status)
          reporter.note(status.message());
        return End::Cancelled;
      }
    }
    if (secondsSince(lastSlurm) >= kSlurmSeconds) {
      Status status = lookAtSlurm();
      lastSlurm = Clock::now();
      if (!status && !slurm::isAway(status.error()) && !slurm::isFullDisk(status.error()))
        return status.error();
      wasSlurmAway |= !status;
      if (!status && !std::exchange(isSlurmAway, true))
        reporter.note(status.message() + "; tests that run go on");
      if (status && std::exchange(isSlurmAway, false))
        reporter.note("Slurm answers again");
      if (isLost)
        return finals.size() == description.tests.size() ? End::Done : End::Lost;
    }
    if (int count = signals.count(); count > heeded) {
      heeded = count;
      switch (ask(signals.last())) {
      case Wish::GoOn:
        break;
      case Wish::Leave:
        return End::Left;
      case Wish::Cancel:
        reporter.note("cancelling");
        if (Status status = cancel(); !status)
          reporter.note(status.message());
        return finals.size() == description.tests.size() ? End::Done : End::Cancelled;
      }
    }
    reporter.tick();
    pollfd polled = {signals.descriptor(), POLLIN, 0};
    ::poll(&polled, 1, int(std::chrono::milliseconds(kTick).count()));
  }
  // What is left of the arrays has nothing to do.
  (void)slurm::cancelArrays(jobs());
  return End::Done;
}

} // namespace cupel::testbench::session
