// The options of `cupel opt`: declared once, with LLVM's command-line library because MLIR's passes
// and printers bring their own options with it. Everything else in the worker sees only this
// struct.
#pragma once

#include <llvm/Support/CommandLine.h>
#include <mlir/Pass/PassRegistry.h>
#include <string>

namespace cupel::cli {

/// What `cupel opt` writes.
enum class Emit { Text, Generic, Bytecode, Portable, Vhlo };

class OptOptions {
  // First, because the passes must be registered before the options that name them.
  struct Registration {
    Registration();
  } registration;

public:
  OptOptions();

  /// False if the command line was wrong, which has then been reported.
  bool parse(int argc, char **argv);

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
  mlir::PassPipelineCLParser passes;
};

} // namespace cupel::cli
