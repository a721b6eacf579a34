#include "cupel/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel {
namespace {

std::vector<char *> toArgv(const std::vector<std::string> &words) {
  std::vector<char *> argv;
  argv.reserve(words.size() + 1);
  for (const std::string &word : words)
    argv.push_back(const_cast<char *>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

} // namespace

std::string executableFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

Status execute(const std::string &program, const std::vector<std::string> &arguments) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  ::execv(program.c_str(), toArgv(words).data());
  return Error{program + ": cannot start: " + std::strerror(errno)};
}

Result<CommandOutput> runCommand(const std::vector<std::string> &command,
                                 std::chrono::seconds limit) {
  using Clock = std::chrono::steady_clock;
  int pipeEnds[2];
  if (::pipe2(pipeEnds, O_CLOEXEC) != 0)
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno)};

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], STDERR_FILENO);
  auto begin = Clock::now();
  pid_t child = 0;
  int failure = ::posix_spawnp(&child, command.front().c_str(), &actions, nullptr,
                               toArgv(command).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(pipeEnds[1]);
  if (failure != 0) {
    ::close(pipeEnds[0]);
    return Error{command.front() + ": cannot start: " + std::strerror(failure)};
  }

  CommandOutput output;
  bool timedOut = false;
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(begin + limit - Clock::now());
    pollfd waiting = {pipeEnds[0], POLLIN, 0};
    int ready = ::poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      timedOut = true;
      ::kill(child, SIGKILL);
      break;
    }
    char chunk[4096];
    ssize_t got = ::read(pipeEnds[0], chunk, sizeof chunk);
    if (got <= 0)
      break;
    output.text.append(chunk, static_cast<size_t>(got));
  }
  ::close(pipeEnds[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  output.wall = Clock::now() - begin;
  if (timedOut)
    return Error{command.front() + ": no answer within " + std::to_string(limit.count()) +
                 " seconds"};
  output.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return output;
}

std::string describeSignal(int number) {
  const char *abbreviation = sigabbrev_np(number);
  const char *description = sigdescr_np(number);
  return "signal " + std::to_string(number) + ", SIG" + (abbreviation ? abbreviation : "?") + " (" +
         (description ? description : "unknown") + ")";
}

std::string findOnPath(const std::string &program) {
  const char *path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    size_t colon = std::min(rest.find(':'), rest.size());
    std::string candidate = std::string(rest.substr(0, colon)) + "/" + program;
    if (::access(candidate.c_str(), X_OK) == 0)
      return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

} // namespace cupel
