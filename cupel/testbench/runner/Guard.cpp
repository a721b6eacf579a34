#include "cupel/testbench/runner/Guard.h"

#include "cupel/support/ProcessTree.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::testbench::runner {

namespace {

void defaultSignals() {
  for (int signal = 1; signal < NSIG; ++signal)
    if (signal != SIGKILL && signal != SIGSTOP)
      std::signal(signal, SIG_DFL);
}

void writeFile(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return;
  // Where it cannot be set, the default does.
  [[maybe_unused]] ssize_t written = write(file, text, std::strlen(text));
  close(file);
}

/// In the child that becomes the worker.
[[noreturn]] void becomeWorker(const GuardOrder &order, pid_t guardProcess) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != guardProcess)
    _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  umask(022);
  // Where the machine runs out of memory, let it be the worker that goes.
  writeFile("/proc/self/oom_score_adj", "600");
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(order.output, 1);
  dup2(order.errors < 0 ? order.output : order.errors, 2);
  dup2(order.requests, kRequestsDescriptor);
  dup2(order.replies, kRepliesDescriptor);
  if (order.requests < 0)
    close_range(kRequestsDescriptor, kRepliesDescriptor, 0);
  close_range(3, kRequestsDescriptor - 1, 0);
  close_range(kRepliesDescriptor + 1, ~0u, 0);
  if (chdir(order.folder) != 0)
    dprintf(2, "cannot enter %s: %s\n", order.folder, std::strerror(errno));
  else {
    execve(order.program, order.arguments, order.environment);
    dprintf(2, "cannot start %s: %s\n", order.program, std::strerror(errno));
  }
  _exit(127);
}

void tell(int to, const GuardReport &report) {
  // The runner may be gone; then nobody needs to know.
  [[maybe_unused]] ssize_t written = write(to, &report, sizeof report);
}

/// Ends everything below this process and takes its remains away.
void clearBelow() {
  killDescendants(getpid(), 2000);
  while (waitpid(-1, nullptr, WNOHANG) > 0)
    ;
}

} // namespace

void guard(const GuardOrder &order) {
  setsid();
  prctl(PR_SET_NAME, "cupel-guard");
  // From here on signals wait in line instead of striking.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  defaultSignals();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (getppid() != order.runner)
    _exit(0);

  pid_t self = getpid();
  // The protocol's numbers must not be taken by the ends that move there.
  GuardOrder moved = order;
  for (int *end : {&moved.requests, &moved.replies, &moved.output, &moved.status, &moved.errors})
    *end = fcntl(*end, F_DUPFD_CLOEXEC, 200);
  pid_t worker = fork();
  if (worker == 0)
    becomeWorker(moved, self);
  dup2(moved.status, 3);
  close_range(0, 2, 0);
  close_range(4, ~0u, 0);
  if (worker < 0) {
    tell(3, {GuardReport::Kind::Ended, 0, 127 << 8});
    _exit(1);
  }
  tell(3, {GuardReport::Kind::Started, worker, 0});

  while (true) {
    siginfo_t information;
    int signal = sigwaitinfo(&all, &information);
    if (signal == SIGTERM && getppid() != order.runner) {
      clearBelow();
      _exit(0);
    }
    if (signal != SIGCHLD)
      continue;
    int status;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != worker)
        continue;
      // What the worker started goes before the runner hears of it: the next test may not meet it.
      clearBelow();
      tell(3, {GuardReport::Kind::Ended, worker, status});
      _exit(0);
    }
  }
}

} // namespace cupel::testbench::runner
