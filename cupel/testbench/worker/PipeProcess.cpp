#include "cupel/testbench/worker/PipeProcess.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace cupel::testbench::worker {

using Clock = std::chrono::steady_clock;

/// Milliseconds for poll, never so many that they overflow.
static int millisecondsUntil(Clock::time_point deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1000));
}

Status PipeProcess::start(const std::vector<std::string> &command) {
  stop();
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno)};
  std::vector<char *> argv;
  for (const std::string &word : command)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  int failure = ::posix_spawnp(&process, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  if (failure != 0) {
    ::close(in[1]);
    ::close(out[0]);
    process = -1;
    return Error{command.front() + ": cannot start: " + std::strerror(failure)};
  }
  input = in[1];
  output = out[0];
  ::fcntl(input, F_SETFL, O_NONBLOCK);
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  buffered.clear();
  return {};
}

void PipeProcess::stop() {
  if (process <= 0)
    return;
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
    pollfd waiting = {input, POLLOUT, 0};
    ::poll(&waiting, 1, millisecondsUntil(deadline));
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
    pollfd waiting = {output, POLLIN, 0};
    ::poll(&waiting, 1, millisecondsUntil(deadline));
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
      return Error{more.message()};
    if (!*more)
      return Error{"it ended without an answer"};
  }
}

Result<std::string> PipeProcess::readBytes(size_t count, Deadline deadline) {
  while (buffered.size() < count) {
    Result<bool> more = fill(deadline);
    if (!more)
      return Error{more.message()};
    if (!*more)
      return Error{"it ended in the middle of an answer"};
  }
  std::string bytes = buffered.substr(0, count);
  buffered.erase(0, count);
  return bytes;
}

} // namespace cupel::testbench::worker
