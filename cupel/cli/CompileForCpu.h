// What `cupel compile` shows of the cpu backend: its stages, its assembly, its report, and what its
// passes do on the way.
#pragma once

#include "cupel/support/Error.h"

#include <llvm/Support/JSON.h>
#include <mlir/IR/BuiltinOps.h>
#include <string>

namespace cupel::cli {

/// Compiles a copy of the module as far as the request of CompileVerb.cpp needs it, writes reports
/// and what passes print, and returns the stage to be written; empty if none is.
Result<std::string> compileForCpu(const llvm::json::Object &request, mlir::MLIRContext &context,
                                  mlir::ModuleOp module);

} // namespace cupel::cli
