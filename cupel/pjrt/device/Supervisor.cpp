#include "cupel/pjrt/device/Supervisor.h"

#include "cupel/pjrt/device/Child.h"
#include "cupel/support/Process.h"
#include "cupel/support/ProcessTree.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <string_view>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cupel;
using namespace cupel::device;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Of what a child prints, this much is kept.
static constexpr size_t kOutputTail = 16 << 10;

/// The child that a signal has to take along.
static std::atomic<pid_t> childNow = -1;

static void takeChildAlong(int signal) {
  if (pid_t child = childNow; child > 0)
    ::kill(-child, SIGKILL);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void cupel::device::endChildrenWithUs() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    if (::signal(signal, takeChildAlong) == SIG_IGN)
      ::signal(signal, SIG_IGN); // nohup, or in the background of a shell.
}

Status Supervisor::start() {
  int requestPipe[2], replyPipe[2], outputPipe[2];
  if (::pipe2(requestPipe, O_CLOEXEC) != 0 || ::pipe2(replyPipe, O_CLOEXEC) != 0 ||
      ::pipe2(outputPipe, O_CLOEXEC) != 0)
    return Error{fmt::format("cannot make a pipe: {}", std::strerror(errno))};

  std::vector<std::string> words = {"cupel-device", "child", settings.plugin};
  for (const std::string &option : settings.clientOptions) {
    words.push_back("--option");
    words.push_back(option);
  }
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t parent = ::getpid();
  const char *self = reinterpret_cast<const char *>(::getauxval(AT_EXECFN));
  child = ::fork();
  if (child < 0)
    return Error{fmt::format("cannot start a process: {}", std::strerror(errno))};
  if (child == 0) {
    // Between fork and exec only calls that are safe there. The reply pipe may itself have the
    // number it must get, so everything is moved out of the way first.
    int ends[] = {::fcntl(requestPipe[0], F_DUPFD, 10), ::fcntl(outputPipe[1], F_DUPFD, 10),
                  ::fcntl(replyPipe[1], F_DUPFD, 10)};
    ::dup2(ends[0], STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::dup2(ends[2], kReplyDescriptor);
    for (int end : ends)
      ::close(end);
    ::setpgid(0, 0); // What a plugin starts goes down with it.
    // A plugin that hangs must not keep the device when nobody waits for it any more.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(127);
    ::execv("/proc/self/exe", argv.data());
    ::execv(self, argv.data()); // Where /proc is not mounted.
    constexpr std::string_view kNotFound = "cupel-device does not find itself: mount /proc, or "
                                           "start it by its whole path\n";
    [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, kNotFound.data(), kNotFound.size());
    ::_exit(127);
  }
  ::setpgid(child, child);
  childNow = child;
  ::close(requestPipe[0]);
  ::close(replyPipe[1]);
  ::close(outputPipe[1]);
  requests = requestPipe[1];
  replies = replyPipe[0];
  output = outputPipe[0];
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  ::fcntl(replies, F_SETFL, O_NONBLOCK);
  pending.clear();
  printed.clear();
  return {};
}

int Supervisor::kill() {
  if (child < 0)
    return 0;
  ::kill(-child, SIGKILL);
  return stop();
}

int Supervisor::stop() {
  if (child < 0)
    return 0;
  if (requests >= 0)
    ::close(requests); // An idle child ends when its input does.
  requests = -1;
  int status = 0;
  pid_t child = this->child;
  auto limit = Clock::now() + std::chrono::seconds(5);
  while (true) {
    pid_t done = ::waitpid(child, &status, WNOHANG);
    if (done == child || (done < 0 && errno != EINTR))
      break;
    if (Clock::now() >= limit) {
      ::kill(-child, SIGKILL);
      limit = Clock::time_point::max();
    }
    drainOutput(); // A child that prints into a full pipe would wait for us.
    ::usleep(1000);
  }
  drainOutput();
  ::kill(-child, SIGKILL); // Whatever the plugin started and left behind.
  ::close(replies);
  ::close(output);
  replies = output = -1;
  this->child = childNow = -1;
  return status;
}

Status Supervisor::close() {
  if (child < 0)
    return {};
  int status = stop();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return {};
  return Error{describeDeath(status, "shutdown")["failure"]["message"].get<std::string>()};
}

void Supervisor::drainOutput() {
  char chunk[4096];
  while (output >= 0) {
    ssize_t got = ::read(output, chunk, sizeof chunk);
    if (got <= 0)
      break;
    printed.append(chunk, static_cast<size_t>(got));
    if (printed.size() > 2 * kOutputTail)
      printed.erase(0, printed.size() - kOutputTail);
  }
}

bool Supervisor::readReplies() {
  char chunk[65536];
  while (true) {
    ssize_t got = ::read(replies, chunk, sizeof chunk);
    if (got > 0)
      pending.append(chunk, static_cast<size_t>(got));
    else
      return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

ordered_json Supervisor::describeDeath(int status, const std::string &stage) {
  ordered_json answer;
  std::string where = stage.empty() ? "while it started" : fmt::format("in stage {}", stage);
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    answer["outcome"] = "crashed";
    answer["signal"] = signal;
    answer["failure"] = {{"class", "crashed"},
                         {"message", fmt::format("the plugin's process died of {} {}",
                                                 describeSignal(signal), where)}};
  } else {
    answer["outcome"] = "exited";
    answer["exit_code"] = WEXITSTATUS(status);
    answer["failure"] = {
        {"class", "exited"},
        {"message", fmt::format("the plugin ended its process with exit code {} {}",
                                WEXITSTATUS(status), where)}};
  }
  return answer;
}

ordered_json Supervisor::ask(const ordered_json &request, double timeout,
                             const std::function<void(std::string_view)> &onStage) {
  std::string stage;
  ordered_json partial = ordered_json::object(); // What it said before it was lost.
  auto finish = [&](ordered_json answer) {
    drainOutput();
    if (!answer.contains("plugin"))
      answer.update(partial);
    answer["last_stage"] = stage;
    std::string_view tail = printed;
    if (tail.size() > kOutputTail)
      tail.remove_prefix(tail.size() - kOutputTail);
    answer["output"] = tail;
    printed.clear();
    return answer;
  };
  if (child < 0)
    if (Status started = start(); !started)
      return {{"outcome", "failed"},
              {"failure", {{"class", "host"}, {"message", started.message()}}}};

  std::string line = request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t written = ::write(requests, rest.data(), rest.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      break; // It died while idle; the replies tell.
    rest.remove_prefix(static_cast<size_t>(written));
  }

  // The child keeps the deadline itself where it can; beyond it and a little more it is stuck.
  auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(std::min(timeout, 1e8) + 2));
  while (true) {
    pollfd waiting[] = {
        {replies, POLLIN, 0}, {output, POLLIN, 0}, {settings.isHeard ? STDOUT_FILENO : -1, 0, 0}};
    ::poll(waiting, 3, 50);
    if (waiting[2].revents & POLLERR) {
      kill();
      return finish({{"outcome", "failed"},
                     {"failure", {{"class", "host"}, {"message", "nobody reads the answers"}}}});
    }
    drainOutput();
    bool isOpen = readReplies();
    for (size_t end; (end = pending.find('\n')) != std::string::npos;) {
      ordered_json reply = ordered_json::parse(pending.substr(0, end), nullptr, false);
      pending.erase(0, end + 1);
      if (!reply.is_object())
        continue;
      if (reply.contains("stage") && reply["stage"].is_string()) {
        stage = reply["stage"].get<std::string>();
        if (onStage)
          onStage(stage);
      } else if (reply.contains("partial") && request.value("do", "") == "info") {
        partial.update(reply["partial"]);
      } else if (reply.contains("done")) {
        ordered_json answer = reply["done"];
        if (answer.value("lost", false))
          kill();
        return finish(std::move(answer));
      }
    }
    if (!isOpen)
      return finish(describeDeath(stop(), stage));
    if (settings.memoryLimit && residentBytesOfTree(child) > settings.memoryLimit) {
      kill();
      return finish(
          {{"outcome", "out of memory"},
           {"failure",
            {{"class", "out_of_memory"},
             {"message", fmt::format("the plugin's process grew beyond {} MiB in stage {}",
                                     settings.memoryLimit >> 20, stage)}}}});
    }
    if (Clock::now() >= limit) {
      kill();
      return finish(
          {{"outcome", "timed out"},
           {"failure",
            {{"class", "deadline_exceeded"},
             {"message", fmt::format("no answer within {} seconds; the plugin hangs in stage {}",
                                     timeout, stage)}}}});
    }
  }
}
