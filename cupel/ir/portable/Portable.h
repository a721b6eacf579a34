// Portable artifacts: programs of stablehlo and func, written so that every later version of the
// format can read them. `writePortable` and `readPortable` are what tools use; the steps between
// (conversion to and from vhlo, change of version) are offered for `--emit=vhlo` and for tests.
// Errors are MLIR diagnostics that name the operation, attribute or type and its location.
#pragma once

#include "cupel/ir/vhlo/Version.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace cupel::portable {

using vhlo::Version;

struct WriteOptions {
  /// Keep operations and attributes of other dialects as they are; otherwise they are an error. The
  /// format speaks of them since 1.11.0, but JAX writes them (sdy) for older targets as well.
  bool allowOtherDialects = true;
};

struct ReadOptions {
  /// Stay in vhlo, brought to its newest form: for changing an artifact's version without loss.
  bool keepVhlo = false;
};

/// Writes a program as an artifact of a version. The program itself is not changed.
mlir::LogicalResult writePortable(mlir::ModuleOp module, Version target, llvm::raw_ostream &out,
                                  const WriteOptions &options = {});

/// Reads an artifact of any version into stablehlo and func (or vhlo, see the options). Null if it cannot be read; the reason
/// has been reported to the context.
mlir::OwningOpRef<mlir::ModuleOp> readPortable(llvm::MemoryBufferRef artifact,
                                               mlir::MLIRContext *context,
                                               const ReadOptions &options = {});

/// The version an artifact was written for; nothing if the bytes are not an artifact.
std::optional<Version> artifactVersion(llvm::StringRef bytes);

/// Converts a module of stablehlo and func to vhlo of a version, in place. After a failure the
/// module is in no useful state.
mlir::LogicalResult convertToVhlo(mlir::ModuleOp module, Version target,
                                  const WriteOptions &options = {});

/// Converts a module of vhlo of any version to stablehlo and func, in place. After a failure the
/// module is in no useful state.
mlir::LogicalResult convertFromVhlo(mlir::ModuleOp module);

/// Writes a module of vhlo, which must be of the version, as an artifact.
mlir::LogicalResult writeVhlo(mlir::ModuleOp module, Version version, llvm::raw_ostream &out);

/// Brings every vhlo operation of a module to its newest form.
mlir::LogicalResult upgrade(mlir::ModuleOp module);

/// Brings every vhlo operation of a module to the form it has in `target`, and fails at the first
/// that cannot be said in it.
mlir::LogicalResult downgrade(mlir::ModuleOp module, Version target);

/// Loads the dialects that reading and writing need.
void loadDialects(mlir::MLIRContext &context);

} // namespace cupel::portable
