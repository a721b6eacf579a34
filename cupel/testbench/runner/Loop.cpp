#include "cupel/testbench/runner/Loop.h"

#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/Outcomes.h"
#include "cupel/testbench/runner/Scratch.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace cupel::testbench::runner {

using results::Outcome;
using results::TestRecord;

namespace {

constexpr double kMemoryPollSeconds = 0.05;
constexpr double kTickSeconds = 0.1;
constexpr double kHandoutSeconds = 0.5; ///< Until whoever had no test to hand out is asked again.

} // namespace

/// Those of the tests that are to be run; the others get their records.
std::vector<size_t> Loop::admit(const std::vector<size_t> &admitted, const Done &done) {
  std::vector<size_t> waiting;
  for (size_t i : admitted) {
    if (auto found = done.find(items[i].fullName()); found != done.end()) {
      // Safe in the journal since the run that is resumed.
      outcome.records[i] = found->second;
      tests[i].recorded = true;
      ++recorded;
      continue;
    }
    std::optional<Unstarted> unstarted = withoutRunning(items[i], options);
    if (!unstarted) {
      waiting.push_back(i);
      continue;
    }
    TestRecord record = recordFor(items[i], options);
    record.outcome = unstarted->outcome;
    record.message = unstarted->reason;
    this->record(i, std::move(record));
  }
  return waiting;
}

/// Asks for tests where workers have none left to begin with.
void Loop::admitMore(const Done &done, Clock::time_point time) {
  if (outcome.interrupted ||
      std::ranges::all_of(health, [](const DeviceHealth &d) { return d.health == Health::Bad; }))
    isAllAdmitted = true;
  size_t busy = size_t(std::ranges::count_if(slots, [](const Slot &s) { return bool(s.attempt); }));
  if (isAllAdmitted || time < nextHandout || schedule->waiting() + busy >= slots.size())
    return;
  Handout handout = options.handOut();
  schedule->add(admit(handout.tests, done));
  isAllAdmitted = handout.isLast;
  clearHopeless();
  if (handout.tests.empty())
    nextHandout = after(time, kHandoutSeconds);
}

void Loop::record(size_t test, TestRecord record) {
  if (tests[test].recorded)
    return;
  if (options.complete)
    options.complete(record, items[test]);
  tests[test].recorded = true;
  ++recorded;
  unshown.emplace_back(journal ? journal->record(record) : 0, test);
  outcome.records[test] = std::move(record);
}

void Loop::showDurable() {
  uint64_t durable = journal ? journal->durable() : 0;
  for (; !unshown.empty() && unshown.front().first <= durable; unshown.pop_front()) {
    size_t test = unshown.front().second;
    observer.finished(test, items[test], outcome.records[test]);
  }
}

void Loop::interrupt() {
  outcome.interrupted = true;
  giveUpKeeping("the run was interrupted");
  for (Slot &slot : slots)
    if (slot.attempt && slot.worker)
      condemn(slot,
              {Outcome::Interrupted, std::string(kInterrupted),
               "was running when the run was interrupted"},
              false);
  for (size_t test : schedule->takeAll()) {
    TestRecord record = recordFor(items[test], options);
    record.tryOutcomes = tests[test].tries;
    record.attempts = uint32_t(tests[test].tries.size());
    record.outcome = record.attempts ? Outcome::Interrupted : Outcome::NotRun;
    record.errorClass = kInterrupted;
    record.message = record.attempts ? "the run was interrupted before its next try"
                                     : "the run was interrupted before it began";
    this->record(test, std::move(record));
  }
}

bool Loop::isOver() const {
  return recorded == items.size() ||
         (isAllAdmitted && !schedule->waiting() && toKeep.empty() &&
          std::ranges::none_of(slots, [](const Slot &slot) { return slot.attempt.has_value(); }));
}

Clock::time_point Loop::nextDeadline(Clock::time_point time) const {
  Clock::time_point next = after(time, kTickSeconds);
  for (const Slot &slot : slots) {
    next = std::min({next, slot.deadline, slot.killAt});
    if (slot.state != Slot::State::Testing)
      continue;
    next = std::min(next, after(time, kMemoryPollSeconds));
    if (options.timeoutSeconds > 0)
      next = std::min(next, after(slot.attempt->began, options.timeoutSeconds + options.timeoutSlackSeconds));
    auto limit = options.stageTimeouts.find(slot.attempt->stage);
    if (limit != options.stageTimeouts.end())
      next = std::min(next, after(slot.attempt->stageBegan, limit->second));
  }
  return next;
}

/// Sleeps until something happens and handles what did.
void Loop::wait(Clock::time_point until) {
  std::vector<pollfd> polled = {{signals->descriptor(), POLLIN, 0},
                                {journal ? journal->descriptor() : -1, POLLIN, 0}};
  for (const Slot &slot : slots) {
    const WorkerProcess *worker = slot.worker.get();
    polled.push_back({worker ? worker->repliesDescriptor() : -1, POLLIN, 0});
    polled.push_back({worker ? worker->outputDescriptor() : -1, POLLIN, 0});
    polled.push_back({worker ? worker->statusDescriptor() : -1, POLLIN, 0});
    polled.push_back({worker ? worker->pendingRequestsDescriptor() : -1, POLLOUT, 0});
  }
  double seconds = std::max(0.0, secondsBetween(Clock::now(), until));
  poll(polled.data(), polled.size(), int(seconds * 1000) + 1);
  if (polled[1].revents)
    journal->acknowledge();
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot &slot = slots[i];
    const pollfd *of = &polled[2 + i * 4];
    if (slot.worker && of[3].revents)
      slot.worker->flushRequests();
    if (slot.worker && of[1].revents)
      slot.worker->drainOutput();
    if (slot.worker && of[0].revents)
      readReplies(slot);
    if (slot.worker && of[2].revents)
      if (std::optional<WorkerEnd> end = slot.worker->readEnd())
        workerEnded(slot, *end);
  }
}

Result<RunOutcome> Loop::run(const std::unordered_map<std::string, TestRecord> &done) {
  std::vector<size_t> everything(items.size());
  std::iota(everything.begin(), everything.end(), size_t(0));
  isAllAdmitted = !options.handOut;
  std::vector<size_t> waiting;
  if (isAllAdmitted)
    waiting = admit(everything, done);
  std::vector<Forecast> forecasts(items.size());
  for (size_t i : isAllAdmitted ? waiting : everything) {
    if (auto found = options.forecasts.find(items[i].fullName()); found != options.forecasts.end())
      forecasts[i] = found->second;
    forecasts[i].chips = std::max(forecasts[i].chips, declaredChips(items[i]));
  }
  unsigned jobs = std::max(1u, options.jobs);
  schedule.emplace(std::move(forecasts), std::move(waiting), options.devices, memoryBudget, jobs);
  clearHopeless();

  // Whether a device is there at all shows before any test is given to it.
  for (size_t i = 0; i < health.size(); ++i)
    if (options.devices[i].name != "reference" && !options.trustDevices)
      health[i].health = Health::Suspect;

  std::error_code error;
  folder = std::filesystem::current_path(error);

  // What workers leave behind when their guard is killed comes to us instead of to init.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  presentBefore = presentChildren();
  memoryKills = kernelMemoryKills();
  slots.resize(isAllAdmitted ? std::min<size_t>(jobs, std::max<size_t>(1, schedule->waiting()))
                             : jobs);
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].number = i;
    slots[i].device = i % options.devices.size();
    slots[i].folder = options.scratchFolder + "/worker" + std::to_string(i);
  }

  Signals handler(options.handleSignals);
  signals = &handler;
  Clock::time_point lastTick = Clock::now(), lastMemory = lastTick;
  while (!isOver()) {
    Clock::time_point time = Clock::now();
    admitMore(done, time);
    for (Slot &slot : slots)
      advance(slot);
    wait(nextDeadline(time));
    time = Clock::now();
    for (Slot &slot : slots)
      watchTimes(slot, time);
    if (secondsBetween(lastMemory, time) >= kMemoryPollSeconds) {
      lastMemory = time;
      watchMemory();
    }
    showDurable();
    if (secondsBetween(lastTick, time) >= kTickSeconds) {
      lastTick = time;
      observer.tick();
    }
    if (Status status = journal ? journal->failure() : Status(); !status)
      return status.error();
    if (int count = handler.count(); count >= 2) {
      outcome.interrupted = outcome.stoppedAtOnce = true;
      break;
    } else if (count == 1 && !outcome.interrupted) {
      observer.notice("interrupted: ending what runs; once more to stop at once");
      interrupt();
    }
  }
  for (Slot &slot : slots) {
    if (slot.worker)
      slot.worker->destroy();
    for (auto &other : slot.parked)
      if (other)
        other->destroy();
  }
  slots.clear();
  removeHalfKept();
  if (Status status = journal ? journal->flush() : Status(); !status)
    return status.error();
  showDurable();
  return std::move(outcome);
}

Result<RunOutcome> run(const std::vector<TestItem> &items, const RunnerOptions &options,
                       Journal *journal, Observer &observer,
                       const std::unordered_map<std::string, TestRecord> &done) {
  if (options.devices.empty() || options.servers[size_t(Server::Worker)].command.empty())
    return Error{"a run needs a device and a worker"};
  Result<RunOutcome> outcome = Loop(items, options, journal, observer).run(done);
  removeFolder(options.scratchFolder);
  return outcome;
}

} // namespace cupel::testbench::runner
