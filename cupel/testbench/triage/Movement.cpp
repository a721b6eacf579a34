#include "cupel/testbench/triage/Movement.h"

#include "cupel/results/report/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

namespace cupel::testbench::triage {

using results::Family;
using results::familyOf;
using results::OutcomeRow;
using results::Stage;

namespace {

using History = std::vector<const Sighting *>;

bool fails(const OutcomeRow &row) {
  return results::isFailure(row.outcome) || familyOf(row.outcome) == Family::KnownFailure;
}

bool isSevere(const OutcomeRow &row) {
  return familyOf(row.outcome) == Family::Crash || familyOf(row.outcome) == Family::Limit;
}

std::string whyOf(const OutcomeRow &row) {
  return row.reason.empty() || row.reason == "UNCLASSIFIED" ? row.message : row.reason;
}

/// What became worse without changing sides; empty: nothing.
std::string worsening(const OutcomeRow &before, const OutcomeRow &now,
                      const MovementOptions &options) {
  if (fails(before) && fails(now)) {
    if (isSevere(now) && !isSevere(before))
      return fmt::format("{} -> {}", name(before.outcome), name(now.outcome));
    if (now.lastStage < before.lastStage && now.lastStage != Stage::None)
      return fmt::format("came to {}, now to {}", name(before.lastStage), name(now.lastStage));
  }
  if (before.pcc && now.pcc) {
    bool isLost = std::isnan(*now.pcc) && !std::isnan(*before.pcc);
    if (isLost || *now.pcc < *before.pcc - options.pccStep)
      return fmt::format("pcc {} -> {}", results::figure(*before.pcc), results::figure(*now.pcc));
  }
  if (!fails(now) && before.seconds > 0 && now.seconds > before.seconds * options.slowerFactor &&
      now.seconds > before.seconds + options.noiseSeconds)
    return fmt::format("{} -> {}", results::durationText(before.seconds),
                       results::durationText(now.seconds));
  return "";
}

/// Why a test is called flaky; empty: it is not. `seen` is what happened since the date.
std::string flakiness(const History &seen) {
  for (const Sighting *one : seen)
    if (one->row.flaky)
      return "tries of one run did not end alike";
  // From one side to the other and back with nothing changed in between.
  for (size_t i = 0; i + 2 < seen.size(); ++i)
    for (size_t j = i + 1; j + 1 < seen.size(); ++j)
      if (fails(seen[i]->row) != fails(seen[j]->row) && seen[i]->commit == seen[j]->commit &&
          seen[j]->commit == seen[j + 1]->commit &&
          fails(seen[j + 1]->row) == fails(seen[i]->row)) {
        std::string text;
        for (const Sighting *one : seen)
          text += (text.empty() ? "" : ", ") + std::string(name(one->row.outcome));
        return text;
      }
  return "";
}

void addDrift(const History &history, const History &seen, const MovementOptions &options,
              const Moved &test, std::vector<Drift> &drifts) {
  std::vector<double> values;
  // The last one before the date is where it began.
  const Sighting *start = nullptr;
  for (const Sighting *one : history)
    if (one->row.pcc && std::isfinite(*one->row.pcc) && (seen.empty() || one->at < seen[0]->at))
      start = one;
  if (start)
    values.push_back(*start->row.pcc);
  for (const Sighting *one : seen)
    if (one->row.pcc && std::isfinite(*one->row.pcc))
      values.push_back(*one->row.pcc);
  if (values.size() < 2 || std::abs(values.back() - values.front()) <= options.pccStep)
    return;
  Drift drift;
  drift.name = test.name;
  drift.arch = test.arch;
  drift.device = test.device;
  drift.before = values.front();
  drift.now = values.back();
  auto [least, most] = std::ranges::minmax(values);
  drift.least = least;
  drift.most = most;
  drift.runs = values.size();
  double n = double(values.size()), meanX = (n - 1) / 2, meanY = 0, up = 0, down = 0;
  for (double value : values)
    meanY += value / n;
  for (size_t i = 0; i < values.size(); ++i) {
    up += (double(i) - meanX) * (values[i] - meanY);
    down += (double(i) - meanX) * (double(i) - meanX);
  }
  drift.slope = up / down;
  drifts.push_back(std::move(drift));
}

} // namespace

Movement movementSince(std::vector<Sighting> sightings, double since,
                       const MovementOptions &options) {
  std::ranges::sort(sightings, [](const Sighting &a, const Sighting &b) {
    return std::tie(a.at, a.row.run) < std::tie(b.at, b.row.run);
  });
  std::map<std::tuple<std::string, std::string, std::string>, History> tests;
  for (const Sighting &one : sightings)
    if (results::isVerdict(one.row.outcome))
      tests[{one.row.fullName(), one.arch, one.device}].push_back(&one);
  Movement movement;
  for (const auto &[key, history] : tests) {
    History seen;
    const Sighting *before = nullptr;
    for (const Sighting *one : history)
      if (one->at >= since)
        seen.push_back(one);
      else
        before = one;
    if (seen.empty())
      continue;
    const OutcomeRow &now = seen.back()->row;
    Moved moved;
    std::tie(moved.name, moved.arch, moved.device) = key;
    moved.now = name(now.outcome);
    if (before)
      moved.before = name(before->row.outcome);
    addDrift(history, seen, options, moved, movement.drift);
    if (std::string why = flakiness(seen); !why.empty()) {
      moved.run = seen.back()->row.run;
      moved.why = why;
      movement.flaky.push_back(std::move(moved));
      continue; // It is neither new nor fixed: nobody knows what it will be next.
    }
    // The first of the outcomes that are as now.
    size_t first = seen.size() - 1;
    while (first && fails(seen[first - 1]->row) == fails(now))
      --first;
    moved.run = seen[first]->row.run;
    moved.why = whyOf(now);
    if (fails(now) && (!before || !fails(before->row)))
      movement.newFailures.push_back(std::move(moved));
    else if (!fails(now) && before && fails(before->row))
      movement.fixed.push_back(std::move(moved));
    else if (std::string worse = before ? worsening(before->row, now, options) : "";
             !worse.empty()) {
      moved.why = worse;
      moved.run = now.run;
      movement.worse.push_back(std::move(moved));
    }
  }
  std::ranges::sort(movement.drift, {}, [](const Drift &d) {
    return std::tuple(d.now - d.before, d.name, d.arch, d.device);
  });
  return movement;
}

} // namespace cupel::testbench::triage
