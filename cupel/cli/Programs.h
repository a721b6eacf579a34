// Reading a program of any form, told apart by content, and writing it in any form: the one path
// from bytes to a module and back that the worker's commands share. What it cannot read or write is
// reported as MLIR diagnostics on the context.
#pragma once

#include "cupel/ir/vhlo/Version.h"

#include <llvm/Support/SourceMgr.h>
#include <mlir/IR/AsmState.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace cupel::cli {

/// The forms a program can be written in.
enum class Emit { Text, Generic, Bytecode, Portable, Vhlo };

/// Whether that form is bytes rather than text.
bool isBinary(Emit emit);

/// A program whose module may refer to the bytes it was read from.
struct Program {
  std::shared_ptr<llvm::SourceMgr> sources;
  /// Resources of dialects that are not ours, kept so that they are written again.
  std::unique_ptr<mlir::FallbackAsmResourceMap> resources;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  explicit operator bool() const { return static_cast<bool>(module); }
};

/// Reads and verifies the main buffer of `sources`: text, MLIR bytecode or portable artifact.
Program readProgram(std::shared_ptr<llvm::SourceMgr> sources, mlir::MLIRContext *context);

/// Writes a program; `target` counts for portable and vhlo output, for which it may be changed.
mlir::LogicalResult writeProgram(Program &program, Emit emit, vhlo::Version target,
                                 llvm::raw_ostream &os);

} // namespace cupel::cli
