// A program on its way from bytes to an executable: what the common passes made of it, and what
// hosts are told of it. Made by the compiler, taken by backends, and kept by executables that need
// the module. Whoever looks at the module after compilation holds the lock of its context.

#pragma once

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/program/CompileOptions.h"
#include "cupel/compiler/program/Contexts.h"
#include "cupel/compiler/program/Stages.h"
#include "cupel/runtime/Executable.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cupel::compiler {

struct DeviceProgram {
  DeviceProgram() = default;
  DeviceProgram(const DeviceProgram &) = delete;
  DeviceProgram &operator=(const DeviceProgram &) = delete;
  ~DeviceProgram();

  std::shared_ptr<SharedContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp entry;
  Devices devices;
  runtime::ProgramInfo info; // With estimates; a backend that knows better puts its own there.
  CompileOptions options;
  std::string source; // The bytes that were compiled.
  StageWriter stages; // Where `options` says; finished by `Backend::compileSource`.
};

/// Reads a program and runs `compile-for-devices` over it. `program`, which is new, must outlive
/// the lease.
Status prepare(DeviceProgram &program, std::string_view source, const CompileOptions &options,
               ContextLease &lease);

} // namespace cupel::compiler
