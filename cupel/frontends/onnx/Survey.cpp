// Goes through a model past what fails: a node that cannot be lowered is noted, and its results are
// taken from the types the file declares, so that what follows is looked at as well.

#include "cupel/frontends/onnx/Importer.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;
using State = SurveyedNode::State;

/// The type a file declares for a value, where it is a tensor of known sizes.
static RankedTensorType declaredType(const proto::GraphProto &graph, const std::string &name,
                                     MLIRContext &context) {
  for (const auto *list : {&graph.value_info(), &graph.output()})
    for (const proto::ValueInfoProto &value : *list) {
      if (value.name() != name || !value.type().has_tensor_type() ||
          !value.type().tensor_type().has_shape())
        continue;
      Result<tensor::DType> type = elementType(value.type().tensor_type().elem_type());
      if (!type)
        continue;
      tensor::Shape shape;
      for (const proto::TensorShapeProto_Dimension &dim :
           value.type().tensor_type().shape().dim()) {
        if (!dim.has_dim_value() || dim.dim_value() < 0)
          return {};
        shape.push_back(dim.dim_value());
      }
      if (tensor::byteCount(*type, shape))
        return RankedTensorType::get(shape, elementTypeFor(&context, *type));
    }
  return {};
}

void Importer::assumeResults(const proto::NodeProto &node, Scope &scope) {
  for (const std::string &name : node.output()) {
    if (name.empty() || scope.items.count(name))
      continue;
    RankedTensorType type;
    if (functionDepth == 0)
      type = declaredType(model.proto().graph(), name, context);
    if (!type) {
      scope.lost.insert(name);
      continue;
    }
    Item item;
    item.value = main.getBody().addArgument(type, main.getLoc());
    scope.items[name] = std::move(item);
  }
}

Status Importer::surveyNode(const proto::NodeProto &node, Scope &scope) {
  auto [place, isNew] = surveyed.try_emplace({callPath, &node}, survey->nodes.size());
  const proto::FunctionProto *function = findFunction(node);
  bool isLost = false;
  SurveyedNode entry;
  for (const std::string &name : node.input()) {
    isLost |= !name.empty() && scope.isLost(name);
    const Item *found = name.empty() ? nullptr : scope.find(name);
    entry.operands.push_back(found ? describe(*found) : name.empty() ? "none" : "unknown");
  }
  size_t index = place->second;
  // A body that is unrolled is noted once. Of a function that is inlined its nodes stand for it.
  bool isNoted = isNew && !function;
  if (isNoted) {
    entry.name = nameOf(node);
    entry.op = operatorOf(node);
    entry.version = opsetOf(node.domain());
    survey->nodes.push_back(std::move(entry));
  }
  auto note = [&](State state, std::optional<Error> why) {
    if (!isNoted || survey->nodes[index].state == State::Failed)
      return;
    survey->nodes[index].state = state;
    survey->nodes[index].failure = std::move(why);
  };
  if (isLost && !function) {
    note(State::Unreached, {});
    // In a subgraph what is lost has no end: the node that holds it gives it up.
    if (subgraphDepth)
      return Error{"an operand is lost"};
    assumeResults(node, scope);
    return {};
  }
  size_t before = survey->nodes.size();
  Status status = isLost ? Status(Error{"an operand is lost"}) : importNode(node, scope);
  if (!rebind.empty())
    return status;
  if (status) {
    bool isKnown = true; // What is known needs no operation in the program.
    for (const std::string &name : node.output()) {
      const Item *found = name.empty() ? nullptr : scope.find(name);
      isKnown &= name.empty() || (found && found->known);
      if (isNoted)
        survey->nodes[index].results.push_back(found ? describe(*found) : "none");
    }
    note(isKnown ? State::Folded : State::Lowered, {});
    return {};
  }
  // What failed inside a subgraph has been noted there.
  bool isInside = false;
  for (size_t i = before; i < survey->nodes.size(); ++i)
    isInside |= survey->nodes[i].state == State::Failed;
  if (isInside)
    note(State::Unreached, {});
  else
    note(State::Failed, asRefusal(failure ? *failure : status.error()));
  failure.reset();
  if (subgraphDepth)
    return status;
  assumeResults(node, scope);
  return {};
}

ModelSurvey surveyModel(const Model &model, MLIRContext &context, const ImportOptions &options) {
  std::set<std::string> bound;
  ModelSurvey survey;
  for (int round = 0; round <= model.proto().graph().input_size(); ++round) {
    survey = {};
    ImportedModel result;
    Importer importer(model, context, options, bound);
    importer.survey = &survey;
    Status status = importer.run(result);
    if (!status && !importer.rebind.empty()) {
      bound.insert(importer.rebind.begin(), importer.rebind.end());
      continue;
    }
    if (!status && !survey.failure)
      survey.failure = status.error();
    survey.inputs = std::move(result.inputs);
    survey.notes = std::move(result.notes);
    break;
  }
  return survey;
}

} // namespace cupel::frontends::onnx_import
