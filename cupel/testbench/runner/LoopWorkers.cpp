#include "cupel/testbench/runner/Loop.h"

#include "cupel/support/MissingLibrary.h"
#include "cupel/testbench/runner/Outcomes.h"
#include "cupel/testbench/runner/Scratch.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cupel::testbench::runner {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using worker::Finished;
using worker::Hello;
using worker::Reply;
using worker::Request;
using worker::StageEntered;

namespace {

/// Times of stages by the clocks of those who were in them: we may read of several stages at once, and
/// would take the first of them for no time at all.
std::vector<results::StageTime> joined(std::vector<results::StageTime> before,
                                       const std::vector<results::StageTime> &own) {
  for (const results::StageTime &one : own)
    results::addStageTime(before, one.stage, one.seconds);
  return before;
}

/// How long a worker may live with its end of the pipe closed.
constexpr double kClosedPatience = 0.3;
/// Workers that end before they begin a test, before the test is blamed.
constexpr uint32_t kMaxPutBacks = 2;
constexpr uint32_t kMaxStartFailures = 3;
/// A worker that holds this much between tests is replaced.
constexpr uint64_t kIdleMemory = uint64_t{2} << 30;
/// Error class of a test that needs a server which does not start.
constexpr std::string_view kNoServer = "no_server";

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Where both servers of a place find the tensors that one hands to the other: a file in memory,
/// opened through us, so that nothing is left behind whoever is killed.
std::string tensorFile(Slot &slot) {
  if (!slot.tensors)
    slot.tensors = std::shared_ptr<const int>(new int(memfd_create("cupel-tensors", MFD_CLOEXEC)),
                                              [](const int *file) {
                                                close(*file);
                                                delete file;
                                              });
  return fmt::format("/proc/{}/fd/{}", getpid(), *slot.tensors);
}

} // namespace

/// Has another server of this place take over, if it lives; else the place is empty for it.
void Loop::useServer(Slot &slot, Server server) {
  if (slot.server == server)
    return;
  slot.parked[size_t(slot.server)] = std::move(slot.worker);
  slot.server = server;
  slot.worker = std::move(slot.parked[size_t(server)]);
  if (slot.worker && slot.worker->readEnd())
    slot.worker.reset(); // It died while nobody asked anything of it.
  slot.state = slot.worker ? Slot::State::Ready : Slot::State::Empty;
}

void Loop::startWorker(Slot &slot) {
  const ServerSpec &spec = options.servers[size_t(slot.server)];
  slot.checkFailure.clear();
  slot.killAt = kNever;
  slot.deadline = after(Clock::now(), spec.startSeconds);
  Status status = makeEmptyFolder(slot.folderOf(slot.server));
  if (!status)
    return startFailed(slot, status.message());
  std::vector<std::string> command = spec.command;
  if (slot.server == Server::Python && slot.attempt) {
    slot.python = slot.attempt->python;
    if (!slot.python.empty())
      command.front() = slot.python;
  }
  auto worker =
      WorkerProcess::start({command, slot.folderOf(slot.server), options.outputCapBytes});
  if (!worker)
    return startFailed(slot, worker.message());
  slot.worker = std::move(*worker);
  slot.state = Slot::State::Starting;
}

void Loop::startFailed(Slot &slot, const std::string &why, bool forGood) {
  slot.worker.reset();
  slot.state = Slot::State::Empty;
  if (slot.server == Server::Worker) {
    uint32_t &failures = health[slot.device].startFailures;
    failures = forGood ? kMaxStartFailures : failures + 1;
    if (failures >= kMaxStartFailures)
      markBad(slot.device, "its worker does not start: " + why + missingPackage(why));
    if (failures >= kMaxStartFailures)
      giveUpKeeping("no worker starts");
  }
  if (!slot.attempt)
    return;
  // Another server costs the tests that need it; devices have no part in it.
  std::string message =
      forGood ? why
              : fmt::format("the {} does not start: {}{}", name(slot.server), why,
                            options.servers[size_t(slot.server)].hint);
  if (slot.server != Server::Worker && slot.attempt->python.empty() &&
      (forGood || ++startFailures[size_t(slot.server)] >= kMaxStartFailures))
    unusable[size_t(slot.server)] = message;
  TestRecord found;
  found.outcome = Outcome::NotRun;
  found.errorClass = kNoServer;
  found.message = message;
  endAttempt(slot, std::move(found));
}

// --- Giving work -------------------------------------------------------------------------------

void Loop::advance(Slot &slot) {
  while (!outcome.interrupted && (schedule->waiting() || !toKeep.empty())) {
    if (slot.state == Slot::State::Empty)
      useServer(slot, Server::Worker);
    if (slot.state == Slot::State::Empty) {
      // To save a test takes no device.
      if (toKeep.empty() && schedule->isBad(slot.device)) {
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
      if (coming < schedule->waiting() + toKeep.size())
        startWorker(slot);
      return;
    }
    if (slot.state != Slot::State::Ready || keepNext(slot))
      return;
    switch (health[slot.device].health) {
    case Health::Good:
      // A test may be over before any server sees it; then the next one has its turn.
      if (!dispatch(slot) || slot.attempt)
        return;
      break;
    case Health::Suspect:
      useServer(slot, Server::Worker);
      if (slot.worker)
        checkHealth(slot);
      break;
    case Health::Checking:
      return;
    case Health::Bad:
      slot.worker.reset();
      slot.state = Slot::State::Empty;
      return;
    }
  }
}

bool Loop::dispatch(Slot &slot) {
  std::optional<size_t> test = schedule->take(slot.device);
  if (!test)
    return false;
  const TestItem &item = items[*test];
  Attempt &attempt = slot.attempt.emplace();
  attempt.test = *test;
  attempt.began = attempt.stageBegan = Clock::now();
  attempt.beganAt = now();
  if (journal)
    journal->started(item.fullName(), uint32_t(tests[*test].tries.size() + 1));
  observer.started(*test, item, uint32_t(slot.number), uint32_t(tests[*test].tries.size() + 1));
  if (options.prepare && kindOf(item).steps.size() > 1) {
    Prepared prepared =
        options.prepare(item, options.devices[slot.device].name, tests[*test].isDoubted);
    attempt.handover = std::move(prepared.handover);
    attempt.python = std::move(prepared.python);
    if (prepared.ended) {
      prepared.ended->lastStage = Stage::Load;
      endAttempt(slot, std::move(*prepared.ended));
      return true;
    }
  }
  serve(slot);
  return true;
}

/// The attempt goes to the server whose turn it is, which may have to be started first.
void Loop::serve(Slot &slot) {
  const Kind &kind = kindOf(items[slot.attempt->test]);
  useServer(slot, kind.steps.empty() ? Server::Worker : kind.steps[slot.attempt->step].server);
  if (slot.server == Server::Python && slot.worker && slot.python != slot.attempt->python) {
    slot.worker.reset(); // It lives in another environment.
    slot.state = Slot::State::Empty;
  }
  if (const std::string &why = unusable[size_t(slot.server)];
      !why.empty() && slot.attempt->python.empty())
    startFailed(slot, why, /*forGood=*/true);
  else if (slot.worker)
    sendTest(slot);
  else
    startWorker(slot);
}

void Loop::sendTest(Slot &slot) {
  Attempt &attempt = *slot.attempt;
  const TestItem &item = items[attempt.test];
  const Kind &kind = kindOf(item);
  slot.worker->drainOutput(); // What came late belongs to nobody.
  slot.worker->printed.clear();
  if (attempt.step == 0) // How long a server takes to start is no matter of the test.
    attempt.began = attempt.stageBegan = Clock::now();
  attempt.request = nextRequest++;
  slot.state = Slot::State::Testing;
  Request request;
  request.number = attempt.request;
  request.item = item;
  request.folder = folder;
  request.device = options.devices[slot.device].name;
  request.seed = options.seed;
  request.arch = options.arch;
  request.comparison = options.comparison;
  request.strict = options.strict;
  request.noise = options.noise;
  request.pieces = options.pieces;
  request.precision = options.precision;
  request.search = options.search;
  request.depth = depthOf(item, options.depth);
  if (request.isOpByOp()) {
    request.opByOpBackend = options.opByOpBackend;
    request.opTables = options.opTables;
    request.opTimeoutSeconds = options.opTimeoutSeconds;
  }
  if (kind.takesBackend)
    request.compileBackend = options.compileBackend;
  request.repeat = options.repeat;
  if (kind.takesShapes)
    request.shapes = options.shapes;
  if (kind.steps.size() > 1)
    request.tensors = tensorFile(slot);
  request.handover = attempt.handover;
  if (options.timeoutSeconds > 0)
    request.timeoutSeconds =
        std::max(0.001, options.timeoutSeconds - secondsBetween(attempt.began, Clock::now()));
  request.threads =
      options.threadsPerTest
          ? options.threadsPerTest
          : std::max<uint32_t>(1, std::thread::hardware_concurrency() / uint32_t(slots.size()));
  request.memoryLimitBytes = options.memoryLimitBytes ? options.memoryLimitBytes : memoryBudget;
  // What other servers do for a test that is saved is what they did before.
  if (attempt.kept && slot.server == Server::Worker)
    askToKeep(request, *attempt.kept);
  slot.worker->send(worker::encode(request));
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
    std::string why = hello->unusable;
    if (hello->protocol != worker::kProtocolVersion)
      why = fmt::format("{} speaks version {} of the protocol, this cupel version {}; "
                        "build both together",
                        hello->worker, hello->protocol, worker::kProtocolVersion);
    slot.deadline = kNever;
    if (!why.empty())
      return startFailed(slot, why, /*forGood=*/true);
    (slot.server == Server::Worker ? health[slot.device].startFailures
                                   : startFailures[size_t(slot.server)]) = 0;
    slot.state = Slot::State::Ready;
    if (slot.attempt)
      sendTest(slot);
  } else if (auto *stage = std::get_if<StageEntered>(&reply)) {
    if (!slot.attempt || slot.attempt->request != stage->number || slot.attempt->sentence)
      return;
    slot.attempt->enter(stage->stage, Clock::now());
    observer.stage(slot.attempt->test, items[slot.attempt->test], uint32_t(slot.number),
                   stage->stage);
  } else if (auto *told = std::get_if<worker::Told>(&reply)) {
    if (slot.attempt && slot.attempt->request == told->number && !slot.attempt->sentence)
      observer.told(slot.attempt->test, items[slot.attempt->test], told->line);
  } else if (auto *finished = std::get_if<Finished>(&reply)) {
    if (slot.state == Slot::State::Checking && finished->number == slot.checkRequest) {
      const TestRecord &record = finished->record;
      bool passed = record.outcome == Outcome::Passed;
      slot.state = Slot::State::Ready;
      slot.deadline = kNever;
      if (record.errorClass == worker::kNoDevice)
        markBad(slot.device, record.message);
      else
        healthAnswer(slot, passed                   ? ""
                           : record.message.empty() ? "it did not pass"
                                                    : record.message);
      if (!passed) {
        slot.worker.reset();
        slot.state = Slot::State::Empty;
      }
    } else if (slot.attempt && slot.attempt->request == finished->number &&
               !slot.attempt->sentence) {
      finish(slot, std::move(*finished));
    }
  }
}

void Loop::finish(Slot &slot, Finished finished) {
  Attempt &attempt = *slot.attempt;
  TestRecord &found = finished.record;
  // What one process took at most, beside those that wait for their turn: a short peak is between two
  // looks of ours.
  for (const auto &other : slot.parked)
    found.peakMemoryBytes += found.peakMemoryBytes && other ? other->memoryBytes() : 0;
  attempt.stragglers += uint32_t(slot.worker->endStragglers(finished.kept));
  slot.worker->drainOutput();
  if (found.outcome == Outcome::Passed && !finished.handover.empty() &&
      attempt.step + 1 < kindOf(items[attempt.test]).steps.size()) {
    // The next server takes over.
    ++attempt.step;
    attempt.enter(attempt.stage, Clock::now());
    if (!found.stages.empty())
      attempt.stages = joined(std::move(attempt.stagesBefore), found.stages);
    attempt.stagesBefore = attempt.stages;
    attempt.peakMemory = std::max(attempt.peakMemory, found.peakMemoryBytes);
    attempt.handover = std::move(finished.handover);
    attempt.soFar.notes.merge(found.notes);
    attempt.printed += slot.worker->printed.text();
    slot.state = Slot::State::Ready;
    return serve(slot);
  }
  if (found.stages.empty()) {
    attempt.enter(Stage::Done, Clock::now());
    found.stages = attempt.stages;
  } else if (attempt.step > 0) {
    found.stages = joined(std::move(attempt.stagesBefore), found.stages);
  }
  if (found.outcome == Outcome::Passed || found.outcome == Outcome::Unjudged)
    found.lastStage = Stage::Done;
  else if (found.lastStage == Stage::None)
    found.lastStage = attempt.stage == Stage::Done && !attempt.stages.empty()
                          ? attempt.stages.back().stage
                          : attempt.stage;
  uint64_t idle = found.peakMemoryBytes > kIdleMemory ? slot.worker->memoryBytes() : 0;
  // Servers that had their turn before may have kept what they took, too.
  if (std::max(attempt.peakMemory, found.peakMemoryBytes) > kIdleMemory)
    for (auto &other : slot.parked)
      if (other && other->memoryBytes() > kIdleMemory)
        other.reset();
  bool tookTooMuch = results::familyOf(found.outcome) == results::Family::Limit;
  bool lost = found.errorClass == "device_lost" || found.notes.contains(worker::kGivenUpNote);
  if ((tookTooMuch || lost) && slot.server == Server::Worker &&
      health[slot.device].health == Health::Good)
    health[slot.device].health = Health::Suspect;
  slot.state = Slot::State::Ready;
  endAttempt(slot, std::move(found));
  for (size_t i = 0; i < kServerCount; ++i)
    if (slot.parked[i] || Server(i) == slot.server)
      emptyFolder(slot.folderOf(Server(i)));
  if (idle > kIdleMemory || lost) {
    slot.worker.reset();
    slot.state = Slot::State::Empty;
  }
}

static bool wasExported(const Attempt &attempt) {
  auto method = attempt.soFar.notes.find("captured by");
  return method != attempt.soFar.notes.end() && method->second == "export";
}

/// Takes what a try came to; what the runner knows better is added.
void Loop::endAttempt(Slot &slot, TestRecord found) {
  Attempt attempt = std::move(*slot.attempt);
  slot.attempt.reset();
  if (attempt.kept)
    return keepEnded(attempt.test, std::move(*attempt.kept), found, attempt.began);
  const TestItem &item = items[attempt.test];
  schedule->release(attempt.test, slot.device);
  TestState &state = tests[attempt.test];
  if (attempt.sentence && attempt.sentence->isShared && !state.isAlone && !outcome.interrupted &&
      !schedule->isBad(slot.device)) {
    state.isAlone = true;
    schedule->isolate(attempt.test);
    schedule->putBack(attempt.test, /*first=*/true);
    return;
  }

  // Models may compute something else while they are traced: no device is at fault there. Graphs
  // that are found by running them have been compared with the model.
  if (found.outcome == Outcome::Failed && found.notes.contains(worker::kExpectedOffNote) &&
      wasExported(attempt) && !state.isDoubted && !outcome.interrupted &&
      !schedule->isBad(slot.device)) {
    state.isDoubted = true;
    schedule->putBack(attempt.test, /*first=*/true);
    return;
  }

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
  record.shapesTaken = std::move(found.shapesTaken);
  record.shapesNotTaken = std::move(found.shapesNotTaken);
  record.notes.merge(found.notes);
  record.notes.merge(attempt.soFar.notes);
  record.startedAt = attempt.beganAt;
  record.seconds = secondsBetween(attempt.began, Clock::now());
  record.peakMemoryBytes = std::max(found.peakMemoryBytes, attempt.peakMemory);
  record.device = options.devices[slot.device].name;
  bool passed = record.outcome == Outcome::Passed;
  record.output = attempt.printed;
  if (slot.worker && attempt.request)
    record.output +=
        slot.worker->printed.text(passed ? options.passedOutputCapBytes : options.outputCapBytes);
  if (attempt.stragglers)
    record.notes["left_running"] =
        std::to_string(attempt.stragglers) + " processes were left running and have been ended";

  if (state.isDoubted)
    record.notes["graph compared"] =
        "the reference was off as far as the device: the graph was made again and compared with "
        "the model by torch";
  if (state.isAlone)
    record.notes["ran_alone"] = "beside others it passed the memory that all tests may have";
  state.tries.push_back(record.outcome);
  if (!outcome.interrupted && state.tries.size() <= options.retries &&
      isWorthRetry(record.outcome, item, options) && !schedule->isBad(slot.device)) {
    schedule->putBack(attempt.test, /*first=*/false);
    return;
  }
  conclude(record, state.tries, item, options);
  recordOrKeep(attempt.test, std::move(record));
}

// --- Ending workers ----------------------------------------------------------------------------

/// Ends the worker, and with it the test that it runs, in an outcome that is certain already.
void Loop::condemn(Slot &slot, Sentence sentence, bool politely) {
  if (slot.state == Slot::State::Checking || slot.state == Slot::State::Starting)
    slot.checkFailure = sentence.message;
  // A server that does not start in time is not the test's fault.
  bool isTests = slot.state != Slot::State::Starting || sentence.outcome == Outcome::Interrupted;
  if (slot.attempt && !slot.attempt->sentence && isTests)
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
  const WorkerProcess *ended = slot.worker.get();
  // A result may have been on its way when it died.
  if (!slot.attempt || !slot.attempt->sentence)
    while (slot.worker) {
      Result<std::optional<Reply>> reply = slot.worker->nextReply();
      if (!reply || !*reply)
        break;
      handle(slot, std::move(**reply));
    }
  // The result may have brought the next server to its turn; the dead one is let go when it is
  // wanted again.
  if (!slot.worker || slot.worker.get() != ended)
    return;
  slot.worker->drainOutput();

  if (slot.state == Slot::State::Starting && !(slot.attempt && slot.attempt->sentence)) {
    std::string tail = slot.worker->printed.lastLine();
    std::string why = slot.checkFailure.empty() ? end.text() : slot.checkFailure;
    startFailed(slot, tail.empty() ? why : why + ": " + tail);
  } else if (slot.attempt) {
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
    } else if (never && !attempt.kept && !end.guardLost && tests[attempt.test].putBacks < kMaxPutBacks &&
               !outcome.interrupted) {
      // The worker died of something older than this test, which gets another one.
      ++tests[attempt.test].putBacks;
      schedule->release(attempt.test, slot.device);
      schedule->putBack(attempt.test, /*first=*/true);
      slot.attempt.reset();
      clearHopeless(); // Its device may have been the last good one, and nobody would take it.
    } else {
      found.outcome = Outcome::Crashed;
      found.errorClass = end.signal ? std::string("SIG") + sigabbrev_np(*end.signal) : "crash";
      // Of several servers the message says which one it was, and what it was doing.
      const TestItem &item = items[attempt.test];
      found.message = kindOf(item).steps.size() < 2
                          ? "crashed " + where
                      : item.op.empty()
                          ? fmt::format("the {} crashed {}", name(slot.server), where)
                          : fmt::format("the {} crashed {} with {} of case {}", name(slot.server),
                                        where, item.op, item.id);
      found.message += ": " + end.text();
    }
    if (slot.attempt) {
      bool suspect = found.outcome != Outcome::Interrupted && slot.server == Server::Worker;
      if (suspect && health[slot.device].health == Health::Good)
        health[slot.device].health = Health::Suspect;
      endAttempt(slot, std::move(found));
    }
  } else if (slot.state == Slot::State::Checking) {
    healthAnswer(slot,
                 slot.checkFailure.empty() ? "its worker ended: " + end.text() : slot.checkFailure);
  }
  slot.worker.reset();
  slot.state = Slot::State::Empty;
  slot.killAt = slot.deadline = kNever;
  if (end.guardLost) {
    std::vector<pid_t> guards;
    for (const Slot &other : slots) {
      if (other.worker)
        guards.push_back(other.worker->guardProcess());
      for (const auto &idle : other.parked)
        if (idle)
          guards.push_back(idle->guardProcess());
    }
    endStrays(guards, presentBefore);
  }
}

} // namespace cupel::testbench::runner
