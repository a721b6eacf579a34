// What a compilation for devices is told: how many there are, which, and flags of the device's own
// compiler. A value that workloads keep on disk; its form on the wire is the PJRT host's business.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::workload {

struct CompileOptions {
  int64_t replicas = 1, partitions = 1;
  /// deviceIds[r * partitions + p] runs partition p of replica r.
  std::vector<int64_t> deviceIds = {0};
  bool useSpmd = false;   ///< Partition a global program over the partitions.
  bool useShardy = false; ///< Its shardings are those of sdy.
  /// Flags of the plugin's own compiler.
  std::vector<std::pair<std::string, std::variant<std::string, bool, int64_t, double>>> flags =
      {};

  size_t deviceCount() const { return size_t(replicas * partitions); }
};

} // namespace cupel::workload
