#include "cupel/results/Record.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cupel::results {

namespace {

constexpr std::array<std::string_view, kOutcomeCount> kOutcomes = {
#define CUPEL_OUTCOME(outcome, name, family, meaning) name,
#include "cupel/results/Outcomes.def"
};
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

void addStageTime(std::vector<StageTime> &stages, Stage stage, double seconds) {
  auto before = std::ranges::find(stages, stage, &StageTime::stage);
  if (before != stages.end())
    before->seconds += seconds;
  else
    stages.push_back({stage, seconds});
}

} // namespace cupel::results
