#include "cupel/cli/TorchCases.h"

#include "cupel/compare/Defaults.h"
#include "cupel/compare/Verdict.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/torch/Archive.h"
#include "cupel/frontends/torch/Import.h"
#include "cupel/ir/Dialects.h"
#include "cupel/reference/Plan.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>

namespace cupel::cli {

namespace {

namespace fs = std::filesystem;
namespace torch_import = frontends::torch_import;
using tensor::DType;
using tensor::Tensor;

// No case of a test suite needs longer.
constexpr double kTimeoutSeconds = 120;
// A context keeps every type and attribute it has seen: a fresh one now and then.
constexpr int kCasesPerContext = 256;

struct Options {
  bool emit = false, composites = true, seconds = false;
};

struct Outcome {
  enum { Passed, Failed, Refused } kind = Failed;
  std::string message;
  ErrorKind refusal = ErrorKind::Invalid; ///< Of what was refused.
};

Outcome failed(std::string message) { return {Outcome::Failed, std::move(message)}; }
Outcome refusedBy(const Error &error) {
  return {Outcome::Refused, error.message, kindOf(error.code)};
}

using Case = compare::Closeness;


Result<Case> readCase(const std::string &path) {
  Case result = compare::torchCloseness(DType::F32);
  if (!fs::exists(path))
    return result;
  Result<FileContents> text = readInput(path);
  if (!text)
    return text.error();
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text->bytes());
  if (!json) {
    llvm::consumeError(json.takeError());
    return Error{path + ": not valid JSON"};
  }
  if (const llvm::json::Object *object = json->getAsObject()) {
    result.rtol = object->getNumber("rtol").value_or(result.rtol);
    result.atol = object->getNumber("atol").value_or(result.atol);
  }
  return result;
}

Result<std::map<std::string, Tensor>> readTensors(const std::string &path) {
  std::map<std::string, Tensor> tensors;
  if (!fs::exists(path))
    return tensors;
  Result<tensor::Safetensors> file = tensor::readSafetensors(path);
  if (!file)
    return file.error();
  for (const auto &[name, tensor] : file->tensors)
    tensors[name] = tensor;
  return tensors;
}

Outcome runCase(const std::string &path, mlir::MLIRContext &context, const Options &options,
                const std::string &diagnostics) {
  std::string stem = path.substr(0, path.size() - 4);
  Result<Case> tolerance = readCase(stem + ".case.json");
  if (!tolerance)
    return failed(tolerance.message());
  Result<std::map<std::string, Tensor>> inputs = readTensors(stem + ".inputs.safetensors"),
                                        expected = readTensors(stem + ".expected.safetensors");
  if (!inputs)
    return failed(inputs.message());
  if (!expected)
    return failed(expected.message());
  Result<torch_import::Archive> archive = torch_import::Archive::open(path);
  if (!archive)
    return refusedBy(archive.error());
  Result<torch_import::Program> program = archive->program();
  if (!program)
    return refusedBy(program.error());
  torch_import::ImportOptions importOptions;
  importOptions.inputs = *inputs;
  importOptions.composites = options.composites;
  auto imported = torch_import::importProgram(*program, context, importOptions);
  if (!imported) {
    Outcome outcome = refusedBy(imported.error());
    outcome.message += diagnostics.empty() ? "" : " [" + diagnostics + "]";
    return outcome;
  }
  if (options.emit) {
    imported->module->print(llvm::outs());
    return {Outcome::Passed, ""};
  }
  if (mlir::failed(compiler::lowerChlo(*imported->module)))
    return failed("chlo cannot be lowered: " + diagnostics);
  auto plan = reference::Plan::create(*imported->module);
  if (!plan)
    return failed("no plan: " + plan.message());
  std::vector<reference::Value> arguments;
  reference::RunOptions runOptions;
  for (auto [i, input] : llvm::enumerate(imported->inputs)) {
    auto value = inputs->find(input.name);
    if (value == inputs->end())
      value = inputs->find(std::to_string(i));
    if (value == inputs->end())
      return failed("the data lack input '" + input.name + "'");
    if (value->second.dtype() != input.type)
      return failed("the data for input '" + input.name + "' have another type");
    arguments.push_back(value->second);
    // PyTorch's kernels sum narrow floats in wider ones.
    if (input.type == DType::F16 || input.type == DType::BF16)
      runOptions.accumulate = reference::Accumulate::Wide;
  }
  for (const auto &[name, value] : imported->weights)
    arguments.push_back(value);
  runOptions.threads = 1;
  runOptions.timeoutSeconds = kTimeoutSeconds;
  reference::Run run(runOptions);
  auto results = (*plan)->run(run, std::move(arguments));
  if (!results)
    return failed("the run ended: " +
                  results.message());
  // By position, or by the result's name ("mutated:buffer").
  if (expected->empty())
    return failed("nothing is expected: there is no " + stem + ".expected.safetensors");
  for (const auto &[name, wanted] : *expected) {
    size_t position = results->size();
    for (auto [i, output] : llvm::enumerate(imported->outputs))
      if (output == name || std::to_string(i) == name)
        position = i;
    if (position >= results->size())
      return failed(
          fmt::format("output '{}' is expected, but {} are computed", name, results->size()));
    const Tensor &actual = (*results)[position].tensor();
    if (actual.dtype() != wanted.dtype() || !std::ranges::equal(actual.shape(), wanted.shape()))
      return failed(fmt::format("output {}: {} was computed, {} expected", name,
                                tensor::describe(actual.elementType(), actual.shape()),
                                tensor::describe(wanted.elementType(), wanted.shape())));
    // The case's tolerances are those of the samples' type; a result of another type has its own.
    Case allowed = compare::torchCloseness(wanted.dtype());
    if (allowed.rtol != 0) {
      allowed.rtol = std::max(allowed.rtol, tolerance->rtol);
      allowed.atol = std::max(allowed.atol, tolerance->atol);
    }
    auto verdict = compare::check(
        actual, wanted,
        compare::Tolerance::allclose(allowed.rtol, allowed.atol, compare::NanPolicy::Equal));
    if (!verdict)
      return failed(verdict.message());
    if (!verdict->passed)
      return failed(fmt::format("output {}: {}", name, verdict->sentence));
  }
  return {Outcome::Passed, ""};
}

std::string oneLine(std::string text) {
  for (char &c : text)
    if (c == '\n' || c == '\r')
      c = ' ';
  return text;
}

/// "add/3" of ".../add/3.pt2".
std::string caseName(const fs::path &path) {
  return (path.parent_path().filename() / path.stem()).string();
}

} // namespace

int runTorchCases(const std::vector<std::string> &arguments) {
  Options options;
  std::vector<std::string> files;
  for (const std::string &argument : arguments) {
    std::error_code error;
    if (argument == "--emit") {
      options.emit = true;
    } else if (argument == "--no-composites") {
      options.composites = false;
    } else if (argument == "--seconds") {
      options.seconds = true;
    } else if (fs::is_directory(argument, error)) {
      for (const fs::directory_entry &entry : fs::recursive_directory_iterator(argument, error))
        if (entry.path().extension() == ".pt2")
          files.push_back(entry.path().string());
    } else if (argument.ends_with(".pt2")) {
      files.push_back(argument);
    } else {
      return reportError("", "pt2-cases: " + argument + " is neither a folder nor a .pt2 file",
                         kExitUsage);
    }
  }
  std::ranges::sort(files);
  mlir::DialectRegistry registry;
  ir::registerAllDialects(registry);
  std::unique_ptr<mlir::MLIRContext> context;
  int64_t passed = 0, bad = 0, refused = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (i % kCasesPerContext == 0) {
      context =
          std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
      context->loadAllAvailableDialects();
    }
    std::string diagnostics;
    mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
      if (diagnostics.empty())
        diagnostics = diagnostic.str();
    });
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = runCase(files[i], *context, options, diagnostics);
    std::string took;
    if (options.seconds)
      took = fmt::format(
          " [{:.3f} s]",
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    std::string name = caseName(files[i]);
    std::string message = outcome.message.empty() ? "" : ": " + oneLine(outcome.message);
    if (outcome.kind == Outcome::Passed) {
      ++passed;
      llvm::outs() << "PASSED " << name << took << "\n";
    } else if (outcome.kind == Outcome::Refused) {
      ++refused;
      llvm::outs() << "REFUSED(" << cupel::name(outcome.refusal) << ") " << name << took
                   << message << "\n";
    } else {
      ++bad;
      llvm::outs() << "FAILED " << name << took << message << "\n";
    }
    llvm::outs().flush();
  }
  llvm::outs() << passed << " passed, " << bad << " failed, " << refused << " refused\n";
  return bad ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
