#include "cupel/results/report/Reports.h"

#include "cupel/results/RecordJson.h"
#include "cupel/results/report/Text.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cupel::results {
namespace {

constexpr size_t kMostRows = 50;

Result<Tally> tallyOf(const RecordSource &records) {
  Tally tally;
  if (Status status = records([&](const TestRecord &record) { tally.add(record); }); !status)
    return status.error();
  return tally;
}

std::string headline(const Tally &tally) {
  std::string text;
  for (size_t i = 0; i < kOutcomeCount; ++i)
    if (uint64_t count = tally.count(Outcome(i)))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(Outcome(i)));
  return text.empty() ? "nothing ran" : text;
}

/// What `--explain` found out about failures, one by one.
void writeExplanations(std::ostream &out, const Tally &tally) {
  bool isFirst = true;
  for (const Tally::Line &line : tally.failures()) {
    if (line.explanation.empty())
      continue;
    out << (isFirst ? "\n### Explained\n\n" : "")
        << fmt::format("- {}: {}\n", markdownSafe(line.name),
                       markdownSafe(cutTo(line.explanation, 600)));
    isFirst = false;
  }
}

void writeChanges(std::ostream &out, const RunChanges &changes) {
  out << "\n### What changed\n\n";
  if (changes.empty()) {
    out << "Nothing.\n";
    return;
  }
  struct Part {
    const char *title;
    const std::vector<Change> &list;
  };
  for (const Part &part :
       {Part{"New failures", changes.newFailures}, Part{"Fixed", changes.fixed},
        Part{"Otherwise different", changes.otherwise}, Part{"Slower", changes.slower},
        Part{"Faster", changes.faster}, Part{"Other figures", changes.figures},
        Part{"Added", changes.added}, Part{"Removed", changes.removed}}) {
    if (part.list.empty())
      continue;
    bool times = &part.list == &changes.slower || &part.list == &changes.faster;
    bool figures = &part.list == &changes.figures;
    out << fmt::format("**{}: {}**\n", part.title, part.list.size());
    // Names of added and removed tests say little; those of the others, what to look at.
    size_t most = &part.list == &changes.added || &part.list == &changes.removed ? 5 : 20;
    for (size_t i = 0; i < part.list.size() && i < most; ++i) {
      const Change &change = part.list[i];
      std::string before =
          change.before.id.empty() ? "not there" : std::string(name(change.before.outcome));
      std::string after =
          change.after.id.empty() ? "not there" : std::string(name(change.after.outcome));
      if (times) {
        before = durationText(change.before.seconds);
        after = durationText(change.after.seconds);
      } else if (figures) {
        auto show = [](const OutcomeRow &row) {
          return fmt::format("pcc {}, max abs {}", row.pcc ? figure(*row.pcc) : "-",
                             row.maxAbsolute ? figure(*row.maxAbsolute) : "-");
        };
        before = show(change.before);
        after = show(change.after);
      }
      out << fmt::format("- {}: {} → {}{}\n", markdownSafe(change.name()), before, after,
                         change.after.reason.empty() || times || figures
                             ? ""
                             : " (" + markdownSafe(change.after.reason) + ")");
    }
    if (part.list.size() > most)
      out << fmt::format("- ... and {} more\n", part.list.size() - most);
    out << "\n";
  }
}

} // namespace

RecordSource recordsIn(std::span<const TestRecord> records) {
  return [records](const std::function<void(const TestRecord &)> &visit) -> Status {
    for (const TestRecord &record : records)
      visit(record);
    return {};
  };
}

Status writeJson(std::ostream &out, const RunInfo &run, const RecordSource &records) {
  Result<Tally> tally = tallyOf(records);
  if (!tally)
    return tally.error();
  nlohmann::ordered_json summary;
  summary["selected"] = run.selected;
  summary["total"] = tally->total();
  summary["bad"] = tally->bad();
  summary["judged"] = tally->judged();
  summary["seconds"] = tally->seconds();
  summary["outcomes"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < kOutcomeCount; ++i)
    summary["outcomes"][std::string(name(Outcome(i)))] = tally->count(Outcome(i));
  summary["reasons"] = nlohmann::ordered_json::array();
  for (const auto &[reason, count] : tally->reasons())
    summary["reasons"].push_back({{"name", reason}, {"count", count}});
  summary["bringup_statuses"] = tally->bringup();
  summary["guidance"] = tally->guidance();
  if (auto rule = run.environment.find("comparison"); rule != run.environment.end())
    summary["comparison"] = rule->second;
  if (tally->onlyAsConfiguredCount())
    summary["passed_only_as_configured"] = tally->onlyAsConfiguredCount();
  if (tally->illConditionedCount())
    summary["ill_conditioned"] = tally->illConditionedCount();
  if (!tally->notByPieces().empty())
    summary["not_judged_by_pieces"] = tally->notByPieces();
  if (!tally->opCases().empty())
    summary["opcases"] = tally->opCases().json();
  out << "{\"schema\":\"cupel-results-1\",\n\"run\":" << toJson(run)
      << ",\n\"summary\":" << summary.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
      << ",\n\"tests\":[";
  bool first = true;
  Status status = records([&](const TestRecord &record) {
    out << (first ? "\n" : ",\n") << toJson(record);
    first = false;
  });
  if (!status)
    return status;
  out << "\n]}\n";
  return {};
}

Status writeMarkdown(std::ostream &out, const RunInfo &run, const RecordSource &records,
                     const RunChanges *changes) {
  Result<Tally> tally = tallyOf(records);
  if (!tally)
    return tally.error();
  out << fmt::format("## Cupel: {}\n\n", headline(*tally));
  out << fmt::format("{} selected", counted(run.selected, "test"));
  if (!run.device.empty())
    out << " on " << markdownSafe(run.device);
  if (!run.arch.empty())
    out << " as " << markdownSafe(run.arch);
  if (run.endedAt > run.startedAt)
    out << " in " << durationText(run.endedAt - run.startedAt);
  out << fmt::format(" (run {})", markdownSafe(run.id));
  if (auto git = run.environment.find("git"); git != run.environment.end())
    out << " at " << markdownSafe(git->second);
  out << ".\n";
  if (auto rule = run.environment.find("comparison"); rule != run.environment.end())
    out << "Judged by: " << markdownSafe(rule->second) << ".\n";
  if (tally->total() != run.selected)
    out << fmt::format("\n**{} outcomes for {} selected tests.**\n", tally->total(), run.selected);
  if (changes)
    writeChanges(out, *changes);

  if (!tally->unjudged().empty()) {
    out << "\n### Unjudged\n\nThey ran, and nothing says whether they are right.\n\n";
    for (size_t i = 0; i < tally->unjudged().size() && i < kMostRows; ++i) {
      const Tally::Line &line = tally->unjudged()[i];
      out << fmt::format("- {}: {}\n", markdownSafe(line.name),
                         markdownSafe(cutTo(line.message, 160)));
    }
    if (size_t all = tally->unjudged().size(); all > kMostRows)
      out << fmt::format("- ... and {} more\n", all - kMostRows);
  }
  if (uint64_t lax = tally->onlyAsConfiguredCount()) {
    out << fmt::format("\n### Passed by their own comparators alone: {}\n\n", lax);
    for (size_t i = 0; i < tally->onlyAsConfigured().size() && i < 20; ++i) {
      const Tally::Line &line = tally->onlyAsConfigured()[i];
      out << fmt::format("- {}: {}\n", markdownSafe(line.name), markdownSafe(line.message));
    }
    if (lax > 20)
      out << fmt::format("- ... and {} more\n", lax - 20);
  }
  if (uint64_t unsteady = tally->illConditionedCount())
    out << fmt::format("\nIll-conditioned, with wide limits because rounding decides them: {}\n",
                       counted(unsteady, "test"));
  if (!tally->unexpectedPasses().empty()) {
    out << "\n### Unexpected passes\n\n";
    for (size_t i = 0; i < tally->unexpectedPasses().size() && i < kMostRows; ++i)
      out << "- " << markdownSafe(tally->unexpectedPasses()[i].name) << "\n";
  }
  if (!tally->failures().empty()) {
    out << "\n### Failures\n\n| test | outcome | stage | reason | message "
           "|\n|---|---|---|---|---|\n";
    for (size_t i = 0; i < tally->failures().size() && i < kMostRows; ++i) {
      const Tally::Line &line = tally->failures()[i];
      out << fmt::format("| {} | {} | {} | {} | {} |\n", markdownSafe(line.name),
                         name(line.outcome), name(line.lastStage), markdownSafe(line.reason),
                         markdownSafe(cutTo(line.message, 160)));
    }
    if (uint64_t all = tally->failed(); all > kMostRows)
      out << fmt::format("\n... and {} more.\n", all - kMostRows);
    writeExplanations(out, *tally);
  }
  if (auto reasons = tally->reasons(); !reasons.empty()) {
    out << "\n### Reasons\n\n| tests | reason |\n|---:|---|\n";
    for (const auto &[reason, count] : reasons)
      out << fmt::format("| {} | {} |\n", count, markdownSafe(reason));
  }
  if (!tally->opCases().empty())
    tally->opCases().writeMarkdown(out);
  if (!tally->flaky().empty()) {
    out << "\n### Flaky\n\n";
    for (size_t i = 0; i < tally->flaky().size() && i < kMostRows; ++i)
      out << fmt::format("- {}: {}\n", markdownSafe(tally->flaky()[i].name),
                         markdownSafe(tally->flaky()[i].tries));
  }
  return {};
}

Status writeReportFile(const std::string &path,
                       const std::function<Status(std::ostream &)> &write) {
  namespace fs = std::filesystem;
  if (path == "-") {
    Status status = write(std::cout);
    std::cout.flush();
    return status ? (std::cout ? Status() : Status(Error{"<stdout>: cannot write"})) : status;
  }
  std::error_code error;
  if (fs::is_directory(path, error))
    return Error{path + ": is a directory, not a file"};
  // What is not a regular file (a pipe, /dev/null) is written in place, others through a rename.
  bool inPlace = fs::exists(path, error) && !fs::is_regular_file(path, error);
  std::string temporary = inPlace ? path : path + ".tmp" + std::to_string(::getpid());
  std::ofstream out(temporary, std::ios::binary);
  if (!out)
    return Error{path + ": cannot write: " + std::strerror(errno)};
  Status status = write(out);
  errno = 0;
  out.close();
  if (status && !out)
    status = Error{path + ": cannot write: " + (errno ? std::strerror(errno) : "no room left?")};
  if (inPlace)
    return status;
  if (status) {
    fs::rename(temporary, path, error);
    if (!error)
      return {};
    status = Error{path + ": cannot write: " + error.message()};
  }
  fs::remove(temporary, error);
  return status;
}

} // namespace cupel::results
