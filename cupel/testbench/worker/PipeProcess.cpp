#include "cupel/testbench/worker/PipeProcess.h"

#include "cupel/support/Process.h"
#include "cupel/testbench/worker/OwnProcesses.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace cupel::testbench::worker {

using Clock = std::chrono::steady_clock;

/// Milliseconds for poll, never so many that they overflow.
static int millisecondsUntil(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000));
}

Status PipeProcess::start(const std::vector<std::string> &command, bool listens) {
  stop();
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 ||
      (listens && ::pipe2(err, O_CLOEXEC) != 0)) {
    Error error{std::string("cannot make a pipe: ") + std::strerror(errno)};
    for (int end : {in[0], in[1], out[0], out[1]})
      if (end >= 0)
        ::close(end);
    return error;
  }
  std::vector<char *> argv;
  for (const std::string &word : command)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (listens)
    ::posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  int failure = ::posix_spawnp(&process, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  if (listens)
    ::close(err[1]);
  if (failure != 0) {
    ::close(in[1]);
    ::close(out[0]);
    if (listens)
      ::close(err[0]);
    process = -1;
    return Error{command.front() + ": cannot start: " + std::strerror(failure)};
  }
  keepProcess(process);
  input = in[1];
  output = out[0];
  errors = err[0];
  if (listens)
    ::fcntl(errors, F_SETFL, O_NONBLOCK);
  ::fcntl(input, F_SETFL, O_NONBLOCK);
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  buffered.clear();
  said.clear();
  return {};
}

void PipeProcess::stop() {
  if (process <= 0)
    return;
  forgetProcess(process);
  ::close(input);
  ::close(output);
  auto limit = Clock::now() + std::chrono::seconds(3);
  int status = 0;
  while (::waitpid(process, &status, WNOHANG) == 0) {
    if (Clock::now() >= limit) {
      ::kill(process, SIGKILL);
      while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
      }
      break;
    }
    ::usleep(2000);
  }
  process = -1;
  if (errors >= 0) {
    hear(); // What it said last.
    ::close(errors);
    errors = -1;
  }
}

void PipeProcess::hear() {
  constexpr size_t kKept = 2000;
  char chunk[4096];
  for (ssize_t got; errors >= 0 && (got = ::read(errors, chunk, sizeof chunk)) > 0;) {
    std::string_view text(chunk, static_cast<size_t>(got));
    said.append(text);
    if (said.size() > kKept)
      said.erase(0, said.size() - kKept);
    while (!text.empty()) {
      ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
      if (written <= 0)
        break;
      text.remove_prefix(static_cast<size_t>(written));
    }
  }
}

void PipeProcess::waitFor(int end, short events, Deadline deadline) {
  pollfd waiting[2] = {{end, events, 0}, {errors, POLLIN, 0}}; // A negative end is passed over.
  ::poll(waiting, 2, millisecondsUntil(deadline));
  if (waiting[1].revents & POLLIN)
    hear();
  else if (waiting[1].revents != 0) { // Its end; poll would not wait any more.
    ::close(errors);
    errors = -1;
  }
}

std::string PipeProcess::lastWords() {
  siginfo_t ended{};
  if (process > 0)
    for (auto limit = Clock::now() + std::chrono::seconds(1);;) {
      // Left for stop() to collect.
      if (::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          ended.si_pid != 0 || Clock::now() >= limit)
        break;
      ::usleep(2000);
    }
  hear();
  std::string words;
  if (ended.si_pid != 0)
    words = ended.si_code == CLD_EXITED ? "exit code " + std::to_string(ended.si_status)
                                        : describeSignal(ended.si_status);
  std::string_view text = said;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.remove_suffix(1);
  if (text.size() > 400)
    text.remove_prefix(text.size() - 400);
  if (!text.empty())
    words += (words.empty() ? "it said: " : "; it said: ") + std::string(text);
  return words.empty() ? words : " (" + words + ")";
}

std::string PipeProcess::takeUnread() {
  if (process > 0)
    while (true) {
      Result<bool> more = fill(Clock::now());
      if (!more || !*more || buffered.size() > 65536)
        break;
    }
  return std::exchange(buffered, {});
}

Status PipeProcess::write(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t written = ::write(input, bytes.data(), bytes.size());
    if (written > 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0 && errno != EAGAIN)
      return Error{std::string("it takes no more input: ") + std::strerror(errno)};
    if (Clock::now() >= deadline)
      return Error{"it took no input before the deadline"};
    waitFor(input, POLLOUT, deadline);
  }
  return {};
}

Result<bool> PipeProcess::fill(Deadline deadline) {
  while (true) {
    char chunk[65536];
    ssize_t got = ::read(output, chunk, sizeof chunk);
    if (got > 0) {
      buffered.append(chunk, static_cast<size_t>(got));
      return true;
    }
    if (got == 0)
      return false;
    if (errno != EAGAIN && errno != EINTR)
      return Error{std::string("its output cannot be read: ") + std::strerror(errno)};
    if (Clock::now() >= deadline)
      return Error{"no answer before the deadline"};
    waitFor(output, POLLIN, deadline);
  }
}

Result<std::string> PipeProcess::readLine(Deadline deadline) {
  constexpr size_t kLongestLine = 64 << 20;
  size_t searched = 0;
  while (true) {
    if (size_t end = buffered.find('\n', searched); end != std::string::npos) {
      std::string line = buffered.substr(0, end);
      buffered.erase(0, end + 1);
      return line;
    }
    searched = buffered.size();
    if (searched > kLongestLine)
      return Error{"its answer has no end"};
    Result<bool> more = fill(deadline);
    if (!more)
      return more.error();
    if (!*more)
      return Error{"it ended without an answer"};
  }
}

Result<std::string> PipeProcess::readBytes(size_t count, Deadline deadline) {
  while (buffered.size() < count) {
    Result<bool> more = fill(deadline);
    if (!more)
      return more.error();
    if (!*more)
      return Error{"it ended in the middle of an answer"};
  }
  std::string bytes = buffered.substr(0, count);
  buffered.erase(0, count);
  return bytes;
}

} // namespace cupel::testbench::worker
