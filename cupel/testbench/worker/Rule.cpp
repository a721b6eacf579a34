#include "cupel/testbench/worker/Rule.h"

#include "cupel/compare/Defaults.h"
#include "cupel/compare/SmallParts.h"
#include "cupel/compare/Strict.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::ComparisonRecord;
using tensor::Tensor;

Rule Rule::of(const Request &request, const workload::Workload &workload, size_t result) {
  const config::Expectation &expectation = request.item.expectation;
  bool isNamed = Comparators::areNamedIn(expectation) || !workload.tolerances.empty() ||
                 !workload.isAsserted;
  if (request.strict || (!isNamed && request.comparison != "pcc"))
    return {std::nullopt, "strict"};
  // Where the workload names nothing, upstream's default holds beside what the configuration says.
  std::optional<compare::Tolerance> tolerance = workload.toleranceFor(result);
  Comparators held = tolerance ? Comparators::of(*tolerance) : Comparators();
  if (!workload.isAsserted) {
    held.assertPcc = held.assertAtol = held.assertAllclose = false;
    held.others = {};
  }
  return {Comparators::of(expectation, held), isNamed ? "configured" : "pcc"};
}

Status judgeStrictly(size_t list, size_t position, const Tensor &actual, const Tensor &expected,
                     TestNoise &noise, ComparisonRecord &record, std::string *picture) {
  compare::Options options{.threads = compare::threadsFor(expected.size())};
  record.precision = noise.precision().text();
  Result<compare::StrictVerdict> verdict =
      compare::checkStrictly(actual, expected, noise.precision(),
                             noise.asker(list, position, expected.shape()), options);
  if (!verdict)
    return verdict.error();
  record.strictPassed = verdict->passed;
  if (picture)
    *picture = verdict->picture;
  record.strictSentence = verdict->sentence;
  if (!verdict->note.empty()) {
    record.strictSentence += "; " + verdict->note;
    noise.tellIllConditioned(fmt::format("output {}: {}", record.output,
                                         verdict->note.substr(verdict->note.find(": ") + 2)));
  }
  // Only where it was the reference that was moved, and not the device itself.
  if (verdict->isExpectedOff && noise.isByReference()) {
    noise.tellExpectedOff();
    record.strictSentence += "; the reference is off as far: the expected values, or the program "
                             "made of the model";
  }
  if (verdict->passed && verdict->statistics.different > 0) {
    Result<bool> areOff =
        compare::areSmallPartsOff(actual, expected, noise.precision(), verdict->noise,
                                  noise.asker(list, position, expected.shape()), options);
    if (!areOff)
      return areOff.error();
    if (*areOff) {
      noise.tellDoubted(record.output);
      record.strictSentence += "; parts of it that are small beside the rest are off by more than "
                               "noise of their own";
    }
  }
  if (verdict->isScattered && noise.isByReference())
    noise.tellScattered(record.output);
  if (verdict->isMeasured && !noise.note().empty())
    record.strictSentence += "; " + noise.note();
  if (verdict->isMeasured) {
    record.noise = verdict->noise;
    record.worstInNoise = verdict->worst;
    record.wholeInNoise = verdict->whole;
  }
  if (!record.maxAbsolute)
    recordFigures(verdict->statistics, record);
  return {};
}

Result<ComparisonRecord> judgeOutput(uint32_t output, size_t list, size_t position,
                                     const Tensor &actual, const Tensor &expected,
                                     const Rule &rule, TestNoise &noise) {
  ComparisonRecord record;
  if (rule.comparators) {
    Result<ComparisonRecord> configured =
        compareOutput(output, actual, expected, *rule.comparators);
    if (!configured)
      return configured.error();
    record = std::move(*configured);
  }
  record.output = output;
  record.rule = rule.name;
  if (Status judged = judgeStrictly(list, position, actual, expected, noise, record); !judged)
    return judged.error();
  if (rule.comparators) {
    if (record.passesOnlyAsConfigured())
      record.sentence += "; strict: " + record.strictSentence;
    else if (*record.strictPassed)
      record.strictSentence.clear(); // Two praises say no more than one.
    return record;
  }
  record.passed = *record.strictPassed;
  record.sentence = std::move(record.strictSentence);
  record.strictSentence.clear();
  return record;
}

bool isForLackOfTime(const results::TestRecord &record, const TestNoise &noise) {
  auto couldPass = [&](const ComparisonRecord &one) {
    if (one.passed || one.rule != "strict")
      return one.passed;
    if (noise.missesDecisions())
      return true;
    if (noise.lacksTime())
      return one.pcc && *one.pcc >= compare::kDefaultPcc;
    return one.worstInNoise && one.wholeInNoise &&
           (compare::moreCouldTell(*one.worstInNoise, *one.wholeInNoise) ||
            (std::isfinite(*one.worstInNoise) && one.noise.value_or(0) >= compare::kDecided));
  };
  return record.outcome == results::Outcome::Failed && noise.isCutShort() &&
         std::ranges::all_of(record.comparisons, couldPass);
}

bool isForLackOfMemory(const results::TestRecord &record, const TestNoise &noise) {
  return record.outcome == results::Outcome::Failed && noise.lacksMemory() &&
         std::ranges::all_of(record.comparisons, [](const ComparisonRecord &one) {
           return one.passed ||
                  (one.rule == "strict" && one.pcc && *one.pcc >= compare::kDefaultPcc);
         });
}

std::string describeRules(const results::TestRecord &record, const TestNoise &noise) {
  std::string text;
  for (const ComparisonRecord &comparison : record.comparisons)
    if (text.find(comparison.rule) == std::string::npos)
      text += (text.empty() ? "" : ", ") + comparison.rule;
  return fmt::format("{} ({})", text, noise.precision().text());
}

} // namespace cupel::testbench::worker
