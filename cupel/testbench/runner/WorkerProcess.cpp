#include "cupel/testbench/runner/WorkerProcess.h"

#include "cupel/support/Process.h"
#include "cupel/support/ProcessTree.h"
#include "cupel/testbench/runner/Guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace cupel::testbench::runner {

namespace {

/// More than a guard takes to clear up, also on a machine that is busy.
constexpr std::chrono::seconds kGuardPatience(10);

void closeEnd(int &descriptor) {
  if (descriptor >= 0)
    close(descriptor);
  descriptor = -1;
}

/// The environment of a worker: ours, with folders that are its own.
std::vector<std::string> environmentOf(const std::string &folder) {
  std::vector<std::string> variables;
  for (char **variable = environ; variable && *variable; ++variable) {
    std::string_view text = *variable;
    // What belongs to our own place, terminal or test session is no business of a test.
    bool ours = false;
    for (std::string_view name : {"PWD=", "OLDPWD=", "TMPDIR=", "COLUMNS=", "LINES=", "SHLVL=",
                                  "_=", "PYTEST_CURRENT_TEST="})
      ours |= text.starts_with(name);
    if (!ours)
      variables.emplace_back(text);
  }
  variables.push_back("PWD=" + folder);
  variables.push_back("TMPDIR=" + folder);
  return variables;
}

std::vector<char *> pointersTo(std::vector<std::string> &strings) {
  std::vector<char *> pointers;
  for (std::string &string : strings)
    pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

} // namespace

std::string WorkerEnd::text() const {
  if (guardLost)
    return "its process group or its parent's was killed";
  if (signal)
    return describeSignal(*signal);
  if (exitCode && *exitCode == worker::kExitLostConnection)
    return "it closed its connection to the runner";
  return "exit code " + std::to_string(exitCode.value_or(-1));
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const WorkerCommand &command) {
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(command.outputCap));
  worker->folder = command.folder;
  // Read end, write end; ours is first in the list of roles below.
  std::array<std::array<int, 2>, 4> pipes;
  size_t made = 0;
  for (; made < pipes.size(); ++made)
    if (pipe2(pipes[made].data(), O_CLOEXEC) != 0)
      break;
  if (made < pipes.size()) {
    std::string reason = std::strerror(errno);
    for (size_t i = 0; i < made; ++i)
      for (int descriptor : pipes[i])
        close(descriptor);
    return Error{"no pipe for a worker: " + reason + " (fewer -j, or a higher ulimit -n)"};
  }
  worker->requests = pipes[0][1];
  worker->replies = pipes[1][0];
  worker->output = pipes[2][0];
  worker->status = pipes[3][0];
  for (int descriptor : {worker->requests, worker->replies, worker->output, worker->status})
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
  fcntl(worker->output, F_SETPIPE_SZ, 1 << 20); // For those who print much; it may be refused.

  std::vector<std::string> arguments = command.command;
  arguments.push_back("--requests=" + std::to_string(kRequestsDescriptor));
  arguments.push_back("--replies=" + std::to_string(kRepliesDescriptor));
  std::vector<std::string> environment = environmentOf(command.folder);
  std::vector<char *> argumentPointers = pointersTo(arguments);
  std::vector<char *> environmentPointers = pointersTo(environment);
  GuardOrder order{.runner = getpid(),
                   .program = arguments[0].c_str(),
                   .arguments = argumentPointers.data(),
                   .environment = environmentPointers.data(),
                   .folder = command.folder.c_str(),
                   .requests = pipes[0][0],
                   .replies = pipes[1][1],
                   .output = pipes[2][1],
                   .status = pipes[3][1]};
  pid_t child = fork();
  if (child == 0)
    runner::guard(order);
  std::string reason = child < 0 ? std::strerror(errno) : "";
  for (int theirs : {order.requests, order.replies, order.output, order.status})
    close(theirs);
  if (child < 0)
    return Error{"no process for a worker: " + reason};
  worker->guard = child;
  // The guard tells the worker's number at once; without it nothing could be ended.
  pollfd ready{worker->status, POLLIN, 0};
  poll(&ready, 1, 10'000);
  worker->readReports(/*onlyOne=*/true);
  if (worker->end)
    return Error{"no process for a worker: its guard could not fork"};
  return worker;
}

WorkerProcess::~WorkerProcess() {
  if (guard) {
    destroy();
    int ignored;
    // Its guard goes as soon as everything below it has gone.
    for (int i = 0; i < 1000; ++i) {
      pid_t gone = waitpid(guard, &ignored, WNOHANG);
      if (gone == guard || (gone < 0 && errno == ECHILD))
        break;
      if (i == 900)
        kill(guard, SIGKILL);
      usleep(i < 100 ? 200 : 2000);
    }
  }
  for (int *descriptor : {&requests, &replies, &output, &status})
    closeEnd(*descriptor);
}

void WorkerProcess::send(std::string_view payload) {
  toSend += worker::framed(payload);
  flushRequests();
}

void WorkerProcess::flushRequests() {
  while (!toSend.empty()) {
    ssize_t written = write(requests, toSend.data(), toSend.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0 && errno != EAGAIN)
      toSend.clear(); // Nobody reads any more; its end will be told by its guard.
    if (written <= 0)
      return;
    toSend.erase(0, size_t(written));
  }
}

Result<std::optional<worker::Reply>> WorkerProcess::nextReply() {
  while (true) {
    Result<std::optional<std::string_view>> payload = frames.next();
    if (!payload)
      return payload.error();
    if (*payload) {
      Result<worker::Reply> reply = worker::decodeReply(**payload);
      if (!reply)
        return reply.error();
      return std::optional(std::move(*reply));
    }
    // A read that did not fill the buffer took everything there was.
    if (replies < 0 || std::exchange(repliesTaken, false))
      return std::optional<worker::Reply>();
    char buffer[16 << 10];
    ssize_t got = read(replies, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR)
      continue;
    if (got == 0) {
      sawEndOfReplies = true;
      closeEnd(replies);
    }
    if (got <= 0)
      return std::optional<worker::Reply>();
    frames.append({buffer, size_t(got)});
    repliesTaken = size_t(got) < sizeof buffer;
  }
}

void WorkerProcess::drainOutput() {
  char buffer[64 << 10];
  for (int i = 0; i < 16 && output >= 0; ++i) {
    ssize_t got = read(output, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR)
      continue;
    if (got == 0)
      closeEnd(output);
    if (got <= 0)
      return;
    printed.append({buffer, size_t(got)});
    if (size_t(got) < sizeof buffer)
      return;
  }
}

void WorkerProcess::readReports(bool onlyOne) {
  GuardReport report;
  while (status >= 0 && !end) {
    ssize_t got = read(status, &report, sizeof report);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return;
    if (got == 0) {
      end = WorkerEnd{.exitCode = {}, .signal = {}, .guardLost = true};
    } else if (got != sizeof report) {
      continue; // Written in one piece, or not at all.
    } else if (report.kind == GuardReport::Kind::Started) {
      workerProcess = report.process;
      if (onlyOne)
        return; // Its end is left for whoever polls.
      continue;
    } else if (WIFSIGNALED(report.status)) {
      end = WorkerEnd{.exitCode = {}, .signal = WTERMSIG(report.status)};
    } else {
      end = WorkerEnd{.exitCode = WEXITSTATUS(report.status), .signal = {}};
    }
    closeEnd(status);
  }
}

std::optional<WorkerEnd> WorkerProcess::readEnd() {
  readReports();
  return end;
}

void WorkerProcess::terminate() {
  if (workerProcess && !end)
    kill(workerProcess, SIGTERM);
}

void WorkerProcess::destroy() {
  if (!guard || end)
    return;
  // The guard hears of its worker's end and clears up what is left, also what is started meanwhile.
  if (workerProcess)
    kill(workerProcess, SIGKILL);
  killDescendants(guard, 0);
  // A guard that says nothing for so long will not say anything: without it the end is known too,
  // and what it leaves comes to the runner.
  auto time = std::chrono::steady_clock::now();
  if (!destroyedAt)
    destroyedAt = time;
  else if (time - *destroyedAt > kGuardPatience)
    kill(guard, SIGKILL);
}

size_t WorkerProcess::endStragglers(const std::vector<pid_t> &kept) {
  std::array<pid_t, 4096> found;
  size_t count = 0;
  for (pid_t parent : {guard, workerProcess}) {
    size_t children = childrenOf(parent, found);
    // A worker may never ask how a child ended: one that was ended after an earlier test is no
    // leftover of this one.
    for (size_t i = 0; i < children; ++i)
      count += found[i] != workerProcess && !std::ranges::count(kept, found[i]) &&
               !hasEnded(found[i]);
  }
  if (count)
    killDescendants(guard, 200, workerProcess, kept);
  return count;
}

uint64_t WorkerProcess::memoryBytes() const {
  return workerProcess ? residentBytesOfTree(workerProcess) : 0;
}

std::vector<pid_t> presentChildren() {
  std::vector<pid_t> found(4096);
  found.resize(childrenOf(getpid(), found));
  return found;
}

void endStrays(const std::vector<pid_t> &known, const std::vector<pid_t> &present) {
  for (int round = 0; round < 50; ++round) {
    bool any = false;
    for (pid_t child : presentChildren()) {
      if (std::ranges::count(known, child) || std::ranges::count(present, child))
        continue;
      any = true;
      killDescendants(child, 0);
      kill(child, SIGKILL);
      waitpid(child, nullptr, WNOHANG);
    }
    if (!any)
      return;
    usleep(1000);
  }
}

} // namespace cupel::testbench::runner
