#include "cupel/testbench/runner/Limits.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <unistd.h>

namespace cupel::testbench::runner {

uint64_t machineMemoryBudget() {
  uint64_t bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  for (const char *path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream file(path);
    uint64_t limit = 0;
    if (file >> limit && limit) // "max" is no number.
      bytes = std::min(bytes, limit);
  }
  return bytes / 5 * 4;
}

uint64_t kernelMemoryKills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  uint64_t value;
  while (file >> name >> value)
    if (name == "oom_kill")
      return value;
  return 0;
}

} // namespace cupel::testbench::runner
