#include "cupel/testbench/worker/Programs.h"

#include "cupel/frontends/ShapeOption.h"
#include "cupel/support/Version.h"
#include "cupel/tensor/Fill.h"
#include "cupel/testbench/worker/OpCases.h"
#include "cupel/testbench/worker/ProgramInputs.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

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

void fail(TestRecord &record, const Error &error) {
  fail(record, name(error.code), error.message);
  if (error.code == ErrorCode::TimedOut)
    record.outcome = Outcome::TimedOut;
  else if (error.code == ErrorCode::OutOfMemory)
    record.outcome = Outcome::OutOfMemory;
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

Result<Device *> ProgramTest::device(const std::string &name) {
  std::unique_ptr<Device> &open = devices[name];
  if (!open) {
    Result<std::unique_ptr<Device>> opened = openDevice(name);
    if (!opened)
      return opened.error();
    open = std::move(*opened);
  }
  return open.get();
}

/// Where the test's file lies; messages name it as the user did.
static std::string placeOf(const Request &request) {
  const std::string &shown = request.item.file;
  return shown.starts_with('/') || request.folder.empty() ? shown : request.folder + "/" + shown;
}

TestRecord ProgramTest::run(const Request &request, Progress &progress) {
  TestRecord record;
  const std::string &shown = request.item.file;
  const std::string file = placeOf(request);
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
  Subject subject{(*read)->program, {}, {}, {}};
  Result<std::vector<Tensor>> inputs =
      inputsFor(subject.program, file, request.item.part, request.seed);
  if (!inputs) {
    fail(record, name(ErrorCode::InvalidArgument), inputs.message());
    return record;
  }
  auto expected = expectedFor(subject.program, file, request.item.part);
  if (!expected) {
    fail(record, name(ErrorCode::InvalidArgument), expected.message());
    return record;
  }
  subject.inputs = std::move(*inputs);
  subject.expected = std::move(*expected);
  subject.source = "the file beside it";
  run(request, progress, budget, std::move(subject), record);
  return record;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

Result<const frontends::ModelFile *>
ProgramTest::load(const std::string &file, const std::string &program, const std::string &shown) {
  struct stat status = {};
  stat(file.c_str(), &status);
  int64_t modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (!kept || kept->file != file || kept->program != program || kept->modified != modified ||
      kept->size != status.st_size) {
    kept.reset();
    Result<std::unique_ptr<frontends::ModelFile>> model = frontends::loadModel(file, program);
    if (!model) {
      std::string message = model.message();
      if (message.starts_with(file))
        message = shown + message.substr(file.size());
      return Error{message};
    }
    kept = KeptModel{file, program, modified, int64_t(status.st_size), std::move(*model)};
  }
  return static_cast<const frontends::ModelFile *>(kept->model.get());
}

/// A model that cannot be made into a program: skipped where no static program can say it, a
/// failure where the work is not done or the model is wrong.
static void refuse(TestRecord &record, const frontends::ImportFailure &failure) {
  using frontends::RefusalKind;
  std::string reason(frontends::name(failure.refusal));
  switch (frontends::kindOf(failure.refusal)) {
  case RefusalKind::Never:
    fail(record, frontends::errorClass(failure.refusal),
         "never supported (" + reason + "): " + failure.message);
    record.outcome = Outcome::Skipped;
    break;
  case RefusalKind::NotYet:
    fail(record, frontends::errorClass(failure.refusal), "not supported yet: " + failure.message);
    break;
  case RefusalKind::Invalid:
    fail(record, frontends::errorClass(failure.refusal), failure.message);
    break;
  }
  record.notes["refusal"] =
      std::string(frontends::name(frontends::kindOf(failure.refusal))) +
      (reason == frontends::name(frontends::kindOf(failure.refusal)) ? std::string()
                                                                     : ": " + reason);
}

/// Of the shapes that the request gives, those of inputs that this model has. The runner hears
/// which they are, and complains of a shape that no model took.
static Status takeShapes(const Request &request, const frontends::ModelFile &model,
                         frontends::ImportOptions &options, TestRecord &record) {
  Result<std::map<std::string, tensor::Shape>> shapes = frontends::parseShapes(request.shapes);
  if (!shapes)
    return shapes.error();
  std::vector<frontends::ModelInput> inputs = model.inputs();
  std::vector<std::string> &taken = record.shapesTaken;
  for (const std::string &text : request.shapes) {
    std::string name = text.substr(0, text.rfind('='));
    if (std::ranges::find(inputs, name, &frontends::ModelInput::name) == inputs.end())
      continue;
    taken.push_back(text);
    options.shapes[name] = shapes->at(name);
  }
  if (!taken.empty())
    record.notes["shape"] = fmt::format("{}", fmt::join(taken, "; "));
  if (std::string unknown = frontends::describeUnknownInputs(model, *shapes); !unknown.empty())
    record.notes["shape not taken"] = record.shapesNotTaken = unknown;
  return {};
}

TestRecord ProgramTest::runModel(const Request &request, Progress &progress) {
  TestRecord record;
  const std::string &shown = request.item.file;
  const std::string file = placeOf(request);
  Budget budget = budgetOf(request);
  const frontends::ModelFormat *format = frontends::modelFormatOf(file);
  if (!format) {
    record.outcome = Outcome::NotRun;
    record.message = "needs a frontend for such files, which this version does not have";
    return record;
  }
  // A test is one data set of the model, or one program of a file that may hold several.
  std::string program;
  uint32_t part = request.item.part;
  if (format->programs) {
    std::vector<std::string> programs = format->programs(file);
    if (part < programs.size() && programs.size() > 1)
      program = programs[part];
    part = 0;
  }
  Result<const frontends::ModelFile *> model = load(file, program, shown);
  if (!model) {
    bool isThere = access(file.c_str(), R_OK) == 0;
    fail(record, isThere ? "invalid_model" : "unreadable_file", model.message());
    return record;
  }

  progress.enter(Stage::Frontend);
  Result<std::optional<frontends::ModelData>> data = (*model)->testData(part);
  if (!data) {
    fail(record, name(ErrorCode::InvalidArgument), data.message());
    return record;
  }
  const std::string beside = (*model)->baseFile();
  frontends::ImportOptions options;
  if (Status status = takeShapes(request, **model, options, record); !status) {
    fail(record, name(ErrorCode::InvalidArgument), status.message());
    return record;
  }
  if (*data) {
    options.inputs = (*data)->inputs;
    budget.wideSums = (*data)->wideSums;
  } else {
    std::vector<std::string> names;
    for (const frontends::ModelInput &input : (*model)->inputs())
      names.push_back(input.name);
    Result<std::map<std::string, Tensor>> given = namedInputsFor(names, beside, part);
    if (!given) {
      fail(record, name(ErrorCode::InvalidArgument), given.message());
      return record;
    }
    options.inputs = std::move(*given);
  }
  bool hasValues = *data || !options.inputs.empty();
  std::vector<std::string> dropped = frontends::dropOtherShapes(options);
  frontends::ImportFailure failure;
  auto read = reader.import(**model, options, shown, failure);
  if (!read) {
    refuse(record, failure);
    return record;
  }
  for (const std::string &note : read->imported.notes)
    record.notes["import"] += (record.notes["import"].empty() ? "" : "; ") + note;

  Subject subject{read->program, {}, {}, {}};
  bool isSeeded = false;
  for (const frontends::Argument &input : read->imported.inputs) {
    if (auto given = options.inputs.find(input.name); given != options.inputs.end()) {
      subject.inputs.push_back(given->second);
      continue;
    }
    if (hasValues && std::ranges::find(dropped, input.name) == dropped.end()) {
      fail(record, name(ErrorCode::InvalidArgument),
           (*data ? (*data)->source : companionFile(beside, part, "inputs")) +
               ": holds no value for input '" + input.name + "' of the model");
      return record;
    }
    isSeeded = true;
    Result<Tensor> made =
        tensor::randomTensor(input.type, input.shape, tensor::defaultFill(input.type),
                             {request.seed, subject.inputs.size()});
    if (!made) {
      fail(record, name(ErrorCode::InvalidArgument),
           shown + ": input '" + input.name + "': " + made.message());
      return record;
    }
    subject.inputs.push_back(std::move(*made));
  }
  if (isSeeded)
    record.notes["inputs"] =
        (dropped.empty() ? "" : fmt::format("{}: ", fmt::join(dropped, ", "))) + "made from seed " +
        std::to_string(request.seed);
  for (const auto &[weight, value] : read->imported.weights)
    subject.inputs.push_back(value);
  if (!dropped.empty()) {
    // Of other inputs than these nothing is known that could be expected.
    record.notes["import"] += (record.notes["import"].empty() ? "" : "; ") +
                              fmt::format("values of {} that are stored have another shape than "
                                          "--shape says; they and stored results are left aside",
                                          fmt::join(dropped, ", "));
  } else if (*data && !(*data)->outputs.empty()) {
    subject.expected = std::move((*data)->outputs);
    subject.source = "the outputs stored with it";
    if (request.item.suite == "onnx")
      subject.silent = Comparators::onnxSuite;
  } else {
    auto expected = expectedFor(read->program, beside, part);
    if (!expected) {
      fail(record, name(ErrorCode::InvalidArgument), expected.message());
      return record;
    }
    subject.expected = std::move(*expected);
    subject.source = "the file beside it";
  }
  run(request, progress, budget, std::move(subject), record);
  return record;
}

//===----------------------------------------------------------------------===//
// Running and judging
//===----------------------------------------------------------------------===//

void ProgramTest::run(const Request &request, Progress &progress, const Budget &budget,
                      Subject subject, TestRecord &record) {
  progress.enter(Stage::Compile);
  Result<Device *> device = this->device(request.device);
  if (!device)
    return fail(record, name(ErrorCode::DeviceLost), device.message());
  Result<std::unique_ptr<Executable>> executable = (*device)->compile(subject.program, budget);
  if (!executable)
    return fail(record, executable.error());

  progress.enter(Stage::Execute);
  Result<std::vector<Tensor>> outputs = (*executable)->run(subject.inputs, budget);
  if (!outputs && outputs.error().code == ErrorCode::CheckFailed) {
    // It ran to where it judges itself: what is wrong is the result.
    progress.enter(Stage::Compare);
    fail(record, outputs.error());
    results::ComparisonRecord comparison;
    comparison.sentence = outputs.error().message;
    record.comparisons.push_back(std::move(comparison));
    return;
  }
  if (!outputs)
    return fail(record, outputs.error());
  judge(request, progress, **device, budget, std::move(subject), *outputs, record);
}

/// Compares the outputs with what is expected of them.
void ProgramTest::judge(const Request &request, Progress &progress, Device &device,
                        const Budget &budget, Subject subject, const std::vector<Tensor> &outputs,
                        TestRecord &record) {
  record.outcome = Outcome::Passed;
  bool isStored = subject.expected.has_value();
  if (isStored) {
    record.notes["expectation"] = subject.source;
  } else if (subject.program.selfChecking) {
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
    Result<std::unique_ptr<Executable>> golden = (*reference)->compile(subject.program, budget);
    if (!golden)
      return fail(record, golden.error());
    Result<std::vector<Tensor>> values = (*golden)->run(std::move(subject.inputs), budget);
    if (!values)
      return fail(record, values.error());
    subject.expected = std::move(*values);
  }

  progress.enter(Stage::Compare);
  const std::vector<Tensor> &golden = *subject.expected;
  // Data that are stored with a model may leave out its last outputs, and all may leave out what
  // a program writes to beside its results.
  bool fits = golden.size() <= outputs.size();
  for (size_t i = golden.size(); fits && i < outputs.size(); ++i)
    fits = subject.silent ||
           (i < subject.program.results.size() && isMutation(subject.program.results[i]));
  if (!fits)
    return fail(
        record, "wrong_result",
        fmt::format("there are {} outputs, and {} are expected", outputs.size(), golden.size()));
  for (size_t i = 0; i < golden.size(); ++i) {
    if (outputs[i].dtype() != golden[i].dtype())
      return fail(record, "wrong_result",
                  fmt::format("output {} is {}, and {} is expected", i,
                              tensor::describe(outputs[i].elementType(), outputs[i].shape()),
                              tensor::describe(golden[i].elementType(), golden[i].shape())));
    Comparators silent = subject.silent ? subject.silent(golden[i].dtype()) : Comparators();
    auto comparison = compareOutput(uint32_t(i), outputs[i], golden[i],
                                    Comparators::of(request.item.expectation, silent));
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
  Result<std::vector<Tensor>> outputs =
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
    if (request.item.suite == "onnx" || request.item.suite == "pt2")
      return programs.runModel(request, progress);
    TestRecord record;
    record.outcome = Outcome::NotRun;
    record.message = "needs a worker for tests of the suite '" + request.item.suite + "'";
    return record;
  });
}

} // namespace cupel::testbench::worker
