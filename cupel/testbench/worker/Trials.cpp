#include "cupel/testbench/worker/Trials.h"

#include "cupel/testbench/worker/Comparators.h"
#include "cupel/workload/Folder.h"
#include "cupel/workload/Judge.h"

#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

/// Where the reference's result is what is expected.
constexpr const char *kReferencesWord = "the reference's result";

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
  if (request.kind == Request::Kind::Keep)
    save(request, progress, std::move(prepared), record);
  else
    run(request, progress, std::move(prepared), record);
}

//===----------------------------------------------------------------------===//
// Running and judging
//===----------------------------------------------------------------------===//

/// Compiles and runs, and heeds the checks of the workload. The stages are told to `progress`,
/// where they are those of the device under test.
Result<TensorLists> Trials::runOn(Device &device, Prepared &prepared, Progress *progress) {
  const workload::Workload &workload = prepared.workload;
  if (!prepared.isComplete) {
    auto executable = device.compile(prepared.program(), prepared.budget);
    if (!executable)
      return executable.error();
    if (progress)
      progress->enter(Stage::Execute);
    Result<std::vector<Tensor>> outputs = (*executable)->run(workload.inputs, prepared.budget);
    if (!outputs)
      return outputs.error();
    TensorLists lists;
    lists.push_back(std::move(*outputs));
    return lists;
  }
  Result<RunWorkload> loaded = device.load(workload, prepared.program(), prepared.budget);
  if (!loaded)
    return loaded.error();
  if (progress)
    progress->enter(Stage::Execute);
  Result<TensorLists> outputs = (*loaded)(workload.inputs, prepared.budget);
  if (!outputs)
    return outputs;
  for (size_t d = 0; d < outputs->size(); ++d)
    for (const workload::Judgement &judgement :
         workload::judgeChecks((*outputs)[d], d, workload.checks, workload.constants))
      if (!judgement.passed)
        return Error{ErrorCode::CheckFailed, judgement.what + ": " + judgement.sentence};
  return outputs;
}

void Trials::run(const Request &request, Progress &progress, Prepared prepared,
                 TestRecord &record) {
  progress.enter(Stage::Compile);
  Result<Device *> device = this->device(request.device);
  if (!device)
    return fail(record, name(ErrorCode::DeviceLost), device.message());
  Result<TensorLists> outputs = runOn(**device, prepared, &progress);
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
  judge(request, progress, **device, std::move(prepared), *outputs, record);
}

/// How a result is judged: by the configuration, and by the workload where that is silent.
static Comparators comparatorsFor(const Request &request, const workload::Workload &workload,
                                  size_t result, tensor::DType type) {
  Comparators held = Comparators::of(workload.toleranceFor(result, type));
  if (!workload.isAsserted) {
    held.assertPcc = held.assertAtol = held.assertAllclose = false;
    held.others = {};
  }
  return Comparators::of(request.item.expectation, held);
}

/// `[fc.weight] ` where results have names, else nothing.
static std::string labelOf(const workload::Workload &workload, size_t result) {
  const std::vector<std::string> &names = workload.provenance.resultNames;
  return result < names.size() ? "[" + names[result] + "] " : "";
}

/// Compares the outputs with what is expected of them.
void Trials::judge(const Request &request, Progress &progress, Device &device, Prepared prepared,
                   const TensorLists &outputs, TestRecord &record) {
  record.outcome = Outcome::Passed;
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
    Result<TensorLists> golden = runOn(**reference, prepared, nullptr);
    if (!golden)
      return fail(record, golden.error());
    workload.expected = std::move(*golden);
    workload.provenance.expectation = kReferencesWord;
  }

  progress.enter(Stage::Compare);
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
          compareOutput(number, output, golden[i],
                        comparatorsFor(request, workload, i, golden[i].dtype()));
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
  if (record.outcome == Outcome::Passed && device.sharesKernels() &&
      workload.provenance.expectation == kReferencesWord)
    leaveUnjudged(record, device.isReference()
                              ? "what is expected is the reference's own result"
                              : "agrees with the reference, whose kernels computed both");
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

/// Writes the test as a workload folder. Without the device: it may be what ended the test.
void Trials::save(const Request &request, Progress &progress, Prepared prepared,
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
        reference ? runOn(**reference, prepared, nullptr) : reference.error();
    if (golden) {
      workload.expected = std::move(*golden);
      workload.provenance.expectation = kReferencesWord;
    } else {
      record.notes["without expected values"] = golden.message();
    }
  }
  // What the configuration says of the test is said in the folder, where no configuration is.
  for (size_t i = 0; i < workload.tolerances.size(); ++i) {
    tensor::DType type = !workload.expected.empty() && i < workload.expected.front().size()
                             ? workload.expected.front()[i].dtype()
                             : tensor::DType::F32;
    Comparators comparators = comparatorsFor(request, workload, i, type);
    workload.isAsserted = comparators.assertsAnything();
    workload.tolerances[i] = comparators.tolerance();
  }
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
