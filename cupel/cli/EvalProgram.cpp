#include "cupel/cli/EvalProgram.h"

#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/ir/bytecode/TextFloats.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/Npy.h"
#include "cupel/tensor/Print.h"
#include "cupel/tensor/Safetensors.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/AsmParser/AsmParser.h>
#include <mutex>
#include <unistd.h>

namespace cupel::cli {

using namespace mlir;
using reference::Plan;
using tensor::Tensor;

namespace {

constexpr int64_t kTracedElements = 1024;

std::string boundedText(const Tensor &tensor) {
  if (tensor.size() <= kTracedElements)
    return tensor::tensorText(tensor);
  return tensor::describe(tensor.elementType(), tensor.shape()) + " (more than " +
         std::to_string(kTracedElements) + " elements)";
}

/// The shape of an argument that is made up. `sizes` says what its type leaves open: "2x3", or
/// "?=2" for all of them.
Result<tensor::Shape> shapeFor(RankedTensorType type, StringRef sizes) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  tensor::Shape shape = reference::shapeOf(type);
  if (sizes.empty()) {
    if (type.hasStaticShape())
      return shape;
    return Error{"a " + name +
                 " has sizes that are known at run time only; say them, as in random:2x3 "
                 "(the whole shape) or random:?=2 (each of them)"};
  }
  auto wrong = [&] { return Error{"'" + sizes.str() + "' is no shape of a " + name}; };
  if (sizes.consume_front("?=")) {
    int64_t each;
    if (sizes.getAsInteger(10, each) || each < 0)
      return wrong();
    std::replace(shape.begin(), shape.end(), int64_t(-1), each);
    return shape;
  }
  SmallVector<StringRef> parts;
  sizes.split(parts, 'x');
  if (parts.size() != shape.size())
    return wrong();
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size;
    if (parts[i].getAsInteger(10, size) || size < 0 || (shape[i] >= 0 && shape[i] != size))
      return wrong();
    shape[i] = size;
  }
  return shape;
}

/// An argument as the command line gives it: what to make of `text` for this type.
Result<reference::Value> argumentValue(const EvalSettings &settings, const std::string &text,
                                       mlir::Type type, uint64_t number) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return Error{"argument " + std::to_string(number) +
                 " is no tensor; only tensors can be given with --args"};
  Result<tensor::ElementType> element = reference::elementTypeOf(ranked.getElementType());
  if (!element)
    return element.error();
  auto wrap = [](Result<Tensor> tensor) -> Result<reference::Value> {
    if (!tensor)
      return tensor.error();
    return reference::Value(std::move(*tensor));
  };
  StringRef fill = StringRef(text).split(':').first, sizes = StringRef(text).split(':').second;
  if (fill == "random" || fill == "zeros") {
    Result<tensor::Shape> shape = shapeFor(ranked, sizes);
    if (!shape)
      return shape.error().within("argument " + std::to_string(number));
    if (fill == "zeros")
      return wrap(Tensor::zeros(*element, std::move(*shape)));
    return wrap(tensor::randomTensor(*element, std::move(*shape), tensor::defaultFill(*element),
                                     {settings.seed, number}));
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
    // Types and constants that MLIR 19 lacks, as they are in programs.
    whole = bytecode::spellRareFloats(bytecode::nameRareFloats(whole)).value_or(whole);
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

/// The weights that `cupel compile` wrote beside a program, for the last arguments of its entry
/// function, which have their names.
Result<std::vector<Tensor>> weightsBeside(const std::string &file, ModuleOp module,
                                          const Plan &plan) {
  std::vector<Tensor> weights;
  std::string path = ir::programStem(file) + ".weights.safetensors";
  auto entry = module.lookupSymbol<func::FuncOp>(plan.entry().name);
  if (!entry || entry.isExternal() || access(path.c_str(), F_OK) != 0)
    return weights;
  Result<tensor::Safetensors> read = tensor::readSafetensors(path);
  if (!read)
    return read.error();
  std::map<std::string, Tensor> byName(read->tensors.begin(), read->tensors.end());
  for (BlockArgument argument : llvm::reverse(entry.getArguments())) {
    auto name = argument.getLoc()->findInstanceOf<NameLoc>();
    auto found = name ? byName.find(name.getName().str()) : byName.end();
    if (found == byName.end())
      break;
    weights.insert(weights.begin(), found->second);
  }
  return weights;
}

Result<std::vector<reference::Value>> argumentsFor(const EvalSettings &settings, const Plan &plan,
                                                   std::vector<Tensor> weights) {
  const auto &types = plan.entry().argumentTypes;
  std::vector<reference::Value> values;
  size_t wanted = types.size() - weights.size();
  if (settings.args.size() == types.size())
    wanted = types.size(); // All are given; what lies beside the program does not count.
  if (settings.args.size() != wanted && settings.args.size() != 1 &&
      !(wanted == 0 && settings.args.empty()))
    return Error{"@" + plan.entry().name + " takes " + std::to_string(wanted) +
                 " arguments; --args gives " + std::to_string(settings.args.size()) +
                 " (--args random makes them up)"};
  for (size_t i = 0; i < types.size(); ++i) {
    if (i >= wanted) {
      values.emplace_back(std::move(weights[i - wanted]));
      continue;
    }
    Result<reference::Value> value =
        argumentValue(settings, settings.args[settings.args.size() == 1 ? 0 : i], types[i], i);
    if (!value)
      return value.error();
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

} // namespace

ProgramEvaluator::ProgramEvaluator(const EvalSettings &settings, const DialectRegistry &registry)
    : settings(settings), context(registry, MLIRContext::Threading::DISABLED),
      handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
          complaint =
              reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
        return success();
      }) {}

Status ProgramEvaluator::evaluate(llvm::MemoryBufferRef bytes, size_t chunk,
                                  testbench::worker::Progress &progress, std::string &output) {
  complaint.clear();
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module = ir::readProgram(bytes, config);
  if (!module || failed(compiler::lowerChlo(*module)))
    return Error{complaint.empty() ? "the program cannot be read" : complaint};
  Result<std::unique_ptr<Plan>> plan = Plan::create(*module, settings.entry);
  if (!plan)
    return plan.error();
  Result<std::vector<Tensor>> weights =
      weightsBeside(bytes.getBufferIdentifier().str(), *module, **plan);
  if (!weights)
    return weights.error();
  Result<std::vector<reference::Value>> arguments =
      argumentsFor(settings, **plan, std::move(*weights));
  if (!arguments)
    return arguments.error();

  reference::RunOptions runOptions;
  runOptions.maxMemory = int64_t(settings.maxMemory);
  runOptions.maxSteps = int64_t(settings.maxSteps);
  runOptions.timeoutSeconds = settings.timeout;
  runOptions.threads = int(settings.threads);
  runOptions.accumulate =
      settings.wideSums ? reference::Accumulate::Wide : reference::Accumulate::Native;
  runOptions.seed = settings.seed;
  runOptions.probeFolder = settings.probeFolder;
  std::mutex mutex; // Processes of a grid print side by side.
  runOptions.print = [&](const std::string &text) {
    std::lock_guard lock(mutex);
    output += text;
  };
  if (!settings.trace.empty())
    runOptions.trace = [&](const reference::Step &step, std::span<const reference::Value> values) {
      if (!isTraced(settings.trace, step))
        return;
      std::lock_guard lock(mutex);
      for (const reference::Value &value : values)
        if (value.isTensor())
          output += "#" + std::to_string(step.number) + " " +
                           reference::describeLocation(step.op->getLoc()) + " " +
                           step.op->getName().getStringRef().str() + " = " +
                           boundedText(value.tensor()) + "\n";
    };
  progress.enter(results::Stage::Execute);
  reference::Run run(std::move(runOptions));
  Result<std::vector<reference::Value>> results =
      (*plan)->run(run, std::move(*arguments), settings.replicas, settings.partitions);
  if (!results)
    return results.error();
  for (size_t i = 0; i < results->size(); ++i) {
    if (!(*results)[i].isTensor())
      continue;
    const Tensor &value = (*results)[i].tensor();
    if (settings.print)
      output += tensor::tensorText(value) + "\n";
    if (settings.saveFolder.empty())
      continue;
    std::string prefix = chunk ? "chunk" + std::to_string(chunk) + "-" : "";
    if (Status status = tensor::writeNpy(
            settings.saveFolder + "/" + prefix + "result" + std::to_string(i) + ".npy", value);
        !status)
      return status;
  }
  return {};
}

} // namespace cupel::cli
