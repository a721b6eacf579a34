#include "cupel/testbench/requirements/Command.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::testbench::requirements {
namespace {

constexpr size_t kKeptOutput = size_t{256} << 10;

std::vector<char *> pointers(const std::vector<std::string> &words) {
  std::vector<char *> list;
  for (const std::string &word : words)
    list.push_back(const_cast<char *>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

} // namespace

Result<CommandEnd> runToEnd(const Command &command) {
  using Clock = std::chrono::steady_clock;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno)};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  if (!command.folder.empty())
    ::posix_spawn_file_actions_addchdir_np(&actions, command.folder.c_str());
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // A group of its own, so that what it starts can be ended with it.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  int failure = ::posix_spawn(&child, command.words.front().c_str(), &actions, &attributes,
                              pointers(command.words).data(), pointers(command.environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failure != 0) {
    ::close(ends[0]);
    return Error{command.words.front() + ": cannot start: " + std::strerror(failure)};
  }

  CommandEnd end;
  auto deadline = Clock::now() + std::chrono::seconds(command.timeoutSeconds);
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waiting = {ends[0], POLLIN, 0};
    int ready = ::poll(&waiting, 1, int(std::clamp<int64_t>(left.count(), 0, 1 << 30)));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      end.timedOut = true;
      ::kill(-child, SIGKILL);
      break;
    }
    char chunk[16384];
    ssize_t got = ::read(ends[0], chunk, sizeof chunk);
    if (got <= 0)
      break;
    end.output.append(chunk, size_t(got));
    if (end.output.size() > 2 * kKeptOutput)
      end.output.erase(0, end.output.size() - kKeptOutput);
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

} // namespace cupel::testbench::requirements
