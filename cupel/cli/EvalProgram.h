// One program of `cupel eval`, on the golden reference: read, planned, given its arguments and run.
// Used by the workers that serve the verb, each of which keeps an evaluator for many programs. What
// it prints and what goes wrong is told to the caller; nothing is printed here.
#pragma once

#include "cupel/cli/EvalSettings.h"
#include "cupel/testbench/worker/Serve.h"

#include <llvm/Support/MemoryBufferRef.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/MLIRContext.h>

namespace cupel::cli {

class ProgramEvaluator {
public:
  ProgramEvaluator(const EvalSettings &settings, const mlir::DialectRegistry &registry);

  /// `chunk`: the program's number in its file, of which saved results are named.
  Status evaluate(llvm::MemoryBufferRef program, size_t chunk,
                  testbench::worker::Progress &progress, std::string &output);

private:
  const EvalSettings &settings;
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  std::string complaint; // The first diagnostic.
};

} // namespace cupel::cli
