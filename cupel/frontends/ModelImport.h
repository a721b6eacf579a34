// A model file of any format (.onnx, .pt2) as the rest of Cupel sees it: what it takes, the module
// made from it, the weights beside that module, the test data stored with it, and a survey of its
// operators. The runner's worker and the verbs `compile` and `ops` work on this and on nothing of a
// format's own; they must never ask which format it is.
//
// To add a format: derive from ModelFile, write a function that loads one, and add a row to the
// table in ModelFormats.cpp (and the library to its DEPS). Everything else follows from the row.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/tensor/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::frontends {

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

/// Why a model cannot be made into a module, in words: `data-dependent shape`, `strings`, ... Every
/// error of an import has a code of a model (ErrorCodes.def), whose kind says whether the
/// model is wrong, no static program says it, or the work is not done; its message names node,
/// operator, version, attribute and the operands' shapes.
std::string_view reasonOf(ErrorCode code);
/// An error that nobody gave a code is the model's.
Error asRefusal(Error error);

//===----------------------------------------------------------------------===//
// What goes in and what comes out
//===----------------------------------------------------------------------===//

struct ImportOptions {
  /// Sizes of inputs, by name, for inputs of symbolic shape.
  std::map<std::string, tensor::Shape> shapes;
  /// Values of inputs, by name: they fix shapes, and those that decide shapes become constants.
  std::map<std::string, tensor::Tensor> inputs;
  /// Keep Gelu, LayerNormalization and their like as stablehlo.composite.
  bool composites = true;
};

struct Argument {
  std::string name;
  tensor::DType type;
  tensor::Shape shape;
};

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< @main, in StableHLO and chlo, verified.
  /// The first arguments of @main, to be fed by the caller.
  std::vector<Argument> inputs;
  /// The arguments after them, with their values, which share the file's memory.
  std::vector<std::pair<std::string, tensor::Tensor>> weights;
  /// Names of @main's results.
  std::vector<std::string> outputs;
  /// What was decided that a user may want to know: bound inputs, assumed sizes.
  std::vector<std::string> notes;
};

/// What a model takes, before anything is known of its inputs.
struct ModelInput {
  std::string name;
  std::string type; ///< As messages show it: `float[batch,3,224,224]`, `sequence`.
  /// False for what is fed only on request (a default stands in the file).
  bool isRequired = true;
};

/// Inputs and outputs that are stored with a model.
struct ModelData {
  std::string source;                           ///< Where it was found, for messages.
  std::map<std::string, tensor::Tensor> inputs; ///< By name; all that is required.
  std::vector<tensor::Tensor> outputs;          ///< The first results, by position; may be none.
  /// Whether the outputs were computed with sums of narrow floats kept in wider ones.
  bool wideSums = false;
};

//===----------------------------------------------------------------------===//
// Surveys
//===----------------------------------------------------------------------===//

/// One operator of a model and what becomes of it.
struct SurveyedNode {
  enum class State : uint8_t {
    Lowered,
    Folded,    ///< Evaluated while the model was imported.
    Failed,    ///< `failure` says why.
    Unreached, ///< An operand comes from a node that failed, and its type is not known.
  };
  std::string name;    ///< Of the node; may be empty.
  std::string op;      ///< With its domain: `Conv`, `com.microsoft.Gelu`, `aten.add.Tensor`.
  int64_t version = 0; ///< Of the operator set; 0 where there is none.
  std::vector<std::string> operands,
      results; ///< `tensor<2x3xf32>`, `none`; as far as they are known.
  State state = State::Lowered;
  std::optional<Error> failure;
};
std::string_view name(SurveyedNode::State state); ///< `lowered`, `folded`, `failed`, `unreached`.

struct ModelSurvey {
  std::vector<SurveyedNode> nodes; ///< In the order they are computed, functions inlined.
  std::vector<Argument> inputs;
  std::vector<std::string> notes;
  /// Why the model as a whole was refused where no node is to blame (an input of strings, say).
  std::optional<Error> failure;
};

//===----------------------------------------------------------------------===//
// The graph as the file has it
//===----------------------------------------------------------------------===//

/// A node of a model's own graph, for those who show it. Says what the file says.
struct SourceNode {
  std::string op;    ///< As SurveyedNode has it; `input`, `weight` and `output` for what is no node.
  std::string label; ///< For people.
  /// The name that operations which come from it have in their locations; empty: none do.
  std::string place;
  std::string line;                 ///< Of the user's source, `model.py:12`, where the file says it.
  std::vector<std::string> modules; ///< That it stands in, outermost first.
  std::vector<std::string> takes, gives; ///< Names of values.
  std::vector<std::string> types;        ///< Of what it gives, as far as they are known.
  std::vector<std::pair<std::string, std::string>> attributes;
};
struct SourceGraph {
  std::string title; ///< `ONNX graph`
  std::vector<SourceNode> nodes; ///< In the order they are computed.
};

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// A model file that has been read and looks sane. Holds the memory that weights share.
class ModelFile {
public:
  virtual ~ModelFile() = default;

  /// The path that files of data beside the model are named after: its own, unless its file holds
  /// several.
  virtual std::string baseFile() const = 0;

  virtual std::vector<ModelInput> inputs() const = 0;

  /// The module with its weights. The context has all dialects loaded.
  virtual Result<ImportedModel> import(mlir::MLIRContext &context,
                                       const ImportOptions &options) const = 0;

  /// Goes through the whole model, past what fails, and says what becomes of each operator.
  virtual ModelSurvey survey(mlir::MLIRContext &context, const ImportOptions &options) const = 0;

  /// The main graph as the file has it; without nodes where the format has none to show.
  virtual SourceGraph sourceGraph() const { return {}; }

  /// Test data set `number` (from 0) in the format's own layout; nothing where there is none.
  virtual Result<std::optional<ModelData>> testData(uint32_t number) const {
    return std::optional<ModelData>();
  }
};

/// An operator there is a lowering of.
struct KnownOperator {
  std::string op;                ///< As SurveyedNode has it.
  std::vector<int64_t> versions; ///< From which on each of its lowerings holds; empty: all.
};

struct ModelFormat {
  std::string_view ending; ///< `.onnx`
  std::string_view name;   ///< `ONNX model`
  /// Messages begin with the path. `program` is one of those the file holds; empty: the only one.
  Result<std::unique_ptr<ModelFile>> (*load)(const std::string &path, const std::string &program);
  /// What can be lowered; null where the format has no such list.
  std::vector<KnownOperator> (*operators)() = nullptr;
  /// The programs that a file holds, sorted, or none where it cannot be read; null where a file of
  /// this format is always one.
  std::vector<std::string> (*programs)(const std::string &path) = nullptr;
};

/// All formats there are.
std::span<const ModelFormat> modelFormats();
/// The format of a file by its name; null if it is no model's.
const ModelFormat *modelFormatOf(std::string_view path);
Result<std::unique_ptr<ModelFile>> loadModel(const std::string &path,
                                             const std::string &program = {});

//===----------------------------------------------------------------------===//
// Shapes that a user gives
//===----------------------------------------------------------------------===//

/// A sentence about the shapes of inputs that the model does not have, with those it has; empty if
/// there are none such.
std::string describeUnknownInputs(const ModelFile &model,
                                  const std::map<std::string, tensor::Shape> &shapes);

/// A shape that is given says more than data: takes values of another shape out of the inputs and
/// returns their names.
std::vector<std::string> dropOtherShapes(ImportOptions &options);

} // namespace cupel::frontends
