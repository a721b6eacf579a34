// The options of `cupel opt`: declared once, with LLVM's command-line library because MLIR's passes
// and printers bring their own options with it. Everything else in the worker sees only this
// struct.
#pragma once

#include "cupel/cli/Programs.h"

#include <llvm/Support/CommandLine.h>
#include <mlir/Pass/PassRegistry.h>
#include <string>

namespace cupel::cli {

class OptOptions {
  // First, because the passes must be registered before the options that name them.
  struct Registration {
    Registration();
  } registration;

public:
  OptOptions();

  /// False if the command line was wrong, which has then been reported.
  bool parse(int argc, char **argv);

  /// What `targetVersion` says, once parsed; the newest version if it was not given.
  vhlo::Version target = vhlo::kCurrentVersion;

  llvm::cl::OptionCategory category;
  llvm::cl::OptionCategory mlirCategory;
  llvm::cl::list<std::string> inputs;
  llvm::cl::opt<std::string> output;
  llvm::cl::opt<Emit> emit;
  llvm::cl::opt<std::string> targetVersion;
  llvm::cl::opt<bool> splitInputFile;
  llvm::cl::opt<bool> verifyDiagnostics;
  llvm::cl::opt<bool> verifyEach;
  llvm::cl::opt<bool> allowUnregisteredDialects;
  llvm::cl::opt<bool> allowPartial;
  llvm::cl::opt<int64_t> rewriteLimit;
  llvm::cl::opt<bool> printRewrites;
  mlir::PassPipelineCLParser passes;

private:
  /// What is wrong with the options taken together; empty if nothing.
  std::string findContradiction();
};

} // namespace cupel::cli
