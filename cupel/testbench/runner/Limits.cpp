#include "cupel/testbench/runner/Limits.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <unistd.h>

namespace cupel::testbench::runner {

uint64_t controlGroupLimit(std::istream &groups, const std::string &root) {
  uint64_t least = std::numeric_limits<uint64_t>::max();
  // A group may use no more than the ones above it. In a container the path is one of the host, of
  // which only the root can be seen here.
  auto ask = [&](std::filesystem::path folder, std::filesystem::path group, const char *name) {
    for (group = group.relative_path();; group = group.parent_path()) {
      std::ifstream file(folder / group / name);
      uint64_t limit = 0;
      if (file >> limit && limit) // "max" is no number.
        least = std::min(least, limit);
      if (group.empty())
        return;
    }
  };
  std::string line;
  while (std::getline(groups, line)) { // NUMBER:CONTROLLERS:PATH
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string path = line.substr(second + 1);
    if (controllers == ",,")
      ask(root, path, "memory.max");
    else if (controllers.find(",memory,") != std::string::npos)
      ask(root + "/memory", path, "memory.limit_in_bytes");
  }
  return least;
}

uint64_t machineMemoryBudget() {
  uint64_t bytes = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  std::ifstream groups("/proc/self/cgroup");
  return std::min(bytes, controlGroupLimit(groups, "/sys/fs/cgroup")) / 5 * 4;
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
