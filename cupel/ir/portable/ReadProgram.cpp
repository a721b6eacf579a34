#include "cupel/ir/portable/ReadProgram.h"

#include "cupel/ir/bytecode/Prepare.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static OwningOpRef<ModuleOp> readPrepared(const cupel::bytecode::Prepared &prepared, StringRef name,
                                          const ParserConfig &config,
                                          const cupel::portable::ReadOptions &options) {
  StringRef program(prepared.text().data(), prepared.text().size());
  if (prepared.isBytecode() && cupel::portable::artifactVersion(program))
    return cupel::portable::readPortable(llvm::MemoryBufferRef(program, name), config.getContext(),
                                         options);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(
                                 program, name, /*RequiresNullTerminator=*/!prepared.isBytecode()),
                             llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, config);
}

OwningOpRef<ModuleOp> cupel::ir::readProgram(llvm::MemoryBufferRef program,
                                             const ParserConfig &config,
                                             const portable::ReadOptions &options) {
  MLIRContext *context = config.getContext();
  StringRef name = program.getBufferIdentifier();
  bytecode::Prepared prepared =
      bytecode::prepareForMlir({program.getBufferStart(), program.getBufferSize()});
  if (!prepared.ok()) {
    emitError(FileLineColLoc::get(context, name, prepared.line, prepared.column))
        << prepared.error();
    return {};
  }
  bool explained = false;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler listener(context, [&](Diagnostic &diagnostic) {
      explained |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure();
    });
    module = readPrepared(prepared, name, config, options);
  }
  // MLIR's readers give up without a word in a few places.
  if (!module && !explained)
    emitError(FileLineColLoc::get(context, name, 0, 0)) << "the program is malformed";
  return module;
}
