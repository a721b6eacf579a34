#include "cupel/cli/Opt.h"
#include "cupel/cli/OptOptions.h"
#include "cupel/cli/ProgramDiagnostics.h"
#include "cupel/cli/RewriteWatch.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/cli/Programs.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/ir/Dialects.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"

#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Support/Timing.h>

namespace cupel::cli {
namespace {

using namespace mlir;

/// Reads, transforms and writes one program; diagnostics go to the handler that `context` has.
LogicalResult processProgram(const OptOptions &options, MLIRContext &context,
                             llvm::MemoryBufferRef bytes, TimingScope &timing,
                             std::string &output) {
  // Reading is sequential; without threads the context needs no locks meanwhile.
  bool wasThreaded = context.isMultithreadingEnabled();
  context.disableMultithreading();
  TimingScope reading = timing.nest("Read");
  // An artifact that only changes its version never leaves vhlo.
  bool toVhlo = options.emit == Emit::Vhlo || options.emit == Emit::Portable;
  bool keepVhlo = toVhlo && !options.passes.hasAnyOccurrences();
  Program program =
      readProgram(bytes, &context, {.keepVhlo = keepVhlo});
  reading.stop();
  context.enableMultithreading(wasThreaded);
  if (!program)
    return failure();

  if (options.passes.hasAnyOccurrences()) {
    PassManager manager(&context, ModuleOp::getOperationName());
    manager.enableVerifier(options.verifyEach);
    manager.enableTiming(timing);
    if (failed(applyPassManagerCLOptions(manager)))
      return failure();
    auto report = [&](const Twine &message) {
      return emitError(program.module->getLoc(), message);
    };
    if (failed(options.passes.addToPipeline(manager, report)))
      return failure();
    RewriteWatch rewrites(context, options.rewriteLimit, options.printRewrites);
    if (failed(manager.run(*program.module)))
      return failure();
  }

  TimingScope writing = timing.nest("Write");
  size_t before = output.size();
  llvm::raw_string_ostream os(output);
  if (succeeded(writeProgram(program, options.emit, options.target, os)))
    return success();
  output.resize(before); // No half programs.
  return failure();
}

/// Whether an option of MLIR's own stands on the command line.
bool wasGiven(llvm::StringRef option) {
  auto &registered = llvm::cl::getRegisteredOptions();
  auto found = registered.find(option);
  return found != registered.end() && found->second->getNumOccurrences() > 0;
}

/// Gives one program a context of its own, so that nothing of it shows in the next.
LogicalResult processInOwnContext(const OptOptions &options, const DialectRegistry &registry,
                                  llvm::MemoryBufferRef bytes, TimingScope &timing,
                                  std::string &output) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(bytes), llvm::SMLoc());
  MLIRContext context(registry);
  context.allowUnregisteredDialects(options.allowUnregisteredDialects);
  // An error about a module would print all of it; the message names what is wrong and where.
  if (!wasGiven("mlir-print-op-on-diagnostic"))
    context.printOpOnDiagnostic(false);
  if (options.verifyDiagnostics) {
    SourceMgrDiagnosticVerifierHandler verifier(sources, &context);
    context.printOpOnDiagnostic(false);
    (void)processProgram(options, context, bytes, timing, output);
    return verifier.verify();
  }
  ProgramDiagnosticHandler handler(&context, sources, llvm::errs());
  return processProgram(options, context, bytes, timing, output);
}

ExitCode processFile(const OptOptions &options, const DialectRegistry &registry,
                     const std::string &path, TimingScope &timing, std::string &output) {
  Result<FileContents> contents = readInput(path);
  if (!contents) {
    reportError("opt", contents.message(), kExitUsage);
    return kExitUsage;
  }
  std::string name = displayName(path);
  if (Status status = ir::checkIsProgram(name, contents->bytes()); !status) {
    reportError("opt", status.message(), kExitFailure);
    return kExitFailure;
  }
  // Copies of the parts are made only where there are parts; a large file is used where it lies.
  bool split = options.splitInputFile && !ir::isBytecode(contents->bytes());
  std::vector<std::string> parts;
  if (split)
    parts = ir::splitPrograms(contents->bytes());
  size_t count = split ? parts.size() : 1;
  LogicalResult result = success();
  for (size_t i = 0; i < count; ++i) {
    llvm::StringRef text = split ? llvm::StringRef(parts[i]) : llvm::StringRef(contents->bytes());
    if (i > 0)
      output.append(ir::kProgramSeparator).append("\n");
    if (failed(processInOwnContext(options, registry, llvm::MemoryBufferRef(text, name), timing,
                                   output)))
      result = failure();
  }
  return failed(result) ? kExitFailure : kExitSuccess;
}

} // namespace

int runOpt(int argc, char **argv) {
  OptOptions options;
  if (!options.parse(argc, argv))
    return kExitUsage;

  DialectRegistry registry;
  ir::registerAllDialects(registry);
  dev::registerDialects(registry);
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();

  std::string output;
  int exitCode = kExitSuccess;
  bool first = true;
  for (const std::string &input : options.inputs) {
    if (!first && !isBinary(options.emit))
      output.append(ir::kProgramSeparator).append("\n");
    first = false;
    exitCode = std::max<int>(exitCode, processFile(options, registry, input, scope, output));
  }
  // A file that was asked for is written only if all of it is right.
  if (exitCode != kExitSuccess && options.output != "-")
    return exitCode;
  if (Status status = writeOutput(options.output, output); !status)
    return reportError("opt", status.message(), kExitUsage);
  return exitCode;
}

} // namespace cupel::cli
