// A program as the worker's commands hold it, and writing it in any form. Reading is the business
// of cupel/ir/bytecode/ReadProgram. What cannot be written is reported as MLIR diagnostics.
#pragma once

#include "cupel/ir/portable/Portable.h"

#include <llvm/Support/MemoryBufferRef.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace cupel::cli {

/// The forms a program can be written in.
enum class Emit { Text, Generic, Bytecode, Portable, Vhlo };

/// Whether that form is bytes rather than text.
bool isBinary(Emit emit);

struct Program {
  /// Resources of dialects that are not ours, kept so that they are written again.
  std::unique_ptr<mlir::FallbackAsmResourceMap> resources;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit operator bool() const { return static_cast<bool>(module); }
};

/// Reads and verifies a program of any form; empty if that failed, which has then been reported.
Program readProgram(llvm::MemoryBufferRef bytes, mlir::MLIRContext *context,
                    const portable::ReadOptions &options = {});

/// Writes a program; `target` counts for portable and vhlo output, for which it may be changed.
mlir::LogicalResult writeProgram(Program &program, Emit emit, vhlo::Version target,
                                 llvm::raw_ostream &os);

} // namespace cupel::cli
