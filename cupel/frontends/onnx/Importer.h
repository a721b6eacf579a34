// The state of one import: the function being written, names in scope, opsets, weights. Private to
// the importer's own files; lowerings see a Node.
#pragma once

#include "cupel/frontends/onnx/Node.h"
#include "cupel/frontends/onnx/OpTable.h"
#include "onnx-ml.pb.h"

#include <map>
#include <set>

namespace cupel::frontends::onnx_import {

/// Names of one graph and those around it.
struct Scope {
  std::map<std::string, Item, std::less<>> items;
  const Scope *outer = nullptr;
  /// Surveys: names whose node failed and whose type is not known.
  std::set<std::string, std::less<>> lost;

  const Item *find(llvm::StringRef name) const;
  bool isLost(llvm::StringRef name) const;
};

using Opsets = std::map<std::string, int64_t, std::less<>>;

/// What the verifier has against a module, with the node it comes from; nothing if it is sound.
std::optional<std::string> verifyComplaint(mlir::ModuleOp module);

class Importer {
public:
  Importer(const Model &model, mlir::MLIRContext &context, const ImportOptions &options,
           std::set<std::string> bound);

  /// Imports everything, or says why not; `rebind` may name inputs to bind first.
  Status run(ImportedModel &result);

  std::optional<Error> failure; ///< The first complaint.
  std::set<std::string> rebind;
  /// Where set, nodes that fail are noted here and passed over.
  ModelSurvey *survey = nullptr;

private:
  friend class Node;

  Status importInputs(Scope &scope, ImportedModel &result);
  Status importInput(const proto::ValueInfoProto &input, Scope &scope, ImportedModel &result);
  Status importInitializers(const proto::GraphProto &graph, Scope &scope);
  Status importNodes(const google::protobuf::RepeatedPtrField<proto::NodeProto> &nodes,
                     Scope &scope);
  Status importNode(const proto::NodeProto &node, Scope &scope);
  // Survey.cpp
  Status surveyNode(const proto::NodeProto &node, Scope &scope);
  void assumeResults(const proto::NodeProto &node, Scope &scope);
  Status importFunctionCall(const proto::FunctionProto &function, const proto::NodeProto &call,
                            llvm::SmallVector<Item> inputs, Scope &scope);
  Result<llvm::SmallVector<Item>> inlineGraph(const proto::GraphProto &graph,
                                              llvm::ArrayRef<Item> inputs,
                                              const proto::NodeProto &owner);
  Result<tensor::Shape> inputShape(const proto::ValueInfoProto &input, ImportedModel &result);

  // Fold.cpp: evaluates a node on known values; false where it is better left in the program.
  Result<bool> fold(const OpEntry &entry, const proto::NodeProto &node, int64_t opset,
                    const llvm::SmallVector<Item> &inputs, llvm::SmallVector<Item> &results);

  void bindSymbols();
  mlir::Location namedLocation(llvm::StringRef name) const;
  mlir::Value materialize(Item &item);
  Error refuse(ErrorCode code, std::string message, Place place = {});
  const proto::FunctionProto *findFunction(const proto::NodeProto &node) const;
  int64_t opsetOf(llvm::StringRef domain) const;

  const Model &model;
  mlir::MLIRContext &context;
  const ImportOptions &options;
  std::map<std::string, int64_t> symbols; ///< Sizes of named dimensions, as far as given.
  std::set<std::string> bound;            ///< Graph inputs whose values are used as constants.
  Opsets opsets;                          ///< Of the graph or function being imported.
  std::vector<std::string> sourceNames;   ///< Graph inputs, by number.

  mlir::func::FuncOp main;
  std::optional<HloBuilder> mainBuilder;
  HloBuilder *current = nullptr; ///< The main function's, or a scratch function's while folding.
  bool folding = false;
  /// Weights that are arguments, by where their data lie: their number and the argument.
  std::multimap<const void *, std::pair<size_t, mlir::Value>> weightArguments;
  std::set<std::string> weightNames;
  std::vector<std::pair<std::string, tensor::Tensor>> weights;
  Scope *scope = nullptr; ///< Of the node being imported.
  int functionDepth = 0;
  int subgraphDepth = 0;
  size_t callPath = 0;    ///< Tells the calls of one function apart.
  std::map<std::pair<size_t, const proto::NodeProto *>, size_t> surveyed;
  int64_t nodeCount = 0;
  bool discarded = false; ///< Something was written and thrown away.
  const std::map<std::string, const proto::AttributeProto *> *callerAttributes = nullptr;
};

} // namespace cupel::frontends::onnx_import
