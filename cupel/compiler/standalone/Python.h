// Python on NumPy: functions that read as a person would write them, with infix operators where NumPy
// has them and calls of the small package `ops` beside main.py for the rest.

#pragma once

#include "cupel/compiler/standalone/Source.h"

#include <functional>

namespace cupel::compiler::standalone {

class PythonWriter : public SourceWriter {
public:
  using SourceWriter::SourceWriter;

  /// main.py, once the functions are written.
  std::string program(mlir::func::FuncOp entry);

protected:
  std::string listText(const std::vector<int64_t> &values) const override;
  std::string listText(const std::vector<bool> &values) const override;
  std::string boolText(bool value) const override { return value ? "True" : "False"; }
  std::string commentText(const std::string &text) const override { return "  # " + text; }
  Status writeFunction(mlir::func::FuncOp function, bool isEntry) override;
  Status writeWhile(stablehlo::WhileOp op) override;
  Status writeBranches(mlir::Operation *op) override;
  Status writeCall(mlir::func::CallOp op) override;
  Status writeElementwise(mlir::Operation *op) override;
  Status writeOperation(mlir::Operation *op) override;
  Status writeCheck(const std::string &function, mlir::Operation *op,
                    const std::vector<std::string> &arguments) override;
  Status writeReturn(mlir::Operation *op) override;
  std::string constantText(stablehlo::ConstantOp op) override;
  std::string tensorText(const tensor::Tensor &value) override;

private:
  std::string argumentText(const OpArgument &argument) const;
  std::vector<std::string> groupedOperands(mlir::Operation *op);
  /// A function of elements, written before the statement where it has no name yet.
  Result<std::string> regionFunction(mlir::Region &region, bool mayRoundOnce);
  Status assign(mlir::Operation *op, const std::string &expression);
  Status writeQuantized(mlir::Operation *op);
  std::string quantizationName(mlir::Type type);
  Result<std::string> elementExpression(mlir::Operation *op, llvm::ArrayRef<std::string> operands,
                                        mlir::Type operandType, mlir::Type resultType);
  /// The operand as elementwise operations take it: a scalar where all elements are the same.
  std::string elementOperand(mlir::Operation *op, unsigned i);

  std::function<Status(mlir::Operation *)> onReturn;
  llvm::DenseMap<mlir::Value, std::string> scalars; ///< Of values that are one scalar everywhere.
  std::vector<std::pair<std::string, std::string>> quantizations; ///< Text and name.
};

} // namespace cupel::compiler::standalone
