// Writes what a program looked like at each stage of its compilation, into a numbered folder for
// each program: FOLDER/irs/0000-jit_add/shlo.mlir. A stage is called by the pass that it follows.
// Used by the compiler when asked for.

#pragma once

#include "cupel/support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace cupel::compiler {

class StageWriter {
public:
  /// Into this folder, which is made if need be; an empty name writes nothing.
  explicit StageWriter(std::string folder) : folder(std::move(folder)) {}

  bool isOn() const { return !folder.empty(); }
  void name(const std::string &program) { programName = program; }
  void write(const std::string &stage, mlir::ModuleOp module);
  /// Writes the stages after passes that changed something.
  std::unique_ptr<mlir::PassInstrumentation> watch();
  /// Writes the files; nothing is written before.
  Status finish();

private:
  std::string folder, programName = "program";
  std::vector<std::pair<std::string, std::string>> stages;
};

} // namespace cupel::compiler
