// One program of `cupel eval`, on the golden reference: read, planned, given its arguments and run.
// Used by the children of the pool, each of which keeps an evaluator for many programs. What goes
// wrong is part of the report; nothing is printed here.
#pragma once

#include "cupel/cli/EvalOptions.h"
#include "cupel/cli/EvalPool.h"

#include <llvm/Support/MemoryBufferRef.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>

namespace cupel::cli {

class ProgramEvaluator {
public:
  ProgramEvaluator(const EvalOptions &options, const mlir::DialectRegistry &registry);

  /// `chunk`: the program's number in its file, of which saved results are named.
  ProgramReport evaluate(llvm::MemoryBufferRef program, size_t chunk);

private:
  Status run(llvm::MemoryBufferRef program, ProgramReport &report, size_t chunk);

  const EvalOptions &options;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string complaint; // The first diagnostic.
};

} // namespace cupel::cli
