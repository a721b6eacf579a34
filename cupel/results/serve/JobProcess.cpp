#include "cupel/results/serve/JobProcess.h"

#include "cupel/testbench/runner/Guard.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::results::serve {
namespace {

using testbench::runner::GuardOrder;
using testbench::runner::GuardReport;
using Clock = std::chrono::steady_clock;

/// A file descriptor that is closed with its owner.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(std::exchange(other.number, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() { shut(); }
  void shut() {
    if (number >= 0)
      ::close(std::exchange(number, -1));
  }
  int number;
};

struct Pipe {
  Descriptor from, to;
};

Result<Pipe> makePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return Error{std::string("no pipe for a job: ") + std::strerror(errno)};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// The server's own, but for its token: what a job prints is shown to whoever may read.
std::vector<std::string> environmentOfJobs() {
  std::vector<std::string> all;
  for (char **one = environ; *one; ++one)
    if (!std::string_view(*one).starts_with("CUPEL_TOKEN="))
      all.emplace_back(*one);
  return all;
}

std::vector<char *> pointersTo(const std::vector<std::string> &words) {
  std::vector<char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(const_cast<char *>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Reads what there is; false when nothing more will come.
bool drain(int from, const std::function<void(std::string_view)> &take) {
  char chunk[8192];
  while (true) {
    ssize_t got = ::read(from, chunk, sizeof chunk);
    if (got > 0)
      take({chunk, size_t(got)});
    else
      return got < 0 && (errno == EAGAIN || errno == EINTR);
  }
}

} // namespace

Result<JobEnd> runJobCommand(const JobCommand &command, const std::string &folder,
                             std::chrono::seconds limit, const std::atomic<bool> &stop,
                             const std::function<void(std::string_view)> &log) {
  Result<Pipe> printed = makePipe(), status = makePipe();
  if (!printed || !status)
    return printed ? status.error() : printed.error();
  Descriptor file;
  if (!command.output.empty()) {
    file = Descriptor(::open(command.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.number < 0)
      return Error{command.output + ": " + std::strerror(errno)};
  }
  std::vector<std::string> environment = environmentOfJobs();
  std::vector<char *> words = pointersTo(command.words), variables = pointersTo(environment);
  GuardOrder order{.runner = ::getpid(),
                   .program = command.words.front().c_str(),
                   .arguments = words.data(),
                   .environment = variables.data(),
                   .folder = folder.c_str(),
                   .output = file.number < 0 ? printed->to.number : file.number,
                   .status = status->to.number,
                   .errors = printed->to.number};
  pid_t guard = ::fork();
  if (guard == 0)
    testbench::runner::guard(order);
  if (guard < 0)
    return Error{std::string("no process for a job: ") + std::strerror(errno)};
  printed->to.shut();
  status->to.shut();
  file.shut();

  JobEnd end;
  pid_t process = 0;
  bool hasEnded = false, isKilled = false;
  Clock::time_point deadline = Clock::now() + limit;
  std::string reports;
  for (bool prints = true, tells = true; prints || tells;) {
    std::array<pollfd, 2> waiting = {pollfd{prints ? printed->from.number : -1, POLLIN, 0},
                                     pollfd{tells ? status->from.number : -1, POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), 100);
    if (waiting[0].revents)
      prints = drain(printed->from.number, log);
    if (waiting[1].revents)
      tells = drain(status->from.number, [&](std::string_view bytes) { reports += bytes; });
    while (reports.size() >= sizeof(GuardReport)) {
      GuardReport report;
      std::memcpy(&report, reports.data(), sizeof report);
      reports.erase(0, sizeof report);
      process = report.process;
      if (report.kind != GuardReport::Kind::Ended)
        continue;
      hasEnded = true;
      end.exitCode = WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 128 + WTERMSIG(report.status);
    }
    bool isLate = Clock::now() > deadline;
    if (!isKilled && !hasEnded && process > 0 && (stop || isLate)) {
      end.wasStopped = stop;
      end.ranOutOfTime = !stop && isLate;
      // Its guard then takes away whatever else it started.
      ::kill(process, SIGKILL);
      isKilled = true;
    }
  }
  while (::waitpid(guard, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!hasEnded)
    return Error{"the process of the job is gone without a word"};
  return end;
}

} // namespace cupel::results::serve
