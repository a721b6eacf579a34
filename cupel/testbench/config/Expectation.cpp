#include "cupel/testbench/config/Expectation.h"

#include <array>

namespace cupel::testbench::config {

namespace {

constexpr std::array<std::string_view, 5> kTestStatuses = {"UNSPECIFIED", "EXPECTED_PASSING",
                                                           "KNOWN_FAILURE_XFAIL",
                                                           "NOT_SUPPORTED_SKIP", "EXCLUDE_MODEL"};
constexpr std::array<std::string_view, 7> kBringupStatuses = {"UNKNOWN",
                                                              "NOT_STARTED",
                                                              "FAILED_FE_COMPILATION",
                                                              "FAILED_TTMLIR_COMPILATION",
                                                              "FAILED_RUNTIME",
                                                              "INCORRECT_RESULT",
                                                              "PASSED"};

/// Upper or lower case throughout, never mixed.
bool matches(std::string_view upper, std::string_view text) {
  if (text == upper)
    return true;
  if (text.size() != upper.size())
    return false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = upper[i];
    if (text[i] != (c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c))
      return false;
  }
  return true;
}

template <typename Enum, size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N> &names, std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (matches(names[i], text))
      return Enum(i);
  return std::nullopt;
}

} // namespace

std::string_view name(TestStatus status) { return kTestStatuses[size_t(status)]; }
std::string_view name(BringupStatus status) { return kBringupStatuses[size_t(status)]; }
std::optional<TestStatus> parseTestStatus(std::string_view text) {
  return parse<TestStatus>(kTestStatuses, text);
}
std::optional<BringupStatus> parseBringupStatus(std::string_view text) {
  return parse<BringupStatus>(kBringupStatuses, text);
}

} // namespace cupel::testbench::config
