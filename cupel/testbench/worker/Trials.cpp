#include "cupel/testbench/worker/Trials.h"

#include "cupel/compare/Repeat.h"
#include "cupel/compare/Strict.h"
#include "cupel/pjrt/host/CompileOptions.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/tensor/KeptBlocks.h"
#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/GoldenCache.h"
#include "cupel/testbench/worker/Looks.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/workload/Folder.h"
#include "cupel/workload/Judge.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

using Clock = std::chrono::steady_clock;

/// What takes less than this is done more than once without asking.
constexpr double kCheapSeconds = 2;

void fail(TestRecord &record, std::string_view errorClass, const std::string &message) {
  record.outcome = Outcome::Failed;
  record.errorClass = errorClass;
  record.message = message;
}

void fail(TestRecord &record, const Error &error) {
  fail(record, name(error.code), error.message);
  if (error.code == ErrorCode::TimedOut)
    record.outcome = Outcome::TimedOut;
  else if (error.code == ErrorCode::OutOfMemory)
    record.outcome = Outcome::OutOfMemory;
}

void leaveUnjudged(TestRecord &record, const std::string &why) {
  record.outcome = Outcome::Unjudged;
  record.message = why;
}

Result<Device *> Trials::device(const std::string &name) {
  std::unique_ptr<Device> &open = devices[name];
  if (!open) {
    Result<std::unique_ptr<Device>> opened = openDevice(name);
    if (!opened)
      return opened.error();
    open = std::move(*opened);
  }
  return open.get();
}

void Trials::serve(const Request &request, Progress &progress, Prepared prepared,
                   TestRecord &record) {
  if (std::string overruled = overrule(prepared, request.device); !overruled.empty())
    record.notes["overruled"] = overruled + ", which the run itself sets";
  std::string asked; // Of the device's compiler, by the test itself.
  for (const auto &[name, value] : prepared.workload.options.flags)
    std::visit([&, &flag = name](const auto &v) { asked += fmt::format("{}{}={}", asked.empty() ? "" : ", ", flag, v); },
               value);
  if (!asked.empty())
    record.notes["compile options"] = asked;
  const uint64_t before = GoldenCache::evaluations();
  serveAsAsked(request, progress, prepared, record);
  if (uint64_t evaluations = GoldenCache::evaluations() - before)
    record.notes["reference evaluations"] = std::to_string(evaluations);
  // Whatever became of this test, the next one would fail by it.
  for (const auto &[name, device] : devices)
    if (device && device->isGivenUp())
      record.notes[kGivenUpNote] = name + " did not answer in time";
}

void Trials::serveAsAsked(const Request &request, Progress &progress, Prepared &prepared,
                          TestRecord &record) {
  if (request.search.what == "explain")
    return explain(request, progress, prepared, record);
  if (request.search.what == "reduce")
    return reduce(request, progress, prepared, record);
  if (request.kind != Request::Kind::Keep && !request.depth.empty())
    return runToDepth(request, progress, prepared, record);
  if (request.kind != Request::Kind::Keep)
    return run(request, progress, prepared, record);
  if (request.keep.save)
    save(request, progress, prepared, record);
  if (request.keep.explain)
    explain(request, progress, prepared, record);
}

//===----------------------------------------------------------------------===//
// Running and judging
//===----------------------------------------------------------------------===//

/// Compiles; what comes out heeds the checks of the workload, and may run often.
Result<RunWorkload> makeReady(Device &device, const Prepared &prepared) {
  if (!prepared.isComplete) {
    auto compiled = device.compile(prepared.program(), prepared.budget);
    if (!compiled)
      return compiled.error();
    std::shared_ptr<Executable> executable = std::move(*compiled);
    return RunWorkload([executable](const TensorLists &inputs, const Budget &budget) {
      Result<std::vector<Tensor>> outputs = executable->run(inputs, budget);
      return outputs ? Result<TensorLists>(TensorLists{std::move(*outputs)})
                     : Result<TensorLists>(outputs.error());
    });
  }
  Result<RunWorkload> loaded =
      device.load(prepared.workload, prepared.program(), prepared.budget);
  if (!loaded)
    return loaded.error();
  return RunWorkload([run = std::move(*loaded), checks = prepared.workload.checks,
                      constants = prepared.workload.constants](
                         const TensorLists &inputs, const Budget &budget) -> Result<TensorLists> {
    Result<TensorLists> outputs = run(inputs, budget);
    for (size_t d = 0; outputs && d < outputs->size(); ++d)
      for (const workload::Judgement &judgement :
           workload::judgeChecks((*outputs)[d], d, checks, constants))
        if (!judgement.passed)
          return Error{ErrorCode::CheckFailed, judgement.what + ": " + judgement.sentence};
    return outputs;
  });
}

/// Compiles and runs. The stages are told to `progress`, where they are those of the device under
/// test.
Result<TensorLists> Trials::runOn(Device &device, const Prepared &prepared, Progress *progress) {
  Result<RunWorkload> run = makeReady(device, prepared);
  if (!run)
    return run.error();
  if (progress)
    progress->enter(Stage::Execute);
  return (*run)(prepared.workload.inputs, prepared.budget);
}

/// What the reference gives for a test: remembered, where it was computed before, on whatever device
/// that was.
static Result<TensorLists> rememberedGolden(const Prepared &prepared, TestRecord &record,
                                            const std::function<Result<TensorLists>()> &evaluate) {
  static GoldenCache cache;
  std::string key = cache.keyOf(prepared, "golden");
  if (std::optional<TensorLists> found = cache.find(key)) {
    record.notes["golden remembered"] = "yes";
    return std::move(*found);
  }
  GoldenCache::countEvaluations(1);
  Result<TensorLists> results = evaluate();
  if (results)
    cache.keep(key, *results);
  return results;
}

/// Records what an execution after the first showed.
static void failLook(TestRecord &record, std::string_view errorClass, const std::string &message) {
  fail(record, errorClass, message);
  results::ComparisonRecord comparison;
  comparison.output = uint32_t(record.comparisons.size());
  comparison.sentence = message;
  record.comparisons.push_back(std::move(comparison));
}

void Trials::run(const Request &request, Progress &progress, Prepared &prepared,
                 TestRecord &record) {
  progress.enter(Stage::Compile);
  Result<Device *> device = this->device(request.device);
  if (!device)
    return fail(record, name(ErrorCode::DeviceLost), device.message());
  Result<RunWorkload> run = makeReady(**device, prepared);
  if (!run)
    return fail(record, run.error());
  progress.enter(Stage::Execute);
  std::string overwritten;
  if (!(*device)->isReference())
    prepared.budget.tellOverwritten = [&](const std::string &what) { overwritten = what; };
  Clock::time_point started = Clock::now();
  Result<TensorLists> outputs = (*run)(prepared.workload.inputs, prepared.budget);
  double seconds = std::chrono::duration<double>(Clock::now() - started).count();
  if (!outputs && outputs.error().code == ErrorCode::CheckFailed) {
    // It ran to where it judges itself: what is wrong is the result.
    progress.enter(Stage::Compare);
    fail(record, outputs.error());
    results::ComparisonRecord comparison;
    comparison.sentence = outputs.message();
    record.comparisons.push_back(std::move(comparison));
    return;
  }
  if (!outputs)
    return fail(record, outputs.error());
  prepared.executeSeconds = seconds;
  judge(request, progress, **device, prepared, *outputs, record);
  if (record.outcome == Outcome::Failed && record.errorClass == "wrong_result" &&
      !(*device)->isReference() && request.repeat.value_or(2) > 1 && seconds < kCheapSeconds)
    tellNowAndThen(request, progress, **device, prepared, *run, *outputs, record);
  if (record.outcome == Outcome::Passed && prepared.otherInputs)
    tryTelling(request, progress, **device, prepared, *run, *outputs, record);
  bool isRight = record.outcome == Outcome::Passed || record.outcome == Outcome::Unjudged;
  if (isRight && !(*device)->isReference()) {
    judgeByPieces(request, progress, **device, prepared, record);
    isRight = record.outcome == Outcome::Passed || record.outcome == Outcome::Unjudged;
  }
  // The reference's own runs are alike by construction.
  if (isRight && !(*device)->isReference())
    lookAgain(request, progress, **device, prepared, *run, *outputs, seconds, record);
  isRight = record.outcome == Outcome::Passed || record.outcome == Outcome::Unjudged;
  if (isRight && !overwritten.empty())
    failLook(record, kStaleResult,
         "outputs of one execution changed while the next one ran, as if both shared their memory: " +
             overwritten);
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
                                             const TensorLists &inputs, const TensorLists &outputs,
                                             TensorLists &expected) {
  const workload::Workload kept = prepared.workload;
  const Budget budget = prepared.budget;
  prepared.workload.inputs = inputs;
  prepared.workload.expected.clear();
  prepared.workload.noise.clear();
  prepared.workload.noiseCenter.clear();
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

void Trials::lookAgain(const Request &request, Progress &progress, Device &device,
                       Prepared &prepared, const RunWorkload &run, const TensorLists &first,
                       double seconds, TestRecord &record) {
  auto verdictOf = [](const TestRecord &found) {
    bool isRight = found.outcome == Outcome::Passed || found.outcome == Outcome::Unjudged;
    LookVerdict verdict{isRight, found.errorClass, found.message};
    if (const results::ComparisonRecord *lax = found.passesOnlyAsConfigured(); isRight && lax) {
      verdict.strictly = lax->strictSentence;
      verdict.output = lax->output;
    }
    return verdict;
  };
  LookSeams seams;
  seams.execute = [&](const TensorLists &inputs) {
    progress.enter(Stage::Execute);
    Result<TensorLists> outputs = run(inputs, prepared.budget);
    progress.enter(Stage::Compare);
    return outputs;
  };
  seams.judge = [&](const TensorLists &outputs) {
    TestRecord found;
    judge(request, progress, device, prepared, outputs, found);
    return verdictOf(found);
  };
  seams.judgeOther = [&](const TensorLists &inputs,
                         const TensorLists &outputs) -> std::optional<LookVerdict> {
    // Checks have judged them already, within the program or beside it.
    if (prepared.program().selfChecking || !prepared.workload.checks.empty())
      return LookVerdict{};
    TensorLists expected;
    auto found = judgeOther(request, progress, device, prepared, inputs, outputs, expected);
    if (!found)
      return std::nullopt;
    LookVerdict verdict = verdictOf(*found);
    verdict.expected = std::move(expected);
    return verdict;
  };
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
      return nearbyInputs(prepared.workload.inputs, prepared.ownInputs, look);
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

namespace {

/// A test on a device, made ready when it is first run.
RunWorkload readyWhenAsked(Result<Device *> device, const Prepared &prepared) {
  struct State {
    Result<Device *> device;
    std::optional<Result<RunWorkload>> run;
  };
  auto state = std::make_shared<State>(State{std::move(device), {}});
  return [state, &prepared](const TensorLists &inputs,
                            const Budget &budget) -> Result<TensorLists> {
    if (!state->run)
      state->run = state->device ? makeReady(**state->device, prepared) : state->device.error();
    if (!*state->run)
      return state->run->error();
    return (**state->run)(inputs, budget);
  };
}

/// Whoever was asked for less by other ways than the device's name (options of a workload, say) is judged by what he
/// says he computed in: "bf16/f32, 12 products (...)".
void coarsenToWhatRan(compare::DevicePrecision &precision, const std::map<std::string, std::string> &notes) {
  auto found = notes.find("precision");
  if (found == notes.end())
    return;
  Result<compare::DevicePrecision> ran = compare::DevicePrecision::parse(found->second.substr(0, found->second.find(',')));
  if (ran && ran->products.step > precision.products.step)
    precision.products = ran->products;
}

} // namespace

Result<compare::DevicePrecision> Trials::precisionOf(const Request &request) {
  return request.precision.empty() ? runtime::declaredPrecision(request.device, request.arch)
                                   : compare::DevicePrecision::parse(request.precision);
}

Result<TestNoise> Trials::noiseOf(const Request &request, const Prepared &prepared,
                                  Device *device) {
  Result<compare::DevicePrecision> precision = precisionOf(request);
  if (!precision)
    return precision.error();
  if (device && request.precision.empty())
    coarsenToWhatRan(*precision, device->recordNotes());
  NoiseSources sources;
  sources.isExpectedFromReference = prepared.workload.provenance.expectation == kReferencesWord;
  sources.reference = [run = readyWhenAsked(this->device("reference"), prepared),
                       &prepared](const Budget &budget) {
    return run(prepared.workload.inputs, budget);
  };
  if (device && !device->isReference())
    sources.device = readyWhenAsked(device, prepared);
  return TestNoise(prepared, *precision, request.noise.value_or(kNoiseSamples),
                   std::move(sources));
}

/// `[fc.weight] ` where results have names, else nothing.
static std::string labelOf(const workload::Workload &workload, size_t result) {
  const std::vector<std::string> &names = workload.provenance.resultNames;
  return result < names.size() ? "[" + names[result] + "] " : "";
}

/// Compares the outputs with what is expected of them.
void Trials::judge(const Request &request, Progress &progress, Device &device, Prepared &prepared,
                   const TensorLists &outputs, TestRecord &record, bool *lackedTime) {
  tensor::BlockKeeper keeper; // Each evaluation takes the memory of the one before it.
  record.outcome = Outcome::Passed;
  record.notes.merge(device.recordNotes());
  workload::Workload &workload = prepared.workload;
  if (!workload.expected.empty()) {
    record.notes["expectation"] = workload.provenance.expectation;
  } else if (prepared.program().selfChecking || !workload.checks.empty()) {
    record.notes["expectation"] = "its own checks";
    return;
  } else if (device.isReference()) {
    record.notes["expectation"] = "no expectation: evaluated only";
    return leaveUnjudged(record, "no expectation: the reference evaluated it, and nobody else says "
                                 "what it should give (NAME.expected.safetensors beside it would)");
  } else {
    progress.enter(Stage::Reference);
    record.notes["expectation"] = kReferencesWord;
    Result<Device *> reference = this->device("reference");
    if (!reference)
      return fail(record, name(ErrorCode::Internal), reference.message());
    Result<TensorLists> golden =
        rememberedGolden(prepared, record, [&] { return runOn(**reference, prepared, nullptr); });
    if (!golden)
      return fail(record, golden.error());
    workload.expected = std::move(*golden);
    workload.provenance.expectation = kReferencesWord;
  }

  progress.enter(Stage::Compare);
  Result<TestNoise> noise = noiseOf(request, prepared, &device);
  if (!noise)
    return fail(record, name(ErrorCode::InvalidArgument), noise.message());
  // Of operator cases the words are torch's.
  std::string_view noun = request.item.suite == "opcases" ? "result" : "output";
  uint32_t number = 0;
  for (size_t d = 0; d < outputs.size(); ++d) {
    const std::vector<Tensor> &golden = workload.expected[workload.expected.size() > 1 ? d : 0];
    if (!workload::describeWrongCount(workload, outputs[d].size(), golden.size()).empty())
      return fail(record, "wrong_result",
                  fmt::format("there are {} {}s, and {} are expected", outputs[d].size(), noun,
                              golden.size()));
    for (size_t i = 0; i < golden.size(); ++i, ++number) {
      const Tensor &output = outputs[d][i];
      if (output.dtype() != golden[i].dtype())
        return fail(record, "wrong_result",
                    fmt::format("{}{} {} is {}, and {} is expected", labelOf(workload, i), noun, number,
                                tensor::describe(output.elementType(), output.shape()),
                                tensor::describe(golden[i].elementType(), golden[i].shape())));
      auto comparison =
          judgeOutput(number, d, i, output, golden[i],
                      Rule::of(request, workload, i), *noise);
      if (!comparison)
        return fail(record, name(ErrorCode::Internal), comparison.message());
      if (!comparison->passed && record.outcome == Outcome::Passed)
        fail(record, "wrong_result",
             fmt::format("{}{} {} is wrong: {}", labelOf(workload, i), noun, number,
                         comparison->sentence));
      comparison->sentence = labelOf(workload, i) + comparison->sentence;
      record.comparisons.push_back(std::move(*comparison));
    }
  }
  record.notes["judged by"] = describeRules(record, *noise);
  if (!noise->illConditioned().empty())
    record.notes["ill-conditioned"] = noise->illConditioned();
  if (lackedTime)
    *lackedTime = noise->lacksTime();
  if (isForLackOfTime(record, *noise))
    fail(record, Error{ErrorCode::TimedOut,
                       noise->lacksTime() ? "no time was left to measure noise, without which "
                                            "rounding cannot be told from errors"
                                          : "no time was left to evaluate the program as often as "
                                            "before a result is called wrong"});
  if (isForLackOfMemory(record, *noise))
    fail(record, Error{ErrorCode::OutOfMemory, "no memory was left to measure noise, without which "
                                               "rounding cannot be told from errors: " +
                                                   noise->note()});
  if (record.outcome != Outcome::Passed || workload.provenance.expectation != kReferencesWord)
    return;
  SharedWork shared = device.sharedWork();
  if (shared.isAll)
    leaveUnjudged(record, device.isReference()
                              ? "what is expected is the reference's own result"
                              : "agrees with the reference, whose kernels computed both");
  else if (!shared.what.empty())
    record.notes["not judged"] = shared.what + " ran on the reference's kernels, as what is "
                                               "expected did";
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// Elsewhere nobody can evaluate the program: what noise there is goes with the folder.
void Trials::saveNoise(const Request &request, Prepared &prepared) {
  workload::Workload &workload = prepared.workload;
  if (workload.expected.empty() || !workload.tolerances.empty())
    return;
  Result<TestNoise> noise = noiseOf(request, prepared, nullptr);
  if (!noise)
    return;
  workload.precision = noise->precision();
  workload.noise = noise->samples();
  if (noise->center())
    workload.noiseCenter = *noise->center();
}

/// Writes the test as a workload folder. Without the device: it may be what ended the test.
void Trials::save(const Request &request, Progress &progress, Prepared &prepared,
                  TestRecord &record) {
  record.outcome = Outcome::Failed;
  workload::Workload &workload = prepared.workload;
  auto isTooLarge = [&](uint64_t bytes) {
    if (!request.keep.maxBytes || bytes <= request.keep.maxBytes)
      return false;
    record.message = fmt::format("it takes {} MiB, more than the {} MiB that are kept of a test",
                                 bytes >> 20, request.keep.maxBytes >> 20);
    return true;
  };
  if (isTooLarge(workload.byteSize()))
    return;
  // Elsewhere nobody knows what the reference would say.
  bool isJudged = workload.isJudged() || prepared.program().selfChecking;
  if (!isJudged && request.device != "reference" && request.keep.stage != "reference") {
    progress.enter(Stage::Reference);
    Result<Device *> reference = device("reference");
    Result<TensorLists> golden =
        !reference ? reference.error()
                   : rememberedGolden(prepared, record, [&] { return runOn(**reference, prepared, nullptr); });
    if (golden) {
      workload.expected = std::move(*golden);
      workload.provenance.expectation = kReferencesWord;
    } else {
      record.notes["without expected values"] = golden.message();
    }
  }
  // What the configuration says of the test is said in the folder, where no configuration is.
  std::vector<compare::Tolerance> tolerances;
  for (size_t i = 0; i < std::max<size_t>(workload.tolerances.size(), 1); ++i)
    if (Rule rule = Rule::of(request, workload, i); rule.comparators) {
      workload.isAsserted = rule.comparators->assertsAnything();
      tolerances.push_back(rule.comparators->tolerance());
    }
  workload.tolerances = std::move(tolerances);
  saveNoise(request, prepared);
  workload.provenance.device = request.device;
  workload.provenance.outcome = request.keep.outcome;
  workload.provenance.stage = request.keep.stage;
  workload.provenance.message = request.keep.message;
  workload::Workload whole = portableForm(prepared);
  uint64_t bytes = whole.byteSize();
  if (isTooLarge(bytes))
    return;
  if (Status saved = workload::saveWorkload(request.keep.folder, whole); !saved) {
    record.message = saved.message();
    return;
  }
  record.outcome = Outcome::Passed;
  record.reproduction = request.keep.folder;
  record.notes["bytes"] = std::to_string(bytes);
}

//===----------------------------------------------------------------------===//
// Health
//===----------------------------------------------------------------------===//

namespace {

constexpr const char *kHealthyProgram = R"(
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %a, %b : tensor<4xf32>
  %1 = stablehlo.add %0, %b : tensor<4xf32>
  return %1 : tensor<4xf32>
}
)";

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<tensor::DType::F32>({int64_t(values.size())}, values);
}

} // namespace

/// What a check of health says of a device that works without the options of this run.
static constexpr const char *kOptionsRefused = "only with the options of this run";

/// The device without the options that this run gives to its compiler, and these; nothing where it
/// has none.
static std::optional<std::pair<std::string, std::string>> withoutOptions(std::string_view device) {
  runtime::DeviceName named = runtime::DeviceName::parse(device);
  std::string options;
  std::erase_if(named.options, [&](std::string_view option) {
    if (!option.starts_with(pjrt::kCompilePrefix))
      return false;
    option.remove_prefix(pjrt::kCompilePrefix.size());
    options += (options.empty() ? "" : ", ") + std::string(option);
    return true;
  });
  if (options.empty())
    return {};
  return std::pair(named.str(), options);
}

TestRecord Trials::checkHealth(const Request &request, Progress &progress, ProgramReader &reader) {
  TestRecord record;
  record.outcome = Outcome::Passed;
  Budget budget = budgetOf(request);
  auto read = reader.read(kHealthyProgram, "the known-good program");
  Result<Device *> device = this->device(request.device);
  if (!device) {
    fail(record, kNoDevice, device.message());
    return record;
  }
  if (!read) {
    fail(record, name(ErrorCode::Internal), "the known-good program cannot be read");
    return record;
  }
  progress.enter(Stage::Compile);
  auto executable = (*device)->compile((*read)->program, budget);
  if (!executable) {
    fail(record, executable.error());
    // A device that is well and does not know an option is no bad device.
    if (auto plain = withoutOptions(request.device))
      if (Result<Device *> other = this->device(plain->first);
          other && (*other)->compile((*read)->program, budget))
        record.message = fmt::format("{} ({}): {}", kOptionsRefused, plain->second, record.message);
    return record;
  }
  progress.enter(Stage::Execute);
  Result<std::vector<Tensor>> outputs =
      (*executable)->run({{floats({1, 2, -3, 0}), floats({0.5f, 4, 2, 7})}}, budget);
  if (!outputs) {
    fail(record, outputs.error());
    return record;
  }
  if (outputs->size() != 1) {
    fail(record, "wrong_result", "it gave " + std::to_string(outputs->size()) + " outputs");
    return record;
  }
  Comparators exact{.assertPcc = false, .assertAllclose = true};
  auto comparison = compareOutput(0, outputs->front(), floats({1, 12, -4, 7}), exact);
  if (!comparison || !comparison->passed)
    fail(record, "wrong_result", comparison ? comparison->sentence : comparison.message());
  return record;
}

} // namespace cupel::testbench::worker
