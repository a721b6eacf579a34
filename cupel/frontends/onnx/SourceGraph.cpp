#include "cupel/frontends/onnx/SourceGraph.h"

#include "onnx-ml.pb.h"

#include <fmt/format.h>
#include <map>
#include <set>

namespace cupel::frontends::onnx_import {
namespace {

constexpr int kMostShown = 16; // Of a list.

template <typename List> std::string listText(const List &list) {
  std::string text = "[";
  for (int i = 0; i < list.size() && i < kMostShown; ++i)
    text += fmt::format("{}{}", i ? ", " : "", list[i]);
  return text + (list.size() > kMostShown ? ", ...]" : "]");
}

std::string attributeText(const proto::AttributeProto &attribute) {
  switch (attribute.type()) {
  case proto::AttributeProto::FLOAT:
    return fmt::format("{}", attribute.f());
  case proto::AttributeProto::INT:
    return std::to_string(attribute.i());
  case proto::AttributeProto::STRING:
    return attribute.s().substr(0, 200);
  case proto::AttributeProto::FLOATS:
    return listText(attribute.floats());
  case proto::AttributeProto::INTS:
    return listText(attribute.ints());
  case proto::AttributeProto::TENSOR:
    return fmt::format("{}{}", elementName(attribute.t().data_type()), listText(attribute.t().dims()));
  case proto::AttributeProto::GRAPH:
    return fmt::format("a graph of {} nodes", attribute.g().node_size());
  default:
    return proto::AttributeProto::AttributeType_Name(attribute.type());
  }
}

/// The modules in a node's name, as exporters write it: `/layers.0/attention/MatMul`.
std::vector<std::string> modulesOf(std::string_view name) {
  std::vector<std::string> modules;
  constexpr size_t kDeepest = 12;
  while (!name.empty() && modules.size() < kDeepest) {
    size_t slash = name.find('/');
    if (slash == std::string_view::npos)
      break; // What is last is the node itself.
    if (slash > 0)
      modules.emplace_back(name.substr(0, slash));
    name.remove_prefix(slash + 1);
  }
  return modules;
}

} // namespace

std::string describeType(const proto::TypeProto &type) {
  if (type.has_sequence_type())
    return "sequence";
  if (type.has_optional_type())
    return "optional";
  if (!type.has_tensor_type())
    return "not a tensor";
  std::string text = elementName(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape())
    return text + "[...]";
  std::string sizes;
  for (const proto::TensorShapeProto_Dimension &dim : type.tensor_type().shape().dim()) {
    if (!sizes.empty())
      sizes += ",";
    sizes += dim.has_dim_value()       ? std::to_string(dim.dim_value())
             : dim.dim_param().empty() ? "?"
                                       : dim.dim_param();
  }
  return text + "[" + sizes + "]";
}

SourceGraph sourceGraphOf(const Model &model) {
  const proto::GraphProto &graph = model.proto().graph();
  SourceGraph made{.title = "ONNX graph", .nodes = {}};
  std::map<std::string, std::string> types;
  for (const auto *list : {&graph.value_info(), &graph.input(), &graph.output()})
    for (const proto::ValueInfoProto &value : *list)
      types[value.name()] = describeType(value.type());
  auto add = [&](std::string op, const std::string &name, std::string type) {
    SourceNode &node = made.nodes.emplace_back();
    node.op = std::move(op);
    node.label = node.place = name;
    node.gives = {name};
    node.types = {std::move(type)};
  };
  std::set<std::string> weights, taken;
  for (const proto::NodeProto &node : graph.node())
    taken.insert(node.input().begin(), node.input().end());
  for (const proto::TensorProto &weight : graph.initializer())
    weights.insert(weight.name());
  for (const proto::ValueInfoProto &input : graph.input())
    if (!weights.contains(input.name()))
      add("input", input.name(), types[input.name()]);
  for (const proto::TensorProto &weight : graph.initializer())
    if (taken.contains(weight.name()))
      add("weight", weight.name(), elementName(weight.data_type()) + listText(weight.dims()));
  for (const proto::NodeProto &one : graph.node()) {
    SourceNode &node = made.nodes.emplace_back();
    node.op = one.domain().empty() || one.domain() == "ai.onnx" ? one.op_type() : one.domain() + "." + one.op_type();
    node.label = one.op_type();
    node.place = one.name().empty() ? one.op_type() : one.name();
    node.modules = modulesOf(one.name());
    node.takes.assign(one.input().begin(), one.input().end());
    node.gives.assign(one.output().begin(), one.output().end());
    for (const std::string &name : node.gives)
      node.types.push_back(types.contains(name) ? types[name] : "");
    if (!one.name().empty())
      node.attributes.emplace_back("name", one.name());
    for (const proto::AttributeProto &attribute : one.attribute())
      node.attributes.emplace_back(attribute.name(), attributeText(attribute));
    if (!one.doc_string().empty())
      node.attributes.emplace_back("doc_string", one.doc_string().substr(0, 400));
  }
  for (const proto::ValueInfoProto &output : graph.output()) {
    SourceNode &node = made.nodes.emplace_back();
    node.op = "output";
    node.label = output.name();
    node.takes = {output.name()};
  }
  return made;
}

} // namespace cupel::frontends::onnx_import
