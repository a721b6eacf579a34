#include "cupel/testbench/triage/Explain.h"

#include "cupel/compare/Defaults.h"
#include "cupel/testbench/triage/Predicate.h"

#include <algorithm>
#include <cmath>
#include <re2/re2.h>

namespace cupel::testbench::triage {
namespace {

using config::BringupStatus;
using config::Expectation;
using config::TestStatus;
using results::ComparisonRecord;
using results::Outcome;
using results::ReasonRecord;
using results::Stage;
using results::TestRecord;

using compare::kDefaultPcc;

double requiredPcc(const ComparisonRecord &comparison, const Expectation &expectation) {
  return comparison.pccThreshold.value_or(expectation.requiredPcc.value_or(kDefaultPcc));
}

/// Whether noise decided, so that no threshold of a correlation did.
bool isStrict(const ComparisonRecord &comparison) { return comparison.rule == "strict"; }

bool pccTooLow(const ComparisonRecord &comparison, const Expectation &expectation) {
  if (isStrict(comparison) && comparison.passed)
    return false;
  return comparison.pcc && !(*comparison.pcc >= requiredPcc(comparison, expectation)); // NaN too
}

/// Which comparisons did not hold, in the words of the table.
std::vector<std::string> failedChecks(const TestRecord &record, const Expectation &expectation) {
  std::vector<std::string> found;
  auto add = [&](const char *name) {
    if (std::find(found.begin(), found.end(), name) == found.end())
      found.emplace_back(name);
  };
  for (const ComparisonRecord &c : record.comparisons) {
    bool explained = false;
    if (pccTooLow(c, expectation)) {
      if (!c.pccAsserted && !isStrict(c))
        add("pcc-not-asserted");
      else
        add(std::isnan(*c.pcc) ? "pcc-nan" : "pcc");
      explained = c.pccAsserted || isStrict(c);
    }
    if (c.passed)
      continue;
    if (c.atolAsserted && c.maxAbsolute && c.atolThreshold &&
        !(*c.maxAbsolute <= *c.atolThreshold)) {
      add("atol");
      explained = true;
    }
    if (c.allcloseAsserted && !explained)
      add("allclose");
    if (isStrict(c) && !explained)
      add("noise");
  }
  return found;
}

/// What it ended in before the configuration turned a failure into a known one.
Outcome rawOutcome(const TestRecord &record) {
  if (record.outcome == Outcome::XFailed && !record.tryOutcomes.empty())
    return record.tryOutcomes.back();
  return record.outcome;
}

Evidence evidenceOf(const TestRecord &record, const Expectation &expectation) {
  Evidence evidence;
  evidence.outcome = rawOutcome(record);
  evidence.stage = record.lastStage;
  evidence.signal = record.signal;
  evidence.errorClass = record.errorClass;
  evidence.message = record.message;
  evidence.output = record.output;
  evidence.checks = failedChecks(record, expectation);
  evidence.testStatus = config::name(expectation.status);
  return evidence;
}

/// Whose business a failure in a stage is.
std::string componentOf(Stage stage) {
  switch (stage) {
  case Stage::Load:
    return "loader";
  case Stage::Frontend:
    return "frontend";
  case Stage::Compile:
    return "compiler";
  case Stage::Execute:
    return "runtime";
  case Stage::Reference:
    return "reference";
  case Stage::Compare:
    return "compare";
  case Stage::None:
  case Stage::Done:
    return "";
  }
  return "";
}

/// The first line that says something of an error; else the message, else the last line printed.
std::string tellingLine(const TestRecord &record) {
  static const re2::RE2 kTelling(
      R"((?i)(error|exception|fatal|failed|failure|abort|assert|panic|circular buffer|allocat|cannot|not implemented|unsupported))");
  std::string output = withoutColours(record.output);
  std::string_view rest = output;
  std::string found;
  while (!rest.empty() && found.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    // Longer ones are data, not messages.
    if (line.size() < 4096 &&
        re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), kTelling))
      found = line;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (found.empty())
    found = record.message.empty() ? std::string(lastLine(output)) : record.message;
  std::replace_if(
      found.begin(), found.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  size_t begin = std::min(found.find_first_not_of(' '), found.size());
  return found.substr(begin, 300);
}

} // namespace

BringupStatus bringupStatus(const TestRecord &record, const Expectation &expectation) {
  BringupStatus configured = expectation.bringupStatus.value_or(BringupStatus::Unknown);
  if (record.outcome == Outcome::Skipped || record.outcome == Outcome::NotRun)
    return configured;
  if (configured == BringupStatus::NotStarted)
    return configured;
  // Results that are wrong are wrong whether or not anybody asked.
  for (const ComparisonRecord &comparison : record.comparisons)
    if (!comparison.passed || pccTooLow(comparison, expectation))
      return BringupStatus::IncorrectResult;
  if (record.outcome == Outcome::Passed || record.outcome == Outcome::XPassed)
    return BringupStatus::Passed;
  if (results::familyOf(record.outcome) == results::Family::Unjudged)
    return BringupStatus::Unknown;
  switch (record.lastStage) {
  case Stage::Frontend:
    return BringupStatus::FailedFrontendCompilation;
  case Stage::Compile:
    return BringupStatus::FailedDeviceCompilation;
  case Stage::Execute:
    return BringupStatus::FailedRuntime;
  case Stage::Compare:
    // Judged and found wanting, though without figures (a check inside the program).
    return rawOutcome(record) == Outcome::Failed ? BringupStatus::IncorrectResult
                                                 : BringupStatus::Unknown;
  case Stage::None:
  case Stage::Load:      // It never came to the compiler.
  case Stage::Reference: // The device did its part.
  case Stage::Done:
    return BringupStatus::Unknown;
  }
  return BringupStatus::Unknown;
}

std::vector<std::string> guidance(const TestRecord &record, const Expectation &expectation) {
  std::vector<std::string> advice;
  // A threshold holds for every output, so the worst one decides.
  const ComparisonRecord *worst = nullptr;
  for (const ComparisonRecord &comparison : record.comparisons) {
    // Advice is about thresholds; noise has none.
    if (!comparison.pcc || isStrict(comparison))
      continue;
    if (!worst || !(*comparison.pcc >= *worst->pcc))
      worst = &comparison;
    if (std::isnan(*worst->pcc))
      break;
  }
  if (worst && !std::isnan(*worst->pcc)) {
    double pcc = *worst->pcc, threshold = requiredPcc(*worst, expectation);
    if (!worst->pccAsserted && pcc > threshold + kPccMargin)
      advice.push_back(threshold >= kDefaultPcc ? "ENABLE_PCC_099" : "ENABLE_PCC");
    if (threshold < kDefaultPcc) {
      // The next hundredth above the threshold; 0.57 * 100 is 56.99... in binary.
      double next = std::min(kDefaultPcc, (std::floor(threshold * 100 + 1e-9) + 1) / 100);
      if (pcc > kDefaultPcc + kPccMargin)
        advice.push_back("RAISE_PCC_099");
      else if (pcc > next + kPccMargin)
        advice.push_back("RAISE_PCC");
    }
  }
  BringupStatus status = bringupStatus(record, expectation);
  bool gaveResults = record.outcome != Outcome::Skipped && record.outcome != Outcome::NotRun &&
                     (status == BringupStatus::Passed || status == BringupStatus::IncorrectResult);
  if (gaveResults && expectation.status == TestStatus::KnownFailureXfail)
    advice.push_back("RM_XFAIL");
  // Only tests that are configured at all: programs have no entries.
  if (gaveResults && expectation.status == TestStatus::Unspecified && !record.modelPath.empty())
    advice.push_back("ADD_CONFIG");
  return advice;
}

std::vector<ReasonRecord> reasonsOf(const TestRecord &record, const Expectation &expectation,
                                    const ReasonTable &reasons) {
  Evidence evidence = evidenceOf(record, expectation);
  std::vector<ReasonRecord> found = reasons.match(evidence);
  for (ReasonRecord &reason : found)
    if (reason.component.empty())
      reason.component = componentOf(record.lastStage);
  if (found.empty() && needsReason(record.outcome)) {
    std::string component = reasons.component(evidence);
    found.push_back({"UNCLASSIFIED", "No reason of the table fits",
                     component.empty() ? componentOf(record.lastStage) : component,
                     tellingLine(record)});
  }
  return found;
}

void explain(TestRecord &record, const Expectation &expectation, const ReasonTable &reasons) {
  if (record.testStatus.empty())
    record.testStatus = config::name(expectation.status);
  if (record.bringupStatus.empty())
    record.bringupStatus = config::name(bringupStatus(record, expectation));
  if (record.guidance.empty())
    record.guidance = guidance(record, expectation);
  if (record.reasons.empty())
    record.reasons = reasonsOf(record, expectation, reasons);
  if (record.reasons.size() > 1) {
    std::string names;
    for (const ReasonRecord &reason : record.reasons)
      names += (names.empty() ? "" : " ") + reason.name;
    record.notes["ambiguous"] = names;
  }
  if (record.reasons.size() == 1 && record.reasons.front().name == "UNCLASSIFIED")
    record.notes["unclassified"] = record.reasons.front().summary;
}

} // namespace cupel::testbench::triage
