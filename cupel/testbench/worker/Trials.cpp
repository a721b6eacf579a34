#include "cupel/testbench/worker/Trials.h"

#include "cupel/compare/Strict.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/tensor/KeptBlocks.h"
#include "cupel/testbench/worker/GoldenCache.h"
#include "cupel/testbench/worker/Looks.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/testbench/worker/Spread.h"
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

static uint64_t bytesOf(const TensorLists &lists) {
  uint64_t bytes = 0;
  for (const std::vector<Tensor> &list : lists)
    for (const Tensor &tensor : list)
      bytes += uint64_t(tensor.byteSize());
  return bytes;
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
  if (held.request != request.number)
    held = {.request = request.number};
  held.arguments = std::max(held.arguments, bytesOf(prepared.workload.inputs));
  serveAsAsked(request, progress, prepared, record);
  if (!progress.memoryNote().empty()) {
    auto mebibytes = [](uint64_t bytes) { return double(bytes) / (1 << 20); };
    record.notes[std::string(kActivationsNote)] =
        fmt::format("{}reference {:.1f} MiB, beside arguments of {:.1f} MiB",
                    held.device ? fmt::format("device {:.1f} MiB, ", mebibytes(*held.device)) : "",
                    mebibytes(held.judgement), mebibytes(held.arguments));
  }
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
    return RunWorkload([executable](TensorLists inputs, const Budget &budget) {
      Result<std::vector<Tensor>> outputs = executable->run(std::move(inputs), budget);
      return outputs ? Result<TensorLists>(TensorLists{std::move(*outputs)})
                     : Result<TensorLists>(outputs.error());
    });
  }
  // Who has no devices to split a program over computes with the whole tensors that it speaks of.
  Result<RunWorkload> loaded =
      device.isReference() && isSpread(prepared)
          ? evaluatedWhole(device, prepared)
          : device.load(prepared.workload, prepared.program(), prepared.budget);
  if (!loaded)
    return loaded.error();
  return RunWorkload([run = std::move(*loaded), checks = prepared.workload.checks,
                      constants = prepared.workload.constants](
                         TensorLists inputs, const Budget &budget) -> Result<TensorLists> {
    Result<TensorLists> outputs = run(std::move(inputs), budget);
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

void Trials::run(const Request &request, Progress &progress, Prepared &prepared,
                 TestRecord &record) {
  progress.enter(Stage::Compile);
  Result<Device *> device = this->device(request.device);
  if (!device)
    return fail(record, name(ErrorCode::DeviceLost), device.message());
  Result<RunWorkload> run = makeReady(**device, prepared);
  if (!run)
    return fail(record, run.error());
  ready = {&prepared, *run};
  struct Forget { // It must not outlive the test.
    Ready &ready;
    ~Forget() { ready = {}; }
  } forget{ready};
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
  if (std::optional<int64_t> arena = (*device)->arenaBytes())
    held.device = std::max(held.device.value_or(0), uint64_t(*arena) + bytesOf(*outputs));
  judge(request, progress, **device, prepared, *outputs, record);
  const bool isByPieces = isWrongByScattered(record) &&
                          judgeScattered(request, progress, **device, prepared, record);
  if (record.outcome == Outcome::Failed && record.errorClass == "wrong_result" &&
      !(*device)->isReference() && request.repeat.value_or(2) > 1 && seconds < kCheapSeconds)
    tellNowAndThen(request, progress, **device, prepared, *run, *outputs, record);
  if (record.outcome == Outcome::Passed && prepared.otherInputs)
    tryTelling(request, progress, **device, prepared, *run, *outputs, record);
  bool isRight = record.outcome == Outcome::Passed || record.outcome == Outcome::Unjudged;
  if (isRight && !isByPieces && !(*device)->isReference()) {
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

namespace {

/// A test on a device, made ready when it is first run.
RunWorkload readyWhenAsked(Result<Device *> device, const Prepared &prepared) {
  struct State {
    Result<Device *> device;
    std::optional<Result<RunWorkload>> run;
  };
  auto state = std::make_shared<State>(State{std::move(device), {}});
  return [state, &prepared](TensorLists inputs, const Budget &budget) -> Result<TensorLists> {
    if (!state->run)
      state->run = state->device ? makeReady(**state->device, prepared) : state->device.error();
    if (!*state->run)
      return state->run->error();
    return (**state->run)(std::move(inputs), budget);
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
  if (ran && ran->rest.step > precision.rest.step)
    precision.rest = ran->rest;
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
    sources.device = ready.test == &prepared ? ready.run : readyWhenAsked(device, prepared);
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
  struct Keeper : tensor::BlockKeeper { // Each evaluation takes the memory of the one before it.
    uint64_t &most;
    explicit Keeper(uint64_t &most) : most(most) {}
    ~Keeper() { most = std::max<uint64_t>(most, taken()); }
  } keeper(held.judgement);
  record.outcome = Outcome::Passed;
  scattered.clear();
  doubted.clear();
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
    Clock::time_point begun = Clock::now();
    Result<TensorLists> golden =
        rememberedGolden(prepared, record, [&] { return runOn(**reference, prepared, nullptr); });
    if (!golden)
      return fail(record, golden.error());
    prepared.plainSeconds = std::chrono::duration<double>(Clock::now() - begun).count();
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
  size_t wrong = 0, wrongAsExpected = 0;
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
      size_t offBefore = noise->expectedOff();
      auto comparison =
          judgeOutput(number, d, i, output, golden[i],
                      Rule::of(request, workload, i), *noise);
      if (!comparison)
        return fail(record, name(ErrorCode::Internal), comparison.message());
      if (!comparison->passed) {
        ++wrong;
        wrongAsExpected += noise->expectedOff() - offBefore;
      }
      if (!comparison->passed && record.outcome == Outcome::Passed)
        fail(record, "wrong_result",
             fmt::format("{}{} {} is wrong: {}", labelOf(workload, i), noun, number,
                         comparison->sentence));
      comparison->sentence = labelOf(workload, i) + comparison->sentence;
      record.comparisons.push_back(std::move(*comparison));
    }
  }
  prepared.plainSeconds = std::max(prepared.plainSeconds, noise->plainSeconds());
  prepared.movedSeconds = noise->movedSeconds();
  scattered = noise->scattered();
  doubted = noise->doubted();
  record.notes["judged by"] = describeRules(record, *noise);
  if (wrong > 0 && wrong == wrongAsExpected)
    record.notes[kExpectedOffNote] = "in all outputs that are wrong";
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

} // namespace cupel::testbench::worker
