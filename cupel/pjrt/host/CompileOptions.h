// What a compilation is told, and its form on the wire: a CompileOptionsProto, written by field
// numbers so that the host needs no protobuf library.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cupel::pjrt {

struct CompileOptions {
  int64_t replicas = 1, partitions = 1;
  /// deviceIds[r * partitions + p] runs partition p of replica r.
  std::vector<int64_t> deviceIds = {0};
  bool useSpmd = false;   ///< Partition a global program over the partitions.
  bool useShardy = false; ///< Its shardings are those of sdy.
  /// Flags of the plugin's own compiler.
  std::vector<std::pair<std::string, std::variant<std::string, bool, int64_t, double>>> flags;

  std::string serialize() const;
};

} // namespace cupel::pjrt
