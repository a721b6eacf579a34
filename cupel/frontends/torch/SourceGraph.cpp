#include "cupel/frontends/torch/SourceGraph.h"

#include "cupel/frontends/torch/Importer.h"
#include "cupel/frontends/torch/Symbols.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {
namespace {

std::string sizeText(const SymInt &size) {
  return size.isSymbolic() ? Symbols::symbolOf(size.expression).value_or("?") : std::to_string(size.value);
}

std::string typeText(const Graph &graph, const std::string &name) {
  auto meta = graph.tensors.find(name);
  if (meta == graph.tensors.end())
    return "";
  std::string sizes;
  for (const SymInt &size : meta->second.sizes)
    sizes += (sizes.empty() ? "" : ",") + sizeText(size);
  return fmt::format("{}[{}]", tensor::info(meta->second.type).name, sizes);
}

void addNames(const Argument &argument, std::vector<std::string> &names) {
  if (const Name *name = argument.as<Name>())
    names.push_back(name->text);
  else if (const auto *list = argument.as<std::vector<Name>>())
    for (const Name &one : *list)
      names.push_back(one.text);
  else if (const auto *optional = argument.as<Argument::OptionalNames>())
    for (const std::optional<Name> &one : *optional)
      if (one)
        names.push_back(one->text);
}

/// An argument that is no tensor, as text; empty for what is one.
std::string valueText(const Argument &argument) {
  auto list = [](const auto &values) { return fmt::format("[{}]", fmt::join(values, ", ")); };
  if (const auto *integer = argument.as<int64_t>())
    return std::to_string(*integer);
  if (const auto *real = argument.as<double>())
    return fmt::format("{}", *real);
  if (const auto *flag = argument.as<bool>())
    return *flag ? "true" : "false";
  if (const auto *text = argument.as<std::string>())
    return *text;
  if (const auto *integers = argument.as<std::vector<int64_t>>())
    return list(*integers);
  if (const auto *reals = argument.as<std::vector<double>>())
    return list(*reals);
  if (const auto *type = argument.as<tensor::DType>())
    return std::string(tensor::info(*type).name);
  if (const auto *symbol = argument.as<SymNumber>())
    if (const Name *name = std::get_if<Name>(&symbol->value))
      return name->text;
  if (const auto *graph = argument.as<SubGraph>())
    return fmt::format("a graph of {} nodes", graph->graph ? graph->graph->nodes.size() : 0);
  return "";
}

/// The modules of `KEY,PATH,TYPE;KEY,PATH,TYPE`: the parts of the last path.
std::vector<std::string> modulesOf(std::string_view stack) {
  std::string_view last = stack.substr(stack.rfind(';') == std::string_view::npos ? 0 : stack.rfind(';') + 1);
  size_t first = last.find(',');
  if (first == std::string_view::npos)
    return {};
  last.remove_prefix(first + 1);
  std::string_view path = last.substr(0, last.find(','));
  std::vector<std::string> modules;
  constexpr size_t kDeepest = 12;
  while (!path.empty() && modules.size() < kDeepest) {
    std::string_view one = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), one.size() + 1));
    if (!one.empty())
      modules.emplace_back(one);
  }
  return modules;
}

} // namespace

SourceGraph sourceGraphOf(const Program &program) {
  SourceGraph made{.title = "torch.export graph", .nodes = {}};
  for (const InputSpec &input : program.inputs) {
    if (input.name.empty())
      continue;
    SourceNode &node = made.nodes.emplace_back();
    node.op = input.kind == InputKind::UserInput ? "input" : "weight";
    node.label = input.target.empty() ? input.name : input.target;
    node.place = node.label;
    node.gives = {input.name};
    node.types = {typeText(program.graph, input.name)};
  }
  for (const GraphNode &one : program.graph.nodes) {
    SourceNode &node = made.nodes.emplace_back();
    node.op = shortTarget(one.target).str();
    node.label = node.op;
    node.modules = modulesOf(one.moduleStack);
    for (const NamedArgument &input : one.inputs) {
      addNames(input.value, node.takes);
      if (std::string text = valueText(input.value); !text.empty())
        node.attributes.emplace_back(input.name.empty() ? "argument" : input.name, text.substr(0, 240));
    }
    for (const Argument &output : one.outputs)
      addNames(output, node.gives);
    for (const std::string &name : node.gives)
      node.types.push_back(typeText(program.graph, name));
    node.place = placeOf(one);
    if (auto line = sourceLine(one.stackTrace))
      node.line = fmt::format("{}:{}", line->first, line->second);
  }
  for (const OutputSpec &output : program.outputs) {
    SourceNode &node = made.nodes.emplace_back();
    node.op = "output";
    addNames(output.value, node.takes);
    node.label = output.target.empty() ? (node.takes.empty() ? "output" : node.takes.front()) : output.target;
  }
  return made;
}

} // namespace cupel::frontends::torch_import
