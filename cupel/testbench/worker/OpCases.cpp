#include "cupel/testbench/worker/OpCases.h"

#include "cupel/compare/Defaults.h"
#include "cupel/frontends/torch/Import.h"
#include "cupel/frontends/torch/ProgramJson.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::worker {

namespace {

namespace torch_import = frontends::torch_import;
using nlohmann::json;
using results::Outcome;
using results::Stage;
using results::TestRecord;
using tensor::Tensor;


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

Comparators OpCaseTest::comparatorsOf(const Case &one, tensor::DType type) {
  Comparators comparators{.assertPcc = false, .assertAllclose = true, .recordPcc = false};
  // Where nothing is said, what torch.testing.assert_close takes.
  compare::Closeness close = compare::torchCloseness(type);
  comparators.allcloseRtol = one.rtol.value_or(close.rtol);
  comparators.allcloseAtol = one.atol.value_or(close.atol);
  return comparators;
}

TestRecord OpCaseTest::run(const Request &request, Progress &progress) {
  TestRecord record;
  json handed = json::parse(request.handover, nullptr, /*allow_exceptions=*/false);
  if (!handed.is_object()) {
    fail(record, name(ErrorCode::Internal), "nothing of the case was handed over");
    return record;
  }
  record.notes["expectation"] = "torch on the CPU";
  bool isOurs = request.compileBackend.empty() || request.compileBackend == "cupel";
  Case one;
  one.op = textOf(handed, "op");
  one.model = textOf(handed, "model");
  one.torch = textOf(handed, "torch");
  for (auto [key, into] : {std::pair("rtol", &one.rtol), std::pair("atol", &one.atol)})
    if (auto found = handed.find(key); found != handed.end() && found->is_number())
      *into = found->get<double>();
  Status usable = shared.use(request.tensors);
  for (auto [key, into] : {std::pair("expected", &one.expected),
                           std::pair(isOurs ? "inputs" : "actual", &one.given)})
    if (usable) {
      Result<std::vector<Tensor>> tensors = shared.tensors(handed.value(key, json::array()));
      if (tensors)
        *into = std::move(*tensors);
      else
        usable = tensors.error();
    }
  if (!usable) {
    fail(record, name(ErrorCode::Internal), usable.message());
  } else if (isOurs) {
    if (auto prepared = lower(request, std::move(one), progress, record))
      trials.serve(request, progress, std::move(*prepared), record);
  } else {
    progress.enter(Stage::Compare);
    compare(one, one.given, record);
  }
  return record;
}

void OpCaseTest::compare(const Case &one, const std::vector<Tensor> &actual, TestRecord &record) {
  const std::vector<Tensor> &expected = one.expected;
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
    comparison->rule = "configured"; // There is no program whose noise could be measured.
    if (!comparison->passed && record.outcome == Outcome::Passed)
      fail(record, "wrong_result", fmt::format("result {} is wrong: {}", i, comparison->sentence));
    record.comparisons.push_back(std::move(*comparison));
  }
}

std::optional<Prepared> OpCaseTest::lower(const Request &request, Case one, Progress &progress,
                                          TestRecord &record) {
  progress.enter(Stage::Frontend);
  Result<torch_import::Program> program = torch_import::parseProgram(one.model, one.op);
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
    size_t number = one.given.size();
    if (argument.name.starts_with("arg_"))
      number = std::strtoul(argument.name.c_str() + 4, nullptr, 10);
    if (number >= one.given.size()) {
      fail(record, "internal", "the program takes '" + argument.name + "', which nobody has");
      return {};
    }
    given.push_back(one.given[number]);
  }
  for (const auto &[name, value] : read->imported.weights)
    given.push_back(value);

  // What comes after the results are new values of arguments that were written to.
  workload.expectsFirst = true;
  // A case that names no bound is judged as every test that names none.
  if (one.rtol || one.atol)
    for (const Tensor &value : one.expected)
      workload.tolerances.push_back(comparatorsOf(one, value.dtype()).tolerance());
  workload.expected.push_back(std::move(one.expected));
  workload.provenance.expectation = "torch on the CPU";
  workload.provenance.versions["torch"] = one.torch;
  // Torch's kernels sum narrow floats in wider ones.
  workload.provenance.wideSums = true;
  Budget budget = budgetOf(request);
  budget.wideSums = true;
  return Prepared{std::make_unique<ProgramReader::Read>(std::move(*read)), std::move(workload),
                  budget};
}

} // namespace cupel::testbench::worker
