#include "cupel/cli/OnnxCases.h"

#include "cupel/compare/Verdict.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/onnx/Import.h"
#include "cupel/ir/Dialects.h"
#include "cupel/reference/Plan.h"
#include "cupel/support/Error.h"
#include "onnx-ml.pb.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>
#include <set>

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;
namespace onnx_import = frontends::onnx_import;
using frontends::Refusal;
using tensor::DType;
using tensor::Tensor;

// No case of a test suite needs longer.
constexpr double kTimeoutSeconds = 120;

struct Outcome {
  enum { Passed, Failed, Refused } kind = Failed;
  Refusal refusal = Refusal::None;
  std::string message;
};

Outcome failed(std::string message) { return {Outcome::Failed, Refusal::None, message}; }

/// The suite's own tolerance: one for all types but bfloat16, whose steps are larger.
compare::Tolerance toleranceOf(DType type) {
  double rtol = type == DType::BF16 ? std::ldexp(1, -6) : 1e-3;
  return compare::Tolerance::allclose(rtol, 1e-7, compare::NanPolicy::Equal);
}

/// The inputs that test data feed: all, or all that are no initializers.
std::vector<const onnx::ValueInfoProto *> fedInputs(const onnx::GraphProto &graph, int64_t files) {
  std::set<std::string> constants;
  for (const onnx::TensorProto &tensor : graph.initializer())
    constants.insert(tensor.name());
  std::vector<const onnx::ValueInfoProto *> result;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (files == graph.input_size() || !constants.count(input.name()))
      result.push_back(&input);
  return result;
}

int64_t countFiles(const fs::path &folder, const std::string &stem) {
  int64_t count = 0;
  while (fs::exists(folder / fmt::format("{}_{}.pb", stem, count)))
    ++count;
  return count;
}

Outcome runDataSet(const onnx_import::Model &model, const fs::path &data,
                   mlir::MLIRContext &context, const std::string &diagnostics) {
  const onnx::GraphProto &graph = model.proto().graph();
  frontends::ImportOptions options;
  auto fed = fedInputs(graph, countFiles(data, "input"));
  for (size_t i = 0; i < fed.size(); ++i) {
    fs::path file = data / fmt::format("input_{}.pb", i);
    // What cannot be read as a tensor of ours is refused by the import, for its own reason.
    if (!fed[i]->type().has_tensor_type() ||
        !onnx_import::elementType(fed[i]->type().tensor_type().elem_type()) || !fs::exists(file))
      continue;
    Result<Tensor> value = onnx_import::loadTensorFile(file.string());
    if (!value)
      return failed(value.message());
    options.inputs[fed[i]->name()] = std::move(*value);
  }
  frontends::ImportFailure failure;
  auto imported = onnx_import::importModel(model, context, options, failure);
  if (!imported)
    return {Outcome::Refused, failure.refusal,
            failure.message + (diagnostics.empty() ? "" : " [" + diagnostics + "]")};
  if (mlir::failed(compiler::lowerChlo(*imported->module)))
    return failed("chlo cannot be lowered: " + diagnostics);
  auto plan = reference::Plan::create(*imported->module);
  if (!plan)
    return failed("no plan: " + plan.message());
  std::vector<reference::Value> arguments;
  for (const frontends::Argument &input : imported->inputs) {
    auto value = options.inputs.find(input.name);
    if (value == options.inputs.end())
      return failed("the data lack input '" + input.name + "'");
    arguments.push_back(value->second);
  }
  for (const auto &[name, value] : imported->weights)
    arguments.push_back(value);
  reference::RunOptions runOptions;
  runOptions.threads = 1;
  // The stored outputs come from NumPy, which sums narrow floats in wider ones.
  for (const auto &[name, value] : options.inputs)
    if (value.dtype() == DType::F16 || value.dtype() == DType::BF16)
      runOptions.accumulate = reference::Accumulate::Wide;
  runOptions.timeoutSeconds = kTimeoutSeconds;
  reference::Run run(runOptions);
  auto results = (*plan)->run(run, std::move(arguments));
  if (!results)
    return failed("the run ended: " +
                  (run.failure() ? run.failure()->str() : std::string(results.message())));
  int64_t stored = countFiles(data, "output");
  if (stored == 0 || stored > int64_t(results->size()))
    return failed(fmt::format("{} outputs are stored, {} computed", stored, results->size()));
  for (int64_t i = 0; i < stored; ++i) {
    Result<Tensor> expected =
        onnx_import::loadTensorFile((data / fmt::format("output_{}.pb", i)).string());
    if (!expected)
      return failed(expected.message());
    const Tensor &actual = (*results)[i].tensor();
    if (actual.dtype() != expected->dtype() ||
        !std::ranges::equal(actual.shape(), expected->shape()))
      return failed(fmt::format("output {}: {} was computed, {} expected", i,
                                tensor::describe(actual.elementType(), actual.shape()),
                                tensor::describe(expected->elementType(), expected->shape())));
    auto verdict = compare::check(actual, *expected, toleranceOf(expected->dtype()));
    if (!verdict)
      return failed(verdict.message());
    if (!verdict->passed)
      return failed(fmt::format("output {}: {}", i, verdict->sentence));
  }
  return {Outcome::Passed, Refusal::None, ""};
}

Outcome runCase(const fs::path &folder) {
  mlir::DialectRegistry registry;
  ir::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostics.empty())
      diagnostics = diagnostic.str();
  });
  Result<onnx_import::Model> model = onnx_import::Model::load((folder / "model.onnx").string());
  if (!model)
    return {Outcome::Refused, Refusal::Invalid, model.message()};
  std::vector<fs::path> sets;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::ranges::sort(sets);
  if (sets.empty())
    return failed("holds no test_data_set_*");
  Outcome outcome;
  for (const fs::path &set : sets) {
    outcome = runDataSet(*model, set, context, diagnostics);
    if (outcome.kind != Outcome::Passed)
      break;
  }
  return outcome;
}

std::string oneLine(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
  return text;
}

} // namespace

int runOnnxCases(const std::vector<std::string> &folders) {
  int64_t passed = 0, bad = 0, refused = 0;
  for (const std::string &path : folders) {
    fs::path folder(path);
    if (!folder.has_filename())
      folder = folder.parent_path();
    std::string name = folder.filename().string();
    Outcome outcome = runCase(folder);
    std::string message = outcome.message.empty() ? "" : ": " + oneLine(outcome.message);
    if (outcome.kind == Outcome::Passed) {
      ++passed;
      llvm::outs() << "PASSED " << name << "\n";
    } else if (outcome.kind == Outcome::Refused) {
      ++refused;
      llvm::outs() << "REFUSED(" << frontends::name(outcome.refusal) << ") " << name << message
                   << "\n";
    } else {
      ++bad;
      llvm::outs() << "FAILED " << name << message << "\n";
    }
    llvm::outs().flush();
  }
  llvm::outs() << passed << " passed, " << bad << " failed, " << refused << " refused\n";
  return bad ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
