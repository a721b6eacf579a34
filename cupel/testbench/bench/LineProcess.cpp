#include "cupel/testbench/bench/LineProcess.h"

#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace cupel::testbench::bench {

using Clock = std::chrono::steady_clock;

LineProcess &LineProcess::operator=(LineProcess &&other) noexcept {
  end();
  process = std::exchange(other.process, -1);
  input = std::exchange(other.input, -1);
  output = std::exchange(other.output, -1);
  buffered = std::move(other.buffered);
  errorFile = std::move(other.errorFile);
  name = std::move(other.name);
  return *this;
}

/// Our own environment with these in place of what has their names.
static std::vector<std::string> environmentWith(const std::vector<std::string> &changes) {
  std::vector<std::string> all = changes;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view text = *entry, key = text.substr(0, text.find('=') + 1);
    if (std::ranges::none_of(changes, [&](const std::string &one) { return one.starts_with(key); }))
      all.emplace_back(text);
  }
  return all;
}

static std::vector<char *> pointers(std::vector<std::string> &words) {
  std::vector<char *> result;
  for (std::string &word : words)
    result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

Status LineProcess::start(const std::vector<std::string> &command,
                          const std::vector<std::string> &environment, const std::string &errors) {
  end();
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0)
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno)};
  if (::pipe2(out, O_CLOEXEC) != 0) {
    ::close(in[0]);
    ::close(in[1]);
    return Error{std::string("cannot make a pipe: ") + std::strerror(errno)};
  }
  std::vector<std::string> words = command, variables = environmentWith(environment);
  std::vector<char *> argv = pointers(words), envp = pointers(variables);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  int failure =
      ::posix_spawnp(&process, argv[0], &actions, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  input = in[1];
  output = out[0];
  buffered.clear();
  errorFile = errors;
  name = command.front();
  if (failure != 0) {
    process = -1;
    end();
    return Error{name + ": cannot start: " + std::strerror(failure)};
  }
  return {};
}

Status LineProcess::write(const std::string &line) {
  std::string whole = line + "\n";
  for (std::string_view rest = whole; !rest.empty();) {
    ssize_t written = ::write(input, rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return death();
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Error LineProcess::death() {
  int status = 0;
  for (int tries = 0; tries < 500; ++tries) {
    if (pid_t gone = ::waitpid(process, &status, WNOHANG); gone == process || gone < 0)
      break;
    ::usleep(2000);
  }
  process = -1;
  std::string how = WIFSIGNALED(status) ? "died of " + describeSignal(WTERMSIG(status))
                                        : "ended with exit code " + std::to_string(WEXITSTATUS(status));
  // The last line that it said is mostly the reason.
  if (Result<FileContents> said = readInput(errorFile)) {
    std::string_view text = said->bytes();
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
      text.remove_suffix(1);
    if (size_t line = text.rfind('\n'); line != std::string_view::npos)
      text.remove_prefix(line + 1);
    if (!text.empty())
      how += ": " + std::string(text.substr(0, 400));
  }
  return Error{how};
}

Result<std::string> LineProcess::readLine(double seconds, const volatile std::sig_atomic_t &stop) {
  Clock::time_point limit =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  while (true) {
    if (size_t end = buffered.find('\n'); end != std::string::npos) {
      std::string line = buffered.substr(0, end);
      buffered.erase(0, end + 1);
      return line;
    }
    if (stop)
      return Error{ErrorCode::TimedOut, "interrupted"};
    if (Clock::now() >= limit)
      return Error{ErrorCode::TimedOut, "no answer in " + std::to_string(int(seconds)) + " s"};
    // A signal between the question and the wait costs at most this long.
    pollfd waiting = {output, POLLIN, 0};
    if (::poll(&waiting, 1, /*milliseconds=*/200) <= 0)
      continue;
    char chunk[65536];
    ssize_t got = ::read(output, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return death();
    buffered.append(chunk, static_cast<size_t>(got));
  }
}

void LineProcess::kill() {
  if (process > 0)
    ::kill(-process, SIGKILL);
  end();
}

void LineProcess::end() {
  for (int *pipe : {&input, &output})
    if (*pipe >= 0)
      ::close(std::exchange(*pipe, -1));
  if (process <= 0)
    return;
  int status = 0;
  for (int tries = 0; ::waitpid(process, &status, WNOHANG) == 0; ++tries) {
    if (tries == 1500) // Three seconds.
      ::kill(-process, SIGKILL);
    ::usleep(2000);
  }
  process = -1;
}

} // namespace cupel::testbench::bench
