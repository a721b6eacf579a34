#include "cupel/cli/Programs.h"

#include "cupel/ir/bytecode/Prepare.h"
#include "cupel/ir/portable/Portable.h"

#include <llvm/Support/MemoryBuffer.h>
#include <mlir/Bytecode/BytecodeReader.h>
#include <mlir/Bytecode/BytecodeWriter.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Parser/Parser.h>

namespace cupel::cli {

using namespace mlir;

namespace {

/// A buffer that keeps the prepared bytes it shows.
class PreparedBuffer : public llvm::MemoryBuffer {
public:
  PreparedBuffer(bytecode::Prepared prepared, llvm::StringRef name)
      : prepared(std::move(prepared)), name(name) {
    llvm::StringRef text = this->prepared.text();
    init(text.begin(), text.end(), /*RequiresNullTerminator=*/false);
  }
  llvm::StringRef getBufferIdentifier() const override { return name; }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }

private:
  bytecode::Prepared prepared;
  std::string name;
};

} // namespace

bool isBinary(Emit emit) { return emit == Emit::Bytecode || emit == Emit::Portable; }

Program readProgram(std::shared_ptr<llvm::SourceMgr> sources, MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = sources->getMemoryBuffer(sources->getMainFileID());
  llvm::StringRef name = buffer->getBufferIdentifier();
  bytecode::Prepared prepared = bytecode::prepareForMlir(buffer->getBuffer());
  if (!prepared.ok()) {
    emitError(FileLineColLoc::get(context, name, prepared.line, prepared.column))
        << prepared.error();
    return {};
  }

  Program program;
  program.resources = std::make_unique<FallbackAsmResourceMap>();
  bool isArtifact = prepared.isBytecode() && portable::artifactVersion(prepared.text());
  if (isArtifact) {
    // An artifact is decoded into a new module, which keeps none of its bytes.
    program.sources = std::move(sources);
    program.module = portable::readPortable(llvm::MemoryBufferRef(prepared.text(), name), context);
    return program;
  }
  if (prepared.isCopy()) {
    program.sources = std::make_shared<llvm::SourceMgr>();
    program.sources->AddNewSourceBuffer(std::make_unique<PreparedBuffer>(std::move(prepared), name),
                                        llvm::SMLoc());
  } else {
    program.sources = std::move(sources);
  }
  ParserConfig config(context, /*verifyAfterParse=*/true, program.resources.get());
  program.module = parseSourceFile<ModuleOp>(program.sources, config);
  return program;
}

LogicalResult writeProgram(Program &program, Emit emit, vhlo::Version target,
                           llvm::raw_ostream &os) {
  ModuleOp module = *program.module;
  OpPrintingFlags flags;
  switch (emit) {
  case Emit::Vhlo:
    if (failed(portable::convertToVhlo(module, target)))
      return failure();
    [[fallthrough]];
  case Emit::Generic:
    flags.printGenericOpForm();
    [[fallthrough]];
  case Emit::Text: {
    AsmState state(module, flags, /*locationMap=*/nullptr, program.resources.get());
    module->print(os, state);
    return success();
  }
  case Emit::Bytecode: {
    BytecodeWriterConfig config(*program.resources);
    return writeBytecodeToFile(module, os, config);
  }
  case Emit::Portable:
    return portable::writePortable(module, target, os);
  }
  llvm_unreachable("all forms are handled");
}

} // namespace cupel::cli
