// An ONNX model made into a StableHLO module of static shapes: every node is lowered by the table
// of operators (OpTable.h), nodes on known values are evaluated with the golden reference on the
// way, and what decides shapes is taken from the data where the graph has it as an input. Used by
// the worker's verbs. Weights stay outside the module, as arguments that share the model's memory.
#pragma once

#include "cupel/frontends/onnx/Model.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>

namespace cupel::frontends::onnx_import {

struct ImportOptions {
  /// Sizes of inputs, by name, for inputs of symbolic shape.
  std::map<std::string, tensor::Shape> shapes;
  /// Values of inputs, by name: they fix shapes, and those that decide shapes become constants.
  std::map<std::string, tensor::Tensor> inputs;
  /// Keep Gelu, LayerNormalization and their like as stablehlo.composite.
  bool composites = true;
};

/// Why a model cannot be made into a module: never, or not yet.
enum class Refusal : uint8_t {
  None,
  Invalid,       ///< The model contradicts itself or the standard.
  DataDependent, ///< A shape depends on values that are not known.
  Strings,
  Sequences, ///< Sequences or optionals as inputs or outputs.
  Random,    ///< A random stream that cannot be reproduced.
  Codec,     ///< Image decoding.
  OtherDomain,
  NotYet, ///< Could be lowered, but is not.
};
std::string_view name(Refusal refusal);

struct Argument {
  std::string name;
  tensor::DType type;
  tensor::Shape shape;
};

struct Imported {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< @main
  /// The first arguments of @main, to be fed by the caller.
  std::vector<Argument> inputs;
  /// The arguments after them, with their values.
  std::vector<std::pair<std::string, tensor::Tensor>> weights;
  std::vector<std::string> outputs;
  /// What was decided that a user may want to know: bound inputs, assumed sizes.
  std::vector<std::string> notes;
};

struct ImportFailure {
  Refusal refusal = Refusal::Invalid;
  std::string message; ///< Names node, operator, opset, attribute and shapes.
};

/// The module, or null and the failure.
std::optional<Imported> importModel(const Model &model, mlir::MLIRContext &context,
                                    const ImportOptions &options, ImportFailure &failure);

} // namespace cupel::frontends::onnx_import
