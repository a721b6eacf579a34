// What an executable of the cpu backend is saved as: its device program with the constants, and what
// hosts are told of it, as MLIR bytecode behind a few lines that say what made it. Loading runs no
// pass and needs none of the StableHLO that was compiled; machine code is made (or found in the
// cache) for the processor that loads it. Bytes that are damaged or of another version are refused.

#pragma once

#include "cupel/compiler/program/DeviceProgram.h"

namespace cupel::compiler {

/// `program` describes it (its entry may be a declaration), `compiled` holds its device programs.
/// The caller holds the context's lock.
std::string saveProgram(const DeviceProgram &program, mlir::ModuleOp compiled);

/// Whether the bytes begin as what `saveProgram` wrote.
bool isSavedProgram(std::string_view bytes);

/// Fills `program`, which is new and gets a declaration for its entry, and returns the module with
/// its device programs. The program must outlive the lease.
Result<mlir::OwningOpRef<mlir::ModuleOp>> loadProgram(DeviceProgram &program, std::string_view bytes,
                                                      ContextLease &lease);

/// The device programs as a function of StableHLO, with the attributes of `program`'s entry; null if
/// there is no such function. The caller holds the context's lock.
mlir::OwningOpRef<mlir::ModuleOp> expandedProgram(const DeviceProgram &program,
                                                  mlir::ModuleOp compiled);

} // namespace cupel::compiler
