#include "cupel/testbench/worker/Trials.h"

#include "cupel/compare/Repeat.h"
#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/Looks.h"
#include "cupel/testbench/worker/NearbyInputs.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/testbench/worker/Spread.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

using Clock = std::chrono::steady_clock;

void failLook(TestRecord &record, std::string_view errorClass, const std::string &message) {
  fail(record, errorClass, message);
  results::ComparisonRecord comparison;
  comparison.output = uint32_t(record.comparisons.size());
  comparison.sentence = message;
  record.comparisons.push_back(std::move(comparison));
}

void Trials::tellNowAndThen(const Request &request, Progress &progress, Device &device,
                            Prepared &prepared, const RunWorkload &run, const TensorLists &first,
                            TestRecord &record) {
  progress.enter(Stage::Execute);
  Result<TensorLists> second = run(prepared.workload.inputs, prepared.budget);
  progress.enter(Stage::Compare);
  if (!second || areSame(*second, first))
    return;
  TestRecord found;
  judge(request, progress, device, prepared, *second, found);
  if (found.outcome != Outcome::Passed)
    return;
  fail(record, std::string(kNotDeterministic),
       fmt::format("the same inputs gave another result in execution 2, which is right, than in "
                   "execution 1: {} differ ({})",
                   describeDifference(*second, first), record.message));
}

void Trials::tryTelling(const Request &request, Progress &progress, Device &device,
                        Prepared &prepared, const RunWorkload &run, TensorLists &outputs,
                        TestRecord &record) {
  constexpr uint32_t kAttempts[] = {ChosenInputs::kPositive, 1, ChosenInputs::kPositive + 1};
  std::string vacuous = describeVacuous(prepared.workload.expected);
  for (uint32_t look : kAttempts) {
    if (vacuous.empty() || record.outcome != Outcome::Passed)
      return;
    Result<TensorLists> others = prepared.otherInputs(look);
    if (!others)
      break;
    prepared.workload.inputs = std::move(*others);
    prepared.workload.expected.clear();
    prepared.workload.noise.clear();
    prepared.workload.noiseCenter.clear();
    progress.enter(Stage::Execute);
    Result<TensorLists> given = run(prepared.workload.inputs, prepared.budget);
    if (!given)
      return fail(record, given.error());
    outputs = std::move(*given);
    record.comparisons.clear();
    judge(request, progress, device, prepared, outputs, record);
    vacuous = describeVacuous(prepared.workload.expected);
    record.notes["inputs"] = "others than the first, which gave nothing to judge by";
  }
  if (!vacuous.empty() && record.outcome == Outcome::Passed)
    leaveUnjudged(record, vacuous + ", whatever the inputs: that could hide anything");
}

std::optional<TestRecord> Trials::judgeOther(const Request &request, Progress &progress,
                                             Device &device, Prepared &prepared,
                                             TensorLists inputs, const TensorLists &outputs,
                                             TensorLists &expected) {
  const workload::Workload kept = prepared.workload;
  const Budget budget = prepared.budget;
  const auto deviceDeadline = prepared.deviceDeadline;
  Prepared::Hashed hashed = prepared.hashed; // It holds what it is of.
  prepared.workload.inputs = std::move(inputs);
  prepared.workload.expected.clear();
  prepared.workload.noise.clear();
  prepared.workload.noiseCenter.clear();
  prepared.deviceDeadline = deviceDeadline.value_or(budget.deadline);
  prepared.budget.deadline =
      std::min(budget.deadline, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(kCheapSeconds)));
  TestRecord found;
  bool lackedTime = false;
  judge(request, progress, device, prepared, outputs, found, &lackedTime);
  // Gradients whose noise is several times their size pass for the first inputs, which got the time
  // to measure it. By declared precision alone these would fail on every device that is right.
  if (found.outcome == Outcome::Failed && lackedTime)
    fail(found, Error{ErrorCode::TimedOut, "no time was left to measure noise for other inputs"});
  bool isJudged = progress.stage() == Stage::Compare;
  expected = std::move(prepared.workload.expected);
  prepared.workload = kept;
  prepared.budget = budget;
  prepared.deviceDeadline = deviceDeadline;
  prepared.hashed = std::move(hashed);
  if (!isJudged)
    return std::nullopt;
  return found;
}

/// Whether executions with the same inputs may differ so; comparators that somebody named know
/// nothing of that, and decide alone: what the strict rule says stands beside it.
static LookVerdict judgeApart(const Request &request, const workload::Workload &workload,
                              const TensorLists &now, const TensorLists &before,
                              TestNoise &noise) {
  LookVerdict found;
  for (size_t d = 0, number = 0; d < std::min(now.size(), before.size()); ++d)
    for (size_t i = 0; i < std::min(now[d].size(), before[d].size()); ++i, ++number) {
      const Tensor &a = now[d][i], &b = before[d][i];
      Result<compare::RepeatVerdict> verdict = compare::checkRepeatedStrictly(
          a, b, noise.precision(), noise.asker(d, i, b.shape()),
          {.threads = compare::threadsFor(b.size())});
      if (!verdict || verdict->passed)
        continue;
      if (!Rule::of(request, workload, i).comparators)
        return {false, std::string(kNotDeterministic),
                fmt::format("output {}: {}", number, verdict->sentence)};
      if (found.strictly.empty()) {
        found.strictly = verdict->sentence;
        found.output = uint32_t(number);
      }
    }
  return found;
}

/// What the strict rule says of an execution after the first, where the first was right by it.
static void tellStrictly(results::ComparisonRecord &comparison, const std::string &strictly) {
  if (!comparison.passed || !comparison.strictPassed.value_or(true))
    return;
  comparison.strictPassed = false;
  comparison.strictSentence = strictly;
  comparison.sentence += "; strict: " + strictly;
}

/// Whether other inputs, which get kCheapSeconds, would be evaluated and then not judged: the first
/// could only be judged by their noise, and to measure it took too long, with the reference as with
/// the device, which would run plainly and with moved inputs (TestNoise).
static bool isTooLongToJudge(const Prepared &prepared, const TestRecord &record) {
  const bool isByNoise = prepared.movedSeconds > 0 && std::ranges::all_of(record.comparisons, [](const auto &one) {
    return one.rule == "strict"; // Comparators that somebody named ask for no noise.
  });
  const Hurry hurry{kCheapSeconds, prepared.plainSeconds, prepared.movedSeconds, prepared.executeSeconds,
                    kShareOfTime};
  return isByNoise && hurry.isInVain();
}

void Trials::lookAgain(const Request &request, Progress &progress, Device &device,
                       Prepared &prepared, const RunWorkload &run, const TensorLists &first,
                       double seconds, TestRecord &record) {
  // Where pieces alone tell, they have told it.
  const bool isToldByPieces = !scattered.empty();
  auto verdictOf = [&](const TestRecord &found) {
    bool isRight = found.outcome == Outcome::Passed || found.outcome == Outcome::Unjudged ||
                   (isToldByPieces && isWrongByScattered(found));
    LookVerdict verdict{isRight, found.errorClass, found.message};
    if (const results::ComparisonRecord *lax = found.passesOnlyAsConfigured(); isRight && lax) {
      verdict.strictly = lax->strictSentence;
      verdict.output = lax->output;
    }
    return verdict;
  };
  LookSeams seams;
  seams.execute = [&](TensorLists inputs) {
    progress.enter(Stage::Execute);
    Result<TensorLists> outputs = run(std::move(inputs), prepared.budget);
    progress.enter(Stage::Compare);
    return outputs;
  };
  seams.judge = [&](const TensorLists &outputs) {
    TestRecord found;
    judge(request, progress, device, prepared, outputs, found);
    return verdictOf(found);
  };
  seams.judgeOther = [&](TensorLists inputs,
                         const TensorLists &outputs) -> std::optional<LookVerdict> {
    // Checks have judged them already, within the program or beside it.
    if (prepared.program().selfChecking || !prepared.workload.checks.empty())
      return LookVerdict{};
    TensorLists expected;
    auto found = judgeOther(request, progress, device, prepared, std::move(inputs), outputs, expected);
    if (!found)
      return std::nullopt;
    LookVerdict verdict = verdictOf(*found);
    verdict.expected = std::move(expected);
    return verdict;
  };
  seams.isOtherTooLong = isTooLongToJudge(prepared, record);
  Result<TestNoise> noise = noiseOf(request, prepared, &device);
  if (noise) {
    seams.expected = &prepared.workload.expected;
    seams.step = noise->precision().coarsest().step;
    seams.noiseOf = [&](size_t device, size_t output) {
      const TensorLists &all = prepared.workload.expected;
      const std::vector<Tensor> &own = all[std::min(device, all.size() - 1)];
      if (output >= own.size())
        return 0.0;
      const Tensor &expected = own[output];
      return compare::noiseSize(expected,
                                noise->asker(device, output, expected.shape())(compare::NoiseLook::Few));
    };
    seams.judgeRepeat = [&](const TensorLists &now, const TensorLists &before) {
      return judgeApart(request, prepared.workload, now, before, *noise);
    };
  }
  seams.otherInputs = [&](uint32_t look) -> std::optional<TensorLists> {
    // A program that judges itself does so for the inputs that it was written for.
    if (prepared.program().selfChecking || !prepared.workload.checks.empty())
      return std::nullopt;
    if (!prepared.otherInputs)
      return isSpread(prepared) ? nearbyPieces(prepared, look)
                                : nearbyInputs(prepared.workload.inputs, prepared.ownInputs, look);
    Result<TensorLists> others = prepared.otherInputs(look);
    return others ? std::optional(std::move(*others)) : std::nullopt;
  };
  Looks looks = worker::lookAgain(seams, prepared.workload.inputs, first, seconds,
                                  {.executions = request.repeat, .cheapSeconds = kCheapSeconds});
  record.notes["executions"] = std::to_string(looks.executions);
  if (!looks.note.empty())
    record.notes["looks"] = looks.note;
  if (!looks.verdict.passed)
    failLook(record, looks.verdict.errorClass, looks.verdict.message);
  else if (looks.strictOutput < record.comparisons.size() && !looks.strictly.empty())
    tellStrictly(record.comparisons[looks.strictOutput], looks.strictly);
}

} // namespace cupel::testbench::worker
