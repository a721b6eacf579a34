// An exported PyTorch program as its archive states it: graphs of nodes, every tensor's type, the
// signature, weights that share the file's memory. Made by the archive's reader (and by whoever
// writes the same form, as torch.compile's backend does); read by the importer and `cupel ops`.
// Says what the file says: defaults are not filled in, nothing is evaluated. Knows no MLIR.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include <complex>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace cupel::frontends::torch_import {

/// A size: a number, or an expression over symbols (SymPy's srepr) with the value it had at export.
struct SymInt {
  int64_t value = 0; ///< The number, or the hint.
  std::string expression;
  bool hasValue = true; ///< False for a size that depends on data.

  bool isSymbolic() const { return !expression.empty(); }
};

struct TensorMeta {
  tensor::DType type = tensor::DType::F32;
  /// complex32: held as complex<f32> whose parts are rounded to f16.
  bool hasHalfParts = false;
  std::vector<SymInt> sizes, strides;
  SymInt offset;
  bool requiresGradient = false;
};

/// A value the graph refers to by name.
struct Name {
  std::string text;
  bool operator==(const Name &) const = default;
};
struct Graph;
/// What an argument of a kind that is one number in the file stands for.
enum class MemoryFormat : uint8_t { Contiguous, ChannelsLast, ChannelsLast3d, Preserve };
struct Layout {
  int number; ///< 7 is strided.
};
struct Device {
  std::string type;
};
struct Operator {
  std::string target;
};
struct SubGraph {
  std::string name;
  std::shared_ptr<const Graph> graph;
};
/// A symbolic number by name, or the number.
struct SymNumber {
  std::variant<Name, int64_t, double, bool> value;
};
struct CustomObject {
  std::string name, type;
};

struct Argument {
  using OptionalNames = std::vector<std::optional<Name>>;
  std::variant<std::monostate,                   // None
               Name,                             // as_tensor
               std::vector<Name>, OptionalNames, // as_tensors, as_optional_tensors
               int64_t, double, bool, std::complex<double>, std::string, std::vector<int64_t>,
               std::vector<double>, std::vector<bool>, std::vector<std::string>, SymNumber,
               std::vector<SymNumber>, // as_sym_int, as_sym_float, as_sym_bool
               tensor::DType, MemoryFormat, Layout, Device, SubGraph, Operator, CustomObject,
               std::vector<std::vector<int64_t>>>
      value;

  bool isNone() const { return std::holds_alternative<std::monostate>(value); }
  template <typename T> const T *as() const { return std::get_if<T>(&value); }
};

struct NamedArgument {
  std::string name; ///< The parameter's name in the operator's schema; empty for higher-order ops.
  Argument value;
};

struct GraphNode {
  std::string target; ///< As in the file: torch.ops.aten.add.Tensor
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string stackTrace, moduleStack;
};

struct Graph {
  std::vector<Argument> inputs, outputs;
  std::vector<GraphNode> nodes;
  std::map<std::string, TensorMeta, std::less<>> tensors;
  std::map<std::string, SymInt, std::less<>> symbols; ///< sym_int_values and their like.
  bool singleTensorReturn = false;
};

enum class InputKind : uint8_t {
  Parameter,
  Buffer,
  TensorConstant,
  UserInput,
  ConstantInput,
  CustomObject,
  Token
};
struct InputSpec {
  InputKind kind = InputKind::UserInput;
  std::string name;   ///< In the graph; empty for a constant.
  std::string target; ///< Name of the parameter, buffer or constant.
  Argument constant;  ///< Of a ConstantInput.
};

enum class OutputKind : uint8_t {
  UserOutput,
  BufferMutation,
  ParameterMutation,
  UserInputMutation,
  Loss,
  GradientToParameter,
  GradientToUserInput,
  Token
};
struct OutputSpec {
  OutputKind kind = OutputKind::UserOutput;
  Argument value;
  std::string target; ///< What is mutated, or what the gradient belongs to.
};

struct Program {
  std::string name;
  Graph graph;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  bool isTraining = true;            ///< Dialect TRAINING: may write in place.
  std::string inputTree, outputTree; ///< JSON of pytree's specs.
  std::string torchVersion;
  /// Ranges of symbols; an end that is missing is open.
  struct Range {
    std::optional<int64_t> low, high;
  };
  std::map<std::string, Range, std::less<>> ranges;
  /// Parameters, buffers and constants by name: views of the archive's memory, with the strides the
  /// file gives made dense where they are not.
  std::map<std::string, tensor::Tensor, std::less<>> weights;
  /// The inputs that were saved with the program, flat, by position among the user inputs.
  std::vector<tensor::Tensor> sampleInputs;
};

} // namespace cupel::frontends::torch_import
