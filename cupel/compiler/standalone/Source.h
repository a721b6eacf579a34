// What the writers of both languages share: walking functions, names of values, constants, comments
// and the calls of Attributes.h. A language derives from it and says how things are spelled.

#pragma once

#include "cupel/compiler/standalone/Attributes.h"
#include "cupel/compiler/standalone/Names.h"
#include "cupel/compiler/standalone/Standalone.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace cupel::compiler::standalone {

class SourceWriter {
public:
  SourceWriter(mlir::ModuleOp module, const GenerateOptions &options)
      : module(module), options(options) {}
  virtual ~SourceWriter() = default;

  /// All functions that the entry function needs, each behind those it calls.
  Status writeFunctions(mlir::func::FuncOp entry);

  std::string text;       ///< The functions.
  NamedTensors constants; ///< Those too long for the text.
  size_t functions = 0, operations = 0, checks = 0;
  bool usesRandom = false;

protected:
  //===--- What a language says ---------------------------------------------------------------===//
  virtual std::string listText(const std::vector<int64_t> &values) const = 0;
  virtual std::string listText(const std::vector<bool> &values) const = 0;
  virtual std::string boolText(bool value) const = 0;
  virtual std::string commentText(const std::string &text) const = 0;
  /// The whole function, with `writeBlock` for its body.
  virtual Status writeFunction(mlir::func::FuncOp function, bool isEntry) = 0;
  /// Operations that both languages treat in their own way.
  virtual Status writeWhile(stablehlo::WhileOp op) = 0;
  virtual Status writeBranches(mlir::Operation *op) = 0;
  virtual Status writeCall(mlir::func::CallOp op) = 0;
  virtual Status writeElementwise(mlir::Operation *op) = 0;
  virtual Status writeOperation(mlir::Operation *op) = 0;
  virtual Status writeCheck(const std::string &function, mlir::Operation *op,
                            const std::vector<std::string> &arguments) = 0;
  virtual Status writeReturn(mlir::Operation *op) = 0;
  virtual std::string constantText(stablehlo::ConstantOp op) = 0;
  virtual std::string tensorText(const tensor::Tensor &value) = 0;

  //===--- What is shared ---------------------------------------------------------------------===//
  Status writeBlock(mlir::Block &block);
  void line(const std::string &content);
  std::string nameOf(mlir::Value value);
  std::string newName(mlir::Value value, llvm::StringRef stem);
  void setName(mlir::Value value, std::string name) { names[value] = std::move(name); }
  /// Of a function that is not the entry: what its value is called at its first use.
  std::string argumentName(mlir::BlockArgument argument);
  /// "f32[2,3]  model.py:12".
  std::string noteOn(mlir::Operation *op) const;
  /// A name under which a tensor lies in the file of constants.
  std::string keepConstant(const tensor::Tensor &value);
  std::string functionName(llvm::StringRef symbol) { return functionNames[symbol]; }

  mlir::ModuleOp module;
  const GenerateOptions &options;
  NameScope scope; ///< Of the function.
  llvm::DenseMap<mlir::Value, std::string> names;
  int depth = 0;

private:
  Status writeOne(mlir::Operation *op);
  Status writeCustomCall(stablehlo::CustomCallOp op);
  Status visit(mlir::func::FuncOp function, bool isEntry, llvm::StringMap<int> &state);
  llvm::StringMap<std::string> functionNames;
  NameScope functionScope;
};

/// "f32[2,3]"; for what is no tensor its kind.
std::string describeType(mlir::Type type);
/// One element as a literal of Python; C++ shares numbers and spells the rest itself.
std::string numberText(tensor::DType type, const void *element);
/// Whether all elements have the same bits.
bool isSplat(const tensor::Tensor &value);
/// The element type of a value, an error for what generated code has no type for.
Result<tensor::ElementType> elementTypeFor(mlir::Type type);
/// Whether a type is quantized.
bool isQuantized(mlir::Type type);
/// A file that names its tensors by the types of generated code.
NamedTensors storable(const NamedTensors &tensors, std::map<std::string, std::string> &metadata);

} // namespace cupel::compiler::standalone
