#include "cupel/testbench/worker/OpCases.h"

#include "cupel/frontends/torch/Import.h"
#include "cupel/frontends/torch/ProgramJson.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace cupel::testbench::worker {

namespace {

namespace torch_import = frontends::torch_import;
using nlohmann::json;
using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;

constexpr size_t kKeptFiles = 8;

std::string textOf(const json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// What torch called for a case, as a model.
class CapturedProgram : public frontends::ModelFile {
public:
  explicit CapturedProgram(torch_import::Program program) : program(std::move(program)) {}

  /// It lies in no file, and no data beside it.
  std::string baseFile() const override { return {}; }
  std::vector<frontends::ModelInput> inputs() const override { return {}; }

  Result<frontends::ImportedModel> import(mlir::MLIRContext &context,
                                          const frontends::ImportOptions &options) const override {
    Result<torch_import::Imported> imported =
        torch_import::importProgram(program, context, {options, {}});
    if (!imported)
      return imported.error();
    return frontends::ImportedModel(std::move(*imported));
  }

  frontends::ModelSurvey survey(mlir::MLIRContext &,
                                const frontends::ImportOptions &) const override {
    return {};
  }

private:
  torch_import::Program program;
};

} // namespace

std::string deviceType(std::string_view device) {
  device = device.substr(0, std::min(device.find('?'), device.find('@')));
  std::string name = std::filesystem::path(device).stem().string();
  for (std::string_view prefix : {"lib", "pjrt_plugin_", "pjrt_", "pjrt-plugin-"})
    if (name.starts_with(prefix))
      name.erase(0, prefix.size());
  for (std::string_view suffix : {"_pjrt_plugin", "_pjrt", "_plugin"})
    if (name.ends_with(suffix))
      name.erase(name.size() - suffix.size());
  return name;
}

Comparators comparatorsOf(const opcases::Case &one, tensor::DType type) {
  using tensor::DType;
  Comparators comparators{.assertPcc = false, .assertAllclose = true, .recordPcc = false};
  // Where nothing is said, what torch.testing.assert_close takes.
  double rtol = 0, atol = 0;
  switch (type) {
  case DType::F16:
    rtol = 1e-3;
    atol = 1e-5;
    break;
  case DType::BF16:
    rtol = 1.6e-2;
    atol = 1e-5;
    break;
  case DType::F32:
  case DType::C64:
    rtol = 1.3e-6;
    atol = 1e-5;
    break;
  case DType::F64:
  case DType::C128:
    rtol = 1e-7;
    atol = 1e-7;
    break;
  default:
    break;
  }
  comparators.allcloseRtol = one.rtol.value_or(rtol);
  comparators.allcloseAtol = one.atol.value_or(atol);
  return comparators;
}

Result<const opcases::CaseFile *> OpCaseTest::load(const std::string &path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0)
    return Error{path + ": " + std::strerror(errno)};
  int64_t modified = info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
  for (auto it = kept.begin(); it != kept.end(); ++it) {
    if (it->path != path)
      continue;
    if (it->modified == modified && it->size == info.st_size) {
      kept.splice(kept.begin(), kept, it);
      return static_cast<const opcases::CaseFile *>(&kept.front().file);
    }
    kept.erase(it);
    break;
  }
  Result<opcases::CaseFile> read = opcases::readCaseFile(path);
  if (!read)
    return read.error();
  kept.push_front({path, modified, int64_t(info.st_size), std::move(*read)});
  if (kept.size() > kKeptFiles)
    kept.pop_back();
  return static_cast<const opcases::CaseFile *>(&kept.front().file);
}

TestRecord OpCaseTest::run(const Request &request, Progress &progress) {
  TestRecord record;
  const std::string &shown = request.item.file;
  std::string path = placeOf(request);
  Result<const opcases::CaseFile *> file = load(path);
  if (!file) {
    fail(record, "unreadable_file", file.message());
    return record;
  }
  const opcases::Case *one = nullptr;
  for (const opcases::Case &candidate : (*file)->cases)
    if (candidate.number == request.item.part)
      one = &candidate;
  if (!one) {
    fail(record, "unreadable_file",
         fmt::format("{}: there is no sound case at place {} any more", shown,
                     request.item.part + 1));
    return record;
  }
  std::string backend = request.compileBackend.empty() ? "cupel" : request.compileBackend;
  opcases::Surroundings surroundings{.device =
                                         backend == "cupel" ? deviceType(request.device) : backend,
                                     .compileBackend = backend,
                                     .arch = request.arch,
                                     .model = (*file)->model,
                                     .name = one->name,
                                     .op = one->op,
                                     .dtype = one->dtype};
  for (const opcases::SkipRule &rule : one->skipIf) {
    Result<bool> skips = rule.condition.holds(surroundings);
    if (!skips) {
      fail(record, "bad_case",
           fmt::format("{}:{}: skip_if: {}: {}", shown, one->line, rule.text, skips.message()));
      return record;
    }
    if (*skips) {
      record.outcome = Outcome::Skipped;
      record.message = rule.reason;
      return record;
    }
  }

  std::string interpreter = findPython(request.python);
  if (!python || python->interpreter() != interpreter)
    python = std::make_unique<PythonWorker>(interpreter, backend);
  PythonWorker::Deadline deadline = budgetOf(request).deadline;
  json body = {{"suite", request.item.suite},
               {"id", request.item.id},
               {"compile_backend", backend},
               {"threads", request.threads},
               {"case", json::parse(opcases::toJson(*one))}};
  PythonWorker::Failure failure;
  std::optional<json> answer = python->ask(
      request.number, body, deadline, [&](Stage stage) { progress.enter(stage); }, failure);
  if (!answer) {
    switch (failure.kind) {
    case PythonWorker::Failure::Kind::CannotStart:
      record.outcome = Outcome::NotRun;
      record.errorClass = "no_python";
      break;
    case PythonWorker::Failure::Kind::Died:
      record.outcome = Outcome::Crashed;
      record.errorClass = "python_worker_died";
      break;
    case PythonWorker::Failure::Kind::TimedOut:
      record.outcome = Outcome::TimedOut;
      record.errorClass = "timed_out";
      break;
    }
    record.message = failure.message;
    return record;
  }
  record.outcome = results::parseOutcome(textOf(*answer, "outcome")).value_or(Outcome::Failed);
  record.errorClass = textOf(*answer, "error_class");
  record.message = textOf(*answer, "message");
  record.notes["torch"] = python->torchVersion();
  if (backend != "cupel")
    record.notes["backend"] = backend;
  if (auto notes = answer->find("notes"); notes != answer->end() && notes->is_object())
    for (const auto &[key, value] : notes->items())
      if (value.is_string())
        record.notes[key] = value.get<std::string>();
  auto capture = answer->find("capture");
  if (record.outcome != Outcome::Passed || capture == answer->end() || !capture->is_object())
    return record;
  record.notes["expectation"] = "torch on the CPU";

  // Borrowed memory that the next request overwrites; nothing of it outlives this test.
  Result<std::vector<Tensor>> expected = python->tensors(capture->value("expected", json::array()));
  Result<std::vector<Tensor>> given =
      python->tensors(capture->value(backend == "cupel" ? "inputs" : "actual", json::array()));
  for (const Result<std::vector<Tensor>> *tensors : {&expected, &given})
    if (!*tensors) {
      fail(record, "internal", tensors->message());
      return record;
    }
  if (backend == "cupel") {
    if (auto prepared = lower(request, *one, textOf(*capture, "model"), *given,
                              std::move(*expected), progress, record))
      trials.serve(request, progress, std::move(*prepared), record);
  } else {
    progress.enter(Stage::Compare);
    compare(*one, *given, *expected, record);
  }
  return record;
}

void OpCaseTest::compare(const opcases::Case &one, const std::vector<Tensor> &actual,
                         const std::vector<Tensor> &expected, TestRecord &record) {
  record.outcome = Outcome::Passed;
  if (actual.size() < expected.size())
    return fail(
        record, "wrong_result",
        fmt::format("there are {} results, and {} are expected", actual.size(), expected.size()));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (actual[i].dtype() != expected[i].dtype())
      return fail(record, "wrong_result",
                  fmt::format("result {} is {}, and {} is expected", i,
                              tensor::describe(actual[i].elementType(), actual[i].shape()),
                              tensor::describe(expected[i].elementType(), expected[i].shape())));
    auto comparison =
        compareOutput(uint32_t(i), actual[i], expected[i], comparatorsOf(one, expected[i].dtype()));
    if (!comparison)
      return fail(record, "internal", comparison.message());
    if (!comparison->passed && record.outcome == Outcome::Passed)
      fail(record, "wrong_result", fmt::format("result {} is wrong: {}", i, comparison->sentence));
    record.comparisons.push_back(std::move(*comparison));
  }
}

std::optional<Prepared> OpCaseTest::lower(const Request &request, const opcases::Case &one,
                                          const std::string &model,
                                          const std::vector<Tensor> &inputs,
                                          std::vector<Tensor> expected, Progress &progress,
                                          TestRecord &record) {
  progress.enter(Stage::Frontend);
  Result<torch_import::Program> program = torch_import::parseProgram(model, one.op);
  if (!program) {
    fail(record, "internal", program.message());
    return {};
  }
  CapturedProgram captured(std::move(*program));
  auto imported = reader.import(captured, {}, request.item.id);
  if (!imported) {
    const Error &refusal = imported.error();
    ErrorKind kind = kindOf(refusal.code);
    fail(record, name(refusal.code),
         (kind == ErrorKind::NotYet  ? "not supported yet: "
          : kind == ErrorKind::Never ? "never supported: "
                                     : "") +
             refusal.message);
    record.notes["refusal"] = name(kind);
    if (kind == ErrorKind::Never)
      record.outcome = Outcome::Skipped;
    return {};
  }
  auto read = std::move(*imported);
  workload::Workload workload = workloadFor(request, "opcase");
  // The program's arguments are the case's tensors, by their numbers.
  std::vector<Tensor> &given = workload.inputs.emplace_back();
  for (const frontends::Argument &argument : read->imported.inputs) {
    size_t number = inputs.size();
    if (argument.name.starts_with("arg_"))
      number = std::strtoul(argument.name.c_str() + 4, nullptr, 10);
    if (number >= inputs.size()) {
      fail(record, "internal", "the program takes '" + argument.name + "', which nobody has");
      return {};
    }
    given.push_back(inputs[number]);
  }
  for (const auto &[name, value] : read->imported.weights)
    given.push_back(value);

  // What comes after the results are new values of arguments that were written to.
  workload.expectsFirst = true;
  for (const Tensor &value : expected)
    workload.tolerances.push_back(comparatorsOf(one, value.dtype()).tolerance());
  workload.expected.push_back(std::move(expected));
  workload.provenance.expectation = "torch on the CPU";
  workload.provenance.versions["torch"] = python->torchVersion();
  // Torch's kernels sum narrow floats in wider ones.
  workload.provenance.wideSums = true;
  Budget budget = budgetOf(request);
  budget.wideSums = true;
  return Prepared{std::make_unique<ProgramReader::Read>(std::move(*read)), std::move(workload),
                  budget};
}

} // namespace cupel::testbench::worker
