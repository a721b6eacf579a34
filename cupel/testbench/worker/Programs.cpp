#include "cupel/testbench/worker/Programs.h"

#include "cupel/frontends/ShapeOption.h"
#include "cupel/support/Version.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/Safetensors.h"
#include "cupel/testbench/GeneratedFolder.h"
#include "cupel/testbench/Kinds.h"
#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/Comparators.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/GeneratedCode.h"
#include "cupel/testbench/worker/Looks.h"
#include "cupel/testbench/worker/OpCases.h"
#include "cupel/testbench/worker/ProgramInputs.h"
#include "cupel/workload/Folder.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::worker {

using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

std::optional<Prepared> ProgramTest::prepare(const Request &request, Progress &progress,
                                             TestRecord &record) {
  const std::string &suite = request.item.suite;
  return suite == "programs"    ? prepareProgram(request, progress, record)
         : suite == "workloads" ? prepareSaved(request, placeOf(request), progress, record)
         : suite == "generated" ? prepareGenerated(request, progress, record)
                                : prepareModel(request, progress, record);
}

TestRecord ProgramTest::run(const Request &request, Progress &progress) {
  TestRecord record;
  bool isGenerated = request.item.suite == "generated";
  if (isGenerated && (!request.search.what.empty() || !request.depth.empty())) {
    record.outcome = Outcome::NotRun;
    record.message = "generated code runs whole: what is wrong in it is found by 'cupel run' on irs/shlo.mlir beside it";
    return record;
  }
  std::optional<Prepared> prepared = prepare(request, progress, record);
  if (!prepared)
    return record;
  if (isGenerated) {
    // The code itself is what is tested, in f32 and better, whatever devices the run has.
    Request own = request;
    own.device = std::string(kGeneratedDevice) + placeOf(request);
    own.arch.clear();
    own.precision = "f32";
    own.pieces = 0;
    record.notes["runs on"] = "the generated code";
    trials.serve(own, progress, std::move(*prepared), record);
  } else {
    trials.serve(request, progress, std::move(*prepared), record);
  }
  return record;
}

/// Why a model passes on a device that computes nothing; empty where it does not.
static std::string describeHollow(const TensorLists &expected) {
  if (std::string numberless = describeNumberless(expected); !numberless.empty())
    return numberless + ": nothing that a device gives could be called wrong";
  return areZeroThroughout(expected) ? "every expected output is zero throughout: memory that nobody "
                                       "wrote would pass"
                                     : "";
}

/// Op by op, others than a model's results are judged.
static void leaveHollow(const Request &request, TestRecord &record, const std::string &hollow) {
  if (record.outcome == Outcome::Passed && !hollow.empty() && !request.isOpByOp())
    leaveUnjudged(record, hollow);
}

/// A model of several chips of which each computed all of it is right, and says nothing of several.
static void leaveUntested(const Request &request, TestRecord &record, const nlohmann::json &handed) {
  if (record.outcome == Outcome::Passed && handed.contains("untested") &&
      request.kind == Request::Kind::Test && !request.isOpByOp())
    leaveUnjudged(record, handed["untested"].get<std::string>());
}

TestRecord ProgramTest::runCaptured(const Request &request, Progress &progress) {
  TestRecord record;
  std::vector<std::string> folders;
  nlohmann::json handed = nlohmann::json::parse(request.handover, nullptr, false);
  if (handed.is_object() && handed.contains("workloads") && handed["workloads"].is_array())
    for (const nlohmann::json &folder : handed["workloads"])
      if (folder.is_string())
        folders.push_back(folder.get<std::string>());
  if (folders.empty()) {
    fail(record, name(ErrorCode::Internal), "the Python worker handed no workload over");
    return record;
  }
  if (handed.contains("model") && handed["model"].is_string())
    return runExported(request, folders.front(), handed["model"].get<std::string>(),
                       handed.value("expectation", ""), progress);
  bool isUnjudged = false;
  std::string unjudged;
  std::optional<std::string> hollow; // Empty as soon as a graph tells something.
  std::optional<TestRecord> failed; // Op by op, where graphs behind one that fails are tried.
  for (size_t i = 0; i < folders.size(); ++i) {
    std::string which =
        folders.size() > 1 ? fmt::format("graph {} of {}: ", i + 1, folders.size()) : "";
    Request part = request;
    if (folders.size() > 1) // Saved one beside the other.
      part.keep.folder += fmt::format("/graph-{:02}", i + 1);
    TestRecord one;
    std::error_code error;
    if (const std::string archive = folders[i] + "/model.pt2"; std::filesystem::exists(archive, error)) {
      // It could not be lowered: op by op, what becomes of each of its calls is told.
      part.item.file = archive;
      part.item.part = 0;
      if (prepareModel(part, progress, one))
        fail(one, name(ErrorCode::Internal), "it is lowered here and was not by the Python worker");
    } else if (auto prepared = prepareSaved(part, folders[i], progress, one)) {
      one.notes.erase("reproduces"); // It is that test.
      // Bounds in there are for those who cannot evaluate; here the configuration or noise decides.
      prepared->workload.tolerances.clear();
      if (!hollow || !hollow->empty())
        hollow = describeHollow(prepared->workload.expected);
      trials.serve(part, progress, std::move(*prepared), one);
    }
    for (results::ComparisonRecord &comparison : one.comparisons) {
      comparison.output = uint32_t(record.comparisons.size());
      record.comparisons.push_back(std::move(comparison));
    }
    record.notes.erase("operations"); // Those of all graphs so far are told with the last.
    record.notes.erase(std::string(kActivationsNote));
    record.notes.merge(one.notes);
    record.outcome = one.outcome;
    record.errorClass = one.errorClass;
    record.message = one.message.empty() ? "" : which + one.message;
    record.reproduction = one.reproduction.empty() ? "" : request.keep.folder;
    if (one.outcome == Outcome::Unjudged) {
      isUnjudged = true;
      unjudged = record.message;
    } else if (one.outcome != Outcome::Passed) {
      isUnjudged = false;
      // Op by op, the operations of the other graphs are wanted too.
      if (!request.isOpByOp() || request.kind != Request::Kind::Test)
        break;
      failed = record;
    }
  }
  // The last graph speaks of the operations of all; that one before it could not be taken apart,
  // it does not know.
  if (failed && !results::isFailure(record.outcome)) {
    failed->notes["operations"] = record.notes["operations"];
    record = std::move(*failed);
    isUnjudged = false;
  }
  // One graph without a verdict leaves the model without one.
  if (isUnjudged)
    leaveUnjudged(record, unjudged);
  leaveHollow(request, record, hollow.value_or(""));
  leaveUntested(request, record, handed);
  // Weights are large, and nobody comes for them again.
  std::error_code ignored;
  for (const std::string &folder : folders)
    std::filesystem::remove_all(folder, ignored);
  return record;
}

TestRecord ProgramTest::runExported(const Request &request, const std::string &folder,
                                    const std::string &file, const std::string &expectation,
                                    Progress &progress) {
  TestRecord record;
  Request exported = request;
  exported.item.file = file;
  exported.item.part = 0;
  exported.item.suite = kindOf(request.item).suite; // Judged as a model, not as a case of ONNX's own.
  if (auto prepared = prepareModel(exported, progress, record)) {
    prepared->workload.provenance.test = request.item.fullName();
    prepared->workload.provenance.file = request.item.file;
    if (!prepared->workload.expected.empty())
      prepared->workload.provenance.expectation = expectation;
    const std::string hollow = prepared->workload.expected.empty()
                                   ? ""
                                   : describeHollow(prepared->workload.expected);
    trials.serve(exported, progress, std::move(*prepared), record);
    leaveHollow(request, record, hollow);
  }
  // Weights are large, and nobody comes for them again.
  kept.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return record;
}

/// Whether a program's results behind the expected ones are all new values of what it writes to.
static bool leavesOutMutations(const Program &program, size_t expected) {
  bool fits = expected < program.results.size();
  for (size_t i = expected; fits && i < program.results.size(); ++i)
    fits = isMutation(program.results[i]);
  return fits;
}

/// What the file beside a program says of its results, if there is one.
static Status takeCompanion(Prepared &prepared, const std::string &file, uint32_t part) {
  auto expected = expectedFor(prepared.program(), file, part);
  if (!expected)
    return expected.error();
  if (!*expected)
    return {};
  workload::Workload &workload = prepared.workload;
  workload.expectsFirst = leavesOutMutations(prepared.program(), (*expected)->size());
  workload.expected.push_back(std::move(**expected));
  workload.provenance.expectation = "the file beside it";
  return {};
}

/// Lets a test whose inputs are all made up have others.
static void chooseOthers(Prepared &prepared, std::shared_ptr<const ChosenInputs> chosen,
                         uint64_t seed) {
  prepared.otherInputs = [chosen = std::move(chosen), seed, count = prepared.ownInputs,
                          first = prepared.workload.inputs](uint32_t look) {
    return chosen->makeAll(count, first, seed, look);
  };
}

std::optional<Prepared> ProgramTest::prepareProgram(const Request &request, Progress &progress,
                                                    TestRecord &record) {
  const std::string &shown = request.item.file;
  const std::string file = placeOf(request);
  Result<std::string> bytes = reader.load(file, request.item.part, shown);
  if (!bytes) {
    fail(record, "unreadable_file", bytes.message());
    return {};
  }

  progress.enter(Stage::Frontend);
  auto read = reader.read(*bytes, shown);
  if (!read) {
    fail(record, name(ErrorCode::InvalidProgram), read.message());
    return {};
  }
  Prepared prepared{std::move(*read), workloadFor(request, "stablehlo"), budgetOf(request)};
  auto chosen = std::make_shared<ChosenInputs>(prepared.program());
  auto makeUp = [&](size_t argument, uint32_t replica) {
    return chosen->make(argument, request.seed, replica);
  };
  Result<Inputs> inputs = inputsFor(prepared.program(), file, request.item.part, makeUp);
  if (!inputs) {
    fail(record, name(ErrorCode::InvalidArgument), inputs.message());
    return {};
  }
  prepared.workload.inputs = std::move(inputs->lists);
  prepared.ownInputs = inputs->own;
  if (inputs->isMadeUp)
    chooseOthers(prepared, std::move(chosen), request.seed);
  if (Status taken = takeCompanion(prepared, file, request.item.part); !taken) {
    fail(record, name(ErrorCode::InvalidArgument), taken.message());
    return {};
  }
  return prepared;
}

//===----------------------------------------------------------------------===//
// Generated code
//===----------------------------------------------------------------------===//

/// The tensors of a file of the folder, by these names and of these types.
static Status takeStored(const std::string &path, const std::vector<std::string> &names,
                         std::span<const ValueType> types, std::vector<Tensor> &into) {
  if (names.empty())
    return {};
  Result<tensor::Safetensors> stored = tensor::readSafetensors(path);
  if (!stored)
    return stored.error();
  for (size_t i = 0; i < names.size(); ++i) {
    auto found = std::ranges::find(stored->tensors, names[i], [](const auto &entry) { return entry.first; });
    if (found == stored->tensors.end())
      return Error{path + ": holds no tensor '" + names[i] + "'"};
    Tensor value = found->second;
    if (value.dtype() != types[i].element.storage || !std::ranges::equal(value.shape(), types[i].shape))
      return Error{path + ": tensor '" + names[i] + "' is not of the type that the program takes"};
    into.push_back(types[i].element.quantization ? value.withElementType(types[i].element) : value);
  }
  return {};
}

std::optional<Prepared> ProgramTest::prepareGenerated(const Request &request, Progress &progress,
                                                      TestRecord &record) {
  Result<GeneratedFolder> folder = GeneratedFolder::read(placeOf(request));
  if (!folder) {
    fail(record, "unreadable_file", folder.message());
    return {};
  }
  Result<std::string> bytes = reader.load(folder->file(folder->program), 0, request.item.file);
  if (!bytes) {
    fail(record, "unreadable_file", bytes.message());
    return {};
  }
  progress.enter(Stage::Frontend);
  auto read = reader.read(*bytes, request.item.file);
  if (!read) {
    fail(record, name(ErrorCode::InvalidProgram), read.message());
    return {};
  }
  Prepared prepared{std::move(*read), workloadFor(request, "stablehlo"), budgetOf(request)};
  std::span<const ValueType> types = prepared.program().arguments;
  if (types.size() != folder->inputs.size() + folder->weights.size()) {
    fail(record, name(ErrorCode::InvalidArgument),
         "the manifest names " + std::to_string(folder->inputs.size() + folder->weights.size()) +
             " inputs and weights of a program that takes " + std::to_string(types.size()));
    return {};
  }
  std::vector<Tensor> &inputs = prepared.workload.inputs.emplace_back();
  prepared.ownInputs = folder->inputs.size();
  if (folder->hasTensors) {
    Status taken = takeStored(folder->file("tensors/inputs.safetensors"), folder->inputs, types, inputs);
    if (taken)
      taken = takeStored(folder->file("tensors/weights.safetensors"), folder->weights,
                         types.subspan(folder->inputs.size()), inputs);
    if (!taken) {
      fail(record, name(ErrorCode::InvalidArgument), taken.message());
      return {};
    }
    return prepared;
  }
  auto chosen = std::make_shared<ChosenInputs>(prepared.program());
  for (size_t i = 0; i < types.size(); ++i) {
    Result<Tensor> made = chosen->make(i, request.seed, 0);
    if (!made) {
      fail(record, name(ErrorCode::InvalidArgument), made.message());
      return {};
    }
    inputs.push_back(std::move(*made));
  }
  chooseOthers(prepared, std::move(chosen), request.seed);
  return prepared;
}

//===----------------------------------------------------------------------===//
// Saved workloads
//===----------------------------------------------------------------------===//

/// The folder and every file in it: what is wrong with it then is what the files say.
static bool canBeRead(const std::string &folder) {
  std::error_code error;
  for (const auto &file : std::filesystem::directory_iterator(folder, error))
    if (access(file.path().c_str(), R_OK) != 0)
      return false;
  return !error;
}

std::optional<Prepared> ProgramTest::prepareSaved(const Request &request, const std::string &folder,
                                                  Progress &progress, TestRecord &record) {
  Result<workload::Workload> saved = workload::readWorkload(folder);
  if (!saved) {
    fail(record, canBeRead(folder) ? "invalid_model" : "unreadable_file", saved.message());
    return {};
  }
  progress.enter(Stage::Frontend);
  const workload::ProgramVersion ours = newestVersion();
  Result<const workload::ProgramBytes *> newest =
      saved->programFor(std::vector<int64_t>(ours.begin(), ours.end()));
  if (!newest) {
    fail(record, name(ErrorCode::InvalidProgram), newest.message());
    return {};
  }
  auto read = reader.read((*newest)->bytes, request.item.file);
  if (!read) {
    fail(record, name(ErrorCode::InvalidProgram), read.message());
    return {};
  }
  bool isArtifact = (*newest)->version.has_value();
  Prepared prepared{std::move(*read), std::move(*saved), budgetOf(request)};
  workload::Workload &workload = prepared.workload;
  workload::Provenance &origin = workload.provenance;
  prepared.read->program.flags = workload.options.flags;
  // Text stands for a program before devices: what is true of a program is true of it.
  prepared.isComplete = !prepared.program().selfChecking &&
                        (isArtifact || !workload.checks.empty() || workload.inputs.size() > 1 ||
                         workload.options.deviceCount() > 1);
  if (origin.expectation.empty())
    origin.expectation = "what the workload holds";
  prepared.budget.seed = origin.seed.value_or(request.seed);
  prepared.budget.wideSums = origin.wideSums;
  if (!origin.test.empty())
    record.notes["reproduces"] =
        origin.test + (origin.message.empty() ? "" : ": " + origin.outcome + ": " + origin.message);
  return prepared;
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
static void refuse(TestRecord &record, const Error &refusal) {
  std::string reason(frontends::reasonOf(refusal.code)), kind(name(kindOf(refusal.code)));
  switch (kindOf(refusal.code)) {
  case ErrorKind::Never:
    fail(record, name(refusal.code), "never supported (" + reason + "): " + refusal.message);
    record.outcome = Outcome::Skipped;
    break;
  case ErrorKind::NotYet:
    fail(record, name(refusal.code), "not supported yet: " + refusal.message);
    break;
  default:
    fail(record, name(refusal.code), refusal.message);
    break;
  }
  record.notes["refusal"] = reason == kind ? kind : kind + ": " + reason;
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

std::optional<Prepared> ProgramTest::prepareModel(const Request &request, Progress &progress,
                                                  TestRecord &record) {
  const std::string &shown = request.item.file;
  const std::string file = placeOf(request);
  Budget budget = budgetOf(request);
  const frontends::ModelFormat *format = frontends::modelFormatOf(file);
  if (!format) {
    record.outcome = Outcome::NotRun;
    record.message = "needs a frontend for such files, which this version does not have";
    return {};
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
    return {};
  }

  progress.enter(Stage::Frontend);
  Result<std::optional<frontends::ModelData>> data = (*model)->testData(part);
  if (!data) {
    fail(record, name(ErrorCode::InvalidArgument), data.message());
    return {};
  }
  const std::string beside = (*model)->baseFile();
  frontends::ImportOptions options;
  if (Status status = takeShapes(request, **model, options, record); !status) {
    fail(record, name(ErrorCode::InvalidArgument), status.message());
    return {};
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
      return {};
    }
    options.inputs = std::move(*given);
  }
  bool hasValues = *data || !options.inputs.empty();
  std::vector<std::string> dropped = frontends::dropOtherShapes(options);
  auto lowered = reader.import(**model, options, shown);
  if (!lowered) {
    refuse(record, lowered.error());
    if (request.isOpByOp() && request.kind == Request::Kind::Test)
      trials.serveSurvey(request, reader.survey(**model, options), record);
    return {};
  }
  auto read = std::move(*lowered);
  for (const std::string &note : read->imported.notes)
    record.notes["import"] += (record.notes["import"].empty() ? "" : "; ") + note;

  const frontends::ImportedModel imported = std::move(read->imported);
  Prepared prepared{std::make_unique<ProgramReader::Read>(std::move(*read)),
                    workloadFor(request, std::string(format->ending.substr(1))), budget};
  workload::Workload &workload = prepared.workload;
  workload.provenance.wideSums = budget.wideSums;
  std::vector<Tensor> &inputs = workload.inputs.emplace_back();
  auto chosen = std::make_shared<ChosenInputs>(prepared.program());
  bool isSeeded = false, isGiven = false;
  for (const frontends::Argument &input : imported.inputs) {
    if (auto given = options.inputs.find(input.name); given != options.inputs.end()) {
      inputs.push_back(given->second);
      isGiven = true;
      continue;
    }
    if (hasValues && std::ranges::find(dropped, input.name) == dropped.end()) {
      fail(record, name(ErrorCode::InvalidArgument),
           (*data ? (*data)->source : companionFile(beside, part, "inputs")) +
               ": holds no value for input '" + input.name + "' of the model");
      return {};
    }
    isSeeded = true;
    Result<Tensor> made = chosen->make(inputs.size(), request.seed, 0);
    if (!made) {
      fail(record, name(ErrorCode::InvalidArgument),
           shown + ": input '" + input.name + "': " + made.message());
      return {};
    }
    inputs.push_back(std::move(*made));
  }
  if (isSeeded)
    record.notes["inputs"] =
        (dropped.empty() ? "" : fmt::format("{}: ", fmt::join(dropped, ", "))) + "made from seed " +
        std::to_string(request.seed);
  prepared.ownInputs = inputs.size();
  for (const auto &[weight, value] : imported.weights)
    inputs.push_back(value);
  if (isSeeded && !isGiven)
    chooseOthers(prepared, std::move(chosen), request.seed);
  if (!dropped.empty()) {
    // Of other inputs than these nothing is known that could be expected.
    record.notes["import"] += (record.notes["import"].empty() ? "" : "; ") +
                              fmt::format("values of {} that are stored have another shape than "
                                          "--shape says; they and stored results are left aside",
                                          fmt::join(dropped, ", "));
  } else if (*data && !(*data)->outputs.empty()) {
    workload.expected.push_back(std::move((*data)->outputs));
    workload.provenance.expectation = "the outputs stored with it";
    const std::vector<Tensor> &expected = workload.expected.front();
    workload.expectsFirst = leavesOutMutations(prepared.program(), expected.size());
    if (request.item.suite == "onnx") {
      // Its data may leave out the last outputs.
      workload.expectsFirst = true;
      for (const Tensor &value : expected)
        workload.tolerances.push_back(Comparators::onnxSuite(value.dtype()).tolerance());
    }
  } else if (Status taken = takeCompanion(prepared, beside, part); !taken) {
    fail(record, name(ErrorCode::InvalidArgument), taken.message());
    return {};
  }
  return prepared;
}

int runServe(const std::vector<std::string> &arguments) {
  Result<ServeOptions> options = ServeOptions::parse(arguments);
  if (!options)
    return reportError("", options.message(), kExitUsage);
  options->name = "cupel-worker " + std::string(version());
  Trials trials;
  ProgramTest programs(trials);
  OpCaseTest cases(trials);
  return serve(*options, [&](const Request &request, Progress &progress) {
    if (request.kind == Request::Kind::Health)
      return programs.checkHealth(request, progress);
    switch (kindOf(request.item).service) {
    case Service::Captured:
      return programs.runCaptured(request, progress);
    case Service::Program:
      return programs.run(request, progress);
    case Service::Case:
      return cases.run(request, progress);
    case Service::None:
      break;
    }
    TestRecord record;
    record.outcome = Outcome::NotRun;
    record.message = "needs a worker for tests of the suite '" + request.item.suite + "'";
    return record;
  });
}

} // namespace cupel::testbench::worker
