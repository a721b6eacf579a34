// Goes through a whole program, past what fails: every result's type is declared, so that the calls
// behind a failing one can be tried on values that stand in for its results.

#include "cupel/frontends/torch/Importer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

void Importer::note(Scope &scope, const GraphNode &node) {
  SurveyedNode &call = survey->nodes.emplace_back();
  StringRef target = node.target;
  target.consume_front("torch.ops.");
  call.op = target.str();
  auto describe = [&](const std::string &name) -> std::string {
    auto meta = scope.graph.tensors.find(name);
    if (meta == scope.graph.tensors.end())
      return "number";
    std::vector<std::string> sizes;
    for (const SymInt &size : meta->second.sizes) {
      Result<Number> value =
          size.isSymbolic() ? symbols.evaluate(size.expression) : Number::of(size.value);
      sizes.push_back(value ? std::to_string(value->integer) : "?");
    }
    return fmt::format("{}[{}]", tensor::info(meta->second.type).name, fmt::join(sizes, ","));
  };
  auto each = [&](const Argument &argument, std::vector<std::string> &list) {
    if (const Name *name = argument.as<Name>()) {
      list.push_back(describe(name->text));
    } else if (const auto *names = argument.as<std::vector<Name>>()) {
      for (const Name &name : *names)
        list.push_back(describe(name.text));
    } else if (const auto *names = argument.as<Argument::OptionalNames>()) {
      for (const std::optional<Name> &name : *names)
        list.push_back(name ? describe(name->text) : "none");
    }
  };
  for (const NamedArgument &input : node.inputs)
    each(input.value, call.operands);
  for (const Argument &output : node.outputs)
    each(output, call.results);
  if (!node.outputs.empty()) {
    if (const Name *name = node.outputs[0].as<Name>())
      call.name = name->text;
    else if (const auto *names = node.outputs[0].as<std::vector<Name>>(); names && !names->empty())
      call.name = names->front().text;
  }
}

bool Importer::standIn(Scope &scope, const GraphNode &node) {
  auto make = [&](const Name &name) {
    if (scope.names.count(name.text))
      return true;
    auto meta = scope.graph.tensors.find(name.text);
    if (meta == scope.graph.tensors.end()) {
      scope.names[name.text].number = Number::of(int64_t{1});
      return true;
    }
    Result<RankedTensorType> type = typeOf(meta->second);
    failure.reset();
    if (!type)
      return false;
    Entry entry = fresh(builder->splat(0, type->getElementType(), type->getShape()));
    setStrides(scope, name.text, *entry.tensor);
    scope.names[name.text] = entry;
    return true;
  };
  for (const Argument &output : node.outputs) {
    if (const Name *name = output.as<Name>()) {
      if (!make(*name))
        return false;
    } else if (const auto *names = output.as<std::vector<Name>>()) {
      for (const Name &name : *names)
        if (!make(name))
          return false;
    } else if (const auto *number = output.as<SymNumber>()) {
      if (const Name *name = std::get_if<Name>(&number->value); name && !make(*name))
        return false;
    }
  }
  return true;
}

ModelSurvey surveyProgram(const Program &program, MLIRContext &context,
                          const ImportOptions &options) {
  ModelSurvey survey;
  Importer importer(program, context, options);
  importer.survey = &survey;
  Imported imported;
  Status status = importer.run(imported);
  if (!status && llvm::none_of(survey.nodes, [](const SurveyedNode &node) { return node.failure; }))
    survey.failure = status.error();
  survey.inputs = std::move(imported.inputs);
  survey.notes = std::move(imported.notes);
  return survey;
}

} // namespace cupel::frontends::torch_import
