// Writes what a program looked like at each stage of its compilation, into a numbered folder for
// each program: FOLDER/irs/0000-jit_add/shlo.mlir. A stage is called by what the program is then
// (vhlo, shlo, tensor, device) and, on the way to the next, by the pass that it follows. Used by the
// compiler and its backends when asked for.

#pragma once

#include "cupel/support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassInstrumentation.h"

namespace cupel::compiler {

class StageWriter {
public:
  /// Into this folder, which is made if need be; an empty name writes nothing.
  explicit StageWriter(std::string folder = "") : folder(std::move(folder)) {}

  bool isOn() const { return !folder.empty(); }
  void name(const std::string &program) { programName = program; }
  void write(const std::string &stage, mlir::ModuleOp module);
  /// A file of that name that is no module, such as a list of rewrites.
  void writeText(const std::string &file, std::string text);
  /// Writes the stages after passes that changed something, as PREFIX_pass.
  std::unique_ptr<mlir::PassInstrumentation> watch(std::string prefix);
  /// Writes the files; nothing is written before.
  Status finish();

private:
  std::string folder, programName = "program";
  std::vector<std::pair<std::string, std::string>> files;
};

} // namespace cupel::compiler
