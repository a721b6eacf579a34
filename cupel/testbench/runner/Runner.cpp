#include "cupel/testbench/runner/Runner.h"

#include "cupel/testbench/runner/Journal.h"
#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/Limits.h"
#include "cupel/testbench/runner/Outcomes.h"
#include "cupel/testbench/runner/Schedule.h"
#include "cupel/testbench/runner/Scratch.h"
#include "cupel/testbench/runner/Signals.h"
#include "cupel/testbench/runner/Slot.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace cupel::testbench::runner {

namespace {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using worker::Finished;
using worker::Hello;
using worker::Reply;
using worker::Request;
using worker::StageEntered;

/// How much later than the worker itself the runner ends a test that takes too long.
constexpr double kTimeoutSlack = 0.25;
/// How long a worker may live with its end of the pipe closed.
constexpr double kClosedPatience = 0.3;
constexpr double kMemoryPollSeconds = 0.05;
constexpr double kTickSeconds = 0.1;
/// Workers that end before they begin a test, before the test is blamed.
constexpr uint32_t kMaxPutBacks = 2;
constexpr uint32_t kMaxStartFailures = 3;
constexpr uint32_t kMaxHealthFailures = 2;
/// A worker that holds this much between tests is replaced.
constexpr uint64_t kIdleMemory = uint64_t{2} << 30;

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

enum class Health : uint8_t { Good, Suspect, Checking, Bad };

struct DeviceHealth {
  Health health = Health::Good;
  uint32_t startFailures = 0, checkFailures = 0;
};

class Loop {
public:
  Loop(const std::vector<TestItem> &items, const RunnerOptions &options, Journal &journal,
       Observer &observer)
      : items(items), options(options), journal(journal), observer(observer),
        memoryBudget(options.memoryBudgetBytes ? options.memoryBudgetBytes : machineMemoryBudget()),
        health(options.devices.size()), tests(items.size()) {
    outcome.records.resize(items.size());
  }

  Result<RunOutcome> run(const std::unordered_map<std::string, TestRecord> &done);

private:
  struct TestState {
    std::vector<Outcome> tries;
    uint32_t putBacks = 0;
    bool recorded = false;
  };

  void recordUnstarted(const std::unordered_map<std::string, TestRecord> &done,
                       std::vector<size_t> &waiting);
  void record(size_t test, TestRecord record);
  void showDurable();
  bool isOver() const;

  void startWorker(Slot &slot);
  void startFailed(Slot &slot, const std::string &why);
  void advance(Slot &slot);
  bool dispatch(Slot &slot);
  void checkHealth(Slot &slot);
  void healthAnswer(Slot &slot, const std::string &failure);
  void markBad(size_t device, const std::string &why);
  void clearHopeless();

  void readReplies(Slot &slot);
  void handle(Slot &slot, Reply reply);
  void finish(Slot &slot, TestRecord found);
  void endAttempt(Slot &slot, TestRecord record);
  void condemn(Slot &slot, Sentence sentence, bool politely);
  void workerEnded(Slot &slot, const WorkerEnd &end);
  void watchTimes(Slot &slot, Clock::time_point time);
  void watchMemory();
  void interrupt();
  void wait(Clock::time_point until);
  Clock::time_point nextDeadline(Clock::time_point time) const;

  const std::vector<TestItem> &items;
  const RunnerOptions &options;
  Journal &journal;
  Observer &observer;
  uint64_t memoryBudget;
  std::vector<DeviceHealth> health;
  std::vector<TestState> tests;
  std::optional<Schedule> schedule;
  std::vector<Slot> slots;
  std::vector<pid_t> presentBefore;
  std::deque<std::pair<uint64_t, size_t>> unshown; ///< Number in the journal, test.
  uint64_t nextRequest = 1, memoryKills = 0;
  size_t recorded = 0;
  std::string folder; ///< Our own.
  RunOutcome outcome;
  Signals *signals = nullptr;
};

// --- Records -----------------------------------------------------------------------------------

void Loop::recordUnstarted(const std::unordered_map<std::string, TestRecord> &done,
                           std::vector<size_t> &waiting) {
  for (size_t i = 0; i < items.size(); ++i) {
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
}

void Loop::record(size_t test, TestRecord record) {
  if (tests[test].recorded)
    return;
  if (options.complete)
    options.complete(record, items[test]);
  tests[test].recorded = true;
  ++recorded;
  unshown.emplace_back(journal.record(record), test);
  outcome.records[test] = std::move(record);
}

void Loop::showDurable() {
  uint64_t durable = journal.durable();
  for (; !unshown.empty() && unshown.front().first <= durable; unshown.pop_front()) {
    size_t test = unshown.front().second;
    observer.finished(test, items[test], outcome.records[test]);
  }
}

// --- Starting workers --------------------------------------------------------------------------

void Loop::startWorker(Slot &slot) {
  slot.checkFailure.clear();
  slot.killAt = kNever;
  slot.deadline = after(Clock::now(), options.startTimeoutSeconds);
  Status status = makeEmptyFolder(slot.folder);
  if (!status)
    return startFailed(slot, status.message());
  auto worker = WorkerProcess::start({options.workerCommand, slot.folder, options.outputCapBytes});
  if (!worker)
    return startFailed(slot, worker.message());
  slot.worker = std::move(*worker);
  slot.state = Slot::State::Starting;
}

void Loop::startFailed(Slot &slot, const std::string &why) {
  slot.worker.reset();
  slot.state = Slot::State::Empty;
  if (++health[slot.device].startFailures >= kMaxStartFailures)
    markBad(slot.device, "its worker does not start: " + why);
}

// --- Giving work -------------------------------------------------------------------------------

void Loop::advance(Slot &slot) {
  if (outcome.interrupted || !schedule->waiting())
    return;
  if (slot.state == Slot::State::Empty) {
    if (schedule->isBad(slot.device)) {
      // Another device may have room for one more.
      for (size_t i = 0; i < health.size() && schedule->isBad(slot.device); ++i)
        slot.device = (slot.device + 1) % health.size();
      if (schedule->isBad(slot.device))
        return;
    }
    // No more workers than there are tests to give.
    size_t coming = 0;
    for (const Slot &other : slots)
      coming += other.state == Slot::State::Starting || other.state == Slot::State::Ready;
    if (coming < schedule->waiting())
      startWorker(slot);
    return;
  }
  if (slot.state != Slot::State::Ready)
    return;
  switch (health[slot.device].health) {
  case Health::Good:
    dispatch(slot);
    break;
  case Health::Suspect:
    checkHealth(slot);
    break;
  case Health::Checking:
    break;
  case Health::Bad:
    slot.worker.reset();
    slot.state = Slot::State::Empty;
    break;
  }
}

bool Loop::dispatch(Slot &slot) {
  std::optional<size_t> test = schedule->take(slot.device);
  if (!test)
    return false;
  const TestItem &item = items[*test];
  slot.worker->drainOutput(); // What came late belongs to nobody.
  slot.worker->printed.clear();
  Attempt &attempt = slot.attempt.emplace();
  attempt.test = *test;
  attempt.request = nextRequest++;
  attempt.began = attempt.stageBegan = Clock::now();
  attempt.beganAt = now();
  slot.state = Slot::State::Testing;
  journal.started(item.fullName(), uint32_t(tests[*test].tries.size() + 1));
  Request request;
  request.number = attempt.request;
  request.item = item;
  request.folder = folder;
  request.device = options.devices[slot.device].name;
  request.seed = options.seed;
  request.timeoutSeconds = options.timeoutSeconds;
  request.memoryLimitBytes = options.memoryLimitBytes ? options.memoryLimitBytes : memoryBudget;
  slot.worker->send(worker::encode(request));
  observer.started(*test, item, uint32_t(slot.number), uint32_t(tests[*test].tries.size() + 1));
  return true;
}

// --- Devices -----------------------------------------------------------------------------------

void Loop::checkHealth(Slot &slot) {
  health[slot.device].health = Health::Checking;
  slot.state = Slot::State::Checking;
  slot.checkRequest = nextRequest++;
  slot.checkFailure.clear();
  slot.deadline = after(Clock::now(), options.healthTimeoutSeconds);
  Request request;
  request.kind = Request::Kind::Health;
  request.number = slot.checkRequest;
  request.device = options.devices[slot.device].name;
  request.timeoutSeconds = options.healthTimeoutSeconds;
  slot.worker->send(worker::encode(request));
}

void Loop::healthAnswer(Slot &slot, const std::string &failure) {
  DeviceHealth &device = health[slot.device];
  if (device.health == Health::Bad)
    return;
  if (failure.empty()) {
    device.health = Health::Good;
    device.checkFailures = 0;
  } else if (++device.checkFailures >= kMaxHealthFailures) {
    markBad(slot.device, "a program that is known to be good fails on it: " + failure);
  } else {
    device.health = Health::Suspect;
  }
}

void Loop::markBad(size_t device, const std::string &why) {
  if (health[device].health == Health::Bad)
    return;
  health[device].health = Health::Bad;
  schedule->retire(device);
  const std::string &name = options.devices[device].name;
  outcome.badDevices[name] = why;
  observer.notice("device " + name + " is bad and gets no more tests: " + why);
  clearHopeless();
}

void Loop::clearHopeless() {
  for (auto &[test, reason] : schedule->takeHopeless()) {
    if (reason.empty())
      for (const auto &[name, why] : outcome.badDevices)
        reason += (reason.empty() ? "device " : "; device ") + name + " is bad: " + why;
    TestRecord record = recordFor(items[test], options);
    record.outcome = Outcome::NotRun;
    record.errorClass = outcome.badDevices.empty() ? "" : kBadDevice;
    record.message = reason;
    record.tryOutcomes = tests[test].tries;
    record.attempts = uint32_t(tests[test].tries.size());
    this->record(test, std::move(record));
  }
}

// --- What workers say --------------------------------------------------------------------------

void Loop::readReplies(Slot &slot) {
  while (slot.worker) {
    Result<std::optional<Reply>> reply = slot.worker->nextReply();
    if (!reply) {
      condemn(
          slot,
          {Outcome::Crashed, "protocol_error", "broke the worker's protocol: " + reply.message()},
          false);
      return;
    }
    if (!*reply)
      break;
    handle(slot, std::move(**reply));
  }
  if (slot.worker && slot.worker->repliesClosed() && slot.killAt == kNever)
    slot.killAt = after(Clock::now(), kClosedPatience);
}

void Loop::handle(Slot &slot, Reply reply) {
  if (auto *hello = std::get_if<Hello>(&reply)) {
    if (slot.state != Slot::State::Starting)
      return;
    if (hello->protocol != worker::kProtocolVersion) {
      std::string why = fmt::format("{} speaks version {} of the protocol, this cupel version {}; "
                                    "build both together",
                                    hello->worker, hello->protocol, worker::kProtocolVersion);
      health[slot.device].startFailures = kMaxStartFailures;
      return startFailed(slot, why);
    }
    health[slot.device].startFailures = 0;
    slot.state = Slot::State::Ready;
    slot.deadline = kNever;
  } else if (auto *stage = std::get_if<StageEntered>(&reply)) {
    if (!slot.attempt || slot.attempt->request != stage->number || slot.attempt->sentence)
      return;
    slot.attempt->enter(stage->stage, Clock::now());
    observer.stage(slot.attempt->test, items[slot.attempt->test], uint32_t(slot.number),
                   stage->stage);
  } else if (auto *finished = std::get_if<Finished>(&reply)) {
    if (slot.state == Slot::State::Checking && finished->number == slot.checkRequest) {
      bool passed = finished->record.outcome == Outcome::Passed;
      slot.state = Slot::State::Ready;
      slot.deadline = kNever;
      healthAnswer(slot, passed                             ? ""
                         : finished->record.message.empty() ? "it did not pass"
                                                            : finished->record.message);
      if (!passed) {
        slot.worker.reset();
        slot.state = Slot::State::Empty;
      }
    } else if (slot.attempt && slot.attempt->request == finished->number &&
               !slot.attempt->sentence) {
      finish(slot, std::move(finished->record));
    }
  }
}

void Loop::finish(Slot &slot, TestRecord found) {
  Attempt &attempt = *slot.attempt;
  attempt.stragglers = uint32_t(slot.worker->endStragglers());
  slot.worker->drainOutput();
  if (found.stages.empty()) {
    attempt.enter(Stage::Done, Clock::now());
    found.stages = attempt.stages;
  }
  if (found.outcome == Outcome::Passed)
    found.lastStage = Stage::Done;
  else if (found.lastStage == Stage::None)
    found.lastStage = attempt.stage == Stage::Done && !attempt.stages.empty()
                          ? attempt.stages.back().stage
                          : attempt.stage;
  uint64_t idle = found.peakMemoryBytes > kIdleMemory ? slot.worker->memoryBytes() : 0;
  bool timedOut = found.outcome == Outcome::TimedOut || found.outcome == Outcome::OutOfMemory;
  bool lost = found.errorClass == "device_lost";
  if ((timedOut || lost) && health[slot.device].health == Health::Good)
    health[slot.device].health = Health::Suspect;
  slot.state = Slot::State::Ready;
  endAttempt(slot, std::move(found));
  emptyFolder(slot.folder);
  if (idle > kIdleMemory || lost) {
    slot.worker.reset();
    slot.state = Slot::State::Empty;
  }
}

/// Takes what a try came to; what the runner knows better is added.
void Loop::endAttempt(Slot &slot, TestRecord found) {
  Attempt attempt = std::move(*slot.attempt);
  slot.attempt.reset();
  const TestItem &item = items[attempt.test];
  schedule->release(attempt.test, slot.device);

  TestRecord record = recordFor(item, options);
  record.outcome = found.outcome;
  record.lastStage = found.lastStage;
  record.stages = std::move(found.stages);
  record.exitCode = found.exitCode;
  record.signal = found.signal;
  record.errorClass = std::move(found.errorClass);
  record.message = std::move(found.message);
  record.comparisons = std::move(found.comparisons);
  record.artifacts = std::move(found.artifacts);
  record.notes = std::move(found.notes);
  record.startedAt = attempt.beganAt;
  record.seconds = secondsBetween(attempt.began, Clock::now());
  record.peakMemoryBytes = std::max(found.peakMemoryBytes, attempt.peakMemory);
  record.device = options.devices[slot.device].name;
  record.output = slot.worker ? slot.worker->printed.text() : std::string();
  if (attempt.stragglers)
    record.notes["left_running"] =
        std::to_string(attempt.stragglers) + " processes were left running and have been ended";

  TestState &state = tests[attempt.test];
  state.tries.push_back(record.outcome);
  if (!outcome.interrupted && state.tries.size() <= options.retries &&
      isWorthRetry(record.outcome, item, options) && !schedule->isBad(slot.device)) {
    schedule->putBack(attempt.test, /*first=*/false);
    return;
  }
  conclude(record, state.tries, item, options);
  this->record(attempt.test, std::move(record));
}

// --- Ending workers ----------------------------------------------------------------------------

/// Ends the worker, and with it the test that it runs, in an outcome that is certain already.
void Loop::condemn(Slot &slot, Sentence sentence, bool politely) {
  if (slot.state == Slot::State::Checking || slot.state == Slot::State::Starting)
    slot.checkFailure = sentence.message;
  if (slot.attempt && !slot.attempt->sentence)
    slot.attempt->sentence = std::move(sentence);
  if (politely) {
    slot.worker->terminate();
    slot.killAt = after(Clock::now(), options.terminateGraceSeconds);
  } else {
    slot.worker->destroy();
    // Should it not die, it is asked again.
    slot.killAt = after(Clock::now(), 1);
  }
  if (slot.state == Slot::State::Testing || slot.state == Slot::State::Ready)
    slot.state = Slot::State::Ending;
}

void Loop::workerEnded(Slot &slot, const WorkerEnd &end) {
  // A result may have been on its way when it died.
  if (!slot.attempt || !slot.attempt->sentence)
    while (slot.worker) {
      Result<std::optional<Reply>> reply = slot.worker->nextReply();
      if (!reply || !*reply)
        break;
      handle(slot, std::move(**reply));
    }
  if (!slot.worker)
    return;
  slot.worker->drainOutput();

  if (slot.attempt) {
    Attempt &attempt = *slot.attempt;
    TestRecord found;
    found.lastStage = attempt.stage;
    attempt.enter(Stage::Done, Clock::now());
    found.stages = attempt.stages;
    found.exitCode = end.exitCode;
    found.signal = end.signal;
    bool never = found.lastStage == Stage::None;
    bool memoryKill = false;
    if (!attempt.sentence && end.signal == SIGKILL)
      if (uint64_t kills = kernelMemoryKills(); kills > memoryKills) {
        memoryKills = kills;
        memoryKill = true;
      }
    std::string where =
        never ? "before it began" : "in stage " + std::string(results::name(found.lastStage));
    std::string tail = slot.worker->printed.lastLine();
    if (attempt.sentence) {
      found.outcome = attempt.sentence->outcome;
      found.errorClass = attempt.sentence->errorClass;
      found.message = attempt.sentence->message;
    } else if (memoryKill) {
      found.outcome = Outcome::OutOfMemory;
      found.errorClass = "out_of_memory";
      found.message = "the machine ran out of memory " + where + ", and the kernel ended the test";
    } else if (end.signal == SIGABRT && (tail.find("bad_alloc") != std::string::npos ||
                                         tail.find("out of memory") != std::string::npos)) {
      found.outcome = Outcome::OutOfMemory;
      found.errorClass = "out_of_memory";
      found.message = "no memory was left " + where + ": " + tail;
    } else if (never && !end.guardLost && tests[attempt.test].putBacks < kMaxPutBacks &&
               !outcome.interrupted) {
      // The worker died of something older than this test, which gets another one.
      ++tests[attempt.test].putBacks;
      schedule->release(attempt.test, slot.device);
      schedule->putBack(attempt.test, /*first=*/true);
      slot.attempt.reset();
    } else {
      found.outcome = Outcome::Crashed;
      found.errorClass = end.signal ? std::string("SIG") + sigabbrev_np(*end.signal) : "crash";
      found.message = "crashed " + where + ": " + end.text();
    }
    if (slot.attempt) {
      bool suspect = found.outcome != Outcome::Interrupted;
      if (suspect && health[slot.device].health == Health::Good)
        health[slot.device].health = Health::Suspect;
      endAttempt(slot, std::move(found));
    }
  } else if (slot.state == Slot::State::Checking) {
    healthAnswer(slot,
                 slot.checkFailure.empty() ? "its worker ended: " + end.text() : slot.checkFailure);
  } else if (slot.state == Slot::State::Starting) {
    std::string tail = slot.worker->printed.lastLine();
    std::string why = slot.checkFailure.empty() ? end.text() : slot.checkFailure;
    startFailed(slot, tail.empty() ? why : why + ": " + tail);
  }
  slot.worker.reset();
  slot.state = Slot::State::Empty;
  slot.killAt = slot.deadline = kNever;
  if (end.guardLost) {
    std::vector<pid_t> guards;
    for (const Slot &other : slots)
      if (other.worker)
        guards.push_back(other.worker->guardProcess());
    endStrays(guards, presentBefore);
  }
}

// --- Watching ----------------------------------------------------------------------------------

void Loop::watchTimes(Slot &slot, Clock::time_point time) {
  if (!slot.worker)
    return;
  if (time >= slot.killAt) {
    condemn(slot,
            {Outcome::Crashed, "lost_connection", "closed the worker's connection to the runner"},
            false);
    return;
  }
  if (time >= slot.deadline) {
    slot.deadline = kNever;
    bool starting = slot.state == Slot::State::Starting;
    condemn(slot,
            {Outcome::Crashed, "",
             fmt::format("no answer within {:g} s",
                         starting ? options.startTimeoutSeconds : options.healthTimeoutSeconds)},
            false);
    return;
  }
  if (slot.state != Slot::State::Testing)
    return;
  const Attempt &attempt = *slot.attempt;
  std::string_view stage = results::name(attempt.stage);
  if (options.timeoutSeconds > 0 &&
      time >= after(attempt.began, options.timeoutSeconds + kTimeoutSlack)) {
    condemn(slot,
            {Outcome::TimedOut, "timeout",
             fmt::format("took longer than {:g} s; it was in stage {} (--timeout sets the limit)",
                         options.timeoutSeconds, stage)},
            true);
    return;
  }
  auto limit = options.stageTimeouts.find(attempt.stage);
  if (limit != options.stageTimeouts.end() && time >= after(attempt.stageBegan, limit->second))
    condemn(slot,
            {Outcome::TimedOut, "timeout",
             fmt::format("stage {} took longer than {:g} s (--stage-timeout sets the limit)", stage,
                         limit->second)},
            true);
}

void Loop::watchMemory() {
  uint64_t total = 0, farthest = 0;
  Slot *worst = nullptr;
  for (Slot &slot : slots) {
    if (slot.state != Slot::State::Testing)
      continue;
    uint64_t bytes = slot.worker->memoryBytes();
    Attempt &attempt = *slot.attempt;
    attempt.peakMemory = std::max(attempt.peakMemory, bytes);
    total += bytes;
    if (options.memoryLimitBytes && bytes > options.memoryLimitBytes) {
      condemn(
          slot,
          {Outcome::OutOfMemory, "out_of_memory",
           fmt::format("held {} MiB in stage {}, more than the {} MiB it may "
                       "(--memory sets the limit)",
                       bytes >> 20, results::name(attempt.stage), options.memoryLimitBytes >> 20)},
          false);
      continue;
    }
    uint64_t reserved = schedule->reservation(attempt.test);
    uint64_t excess = bytes > reserved ? bytes - reserved : 0;
    if (!worst || excess > farthest) {
      worst = &slot;
      farthest = excess;
    }
  }
  if (worst && total > memoryBudget)
    condemn(*worst,
            {Outcome::OutOfMemory, "out_of_memory",
             fmt::format("held {} MiB in stage {} when all tests together passed the {} MiB "
                         "that they may have",
                         worst->attempt->peakMemory >> 20, results::name(worst->attempt->stage),
                         memoryBudget >> 20)},
            false);
}

void Loop::interrupt() {
  outcome.interrupted = true;
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
         (!schedule->waiting() &&
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
      next = std::min(next, after(slot.attempt->began, options.timeoutSeconds + kTimeoutSlack));
    auto limit = options.stageTimeouts.find(slot.attempt->stage);
    if (limit != options.stageTimeouts.end())
      next = std::min(next, after(slot.attempt->stageBegan, limit->second));
  }
  return next;
}

/// Sleeps until something happens and handles what did.
void Loop::wait(Clock::time_point until) {
  std::vector<pollfd> polled = {{signals->descriptor(), POLLIN, 0},
                                {journal.descriptor(), POLLIN, 0}};
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
    journal.acknowledge();
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
  std::vector<size_t> waiting;
  recordUnstarted(done, waiting);
  std::vector<Forecast> forecasts(items.size());
  if (!options.forecasts.empty())
    for (size_t i : waiting)
      if (auto found = options.forecasts.find(items[i].fullName());
          found != options.forecasts.end())
        forecasts[i] = found->second;
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
  slots.resize(std::min<size_t>(jobs, std::max<size_t>(1, schedule->waiting())));
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].number = i;
    slots[i].device = i % options.devices.size();
    slots[i].folder = options.scratchFolder + "/worker" + std::to_string(i);
  }

  Signals handler(options.handleSignals);
  signals = &handler;
  Clock::time_point lastTick = Clock::now(), lastMemory = lastTick;
  while (!isOver()) {
    for (Slot &slot : slots)
      advance(slot);
    Clock::time_point time = Clock::now();
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
    if (Status status = journal.failure(); !status)
      return Error{status.message()};
    if (int count = handler.count(); count >= 2) {
      outcome.interrupted = outcome.stoppedAtOnce = true;
      break;
    } else if (count == 1 && !outcome.interrupted) {
      observer.notice("interrupted: ending what runs; once more to stop at once");
      interrupt();
    }
  }
  for (Slot &slot : slots)
    if (slot.worker)
      slot.worker->destroy();
  slots.clear();
  if (Status status = journal.flush(); !status)
    return Error{status.message()};
  showDurable();
  return std::move(outcome);
}

} // namespace

Result<RunOutcome> run(const std::vector<TestItem> &items, const RunnerOptions &options,
                       Journal &journal, Observer &observer,
                       const std::unordered_map<std::string, TestRecord> &done) {
  if (options.devices.empty() || options.workerCommand.empty())
    return Error{"a run needs a device and a worker"};
  Result<RunOutcome> outcome = Loop(items, options, journal, observer).run(done);
  removeFolder(options.scratchFolder);
  return outcome;
}

} // namespace cupel::testbench::runner
