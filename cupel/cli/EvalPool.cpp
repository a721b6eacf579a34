#include "cupel/cli/EvalPool.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Every message is this, then two texts of these lengths. Only ever read by a copy of the process
/// that wrote it, so its layout is nobody else's business.
struct Header {
  uint64_t kind, number, first, second;
};
enum Kind : char { kPrograms = 'p', kStart = 's', kDone = 'd', kFileDone = 'f' };

struct Job {
  uint64_t file, firstProgram;
};

bool writeAll(int fd, const char *data, size_t size) {
  while (size) {
    // A reader that has gone is an error to see, not a signal to die of.
    ssize_t written = send(fd, data, size, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    data += written;
    size -= written;
  }
  return true;
}

bool readAll(int fd, char *data, size_t size) {
  while (size) {
    ssize_t got = read(fd, data, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    data += got;
    size -= got;
  }
  return true;
}

volatile std::sig_atomic_t interrupted = 0;

/// Ends of programs by signal are told, so SIGINT and SIGTERM reach the parent between two steps
/// only: they are blocked but for the time that it waits.
class Signals {
public:
  Signals() {
    interrupted = 0;
    sigset_t set;
    sigemptyset(&set);
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    for (int i = 0; i < 2; ++i) {
      sigaction(kNumbers[i], nullptr, &before[i]);
      if (before[i].sa_handler == SIG_IGN) // As nohup and shells without job control want it.
        continue;
      sigaddset(&set, kNumbers[i]);
      sigaction(kNumbers[i], &action, nullptr);
    }
    sigprocmask(SIG_BLOCK, &set, &mask);
  }
  ~Signals() {
    // Who interrupts often does so twice, the process and its group; the second must not keep us
    // from telling what was done.
    for (int i = 0; i < 2; ++i)
      if (interrupted)
        std::signal(kNumbers[i], SIG_IGN);
      else
        sigaction(kNumbers[i], &before[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
  }
  /// What a child does with them: the terminal's interrupt is for the parent to act on.
  void inChild() const {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
  }

  sigset_t mask; ///< As it was, for waiting.

private:
  static constexpr int kNumbers[] = {SIGINT, SIGTERM};
  struct sigaction before[2];
};

struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::string received;
  bool busy = false;
  bool overtime = false; // Killed for it.
  size_t file = 0;
  std::string program; // That it works on; empty: none yet.
  Clock::time_point started;
};

struct FileState {
  size_t programs = 0; // Known once a child has looked.
  std::vector<ProgramReport> reports;
  bool done = false;
};

std::string causeOfDeath(int status) {
  if (WIFSIGNALED(status)) {
    int number = WTERMSIG(status);
    return fmt::format("signal {} ({}){}", number, strsignal(number),
                       number == SIGKILL ? "; memory may have run out" : "");
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

class Parent {
public:
  Parent(const EvalPool::Options &options, const EvalPool::Work &work, const EvalPool::Tell &tell)
      : options(options), work(work), tell(tell), states(options.files.size()) {
    for (size_t i = 0; i < states.size(); ++i)
      jobs.push_back({i, 0});
    grace = std::max(1.0, options.timeoutSeconds / 2);
  }
  ~Parent() {
    for (Child &child : children)
      end(child);
  }

  Result<size_t> run() {
    size_t count = std::clamp<size_t>(options.processes, 1, std::max<size_t>(states.size(), 1));
    for (size_t i = 0; i < count && !states.empty(); ++i) {
      children.emplace_back();
      if (Status status = spawn(children.back()); !status) {
        children.pop_back();
        if (children.empty())
          return status.error();
        break; // Fewer do it too.
      }
    }
    while (told < states.size() && !interrupted) {
      for (Child &child : children)
        give(child);
      wait();
      tellWhatIsReady();
    }
    return finish();
  }

private:
  Status spawn(Child &child) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return Error{fmt::format("no pipe to a new process: {}", std::strerror(errno))};
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0) {
      int why = errno;
      close(ends[0]);
      close(ends[1]);
      return Error{fmt::format("no new process: {}", std::strerror(why))};
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL); // Nobody works for a parent that is gone.
      if (getppid() != parent)
        _exit(1);
      signals.inChild();
      close(ends[0]);
      for (const Child &other : children)
        if (other.fd >= 0)
          close(other.fd);
      serve(ends[1]);
    }
    close(ends[1]);
    child = Child();
    child.pid = pid;
    child.fd = ends[0];
    return {};
  }

  [[noreturn]] void serve(int fd) {
    ProgramChannel channel(fd);
    Header end{kFileDone, 0, 0, 0};
    for (Job job; readAll(fd, reinterpret_cast<char *>(&job), sizeof job);) {
      work(job.file, job.firstProgram, channel);
      if (!writeAll(fd, reinterpret_cast<const char *>(&end), sizeof end))
        break;
    }
    _exit(0);
  }

  void end(Child &child) {
    if (child.pid < 0)
      return;
    kill(child.pid, SIGKILL);
    close(child.fd);
    waitpid(child.pid, nullptr, 0);
    child = Child();
  }

  void give(Child &child) {
    if (child.busy || jobs.empty())
      return;
    if (child.pid < 0)
      if (Status status = spawn(child); !status) {
        // Without a process nothing can be done for this file; others may still find one.
        Job job = jobs.front();
        jobs.pop_front();
        ProgramReport report;
        report.fail(options.files[job.file] + ": " + status.message());
        states[job.file].reports.push_back(std::move(report));
        states[job.file].done = true;
        return;
      }
    Job job = jobs.front();
    jobs.pop_front();
    child.busy = true;
    child.file = job.file;
    child.program.clear();
    child.started = Clock::now();
    // A child that has died meanwhile is noticed when it is read from.
    (void)writeAll(child.fd, reinterpret_cast<const char *>(&job), sizeof job);
  }

  void wait() {
    std::vector<pollfd> fds;
    std::vector<Child *> whose;
    std::optional<Clock::time_point> deadline;
    for (Child &child : children)
      if (child.busy) {
        fds.push_back({child.fd, POLLIN, 0});
        whose.push_back(&child);
        if (options.timeoutSeconds > 0) {
          Clock::time_point mine = deadlineOf(child);
          deadline = deadline ? std::min(*deadline, mine) : mine;
        }
      }
    if (fds.empty())
      return;
    timespec left = {};
    if (deadline) {
      auto nanoseconds = std::max<int64_t>(
          0,
          std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline - Clock::now()).count());
      left.tv_sec = nanoseconds / 1000000000;
      left.tv_nsec = nanoseconds % 1000000000;
    }
    if (ppoll(fds.data(), fds.size(), deadline ? &left : nullptr, &signals.mask) < 0)
      return; // Interrupted.
    for (size_t i = 0; i < fds.size(); ++i)
      if (fds[i].revents)
        receive(*whose[i]);
    if (deadline)
      for (Child *child : whose)
        if (child->busy && !child->overtime && Clock::now() >= deadlineOf(*child)) {
          child->overtime = true;
          kill(child->pid, SIGKILL); // Its end is noticed when it is read from.
        }
  }

  /// The reference ends a program itself at its time, if it comes to look at the clock.
  Clock::time_point deadlineOf(const Child &child) const {
    return child.started + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(options.timeoutSeconds + grace));
  }

  void receive(Child &child) {
    char buffer[65536];
    ssize_t got = read(child.fd, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      return;
    if (got <= 0)
      return died(child);
    child.received.append(buffer, got);
    size_t at = 0;
    for (Header header; child.received.size() - at >= sizeof header;) {
      std::memcpy(&header, child.received.data() + at, sizeof header);
      size_t size = sizeof header + header.first + header.second;
      if (child.received.size() - at < size)
        break;
      std::string_view texts = std::string_view(child.received).substr(at + sizeof header);
      message(child, header, texts.substr(0, header.first),
              texts.substr(header.first, header.second));
      at += size;
    }
    child.received.erase(0, at);
  }

  void message(Child &child, const Header &header, std::string_view first,
               std::string_view second) {
    FileState &state = states[child.file];
    switch (static_cast<char>(header.kind)) {
    case kPrograms:
      state.programs = header.number;
      break;
    case kStart:
      child.program = first;
      child.started = Clock::now();
      break;
    case kDone:
      state.reports.push_back({header.number != 0, std::string(first), std::string(second)});
      child.program.clear();
      break;
    case kFileDone:
      state.done = true;
      child.busy = false;
      break;
    }
  }

  /// The program it worked on is lost; the rest of the file is for another child.
  void died(Child &child) {
    int status = 0;
    close(child.fd);
    waitpid(child.pid, &status, 0);
    child.pid = -1;
    if (!child.busy)
      return;
    child.busy = false;
    FileState &state = states[child.file];
    ProgramReport report;
    std::string name = child.program.empty() ? options.files[child.file] : child.program;
    if (child.overtime)
      report.fail(fmt::format("{}: the run took longer than {} s and its process was ended "
                              "(--timeout sets the limit)",
                              name, options.timeoutSeconds));
    else
      report.fail(fmt::format("{}: the program crashed: its process ended with {}", name,
                              causeOfDeath(status)));
    state.reports.push_back(std::move(report));
    if (state.reports.size() < state.programs)
      jobs.push_front({child.file, state.reports.size()});
    else
      state.done = true;
  }

  void tellWhatIsReady() {
    for (; told < states.size(); ++told) {
      FileState &state = states[told];
      for (; toldPrograms < state.reports.size(); ++toldPrograms)
        tellOne(state.reports[toldPrograms]);
      if (!state.done)
        return;
      toldPrograms = 0;
      state.reports = {};
    }
  }

  void tellOne(ProgramReport &report) {
    tell(report);
    report = ProgramReport();
  }

  /// After an interrupt also what others had finished is told.
  size_t finish() {
    size_t left = 0;
    for (; told < states.size(); ++told) {
      FileState &state = states[told];
      for (; toldPrograms < state.reports.size(); ++toldPrograms)
        tellOne(state.reports[toldPrograms]);
      toldPrograms = 0;
      left += !state.done;
    }
    return left;
  }

  const EvalPool::Options &options;
  const EvalPool::Work &work;
  const EvalPool::Tell &tell;
  Signals signals;
  std::vector<FileState> states;
  std::deque<Job> jobs;
  std::deque<Child> children;
  double grace;
  size_t told = 0, toldPrograms = 0;
};

} // namespace

void ProgramChannel::send(char kind, uint64_t number, const std::string &first,
                          const std::string &second) {
  Header header{static_cast<uint64_t>(kind), number, first.size(), second.size()};
  if (!writeAll(fd, reinterpret_cast<const char *>(&header), sizeof header) ||
      !writeAll(fd, first.data(), first.size()) || !writeAll(fd, second.data(), second.size()))
    _exit(1); // Nobody listens.
}

void ProgramChannel::programs(size_t count) { send(kPrograms, count, {}, {}); }
void ProgramChannel::start(const std::string &name) { send(kStart, 0, name, {}); }
void ProgramChannel::done(const ProgramReport &report) {
  send(kDone, report.failed, report.output, report.errors);
}

Result<size_t> EvalPool::run(const Options &options, const Work &work, const Tell &tell) {
  return Parent(options, work, tell).run();
}

} // namespace cupel::cli
