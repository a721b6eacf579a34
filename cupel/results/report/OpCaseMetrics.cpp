#include "cupel/results/report/OpCaseMetrics.h"

#include "cupel/results/report/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>

namespace cupel::results {

namespace {

constexpr std::string_view kSuite = "opcases";
constexpr size_t kMostRows = 20;

std::string note(const TestRecord &record, const char *key) {
  auto found = record.notes.find(key);
  return found == record.notes.end() ? "" : found->second;
}

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.1f} %", 100 * share);
}

/// Those with the lowest pass rate first, then the largest.
std::vector<std::pair<std::string, const OpCaseMetrics::Group *>>
worstFirst(const std::map<std::string, OpCaseMetrics::Group> &groups) {
  std::vector<std::pair<std::string, const OpCaseMetrics::Group *>> rows;
  for (const auto &[name, group] : groups)
    rows.emplace_back(name, &group);
  auto rate = [](const OpCaseMetrics::Group &group) {
    return group.executed() ? group.passRate() : 2;
  };
  std::sort(rows.begin(), rows.end(), [&](const auto &a, const auto &b) {
    double left = rate(*a.second), right = rate(*b.second);
    if (left != right)
      return left < right;
    return a.second->cases != b.second->cases ? a.second->cases > b.second->cases
                                              : a.first < b.first;
  });
  return rows;
}

nlohmann::ordered_json groupJson(const OpCaseMetrics::Group &group) {
  nlohmann::ordered_json json = {{"cases", group.cases},
                                 {"executed", group.executed()},
                                 {"passed", group.passed},
                                 {"failed", group.failed},
                                 {"expected_failures", group.expectedFailures},
                                 {"skipped", group.skipped},
                                 {"not_run", group.notRun},
                                 {"unjudged", group.unjudged},
                                 {"duplicates", group.duplicates},
                                 {"pass_rate", nullptr},
                                 {"distinct_ops", group.ops.size()},
                                 {"distinct_inputs", group.inputs.size()},
                                 {"seconds", group.seconds},
                                 {"seconds_per_case", group.secondsPerCase()},
                                 {"slowest_seconds", group.slowest}};
  if (group.executed())
    json["pass_rate"] = group.passRate();
  return json;
}

} // namespace

double OpCaseMetrics::Group::passRate() const {
  return executed() ? double(passed) / double(executed()) : std::nan("");
}

double OpCaseMetrics::Group::secondsPerCase() const {
  return executed() ? seconds / double(executed()) : 0;
}

double OpCaseMetrics::dedupeEfficiency() const {
  return total.cases ? double(total.duplicates) / double(total.cases) : 0;
}

void OpCaseMetrics::add(const TestRecord &record) {
  std::string op = note(record, "op"), inputs = note(record, "inputs");
  if (record.suite != kSuite || op.empty())
    return;
  for (Group *group : {&total, &byModel[record.modelName], &byOp[op]}) {
    ++group->cases;
    group->ops.insert(op);
    group->inputs.insert(op + "(" + inputs + ")");
    switch (familyOf(record.outcome)) {
    case Family::Pass:
      ++group->passed;
      break;
    case Family::KnownFailure:
      ++group->expectedFailures;
      break;
    case Family::Skip:
      ++group->skipped;
      group->duplicates += record.notes.contains("duplicate_of");
      break;
    case Family::Unjudged:
      ++group->unjudged;
      break;
    case Family::NoResult:
      ++group->notRun;
      break;
    case Family::Failure:
    case Family::UnexpectedPass:
    case Family::Crash:
    case Family::Limit:
      ++group->failed;
      break;
    }
    group->seconds += record.seconds;
    group->slowest = std::max(group->slowest, record.seconds);
  }
}

std::string OpCaseMetrics::text() const {
  std::string out = fmt::format(
      "Operator cases: {} of {} that ran passed ({}), {} distinct operators with {} distinct "
      "inputs\n  {} of {} cases were duplicates ({} saved), {} a case, the slowest {}\n",
      total.passed, total.executed(), percent(total.passRate()), total.ops.size(),
      total.inputs.size(), total.duplicates, total.cases, percent(dedupeEfficiency()),
      durationText(total.secondsPerCase()), durationText(total.slowest));
  auto table = [&](std::string_view title, const std::map<std::string, Group> &groups) {
    size_t width = title.size();
    auto rows = worstFirst(groups);
    for (size_t i = 0; i < rows.size() && i < kMostRows; ++i)
      width = std::max(width, rows[i].first.size());
    out += fmt::format("  {:<{}} {:>6} {:>6} {:>6} {:>7} {:>5} {:>9} {:>6} {:>10}\n", title, width,
                       "cases", "ran", "passed", "rate", "ops", "inputs", "twins", "a case");
    for (size_t i = 0; i < rows.size() && i < kMostRows; ++i) {
      const Group &group = *rows[i].second;
      out += fmt::format("  {:<{}} {:>6} {:>6} {:>6} {:>7} {:>5} {:>9} {:>6} {:>10}\n",
                         oneLine(rows[i].first), width, group.cases, group.executed(), group.passed,
                         percent(group.passRate()), group.ops.size(), group.inputs.size(),
                         group.duplicates, durationText(group.secondsPerCase()));
    }
    if (rows.size() > kMostRows)
      out += fmt::format("  ... and {} more (cupel show --opcases)\n", rows.size() - kMostRows);
  };
  table("model", byModel);
  table("operator", byOp);
  return out;
}

nlohmann::ordered_json OpCaseMetrics::json() const {
  nlohmann::ordered_json json = {{"total", groupJson(total)},
                                 {"dedupe",
                                  {{"duplicates", total.duplicates},
                                   {"unique", total.cases - total.duplicates},
                                   {"efficiency", dedupeEfficiency()}}}};
  json["models"] = nlohmann::ordered_json::object();
  for (const auto &[name, group] : byModel)
    json["models"][name] = groupJson(group);
  json["ops"] = nlohmann::ordered_json::object();
  for (const auto &[name, group] : byOp)
    json["ops"][name] = groupJson(group);
  return json;
}

void OpCaseMetrics::writeMarkdown(std::ostream &out) const {
  out << fmt::format("\n### Operator cases\n\n{} of {} that ran passed ({}); {} distinct operators "
                     "with {} distinct inputs; {} of {} cases were duplicates ({} saved); {} a "
                     "case.\n",
                     total.passed, total.executed(), percent(total.passRate()), total.ops.size(),
                     total.inputs.size(), total.duplicates, total.cases,
                     percent(dedupeEfficiency()), durationText(total.secondsPerCase()));
  auto table = [&](std::string_view title, const std::map<std::string, Group> &groups) {
    out << fmt::format("\n| {} | cases | ran | passed | rate | operators | inputs | duplicates | "
                       "time a case |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
                       title);
    for (const auto &[name, group] : worstFirst(groups))
      out << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", markdownSafe(name),
                         group->cases, group->executed(), group->passed, percent(group->passRate()),
                         group->ops.size(), group->inputs.size(), group->duplicates,
                         durationText(group->secondsPerCase()));
  };
  table("model", byModel);
  table("operator", byOp);
}

Result<std::vector<OpCaseMetrics::TrendPoint>> opCaseTrend(Store &store, size_t limit) {
  // Runs of other suites lie between them.
  Result<std::vector<RunRow>> runs = store.runs(std::max<size_t>(10 * limit, 100));
  if (!runs)
    return runs.error();
  std::vector<OpCaseMetrics::TrendPoint> trend;
  std::vector<std::unordered_map<std::string, Outcome>> outcomes;
  for (const RunRow &row : *runs) {
    if (trend.size() == limit)
      break;
    Result<std::vector<OutcomeRow>> all = store.outcomes(row.info.id);
    if (!all)
      return all.error();
    OpCaseMetrics::TrendPoint point;
    point.run = row.info.id;
    point.device = row.info.device;
    point.startedAt = row.info.startedAt;
    std::unordered_map<std::string, Outcome> of;
    for (const OutcomeRow &one : *all) {
      if (one.suite != kSuite || one.outcome == Outcome::Skipped || one.outcome == Outcome::NotRun)
        continue;
      of[one.id] = one.outcome;
      ++point.executed;
      point.passed += one.outcome == Outcome::Passed;
      point.seconds += one.seconds;
    }
    if (!point.executed)
      continue;
    trend.push_back(std::move(point));
    outcomes.push_back(std::move(of));
  }
  std::reverse(trend.begin(), trend.end());
  std::reverse(outcomes.begin(), outcomes.end());
  for (size_t i = 1; i < trend.size(); ++i)
    for (const auto &[id, outcome] : outcomes[i])
      if (auto before = outcomes[i - 1].find(id); before != outcomes[i - 1].end()) {
        trend[i].newFailures += isBad(outcome) && !isBad(before->second);
        trend[i].fixed += !isBad(outcome) && isBad(before->second);
      }
  return trend;
}

std::string trendText(const std::vector<OpCaseMetrics::TrendPoint> &trend) {
  std::string out = fmt::format("{:<22} {:<20} {:>6} {:>6} {:>7} {:>12} {:>5} {:>9}\n", "run",
                                "device", "ran", "passed", "rate", "new failures", "fixed", "time");
  for (const OpCaseMetrics::TrendPoint &point : trend)
    out += fmt::format("{:<22} {:<20} {:>6} {:>6} {:>7} {:>12} {:>5} {:>9}\n", point.run,
                       cutTo(point.device, 20), point.executed, point.passed,
                       percent(double(point.passed) / double(point.executed)), point.newFailures,
                       point.fixed, durationText(point.seconds));
  return out;
}

nlohmann::ordered_json trendJson(const std::vector<OpCaseMetrics::TrendPoint> &trend) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const OpCaseMetrics::TrendPoint &point : trend)
    list.push_back({{"run", point.run},
                    {"device", point.device},
                    {"started_at", point.startedAt},
                    {"executed", point.executed},
                    {"passed", point.passed},
                    {"pass_rate", double(point.passed) / double(point.executed)},
                    {"new_failures", point.newFailures},
                    {"fixed", point.fixed},
                    {"seconds", point.seconds}});
  return list;
}

void writeTrendMarkdown(std::ostream &out, const std::vector<OpCaseMetrics::TrendPoint> &trend) {
  out << "\n### Trend\n\n| run | device | ran | passed | rate | new failures | fixed | time "
         "|\n|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const OpCaseMetrics::TrendPoint &point : trend)
    out << fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", markdownSafe(point.run),
                       markdownSafe(point.device), point.executed, point.passed,
                       percent(double(point.passed) / double(point.executed)), point.newFailures,
                       point.fixed, durationText(point.seconds));
}

} // namespace cupel::results
