#include "cupel/results/report/Changes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace cupel::results {
namespace {

/// An unexpected pass makes a run fail, but the test does not.
bool fails(Outcome outcome) {
  return isBad(outcome) && familyOf(outcome) != Family::UnexpectedPass;
}

bool isJudged(Outcome outcome) { return familyOf(outcome) != Family::Unjudged; }

bool hadItsTurn(Outcome outcome) { return familyOf(outcome) != Family::NoResult; }

/// Nothing is known of the test but that its run was stopped; that is no change.
bool wasStopped(const OutcomeRow &row) {
  return row.outcome == Outcome::Interrupted ||
         (row.outcome == Outcome::NotRun && row.reason == "INTERRUPTED");
}

bool figureMoved(const OutcomeRow &before, const OutcomeRow &after, const ChangeOptions &options) {
  if (before.pcc && after.pcc) {
    if (std::isnan(*before.pcc) != std::isnan(*after.pcc))
      return true;
    if (std::abs(*before.pcc - *after.pcc) > options.pccStep)
      return true;
  }
  if (before.maxAbsolute && after.maxAbsolute) {
    double low = std::min(*before.maxAbsolute, *after.maxAbsolute);
    double high = std::max(*before.maxAbsolute, *after.maxAbsolute);
    if (std::isnan(*before.maxAbsolute) != std::isnan(*after.maxAbsolute))
      return true;
    // Differences this small are rounding, however much they vary.
    constexpr double kRounding = 1e-5;
    if (high > kRounding && high > low * options.absoluteFactor)
      return true;
  }
  return false;
}

void compare(const OutcomeRow &before, const OutcomeRow &after, const ChangeOptions &options,
             RunChanges &changes) {
  if (fails(after.outcome) && !fails(before.outcome))
    changes.newFailures.push_back({before, after});
  else if (fails(before.outcome) && !fails(after.outcome) && hadItsTurn(before.outcome) &&
           isJudged(after.outcome))
    changes.fixed.push_back({before, after});
  else if (before.outcome != after.outcome ||
           (!before.reason.empty() && !after.reason.empty() && before.reason != after.reason))
    changes.otherwise.push_back({before, after});

  if (ranThrough(before.outcome) && ranThrough(after.outcome) && before.seconds > 0) {
    double more = after.seconds - before.seconds;
    if (more > options.noiseSeconds && after.seconds > before.seconds * options.slowerFactor)
      changes.slower.push_back({before, after});
    if (-more > options.noiseSeconds && before.seconds > after.seconds * options.slowerFactor)
      changes.faster.push_back({before, after});
  }
  if (figureMoved(before, after, options))
    changes.figures.push_back({before, after});
}

void sortAll(RunChanges &changes) {
  auto byName = [](const Change &a, const Change &b) { return a.name() < b.name(); };
  for (auto *list : {&changes.newFailures, &changes.fixed, &changes.otherwise, &changes.figures,
                     &changes.added, &changes.removed})
    std::sort(list->begin(), list->end(), byName);
  // What became slower by most comes first.
  auto byDifference = [](const Change &a, const Change &b) {
    return std::abs(a.after.seconds - a.before.seconds) >
           std::abs(b.after.seconds - b.before.seconds);
  };
  std::sort(changes.slower.begin(), changes.slower.end(), byDifference);
  std::sort(changes.faster.begin(), changes.faster.end(), byDifference);
}

} // namespace

bool RunChanges::empty() const {
  return newFailures.empty() && fixed.empty() && otherwise.empty() && slower.empty() &&
         faster.empty() && figures.empty() && added.empty() && removed.empty();
}

RunChanges compareOutcomes(std::span<const OutcomeRow> before, std::span<const OutcomeRow> after,
                           const ChangeOptions &options) {
  RunChanges changes;
  std::unordered_map<std::string, const OutcomeRow *> earlier;
  for (const OutcomeRow &row : before)
    earlier[row.fullName()] = &row;
  for (const OutcomeRow &row : after) {
    auto found = earlier.find(row.fullName());
    if (wasStopped(row)) {
      if (found != earlier.end())
        earlier.erase(found);
      continue;
    }
    if (found == earlier.end()) {
      changes.added.push_back({{}, row});
      if (fails(row.outcome))
        changes.newFailures.push_back({{}, row});
      continue;
    }
    compare(*found->second, row, options, changes);
    earlier.erase(found);
  }
  for (const auto &[name, row] : earlier)
    changes.removed.push_back({*row, {}});
  sortAll(changes);
  return changes;
}

RunChanges compareWithKnown(std::span<const KnownTest> known, std::span<const OutcomeRow> after,
                            const ChangeOptions &options) {
  std::vector<OutcomeRow> before;
  before.reserve(known.size());
  for (const KnownTest &test : known) {
    OutcomeRow &row = before.emplace_back();
    row.suite = test.suite;
    row.id = test.id;
    row.run = test.run;
    row.outcome = test.outcome;
    row.seconds = test.seconds;
  }
  RunChanges changes = compareOutcomes(before, after, options);
  changes.removed.clear(); // Not selected this time, that is all.
  return changes;
}

OutcomeRow briefly(const TestRecord &record, std::string_view run) {
  OutcomeRow row;
  row.suite = record.suite;
  row.id = record.id;
  row.run = run;
  row.outcome = record.outcome;
  row.lastStage = record.lastStage;
  row.startedAt = record.startedAt;
  row.seconds = record.seconds;
  row.peakMemoryBytes = record.peakMemoryBytes;
  row.flaky = record.flaky;
  row.pcc = worstPcc(record);
  row.maxAbsolute = largestAbsolute(record);
  if (!record.reasons.empty())
    row.reason = record.reasons.front().name;
  row.message = record.message;
  return row;
}

namespace {

using Json = nlohmann::ordered_json;

/// NaN and infinity have no JSON number; they are words, as everywhere in Cupel's JSON.
Json numberJson(std::optional<double> value) {
  if (!value)
    return nullptr;
  if (std::isfinite(*value))
    return *value;
  return std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf";
}

Json rowJson(const OutcomeRow &row) {
  if (row.id.empty())
    return nullptr;
  return {{"outcome", name(row.outcome)},
          {"last_stage", name(row.lastStage)},
          {"seconds", row.seconds},
          {"pcc", numberJson(row.pcc)},
          {"max_absolute", numberJson(row.maxAbsolute)},
          {"reason", row.reason},
          {"message", row.message}};
}

} // namespace

std::string toJson(const RunChanges &changes, std::string_view before, std::string_view after) {
  Json json = {{"schema", "cupel-diff-1"}, {"before", before}, {"after", after}};
  for (const auto &[key, list] :
       {std::pair("new_failures", &changes.newFailures), std::pair("fixed", &changes.fixed),
        std::pair("otherwise", &changes.otherwise), std::pair("slower", &changes.slower),
        std::pair("faster", &changes.faster), std::pair("figures", &changes.figures),
        std::pair("added", &changes.added), std::pair("removed", &changes.removed)}) {
    Json entries = Json::array();
    for (const Change &change : *list)
      entries.push_back({{"test", change.name()},
                         {"before", rowJson(change.before)},
                         {"after", rowJson(change.after)}});
    json[key] = std::move(entries);
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace cupel::results
