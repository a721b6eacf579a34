#include "cupel/results/Record.h"

#include <array>
#include <utility>

namespace cupel::results {

namespace {

constexpr std::array<std::string_view, 10> kOutcomes = {
    "passed",  "failed",    "xfailed",       "xpassed",     "skipped",
    "crashed", "timed out", "out of memory", "interrupted", "not run"};
constexpr std::array<std::string_view, 8> kStages = {"none",    "load",      "frontend", "compile",
                                                     "execute", "reference", "compare",  "done"};

template <typename Enum, size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N> &names, std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == text)
      return Enum(i);
  return std::nullopt;
}

} // namespace

std::string_view name(Outcome outcome) { return kOutcomes[size_t(outcome)]; }
std::string_view name(Stage stage) { return kStages[size_t(stage)]; }
std::optional<Outcome> parseOutcome(std::string_view text) {
  return parse<Outcome>(kOutcomes, text);
}
std::optional<Stage> parseStage(std::string_view text) { return parse<Stage>(kStages, text); }

bool isBad(Outcome outcome) {
  switch (outcome) {
  case Outcome::Passed:
  case Outcome::XFailed:
  case Outcome::Skipped:
    return false;
  case Outcome::Failed:
  case Outcome::XPassed:
  case Outcome::Crashed:
  case Outcome::TimedOut:
  case Outcome::OutOfMemory:
  case Outcome::Interrupted:
  case Outcome::NotRun:
    return true;
  }
  return true;
}

} // namespace cupel::results
