#include "tests/fuzz/Target.h"

#include "cupel/ir/bytecode/Prepare.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/QuantOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace cupel::fuzz;

Outcome cupel::fuzz::readProgram(const Input &input, const TargetOptions &options) {
  bytecode::Prepared prepared;
  llvm::StringRef program = input.content;
  if (options.guard) {
    prepared = bytecode::prepareForMlir(input.content);
    if (!prepared.ok()) {
      if (options.verbose)
        llvm::errs() << "guard: " << prepared.error() << "\n";
      return Outcome::Guarded;
    }
    program = {prepared.text().data(), prepared.text().size()};
  }

  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantizationDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
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
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(program, "input"), llvm::SMLoc());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, mlir::ParserConfig(&context));
  if (!module)
    return errors ? Outcome::Refused : Outcome::Silent;
  if (mlir::failed(mlir::verify(*module)))
    return errors ? Outcome::Refused : Outcome::Silent;

  std::string printed;
  llvm::raw_string_ostream stream(printed);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  printed.clear();
  (void)mlir::writeBytecodeToFile(*module, stream);
  return Outcome::Valid;
}

std::vector<CorpusFile> cupel::fuzz::asBytecode(const CorpusFile &text) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantizationDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.allowUnregisteredDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(text.content, &context);
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
