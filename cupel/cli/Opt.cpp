#include "cupel/cli/Opt.h"
#include "cupel/cli/OptOptions.h"
#include "cupel/cli/ProgramDiagnostics.h"
#include "cupel/cli/ProgramText.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Bytecode/BytecodeReader.h>
#include <mlir/Bytecode/BytecodeWriter.h>
#include <mlir/Dialect/Func/Extensions/InlinerExtension.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Quant/QuantOps.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Support/Timing.h>
#include <unistd.h>

namespace cupel::cli {
namespace {

using namespace mlir;

bool isBinary(Emit emit) { return emit == Emit::Bytecode || emit == Emit::Portable; }

/// Reads, transforms and writes one program; diagnostics go to the handler that `context` has.
LogicalResult processProgram(const OptOptions &options, MLIRContext &context,
                             const std::shared_ptr<llvm::SourceMgr> &sources, TimingScope &timing,
                             raw_ostream &os) {
  // Parsing is sequential; without threads the context needs no locks meanwhile.
  bool wasThreaded = context.isMultithreadingEnabled();
  context.disableMultithreading();
  FallbackAsmResourceMap resources;
  ParserConfig config(&context, /*verifyAfterParse=*/true, &resources);
  TimingScope parsing = timing.nest("Read");
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  parsing.stop();
  context.enableMultithreading(wasThreaded);
  if (!module)
    return failure();

  if (options.passes.hasAnyOccurrences()) {
    PassManager manager(&context, ModuleOp::getOperationName());
    manager.enableVerifier(options.verifyEach);
    manager.enableTiming(timing);
    if (failed(applyPassManagerCLOptions(manager)))
      return failure();
    auto report = [&](const Twine &message) { return emitError(module->getLoc(), message); };
    if (failed(options.passes.addToPipeline(manager, report)) || failed(manager.run(*module)))
      return failure();
  }

  TimingScope writing = timing.nest("Write");
  OpPrintingFlags flags;
  switch (options.emit) {
  case Emit::Text:
  case Emit::Generic: {
    if (options.emit == Emit::Generic)
      flags.printGenericOpForm();
    AsmState state(*module, flags, /*locationMap=*/nullptr, &resources);
    module->print(os, state);
    return success();
  }
  case Emit::Bytecode: {
    BytecodeWriterConfig writer(resources);
    return writeBytecodeToFile(*module, os, writer);
  }
  case Emit::Portable:
  case Emit::Vhlo:
    return emitError(module->getLoc(), "portable artifacts are not linked into this build");
  }
  llvm_unreachable("all forms are handled");
}

/// Gives one program a context of its own, so that nothing of it shows in the next.
LogicalResult processProgramText(const OptOptions &options, const DialectRegistry &registry,
                                 llvm::MemoryBufferRef text, TimingScope &timing, raw_ostream &os) {
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(text), llvm::SMLoc());
  MLIRContext context(registry);
  context.allowUnregisteredDialects(options.allowUnregisteredDialects);
  if (options.verifyDiagnostics) {
    SourceMgrDiagnosticVerifierHandler verifier(*sources, &context);
    context.printOpOnDiagnostic(false);
    (void)processProgram(options, context, sources, timing, os);
    return verifier.verify();
  }
  ProgramDiagnosticHandler handler(&context, *sources, llvm::errs());
  return processProgram(options, context, sources, timing, os);
}

ExitCode processFile(const OptOptions &options, const DialectRegistry &registry,
                     const std::string &path, TimingScope &timing, raw_ostream &os) {
  Result<FileContents> contents = readInput(path);
  if (!contents) {
    reportError("opt", contents.message(), kExitUsage);
    return kExitUsage;
  }
  std::string name = displayName(path);
  if (Status status = checkIsProgram(name, contents->bytes()); !status) {
    reportError("opt", status.message(), kExitFailure);
    return kExitFailure;
  }
  // Copies of the parts are made only where there are parts; a large file is used where it lies.
  bool split = options.splitInputFile && !isBytecode(contents->bytes());
  std::vector<std::string> parts;
  if (split)
    parts = splitPrograms(contents->bytes());
  size_t count = split ? parts.size() : 1;
  LogicalResult result = success();
  for (size_t i = 0; i < count; ++i) {
    llvm::StringRef text = split ? llvm::StringRef(parts[i]) : llvm::StringRef(contents->bytes());
    if (i > 0)
      os << llvm::StringRef(kProgramSeparator) << '\n';
    if (failed(
            processProgramText(options, registry, llvm::MemoryBufferRef(text, name), timing, os)))
      result = failure();
  }
  return failed(result) ? kExitFailure : kExitSuccess;
}

/// A complaint about options that do not go together; empty if they do.
std::string checkOptions(const OptOptions &options) {
  if (!isBinary(options.emit))
    return {};
  if (options.inputs.size() > 1)
    return "binary output of several files cannot share one output; give one file at a time";
  if (options.splitInputFile)
    return "binary output of several programs cannot share one output; leave out "
           "--split-input-file";
  if (options.output == "-" && ::isatty(STDOUT_FILENO))
    return "will not write binary output to a terminal; use -o FILE or a pipe";
  return {};
}

} // namespace

int runOpt(int argc, char **argv) {
  OptOptions options;
  if (!options.parse(argc, argv))
    return kExitUsage;
  if (std::string complaint = checkOptions(options); !complaint.empty())
    return reportError("opt", complaint, kExitUsage);

  DialectRegistry registry;
  registry.insert<func::FuncDialect, quant::QuantizationDialect>();
  func::registerInlinerExtension(registry);
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();

  std::string output;
  llvm::raw_string_ostream os(output);
  int exitCode = kExitSuccess;
  bool first = true;
  for (const std::string &input : options.inputs) {
    if (!first && !isBinary(options.emit))
      os << llvm::StringRef(kProgramSeparator) << '\n';
    first = false;
    exitCode = std::max<int>(exitCode, processFile(options, registry, input, scope, os));
  }
  // A file that was asked for is written only if all of it is right.
  if (exitCode != kExitSuccess && options.output != "-")
    return exitCode;
  if (Status status = writeOutput(options.output, output); !status)
    return reportError("opt", status.message(), kExitUsage);
  return exitCode;
}

} // namespace cupel::cli
