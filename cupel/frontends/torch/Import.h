// An exported PyTorch program made into a StableHLO module of static shapes: calls are lowered by
// the table of operators (OpTable.h), writes in place become new values, sizes that were symbols
// become numbers. Used by the worker's verbs. Parameters, buffers and large constants stay outside
// the module, as arguments that share the archive's memory.
#pragma once

#include "cupel/frontends/torch/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace cupel::frontends::torch_import {

struct ImportOptions {
  /// Sizes of inputs, by name or position among the tensors, where the program leaves them open.
  std::map<std::string, tensor::Shape> shapes;
  /// Values of inputs, by name or position: only their shapes are looked at.
  std::map<std::string, tensor::Tensor> inputs;
  /// Numbers for inputs that are symbolic integers, by name.
  std::map<std::string, int64_t> numbers;
  /// Keep gelu, layer_norm, softmax and their like as stablehlo.composite.
  bool composites = true;
};

/// Why a program cannot be made into a module.
enum class Refusal : uint8_t {
  None,
  Invalid, ///< The program contradicts itself.
  Never,   ///< Depends on data, is random, needs objects of a Python process.
  NotYet,  ///< Could be lowered, but is not.
};
std::string_view name(Refusal refusal);

struct ImportedInput {
  std::string name;
  tensor::DType type;
  tensor::Shape shape;
};

/// A leaf of what the exported function returns, in order.
struct ImportedLeaf {
  /// Which result of @main it is; -1 for a constant (None, a number, a string).
  int64_t result = -1;
  Argument constant;
};

struct Imported {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< @main
  /// The first arguments of @main, to be fed by the caller.
  std::vector<ImportedInput> inputs;
  /// The arguments after them, with their values.
  std::vector<std::pair<std::string, tensor::Tensor>> weights;
  /// Names of the results of @main: what the function returns, then the new values of buffers,
  /// parameters and inputs that it writes to ("mutated:NAME").
  std::vector<std::string> outputs;
  std::vector<ImportedLeaf> leaves;
  /// What was decided that a user may want to know: assumed sizes.
  std::vector<std::string> notes;
};

struct ImportFailure {
  Refusal refusal = Refusal::None;
  std::string message; ///< Names operator, overload, arguments and the model's source line.
};

/// The module, or nothing and the failure.
std::optional<Imported> importProgram(const Program &program, mlir::MLIRContext &context,
                                      const ImportOptions &options, ImportFailure &failure);

/// One call of the program and what becomes of it.
struct SurveyedCall {
  std::string name;                           ///< Of its first result.
  std::string target;                         ///< "aten.add.Tensor"
  std::vector<std::string> operands, results; ///< "f32[2,3]"
  ImportFailure failure;                      ///< Refusal::None if it was lowered.
};
struct ImportSurvey {
  std::vector<SurveyedCall> calls; ///< In the order they are computed; those of subgraphs too.
  std::vector<ImportedInput> inputs;
  std::vector<std::string> notes;
  ImportFailure failure; ///< Of the program as a whole, where no call is to blame.
};
/// Goes through the whole program, past what fails.
ImportSurvey surveyProgram(const Program &program, mlir::MLIRContext &context,
                           const ImportOptions &options);

} // namespace cupel::frontends::torch_import
