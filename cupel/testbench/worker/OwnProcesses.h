// Processes that a worker starts for itself and keeps from test to test, such as the way to a
// device on another machine. Whatever else runs below a worker when a test is over is a leftover of
// that test, and the runner ends it. Told to the runner with every result.
#pragma once

#include <sys/types.h>
#include <vector>

namespace cupel::testbench::worker {

void keepProcess(pid_t process);
void forgetProcess(pid_t process);
std::vector<pid_t> keptProcesses();

} // namespace cupel::testbench::worker
