#include "cupel/compiler/Formats.h"

#include "cupel/ir/sdy/SdyVersion.h"
#include "cupel/ir/vhlo/Version.h"

namespace cupel::compiler {

static std::array<int64_t, 3> numbersOf(vhlo::Version version) {
  return {version.major, version.minor, version.patch};
}

std::array<int64_t, 3> newestProgramVersion() { return numbersOf(vhlo::kCurrentVersion); }
std::array<int64_t, 3> oldestProgramVersion() { return numbersOf(vhlo::kMinimumVersion); }

std::array<int64_t, 3> shardingDialectVersion() {
  std::array<int64_t, 3> result;
  std::ranges::copy(sdy::SdyVersion::current().numbers, result.begin());
  return result;
}

} // namespace cupel::compiler
