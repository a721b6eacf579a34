#include "cupel/testbench/triage/TriageReport.h"

#include "cupel/results/report/Text.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <ostream>

namespace cupel::testbench::triage {

using namespace cupel::results;
using Json = nlohmann::ordered_json;

namespace {

std::string heading(const TriageReport &report) {
  uint64_t known = 0;
  for (const FailingTest &test : report.failing)
    known += test.isKnown;
  std::string text =
      fmt::format("{} of {} fail", report.failing.size(), counted(report.total, "test"));
  if (known)
    text += fmt::format(" ({} of them known)", known);
  text += report.runs.size() == 1 ? fmt::format(" in run {}", report.runs[0].id)
                                  : fmt::format(" in {} runs", report.runs.size());
  return text;
}

const std::vector<std::pair<std::string_view, std::vector<Moved> Movement::*>> kLists = {
    {"new failures", &Movement::newFailures},
    {"fixed", &Movement::fixed},
    {"flaky", &Movement::flaky},
    {"worse", &Movement::worse},
};

std::string onWhat(const std::string &arch, const std::string &device) {
  std::string text = device.empty() ? "" : " on " + device;
  return arch.empty() ? text : text + " as " + arch;
}

std::string line(const Moved &moved) {
  std::string text = moved.name + onWhat(moved.arch, moved.device) + ": " +
                     (moved.before.empty() ? "new" : moved.before) + " -> " + moved.now;
  return moved.why.empty() ? text : text + " (" + cutTo(moved.why, 100) + ")";
}

std::string line(const Drift &drift) {
  return fmt::format("{}{}: {} -> {} in {} runs ({:+.2g} a run)", drift.name,
                     onWhat(drift.arch, drift.device), figure(drift.before), figure(drift.now),
                     drift.runs, drift.slope);
}

/// Calls `show` with at most `most` of them, then `more` with how many are left.
template <typename List, typename Show, typename More>
void some(const List &list, size_t most, Show &&show, More &&more) {
  size_t shown = most ? std::min(most, list.size()) : list.size();
  for (size_t i = 0; i < shown; ++i)
    show(list[i]);
  if (shown < list.size())
    more(list.size() - shown);
}

std::string namesOf(const std::vector<Cause> &causes) {
  std::string text;
  for (size_t i = 0; i < causes.size(); ++i)
    text += (i == 0 ? "" : i + 1 == causes.size() ? " and " : ", ") + causes[i].name;
  return text;
}

} // namespace

std::string describe(const Properties &properties) {
  std::string text;
  for (const auto &[key, value] : properties)
    text += (text.empty() ? "" : ", ") + key + " " + value;
  return text;
}

std::string sentence(const CauseGroup &group) {
  std::string text =
      fmt::format("fixing {} unlocks {}, {}", group.cause.name,
                  counted(group.unlocked.size(), "test"), counted(group.models.size(), "model"));
  if (size_t others = group.touched.size() - group.unlocked.size())
    text += fmt::format("; {} more {} something else too", others, others == 1 ? "needs" : "need");
  return text;
}

std::string sentence(const JointFix &fix) {
  return fmt::format("fixing {} together unlocks {} more, {}", namesOf(fix.causes),
                     counted(fix.tests.size(), "test"), counted(fix.models.size(), "model"));
}

void writeText(std::ostream &out, const TriageReport &report, size_t most) {
  out << heading(report) << "\n";
  auto more = [&](size_t left) { out << fmt::format("  ... and {} more (--all)\n", left); };
  for (Cause::Kind kind : {Cause::Kind::Operation, Cause::Kind::Reason, Cause::Kind::Message}) {
    std::vector<const CauseGroup *> groups;
    for (const CauseGroup &group : report.plan.groups)
      if (group.cause.kind == kind)
        groups.push_back(&group);
    if (groups.empty())
      continue;
    out << (kind == Cause::Kind::Operation ? "\nBy guilty operation\n"
            : kind == Cause::Kind::Reason  ? "\nBy reason\n"
                                           : "\nBy message, where no reason fits\n");
    some(
        groups, most,
        [&](const CauseGroup *group) {
          out << "  " << oneLine(sentence(*group)) << "\n";
          if (!group->shared.empty())
            out << "    all: " << cutTo(describe(group->shared), 150) << "\n";
          some(
              group->touched, most ? 3 : 0,
              [&](size_t i) { out << "    " << oneLine(report.failing[i].name) << "\n"; },
              [&](size_t left) { out << fmt::format("    ... and {} more\n", left); });
        },
        more);
  }
  if (!report.plan.joint.empty()) {
    out << "\nOnly together\n";
    some(
        report.plan.joint, most,
        [&](const JointFix &fix) { out << "  " << oneLine(sentence(fix)) << "\n"; }, more);
  }
  for (const auto &[title, list] : kLists)
    if (const std::vector<Moved> &moved = report.movement.*list; !moved.empty()) {
      out << fmt::format("\n{}{} since {}: {}\n", char(std::toupper(title[0])), title.substr(1),
                         peopleTime(report.since), moved.size());
      some(moved, most, [&](const Moved &one) { out << "  " << oneLine(line(one)) << "\n"; }, more);
    }
  if (!report.movement.drift.empty()) {
    out << fmt::format("\nPCC drift since {}: {}\n", peopleTime(report.since),
                       report.movement.drift.size());
    some(
        report.movement.drift, most,
        [&](const Drift &drift) { out << "  " << oneLine(line(drift)) << "\n"; }, more);
  }
}

void writeMarkdown(std::ostream &out, const TriageReport &report, size_t most) {
  out << "## Cupel: what to fix first\n\n" << markdownSafe(heading(report)) << ".\n";
  if (!report.plan.groups.empty()) {
    out << "\n| fix | kind | unlocks tests | models | touches | all have | tests |\n"
           "|---|---|---:|---:|---:|---|---|\n";
    some(
        report.plan.groups, most,
        [&](const CauseGroup &group) {
          std::string names;
          some(
              group.touched, 3,
              [&](size_t i) { names += (names.empty() ? "" : ", ") + report.failing[i].name; },
              [&](size_t left) { names += fmt::format(" and {} more", left); });
          out << fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n",
                             markdownSafe(group.cause.name), name(group.cause.kind),
                             group.unlocked.size(), group.models.size(), group.touched.size(),
                             markdownSafe(cutTo(describe(group.shared), 200)), markdownSafe(names));
        },
        [&](size_t left) { out << fmt::format("\n... and {} more.\n", left); });
  }
  if (!report.plan.joint.empty()) {
    out << "\n### Only together\n\n";
    some(
        report.plan.joint, most,
        [&](const JointFix &fix) { out << "- " << markdownSafe(sentence(fix)) << "\n"; },
        [&](size_t left) { out << fmt::format("- ... and {} more\n", left); });
  }
  auto more = [&](size_t left) { out << fmt::format("- ... and {} more\n", left); };
  for (const auto &[title, list] : kLists)
    if (const std::vector<Moved> &moved = report.movement.*list; !moved.empty()) {
      out << fmt::format("\n### {}{}: {}\n\n", char(std::toupper(title[0])), title.substr(1),
                         moved.size());
      some(
          moved, most, [&](const Moved &one) { out << "- " << markdownSafe(line(one)) << "\n"; },
          more);
    }
  if (!report.movement.drift.empty()) {
    out << "\n### PCC drift\n\n| test | before | now | least | most | runs | a run |\n"
           "|---|---:|---:|---:|---:|---:|---:|\n";
    some(
        report.movement.drift, most,
        [&](const Drift &d) {
          out << fmt::format("| {} | {} | {} | {} | {} | {} | {:+.2g} |\n",
                             markdownSafe(d.name + onWhat(d.arch, d.device)), figure(d.before),
                             figure(d.now), figure(d.least), figure(d.most), d.runs, d.slope);
        },
        [&](size_t left) { out << fmt::format("\n... and {} more.\n", left); });
  }
}

std::string toJson(const TriageReport &report) {
  Json json = {{"schema", "cupel-triage-1"}};
  for (const RunInfo &run : report.runs)
    json["runs"].push_back(run.id);
  if (report.since > 0)
    json["since"] = report.since;
  json["total"] = report.total;
  json["passing"] = report.passing;
  auto names = [&](const std::vector<size_t> &tests) {
    Json list = Json::array();
    for (size_t i : tests)
      list.push_back(report.failing[i].name);
    return list;
  };
  auto causeJson = [](const Cause &cause) {
    return Json{{"kind", name(cause.kind)}, {"name", cause.name}};
  };
  json["fixes"] = Json::array();
  for (const CauseGroup &group : report.plan.groups) {
    Json one = causeJson(group.cause);
    one["unlocks_tests"] = group.unlocked.size();
    one["unlocks_models"] = group.models.size();
    one["touches_tests"] = group.touched.size();
    one["shared"] = Json(group.shared);
    one["unlocked"] = names(group.unlocked);
    one["models"] = group.models;
    one["touched"] = names(group.touched);
    json["fixes"].push_back(std::move(one));
  }
  json["together"] = Json::array();
  for (const JointFix &fix : report.plan.joint) {
    Json causes = Json::array();
    for (const Cause &cause : fix.causes)
      causes.push_back(causeJson(cause));
    json["together"].push_back({{"causes", std::move(causes)},
                                {"unlocks_tests", fix.tests.size()},
                                {"unlocks_models", fix.models.size()},
                                {"unlocked", names(fix.tests)},
                                {"models", fix.models}});
  }
  json["failing"] = Json::array();
  for (const FailingTest &test : report.failing) {
    Json causes = Json::array();
    for (const Cause &cause : test.causes)
      causes.push_back(causeJson(cause));
    json["failing"].push_back(
        {{"test", test.name}, {"model", test.model}, {"known", test.isKnown}, {"causes", causes}});
  }
  const std::pair<const char *, std::vector<Moved> Movement::*> kKeys[] = {
      {"new_failures", &Movement::newFailures},
      {"fixed", &Movement::fixed},
      {"flaky", &Movement::flaky},
      {"worse", &Movement::worse}};
  for (const auto &[key, list] : kKeys) {
    json[key] = Json::array();
    for (const Moved &moved : report.movement.*list)
      json[key].push_back({{"test", moved.name},
                           {"arch", moved.arch},
                           {"device", moved.device},
                           {"before", moved.before.empty() ? Json() : Json(moved.before)},
                           {"now", moved.now},
                           {"run", moved.run},
                           {"why", moved.why}});
  }
  json["pcc_drift"] = Json::array();
  for (const Drift &d : report.movement.drift)
    json["pcc_drift"].push_back({{"test", d.name},
                                 {"arch", d.arch},
                                 {"device", d.device},
                                 {"before", d.before},
                                 {"now", d.now},
                                 {"least", d.least},
                                 {"most", d.most},
                                 {"runs", d.runs},
                                 {"slope", d.slope}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace cupel::testbench::triage
