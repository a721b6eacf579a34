#include "cupel/testbench/worker/Programs.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/OpCases.h"
#include "cupel/testbench/worker/ProgramInputs.h"

namespace cupel::testbench::worker {

namespace {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

void fail(TestRecord &record, std::string_view errorClass, const std::string &message) {
  record.outcome = Outcome::Failed;
  record.errorClass = errorClass;
  record.message = message;
}

void fail(TestRecord &record, const DeviceError &error) {
  fail(record, name(error.code), error.message);
  if (error.code == ErrorCode::TimedOut)
    record.outcome = Outcome::TimedOut;
  else if (error.code == ErrorCode::OutOfMemory)
    record.outcome = Outcome::OutOfMemory;
}

Budget budgetOf(const Request &request) {
  Budget budget;
  if (request.timeoutSeconds > 0)
    budget.deadline = std::chrono::steady_clock::now() +
                      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                          std::chrono::duration<double>(request.timeoutSeconds));
  budget.memoryBytes = request.memoryLimitBytes;
  budget.threads = request.threads;
  budget.seed = request.seed;
  return budget;
}

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

Result<Device *> ProgramTest::device(const std::string &name) {
  std::unique_ptr<Device> &open = devices[name];
  if (!open) {
    Result<std::unique_ptr<Device>> opened = openDevice(name);
    if (!opened)
      return Error{opened.message()};
    open = std::move(*opened);
  }
  return open.get();
}

TestRecord ProgramTest::run(const Request &request, Progress &progress) {
  TestRecord record;
  // Messages name the file as the user did.
  const std::string &shown = request.item.file;
  const std::string file =
      shown.starts_with('/') || request.folder.empty() ? shown : request.folder + "/" + shown;
  Budget budget = budgetOf(request);
  Result<std::string> bytes = reader.load(file, request.item.part, shown);
  if (!bytes) {
    fail(record, "unreadable_file", bytes.message());
    return record;
  }

  progress.enter(Stage::Frontend);
  auto read = reader.read(*bytes, shown);
  if (!read) {
    fail(record, name(ErrorCode::InvalidProgram), read.message());
    return record;
  }
  const Program &program = (*read)->program;
  Result<std::vector<Tensor>> inputs = inputsFor(program, file, request.item.part, request.seed);
  if (!inputs) {
    fail(record, name(ErrorCode::InvalidArgument), inputs.message());
    return record;
  }

  progress.enter(Stage::Compile);
  Result<Device *> device = this->device(request.device);
  if (!device) {
    fail(record, name(ErrorCode::DeviceLost), device.message());
    return record;
  }
  Answer<std::unique_ptr<Executable>> executable = (*device)->compile(program, budget);
  if (!executable) {
    fail(record, executable.error());
    return record;
  }

  progress.enter(Stage::Execute);
  Answer<std::vector<Tensor>> outputs = (*executable)->run(*inputs, budget);
  if (!outputs && outputs.error().code == ErrorCode::CheckFailed) {
    // It ran to where it judges itself: what is wrong is the result.
    progress.enter(Stage::Compare);
    fail(record, outputs.error());
    results::ComparisonRecord comparison;
    comparison.sentence = outputs.error().message;
    record.comparisons.push_back(std::move(comparison));
    return record;
  }
  if (!outputs) {
    fail(record, outputs.error());
    return record;
  }
  judge(request, file, progress, **device, program, *outputs, std::move(*inputs), budget, record);
  return record;
}

/// Compares the outputs with what is expected of them.
void ProgramTest::judge(const Request &request, const std::string &file, Progress &progress,
                        Device &device, const Program &program, const std::vector<Tensor> &outputs,
                        std::vector<Tensor> inputs, const Budget &budget, TestRecord &record) {
  Result<std::optional<std::vector<Tensor>>> expected =
      expectedFor(program, file, request.item.part);
  if (!expected)
    return fail(record, name(ErrorCode::InvalidArgument), expected.message());
  record.outcome = Outcome::Passed;
  if (*expected) {
    record.notes["expectation"] = "the file beside it";
  } else if (program.selfChecking) {
    record.notes["expectation"] = "its own checks";
    return;
  } else if (device.isReference()) {
    record.notes["expectation"] = "no expectation: evaluated only";
    return;
  } else {
    progress.enter(Stage::Reference);
    record.notes["expectation"] = "the reference's result";
    Result<Device *> reference = this->device("reference");
    if (!reference)
      return fail(record, name(ErrorCode::Internal), reference.message());
    Answer<std::unique_ptr<Executable>> golden = (*reference)->compile(program, budget);
    if (!golden)
      return fail(record, golden.error());
    Answer<std::vector<Tensor>> values = (*golden)->run(std::move(inputs), budget);
    if (!values)
      return fail(record, values.error());
    *expected = std::move(*values);
  }

  progress.enter(Stage::Compare);
  const std::vector<Tensor> &golden = **expected;
  if (golden.size() != outputs.size())
    return fail(record, "wrong_result",
                "there are " + std::to_string(outputs.size()) + " outputs, and " +
                    std::to_string(golden.size()) + " are expected");
  Comparators comparators = Comparators::of(request.item.expectation);
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto comparison = compareOutput(uint32_t(i), outputs[i], golden[i], comparators);
    if (!comparison)
      return fail(record, name(ErrorCode::Internal), comparison.message());
    if (!comparison->passed && record.outcome == Outcome::Passed)
      fail(record, "wrong_result",
           "output " + std::to_string(i) + " is wrong: " + comparison->sentence);
    record.comparisons.push_back(std::move(*comparison));
  }
}

TestRecord ProgramTest::checkHealth(const Request &request, Progress &progress) {
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
  Answer<std::vector<Tensor>> outputs =
      (*executable)->run({floats({1, 2, -3, 0}), floats({0.5f, 4, 2, 7})}, budget);
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

int runServe(const std::vector<std::string> &arguments) {
  Result<ServeOptions> options = ServeOptions::parse(arguments);
  if (!options)
    return reportError("", options.message(), kExitUsage);
  options->name = "cupel-worker " + std::string(version());
  ProgramTest programs;
  OpCaseTest cases(programs);
  return serve(*options, [&](const Request &request, Progress &progress) {
    if (request.kind == Request::Kind::Health)
      return programs.checkHealth(request, progress);
    if (request.item.suite == "programs")
      return programs.run(request, progress);
    if (request.item.suite == "opcases")
      return cases.run(request, progress);
    TestRecord record;
    record.outcome = Outcome::NotRun;
    record.message = "needs a worker for tests of the suite '" + request.item.suite + "'";
    return record;
  });
}

} // namespace cupel::testbench::worker
