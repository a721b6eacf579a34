#include "cupel/compiler/RoundedArguments.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/backends/cpu/PackedWeights.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/compiler/passes/SplitRounding.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/support/Sha256.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <mutex>

namespace cupel::compiler {

using namespace mlir;
using runtime::ProcessTensors;
using tensor::Tensor;

namespace {

/// How a further argument is made of one of the program's own.
struct Form {
  unsigned argument = 0;
  std::optional<tensor::BlockFormat> format; ///< That it is rounded to in the end.
  ExecutablePointer program;                 ///< Null: it is taken as it lies.
  std::string layout;        ///< By which what is made of a buffer is known again.
};

/// A weight as products take it. Kernels keep packed forms of it, which go with it.
struct Rounded {
  explicit Rounded(Tensor value) : value(std::move(value)) {}
  ~Rounded() { PackedWeights::get().forget(value.data()); }
  Tensor value;
};

class RoundingExecutable final : public runtime::Executable {
public:
  RoundingExecutable(ExecutablePointer inner, std::vector<Form> forms, std::string source, const CompileOptions &options)
      : inner(std::move(inner)), forms(std::move(forms)), saved(savedForm(options.backend, describe(options) + "\n" + source)) {
    about = this->inner->info();
    about.arguments.resize(about.arguments.size() - this->forms.size());
    about.fingerprint = sha256(saved);
    about.notes["rounded once a buffer"] = std::to_string(this->forms.size());
    last.resize(this->forms.size());
  }
  ~RoundingExecutable() override {
    for (const std::weak_ptr<const PackedWeights::Kept> &one : last)
      PackedWeights::get().forget(one.lock());
  }

  const runtime::ProgramInfo &info() const override { return about; }
  std::string text() const override { return inner->text(); }
  std::string serialize() const override { return saved; }
  std::optional<runtime::TraceRecord> trace() const override { return inner->trace(); }
  runtime::TraceCounts traceCounts() const override { return inner->traceCounts(); }

  Result<ProcessTensors> execute(ProcessTensors arguments, const std::atomic<bool> *stop) const override {
    std::vector<PackedWeights::KeptPointer> held; // Until the run is over.
    size_t own = arguments[0].size();
    for (size_t i = 0; i < forms.size(); ++i) {
      const Form &form = forms[i];
      if (form.argument >= own)
        return Error{"an argument is missing"};
      Tensor weight = arguments[0][form.argument];
      std::optional<Error> failure;
      auto make = [&]() -> std::shared_ptr<const void> {
        Result<Tensor> made = makeForm(form, weight, stop);
        if (!made) {
          failure = made.error();
          return nullptr;
        }
        return std::make_shared<const Rounded>(std::move(*made));
      };
      PackedWeights::KeptPointer kept = PackedWeights::get().find(weight, form.layout, make, weight.byteSize());
      if (!kept->form) { // Whoever made it failed, here or on another thread.
        PackedWeights::get().forget(kept);
        return failure.value_or(Error{ErrorCode::OutOfMemory, "a weight cannot be rounded"});
      }
      {
        std::lock_guard lock(mutex);
        last[i] = kept;
      }
      arguments[0].push_back(static_cast<const Rounded *>(kept->form.get())->value);
      held.push_back(std::move(kept));
    }
    return inner->execute(std::move(arguments), stop);
  }

private:
  static Result<Tensor> makeForm(const Form &form, const Tensor &weight, const std::atomic<bool> *stop) {
    Tensor made = weight;
    if (form.program) {
      Result<ProcessTensors> moved = form.program->execute({{weight}}, stop);
      if (!moved)
        return moved.error();
      made = std::move((*moved)[0][0]);
    }
    return form.format ? tensor::roundToBlocks(made, *form.format) : made;
  }

  ExecutablePointer inner;
  std::vector<Form> forms;
  std::string saved;
  runtime::ProgramInfo about;
  mutable std::mutex mutex;
  mutable std::vector<std::weak_ptr<const PackedWeights::Kept>> last; ///< Of each form: goes with the executable.
};

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Locations hold the names of weights.
  ir::printProgram(module, os, OpPrintingFlags().enableDebugInfo());
  return text;
}

/// The formats of a program that takes some of its weights rounded: these stay as they are.
std::string formatsWithout(const std::string &formats, const std::vector<RoundedForm> &forms) {
  llvm::json::Object object;
  llvm::Expected<llvm::json::Value> given = llvm::json::parse(formats);
  if (given && given->getAsObject())
    object = *given->getAsObject();
  else
    object["default"] = formats;
  if (!given)
    llvm::consumeError(given.takeError());
  for (const RoundedForm &form : forms)
    object[form.name] = "bf16";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(object));
  return text;
}

/// The program with its weights taken apart.
struct Split {
  std::string program, formats;
  std::vector<Form> forms;
  std::vector<std::string> ways; ///< Programs of the forms; empty: none.
};

std::optional<Split> split(std::string_view source, const CompileOptions &options, const WeightFormats &formats) {
  ContextLease lease(static_cast<int64_t>(source.size()));
  // What is wrong with the program is said when it is compiled.
  ScopedDiagnosticHandler handler(&*lease, [](Diagnostic &) { return success(); });
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(StringRef(source), "program");
  OwningOpRef<ModuleOp> module = ir::readProgram(buffer->getMemBufferRef(), ParserConfig(&*lease));
  func::FuncOp entry = module && succeeded(lowerChlo(*module)) ? entryOf(*module) : func::FuncOp();
  if (!entry)
    return std::nullopt;
  unsigned own = entry.getNumArguments();
  std::vector<RoundedForm> found = splitRounding(*module, entry.getName(), formats);
  std::string left = found.empty() ? options.weightFormats : formatsWithout(options.weightFormats, found);
  if (options.narrowsProducts) {
    narrowProducts(*module, options.keepsNarrow);
    for (RoundedForm &form : splitNarrowing(*module, entry.getName(), own))
      found.push_back(std::move(form));
  }
  if (found.empty())
    return std::nullopt;
  Split made{.program = textOf(*module), .formats = left, .forms = {}, .ways = {}};
  for (RoundedForm &form : found) {
    std::string way = form.program ? textOf(*form.program) : "";
    made.forms.push_back({form.argument, form.format, nullptr, "rounded " + std::to_string(form.format ? int(*form.format) : -1) + " " + sha256(way)});
    made.ways.push_back(std::move(way));
  }
  return made;
}

} // namespace

Result<ExecutablePointer> compileWithRoundedArguments(const Backend &backend, std::string_view source,
                                                      const CompileOptions &options) {
  bool applies = backend.name() == "cpu" && (!options.weightFormats.empty() || options.narrowsProducts) && options.replicas == 1 && options.partitions == 1 &&
                 options.types.empty() && options.dumpFolder.empty() && options.code.language.empty() && options.rewriteLimit < 0;
  if (!applies)
    return ExecutablePointer();
  Result<WeightFormats> formats = parseWeightFormats(options.weightFormats);
  if (!formats)
    return ExecutablePointer(); // Compiling says so.
  std::optional<Split> made = split(source, options, *formats);
  if (!made)
    return ExecutablePointer();
  CompileOptions inner = options, plain = options;
  inner.weightFormats = made->formats;
  plain.weightFormats.clear();
  plain.narrowsProducts = plain.keepsNarrow = false;
  plain.enablesTrace = false; // It runs once for each buffer.
  Result<ExecutablePointer> program = backend.compileSource(made->program, inner);
  if (!program)
    return program;
  std::map<std::string, ExecutablePointer> ways;
  for (size_t i = 0; i < made->forms.size(); ++i) {
    const std::string &way = made->ways[i];
    if (way.empty())
      continue;
    ExecutablePointer &known = ways[way];
    if (!known) {
      Result<ExecutablePointer> compiled = backend.compileSource(way, plain);
      if (!compiled)
        return compiled;
      known = std::move(*compiled);
    }
    made->forms[i].program = known;
  }
  return ExecutablePointer(std::make_shared<RoundingExecutable>(std::move(*program), std::move(made->forms), std::string(source), options));
}

} // namespace cupel::compiler
