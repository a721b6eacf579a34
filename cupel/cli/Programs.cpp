#include "cupel/cli/Programs.h"

#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/ir/portable/ReadProgram.h"

#include <mlir/Bytecode/BytecodeWriter.h>

namespace cupel::cli {

using namespace mlir;

bool isBinary(Emit emit) { return emit == Emit::Bytecode || emit == Emit::Portable; }

Program readProgram(llvm::MemoryBufferRef bytes, MLIRContext *context,
                    const portable::ReadOptions &options) {
  Program program;
  program.resources = std::make_unique<FallbackAsmResourceMap>();
  ParserConfig config(context, /*verifyAfterParse=*/true, program.resources.get());
  program.module = ir::readProgram(bytes, config, options);
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
    ir::printProgram(module, os, flags, program.resources.get());
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
