#include "cupel/testbench/runner/Outcomes.h"

#include <algorithm>
#include <cstdio>

namespace cupel::testbench::runner {

namespace {

using config::TestStatus;
using results::Outcome;
using results::TestRecord;

bool isKnownFailure(const TestItem &item, const RunnerOptions &options) {
  return item.expectation.status == TestStatus::KnownFailureXfail && !options.runXfail;
}

} // namespace

TestRecord recordFor(const TestItem &item, const RunnerOptions &options) {
  TestRecord record;
  record.suite = item.suite;
  record.id = item.id;
  record.file = item.file;
  record.part = item.part;
  record.framework = item.framework;
  record.modelPath = item.modelPath;
  record.variant = item.variant;
  record.parallelism = item.parallelism;
  record.runMode = item.runMode;
  record.modelName = item.modelName;
  record.group = item.group;
  record.task = item.task;
  record.source = item.source;
  record.phase = item.phase;
  record.arch = options.arch;
  record.sequenceLength = item.sequenceLength;
  record.batchSize =
      item.batchSize ? item.batchSize : uint32_t(item.expectation.batchSize.value_or(0));
  record.markers = item.markers;
  record.testStatus = config::name(item.expectation.status);
  if (item.expectation.executionPass)
    record.notes["execution_pass"] = *item.expectation.executionPass;
  if (!item.op.empty()) {
    record.notes["op"] = item.op;
    record.notes["inputs"] = item.signature;
    if (!item.duplicateOf.empty())
      record.notes["duplicate_of"] = item.duplicateOf;
  }
  return record;
}

std::optional<Unstarted> withoutRunning(const TestItem &item, const RunnerOptions &options) {
  const config::Expectation &expectation = item.expectation;
  if (item.suite == "placeholder") {
    std::string reason = "needs a model loader; this is a placeholder";
    if (!expectation.reason.empty())
      reason += ": " + expectation.reason;
    return Unstarted{Outcome::NotRun, reason};
  }
  if (expectation.status == TestStatus::NotSupportedSkip && !options.forceRun)
    return Unstarted{Outcome::Skipped, expectation.reason.empty()
                                           ? "the configuration says NOT_SUPPORTED_SKIP"
                                           : expectation.reason};
  if (!item.duplicateOf.empty())
    return Unstarted{Outcome::Skipped, "duplicate of " + item.duplicateOf +
                                           ": the same operator on the same inputs (--no-dedupe "
                                           "runs both)"};
  if (std::string_view what = kindOf(item).missing; !what.empty())
    return Unstarted{Outcome::NotRun, "needs " + std::string(what)};
  return std::nullopt;
}

uint32_t declaredChips(const TestItem &item) {
  unsigned rows = 0, columns = 0;
  if (std::sscanf(item.mesh.c_str(), "mesh_%ux%u", &rows, &columns) != 2 || rows > 1024 ||
      columns > 1024)
    return 1;
  return std::max(1u, rows * columns);
}

bool isWorthRetry(Outcome outcome, const TestItem &item, const RunnerOptions &options) {
  return results::isFailure(outcome) && !isKnownFailure(item, options);
}

void conclude(TestRecord &record, const std::vector<Outcome> &tries, const TestItem &item,
              const RunnerOptions &options) {
  record.attempts = uint32_t(tries.size());
  record.tryOutcomes = tries;
  record.flaky = std::ranges::adjacent_find(tries, std::not_equal_to<>()) != tries.end();
  if (tries.size() > 1)
    record.notes["tries_allowed"] = std::to_string(options.retries + 1);
  if (record.flaky && record.outcome == Outcome::Passed) {
    std::string text = "flaky: passed on try " + std::to_string(tries.size()) + " of " +
                       std::to_string(options.retries + 1);
    record.message = record.message.empty() ? text : text + "; " + record.message;
  } else if (record.flaky) {
    record.notes["flaky"] =
        "no try of " + std::to_string(tries.size()) + " passed, but they did not fail alike";
  }
  if (!isKnownFailure(item, options))
    return;
  const std::string &reason = item.expectation.reason;
  if (!reason.empty())
    record.notes["known_failure"] = reason;
  if (results::isFailure(record.outcome)) {
    record.outcome = Outcome::XFailed;
  } else if (record.outcome == Outcome::Passed) {
    record.outcome = Outcome::XPassed;
    record.message = "XPASS: passed although the configuration says KNOWN_FAILURE_XFAIL" +
                     (reason.empty() ? std::string() : " (" + reason + ")");
  }
}

} // namespace cupel::testbench::runner
