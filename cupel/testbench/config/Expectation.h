// What the configuration says of one test, with an architecture's overrides already applied: the
// value that selection, the runner and the report work with. Reading, checking and editing the YAML
// files is next to it; nothing here knows about files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::config {

enum class TestStatus : uint8_t {
  Unspecified,
  ExpectedPassing,
  KnownFailureXfail,
  NotSupportedSkip,
  ExcludeModel,
};

enum class BringupStatus : uint8_t {
  Unknown,
  NotStarted,
  FailedFrontendCompilation, ///< FAILED_FE_COMPILATION
  FailedDeviceCompilation,   ///< FAILED_TTMLIR_COMPILATION
  FailedRuntime,
  IncorrectResult,
  Passed,
};

/// Names as the files write them, in upper case: EXPECTED_PASSING, FAILED_FE_COMPILATION.
std::string_view name(TestStatus status);
std::string_view name(BringupStatus status);
/// Either spelling (upper or lower case); nothing for a word that is no status.
std::optional<TestStatus> parseTestStatus(std::string_view text);
std::optional<BringupStatus> parseBringupStatus(std::string_view text);

struct Expectation {
  bool hasEntry = false; ///< False: no entry in any file, everything below is a default.
  std::string file;      ///< Where the entry stands.
  uint32_t line = 0;

  TestStatus status = TestStatus::Unspecified;
  std::optional<BringupStatus> bringupStatus;
  std::string reason;
  std::vector<std::string> markers;
  std::optional<std::vector<std::string>> supportedArchs; ///< Not set: n150 and p150.

  // Comparison. What is not set has the tester's default (pcc 0.99, asserted).
  std::optional<double> requiredPcc, requiredAtol, allcloseRtol, allcloseAtol;
  std::optional<bool> assertPcc, assertAtol, assertAllclose;

  std::optional<int64_t> batchSize;
  std::optional<std::string> executionPass;
  std::vector<std::string> filechecks;
  std::optional<int64_t> optimizationLevel;
  std::optional<bool> enableWeightBfp8Conversion, injectCustomMoe, emitpyAssertExact;

  bool operator==(const Expectation &) const = default;
};

} // namespace cupel::testbench::config
