// Reads a program in any of its forms, found by content: text, MLIR bytecode or portable artifact.
// This is how tools open programs: it puts the guards before MLIR's readers, so that no input ends
// the process, and always says why a program could not be read. The guards themselves
// (cupel/ir/bytecode) know nothing of MLIR.
#pragma once

#include "cupel/ir/portable/Portable.h"

#include "mlir/IR/AsmState.h"

namespace cupel::ir {

/// Null if the program cannot be read; the reason has been reported to the context. Text must be
/// followed by a zero byte, as in every llvm::MemoryBuffer. With `-----` separators, give each
/// piece by itself.
mlir::OwningOpRef<mlir::ModuleOp> readProgram(llvm::MemoryBufferRef program,
                                              const mlir::ParserConfig &config,
                                              const portable::ReadOptions &options = {});

} // namespace cupel::ir
