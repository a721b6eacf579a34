#include "cupel/testbench/worker/OwnProcesses.h"

#include <algorithm>
#include <mutex>

namespace cupel::testbench::worker {

namespace {

std::mutex mutex;
std::vector<pid_t> kept;

} // namespace

void keepProcess(pid_t process) {
  std::lock_guard lock(mutex);
  kept.push_back(process);
}

void forgetProcess(pid_t process) {
  std::lock_guard lock(mutex);
  std::erase(kept, process);
}

std::vector<pid_t> keptProcesses() {
  std::lock_guard lock(mutex);
  return kept;
}

} // namespace cupel::testbench::worker
