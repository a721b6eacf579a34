#include "cupel/ir/portable/ReadProgram.h"

#include "cupel/ir/bytecode/Prepare.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

/// Text, or MLIR bytecode that is no artifact.
static OwningOpRef<ModuleOp> parsePrepared(const cupel::bytecode::Prepared &prepared,
                                           StringRef name, const ParserConfig &config) {
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(prepared.text(), name,
                                       /*RequiresNullTerminator=*/!prepared.isBytecode()),
      llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, config);
}

OwningOpRef<ModuleOp> cupel::ir::readProgram(llvm::MemoryBufferRef program,
                                             const ParserConfig &config,
                                             const portable::ReadOptions &options) {
  MLIRContext *context = config.getContext();
  StringRef name = program.getBufferIdentifier();
  bool explained = false;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler listener(context, [&](Diagnostic &diagnostic) {
      explained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure();
    });
    if (portable::artifactVersion(program.getBuffer())) {
      module = portable::readPortable(program, context, options);
    } else if (auto prepared = bytecode::prepareForMlir(program.getBuffer()); prepared.ok()) {
      module = parsePrepared(prepared, name, config);
    } else {
      emitError(FileLineColLoc::get(context, name, prepared.line, prepared.column))
          << prepared.error();
    }
  }
  // MLIR's readers give up without a word in a few places.
  if (!module && !explained)
    emitError(FileLineColLoc::get(context, name, 0, 0)) << "the program is malformed";
  return module;
}
