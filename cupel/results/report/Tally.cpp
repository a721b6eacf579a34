#include "cupel/results/report/Tally.h"

#include "cupel/support/CommandWords.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <sstream>

namespace cupel::results {
namespace {

/// Lists are for people; whoever has more of them asks the store.
constexpr size_t kMostLines = 1000;
constexpr size_t kMostMessage = 500;

Tally::Line lineOf(const TestRecord &record) {
  return {record.fullName(),
          record.outcome,
          record.lastStage,
          record.seconds,
          record.reasons.empty() ? "" : record.reasons.front().name,
          record.message.substr(0, kMostMessage),
          triesText(record),
          commandsAgain(record).empty() ? "" : commandsAgain(record).front(),
          explanationOf(record).substr(0, kMostMessage)};
}

bool slowerThan(const Tally::Line &a, const Tally::Line &b) {
  return a.seconds != b.seconds ? a.seconds > b.seconds : a.name < b.name;
}

} // namespace

std::string triesText(const TestRecord &record) {
  if (record.attempts <= 1)
    return "";
  auto allowed = record.notes.find("tries_allowed");
  return fmt::format("{} on try {}{}", name(record.outcome), record.attempts,
                     allowed == record.notes.end() ? "" : " of " + allowed->second);
}

std::string explanationOf(const TestRecord &record) {
  for (const char *key : {"explained", "not explained"})
    if (auto note = record.notes.find(key); note != record.notes.end())
      return std::string(key) + ": " + note->second;
  return "";
}

std::vector<std::string> commandsAgain(const TestRecord &record) {
  if (record.reproduction.empty())
    return {};
  std::string folder = quotedForShell(record.reproduction);
  std::string run = "cupel run " + folder;
  if (!record.device.empty() && record.device != "reference")
    run += " --device " + quotedForShell(record.device);
  std::vector<std::string> commands = {run};
  // A plugin that is a file here can be driven without the rest of Cupel.
  size_t end = record.device.find(".so");
  if (end == std::string::npos || record.device.find('@') != std::string::npos)
    return commands;
  std::string device =
      fmt::format("cupel-device run {} --plugin {}", folder,
                  quotedForShell(std::string_view(record.device).substr(0, end + 3)));
  if (size_t at = record.device.find('?'); at != std::string::npos) {
    std::istringstream options(record.device.substr(at + 1));
    for (std::string option; std::getline(options, option, '&');)
      device += " --option " + quotedForShell(option);
  }
  commands.push_back(std::move(device));
  return commands;
}

void Tally::add(const TestRecord &record) {
  operatorCases.add(record);
  ++counts[size_t(record.outcome)];
  totalSeconds += record.seconds;
  if (isBad(record.outcome) || familyOf(record.outcome) == Family::KnownFailure)
    if (!record.reasons.empty())
      ++reasonCounts[record.reasons.front().name];
  for (const std::string &advice : record.guidance)
    ++guidanceCounts[advice];
  if (!record.bringupStatus.empty())
    ++bringupCounts[record.bringupStatus];
  if (record.notes.contains("ambiguous"))
    ++ambiguousCount;
  if (auto note = record.notes.find("by pieces"); note != record.notes.end())
    if (constexpr std::string_view kNot = "not judged by pieces: "; note->second.starts_with(kNot))
      ++wholeCounts[note->second.substr(kNot.size(), kMostMessage)];

  if (record.seconds > 0 && (slow.size() < kSlowest || record.seconds > slow.back().seconds)) {
    slow.push_back(lineOf(record));
    std::sort(slow.begin(), slow.end(), slowerThan);
    if (slow.size() > kSlowest)
      slow.pop_back();
  }
  auto keep = [&](std::vector<Line> &lines) {
    if (lines.size() < kMostLines)
      lines.push_back(lineOf(record));
  };
  if (const ComparisonRecord *lax = record.passesOnlyAsConfigured()) {
    ++laxCount;
    keep(laxLines);
    if (laxLines.size() == laxCount)
      laxLines.back().message = lax->sentence.substr(0, kMostMessage);
  }
  if (auto note = record.notes.find("ill-conditioned"); note != record.notes.end()) {
    ++unsteadyCount;
    keep(unsteadyLines);
    if (unsteadyLines.size() == unsteadyCount)
      unsteadyLines.back().message = note->second.substr(0, kMostMessage);
  }
  if (record.flaky)
    keep(flakyLines);
  if (familyOf(record.outcome) == Family::UnexpectedPass)
    keep(xpassedLines);
  if (familyOf(record.outcome) == Family::Unjudged)
    keep(unjudgedLines);
  if (isFailure(record.outcome))
    keep(failureLines);
}

uint64_t Tally::total() const { return std::accumulate(counts.begin(), counts.end(), uint64_t(0)); }

uint64_t Tally::countOf(bool (*wanted)(Outcome)) const {
  uint64_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    if (wanted(Outcome(i)))
      sum += counts[i];
  return sum;
}

std::vector<std::pair<std::string, uint64_t>> Tally::reasons() const {
  std::vector<std::pair<std::string, uint64_t>> sorted(reasonCounts.begin(), reasonCounts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return sorted;
}

std::vector<Tally::Line> Tally::slowest() const { return slow; }

} // namespace cupel::results
