#include "cupel/cli/Eval.h"

#include "cupel/cli/EvalOptions.h"
#include "cupel/cli/ProgramText.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/Npy.h"
#include "cupel/tensor/Print.h"

#include <atomic>
#include <filesystem>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/AsmParser/AsmParser.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>
#include <mutex>
#include <thread>

namespace cupel::cli {
namespace {

using namespace mlir;
using reference::Plan;
using tensor::Tensor;

/// What one file came to. Output and complaints are kept together until the file is done, so that
/// files side by side do not mix.
struct Report {
  std::string output, errors;
  bool failed = false;

  void fail(const std::string &message) {
    failed = true;
    errors += "cupel eval: error: " + message + "\n";
  }
};

constexpr int64_t kTracedElements = 1024;

std::string boundedText(const Tensor &tensor) {
  if (tensor.size() <= kTracedElements)
    return tensor::tensorText(tensor);
  return tensor::describe(tensor.elementType(), tensor.shape()) + " (more than " +
         std::to_string(kTracedElements) + " elements)";
}

/// An argument as the command line gives it: what to make of `text` for this type.
Result<reference::Value> argumentValue(const EvalOptions &options, const std::string &text,
                                       mlir::Type type, uint64_t number) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return Error{"argument " + std::to_string(number) +
                 " is no tensor; only tensors can be given with --args"};
  Result<tensor::ElementType> element = reference::elementTypeOf(ranked.getElementType());
  if (!element)
    return Error{element.message()};
  auto wrap = [](Result<Tensor> tensor) -> Result<reference::Value> {
    if (!tensor)
      return Error{tensor.message()};
    return reference::Value(std::move(*tensor));
  };
  if (text == "random" || text == "zeros") {
    if (!ranked.hasStaticShape())
      return Error{"argument " + std::to_string(number) +
                   " has a size that is known at run time only; give it as a .npy file"};
    if (text == "zeros")
      return wrap(Tensor::zeros(*element, reference::shapeOf(type)));
    return wrap(tensor::randomTensor(*element, reference::shapeOf(type),
                                     tensor::defaultFill(*element), {options.run.seed, number}));
  }
  if (text.starts_with("dense<")) {
    std::string whole = text;
    if (text.find(" : ") == std::string::npos) {
      llvm::raw_string_ostream os(whole);
      mlir::Type stored = ranked.getElementType();
      if (auto quantized = dyn_cast<quant::QuantizedType>(stored))
        stored = quantized.getStorageType();
      os << " : " << RankedTensorType::get(ranked.getShape(), stored);
    }
    auto value = dyn_cast_or_null<ElementsAttr>(parseAttribute(whole, type.getContext()));
    if (!value)
      return Error{"argument " + std::to_string(number) + ": '" + text +
                   "' is no value of its type"};
    return wrap(reference::constantTensor(value, type));
  }
  Result<Tensor> read = tensor::readNpy(text, element->storage);
  if (read && element->quantization && read->dtype() == element->storage)
    read = read->withElementType(*element);
  return wrap(std::move(read));
}

Result<std::vector<reference::Value>> argumentsFor(const EvalOptions &options, const Plan &plan) {
  const auto &types = plan.entry().argumentTypes;
  std::vector<reference::Value> values;
  if (options.args.size() != types.size() && options.args.size() != 1 &&
      !(types.empty() && options.args.empty()))
    return Error{"@" + plan.entry().name + " takes " + std::to_string(types.size()) +
                 " arguments; --args gives " + std::to_string(options.args.size()) +
                 " (--args random makes them up)"};
  for (size_t i = 0; i < types.size(); ++i) {
    Result<reference::Value> value =
        argumentValue(options, options.args[options.args.size() == 1 ? 0 : i], types[i], i);
    if (!value)
      return Error{value.message()};
    values.push_back(std::move(*value));
  }
  return values;
}

/// Whether --trace asks for this step.
bool isTraced(const std::string &which, const reference::Step &step) {
  if (which == "all" || which == step.op->getName().getStringRef())
    return true;
  if (which.starts_with("#"))
    return which.substr(1) == std::to_string(step.number);
  if (which.starts_with("line:"))
    if (auto file = step.op->getLoc()->findInstanceOf<FileLineColLoc>())
      return which.substr(5) == std::to_string(file.getLine());
  return false;
}

class Evaluator {
public:
  Evaluator(const EvalOptions &options, const DialectRegistry &registry)
      : options(options), context(registry, MLIRContext::Threading::DISABLED),
        handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
            if (complaint.empty())
              complaint =
                  reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
          }
          return success();
        }) {}

  void file(const std::string &path, Report &report) {
    Result<FileContents> contents = readInput(path);
    if (!contents)
      return report.fail(contents.message());
    std::string name = displayName(path);
    if (Status status = checkIsProgram(name, contents->bytes()); !status)
      return report.fail(status.message());
    std::vector<std::string> parts;
    bool text = !isBytecode(contents->bytes()) &&
                contents->bytes().find(kProgramSeparator) != std::string_view::npos;
    if (!text)
      return program(llvm::MemoryBufferRef(contents->bytes(), name), report, 0);
    parts = splitPrograms(contents->bytes());
    for (size_t i = 0; i < parts.size(); ++i)
      program(llvm::MemoryBufferRef(parts[i], name), report, i);
  }

private:
  void program(llvm::MemoryBufferRef bytes, Report &report, size_t chunk) {
    if (Status status = evaluate(bytes, report, chunk); !status) {
      // Locations may name other files than the program: the source it was made from.
      std::string name = bytes.getBufferIdentifier().str();
      bool named = status.message().starts_with(name);
      report.fail(named ? status.message() : name + ": " + status.message());
    }
  }

  Status evaluate(llvm::MemoryBufferRef bytes, Report &report, size_t chunk) {
    complaint.clear();
    ParserConfig config(&context);
    OwningOpRef<ModuleOp> module = ir::readProgram(bytes, config);
    if (!module || failed(compiler::lowerChlo(*module)))
      return Error{complaint.empty() ? "the program cannot be read" : complaint};
    Result<std::unique_ptr<Plan>> plan = Plan::create(*module, options.entry);
    if (!plan)
      return Error{plan.message()};
    Result<std::vector<reference::Value>> arguments = argumentsFor(options, **plan);
    if (!arguments)
      return Error{arguments.message()};

    reference::RunOptions runOptions = options.run;
    std::mutex mutex; // Processes of a grid print side by side.
    runOptions.print = [&](const std::string &text) {
      std::lock_guard lock(mutex);
      report.output += text;
    };
    if (!options.trace.empty())
      runOptions.trace = [&](const reference::Step &step,
                             std::span<const reference::Value> values) {
        if (!isTraced(options.trace, step))
          return;
        std::lock_guard lock(mutex);
        for (const reference::Value &value : values)
          if (value.isTensor())
            report.output += "#" + std::to_string(step.number) + " " +
                             reference::describeLocation(step.op->getLoc()) + " " +
                             step.op->getName().getStringRef().str() + " = " +
                             boundedText(value.tensor()) + "\n";
      };
    reference::Run run(std::move(runOptions));
    Result<std::vector<reference::Value>> results =
        (*plan)->run(run, std::move(*arguments), options.replicas, options.partitions);
    if (!results)
      return Error{results.message()};
    for (size_t i = 0; i < results->size(); ++i) {
      if (!(*results)[i].isTensor())
        continue;
      const Tensor &value = (*results)[i].tensor();
      if (options.print)
        report.output += tensor::tensorText(value) + "\n";
      if (options.saveFolder.empty())
        continue;
      std::string prefix = chunk ? "chunk" + std::to_string(chunk) + "-" : "";
      if (Status status = tensor::writeNpy(
              options.saveFolder + "/" + prefix + "result" + std::to_string(i) + ".npy", value);
          !status)
        return status;
    }
    return {};
  }

  const EvalOptions &options;
  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::string complaint;
};

/// The files that the command line names, those of folders in order of their paths.
Result<std::vector<std::string>> collectFiles(const std::vector<std::string> &inputs) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string &input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.push_back(input);
      continue;
    }
    std::vector<std::string> found;
    fs::recursive_directory_iterator it(input, fs::directory_options::skip_permission_denied,
                                        error),
        end;
    for (; !error && it != end; it.increment(error)) {
      std::string extension = it->path().extension();
      if (it->is_regular_file(error) &&
          (extension == ".mlir" || extension == ".mlirbc" || extension == ".bc"))
        found.push_back(it->path());
    }
    if (error)
      return Error{input + ": " + error.message()};
    if (found.empty())
      return Error{input + ": no .mlir, .mlirbc or .bc file lies below this folder"};
    llvm::sort(found);
    llvm::append_range(files, found);
  }
  return files;
}

} // namespace

int runEval(int argc, char **argv) {
  EvalOptions options;
  if (Status status = options.parse(argc, argv); !status)
    return reportError("eval", status.message(), kExitUsage);
  if (options.showHelp) {
    llvm::outs() << EvalOptions::help();
    return kExitSuccess;
  }
  Result<std::vector<std::string>> files = collectFiles(options.inputs);
  if (!files)
    return reportError("eval", files.message(), kExitUsage);
  if (!options.saveFolder.empty() && files->size() > 1)
    return reportError("eval", "--save goes with one file at a time", kExitUsage);
  for (const std::string &folder : {options.saveFolder, options.run.probeFolder})
    if (!folder.empty()) {
      std::error_code error;
      std::filesystem::create_directories(folder, error);
      if (error)
        return reportError("eval", folder + ": " + error.message(), kExitUsage);
    }

  // Files side by side use the cores already.
  if (options.run.threads == 0 && std::min<size_t>(options.jobs, files->size()) > 1)
    options.run.threads = 1;

  DialectRegistry registry;
  ir::registerAllDialects(registry);
  std::vector<Report> reports(files->size());
  std::vector<bool> done(files->size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  size_t told = 0, failures = 0;
  auto work = [&] {
    Evaluator evaluator(options, registry);
    for (size_t i; (i = next++) < files->size();) {
      evaluator.file((*files)[i], reports[i]);
      std::lock_guard lock(mutex);
      done[i] = true;
      // Told in the order of the files, as soon as may be.
      for (; told < done.size() && done[told]; ++told) {
        llvm::outs() << reports[told].output;
        llvm::outs().flush();
        llvm::errs() << reports[told].errors;
        failures += reports[told].failed;
        reports[told] = Report();
      }
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(options.jobs, files->size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  llvm::outs() << files->size() - failures << " passed, " << failures << " failed\n";
  return failures ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
