#include "cupel/compiler/WrittenCode.h"

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/compiler/standalone/Standalone.h"
#include "cupel/ir/portable/ReadProgram.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"

#include <set>

namespace cupel::compiler {

using namespace mlir;
using runtime::ProcessTensors;

namespace {

/// Folders that this process wrote, each for one program: another program gets one beside it.
std::string folderFor(const std::string &wanted, const std::string &fingerprint) {
  static std::mutex mutex;
  static std::map<std::string, std::string> &taken = *new std::map<std::string, std::string>();
  std::lock_guard lock(mutex);
  std::string folder = wanted;
  for (int n = 2; !taken.try_emplace(folder, fingerprint).second && taken[folder] != fingerprint; ++n)
    folder = wanted + "-" + std::to_string(n);
  return folder;
}

class WritingExecutable final : public runtime::Executable {
public:
  WritingExecutable(ExecutablePointer inner, std::string source, CompileOptions::Code code)
      : inner(std::move(inner)), source(std::move(source)), code(std::move(code)) {}

  /// Without arguments inputs are ones.
  Result<standalone::GeneratedFolder> generate(const std::vector<tensor::Tensor> *arguments) const {
    ContextLease lease(static_cast<int64_t>(source.size()));
    std::string complaint;
    ScopedDiagnosticHandler handler(&*lease, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
        complaint = diagnostic.str();
      return success();
    });
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(StringRef(source), "program");
    OwningOpRef<ModuleOp> module = ir::readProgram(buffer->getMemBufferRef(), ParserConfig(&*lease));
    func::FuncOp entry = module && succeeded(lowerChlo(*module)) ? entryOf(*module) : func::FuncOp();
    if (!entry)
      return Error{"no code can be written: " + (complaint.empty() ? "there is no function @main" : complaint)};
    standalone::GenerateOptions options;
    options.language = code.language == "cpp" ? standalone::Language::Cpp : standalone::Language::Python;
    options.model = info().name;
    options.inputs = entry.getNumArguments();
    options.exportTensors = arguments != nullptr;
    std::set<std::string> used;
    for (BlockArgument argument : entry.getArguments()) {
      auto located = argument.getLoc()->findInstanceOf<NameLoc>();
      std::string name = located ? located.getName().str() : "";
      if (name.empty() || !used.insert(name).second)
        used.insert(name = "arg" + std::to_string(argument.getArgNumber()));
      options.inputNames.push_back(name);
      if (arguments)
        options.inputValues.emplace_back(name, (*arguments)[argument.getArgNumber()]);
    }
    Result<standalone::GeneratedFolder> folder = standalone::generate(*module, options);
    if (!folder)
      return folder.error().within("the backend codegen_" + code.language +
                                   (complaint.empty() ? "" : " (" + complaint + ")"));
    return folder;
  }

  const runtime::ProgramInfo &info() const override { return inner->info(); }
  std::string text() const override { return inner->text(); }
  std::string serialize() const override { return inner->serialize(); }
  std::optional<runtime::TraceRecord> trace() const override { return inner->trace(); }
  runtime::TraceCounts traceCounts() const override { return inner->traceCounts(); }

  Result<ProcessTensors> execute(ProcessTensors arguments, const std::atomic<bool> *stop) const override {
    {
      std::lock_guard lock(mutex);
      if (!isWritten) {
        if (Status status = write(arguments[0]); !status)
          return status.error();
        isWritten = true;
      }
    }
    return inner->execute(std::move(arguments), stop);
  }

private:
  Status write(const std::vector<tensor::Tensor> &arguments) const {
    Result<standalone::GeneratedFolder> folder = generate(code.exportsTensors ? &arguments : nullptr);
    if (!folder)
      return folder.error();
    return standalone::writeFolder(folderFor(code.folder, info().fingerprint), *folder);
  }

  ExecutablePointer inner;
  std::string source;
  CompileOptions::Code code;
  mutable std::mutex mutex;
  mutable bool isWritten = false;
};

} // namespace

Result<ExecutablePointer> writeCodeAtFirstRun(ExecutablePointer inner, std::string_view source,
                                              const CompileOptions::Code &code) {
  if (inner->info().processCount() != 1)
    return Error{ErrorCode::Unsupported, "standalone code is of programs for one device; this one is for " +
                                             std::to_string(inner->info().processCount())};
  auto made = std::make_shared<WritingExecutable>(std::move(inner), std::string(source), code);
  if (auto tried = made->generate(nullptr); !tried)
    return tried.error().as(ErrorCode::Unsupported);
  return ExecutablePointer(std::move(made));
}

} // namespace cupel::compiler
