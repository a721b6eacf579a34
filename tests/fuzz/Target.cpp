#include "tests/fuzz/Target.h"

#include "cupel/ir/Dialects.h"
#include "cupel/ir/bytecode/Prepare.h"
#include "cupel/ir/portable/ReadProgram.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace cupel::fuzz;

static mlir::DialectRegistry allDialects() {
  mlir::DialectRegistry registry;
  cupel::ir::registerAllDialects(registry);
  return registry;
}

Outcome cupel::fuzz::readProgram(const Input &input, const TargetOptions &options) {
  mlir::MLIRContext context(allDialects(), mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  unsigned errors = 0;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    // What a user would see must be printable too.
    std::string message = diagnostic.str();
    if (options.verbose)
      llvm::errs() << diagnostic.getLocation() << ": " << message << "\n";
    return mlir::success();
  });

  mlir::ParserConfig config(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (options.guard) {
    module = cupel::ir::readProgram(llvm::MemoryBufferRef(input.content, "input"), config);
    if (!module && !bytecode::prepareForMlir(input.content).ok())
      return errors ? Outcome::Guarded : Outcome::Silent;
  } else {
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(input.content, "input"),
                               llvm::SMLoc());
    module = mlir::parseSourceFile<mlir::ModuleOp>(sources, config);
  }
  if (!module || mlir::failed(mlir::verify(*module)))
    return errors ? Outcome::Refused : Outcome::Silent;

  // Whatever was read must be fit to be printed and written, too.
  std::string written;
  llvm::raw_string_ostream stream(written);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  written.clear();
  (void)mlir::writeBytecodeToFile(*module, stream);
  written.clear();
  (void)portable::writePortable(*module, vhlo::kCurrentVersion, stream);
  return Outcome::Valid;
}

std::vector<CorpusFile> cupel::fuzz::asBytecode(const CorpusFile &text) {
  mlir::MLIRContext context(allDialects(), mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::OwningOpRef<mlir::ModuleOp> module = cupel::ir::readProgram(
      llvm::MemoryBufferRef(text.content, text.path), mlir::ParserConfig(&context));
  std::vector<CorpusFile> files;
  if (!module)
    return files;
  for (int64_t version = 0; version <= 6; ++version) {
    CorpusFile file{text.path + ".v" + std::to_string(version), "", /*bytecode=*/true};
    llvm::raw_string_ostream stream(file.content);
    mlir::BytecodeWriterConfig config("cupel_fuzz");
    config.setDesiredBytecodeVersion(version);
    if (mlir::succeeded(mlir::writeBytecodeToFile(*module, stream, config)))
      files.push_back(std::move(file));
  }
  return files;
}
