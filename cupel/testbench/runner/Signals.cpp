#include "cupel/testbench/runner/Signals.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace cupel::testbench::runner {

namespace {

volatile int wakeEnd = -1;

void onSignal(int number) {
  int saved = errno;
  char byte = char(number);
  [[maybe_unused]] ssize_t written = write(wakeEnd, &byte, 1);
  errno = saved;
}

} // namespace

Signals::Signals(bool handle) : handled(handle) {
  // Somebody who closed our output is no reason to lose outcomes.
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipeBefore);
  if (!handled)
    return;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    handled = false;
    return;
  }
  wakeEnd = ends[1];
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], &action, &before[i]);
}

Signals::~Signals() {
  sigaction(SIGPIPE, &pipeBefore, nullptr);
  if (!handled)
    return;
  // Once interrupted, what is left is to write down what happened: a further Ctrl-C on the heels of
  // the first must not cut that short.
  bool interrupted = count() > 0;
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  for (size_t i = 0; i < kSignals.size(); ++i)
    sigaction(kSignals[i], interrupted && kSignals[i] == SIGINT ? &ignore : &before[i], nullptr);
  wakeEnd = -1;
  close(ends[0]);
  close(ends[1]);
}

int Signals::count() {
  char buffer[16];
  if (handled)
    for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
      seen += int(got);
      newest = buffer[got - 1];
    }
  return seen;
}

} // namespace cupel::testbench::runner
