#include "cupel/frontends/ModelImport.h"

#include <algorithm>

namespace cupel::frontends {

std::string_view name(Refusal refusal) {
  switch (refusal) {
  case Refusal::None:
    return "none";
  case Refusal::Invalid:
    return "invalid";
  case Refusal::DataDependent:
    return "data-dependent shape";
  case Refusal::Strings:
    return "strings";
  case Refusal::Sequences:
    return "sequences";
  case Refusal::Random:
    return "random";
  case Refusal::Codec:
    return "image codec";
  case Refusal::OtherDomain:
    return "other domain";
  case Refusal::NotYet:
    return "not yet";
  }
  return "?";
}

std::string_view errorClass(Refusal refusal) {
  switch (refusal) {
  case Refusal::None:
  case Refusal::Invalid:
    return "invalid_model";
  case Refusal::DataDependent:
    return "data_dependent_shape";
  case Refusal::Strings:
    return "needs_strings";
  case Refusal::Sequences:
    return "needs_sequences";
  case Refusal::Random:
    return "random_result";
  case Refusal::Codec:
    return "image_codec";
  case Refusal::OtherDomain:
    return "other_domain";
  case Refusal::NotYet:
    return "not_yet_lowered";
  }
  return "invalid_model";
}

RefusalKind kindOf(Refusal refusal) {
  switch (refusal) {
  case Refusal::None:
  case Refusal::Invalid:
    return RefusalKind::Invalid;
  case Refusal::NotYet:
    return RefusalKind::NotYet;
  case Refusal::DataDependent:
  case Refusal::Strings:
  case Refusal::Sequences:
  case Refusal::Random:
  case Refusal::Codec:
  case Refusal::OtherDomain:
    return RefusalKind::Never;
  }
  return RefusalKind::Invalid;
}

std::string_view name(RefusalKind kind) {
  switch (kind) {
  case RefusalKind::Invalid:
    return "invalid";
  case RefusalKind::Never:
    return "never";
  case RefusalKind::NotYet:
    return "not yet";
  }
  return "?";
}

std::string_view name(SurveyedNode::State state) {
  switch (state) {
  case SurveyedNode::State::Lowered:
    return "lowered";
  case SurveyedNode::State::Folded:
    return "folded";
  case SurveyedNode::State::Failed:
    return "failed";
  case SurveyedNode::State::Unreached:
    return "unreached";
  }
  return "?";
}

std::string describeUnknownInputs(const ModelFile &model,
                                  const std::map<std::string, tensor::Shape> &shapes) {
  if (shapes.empty())
    return {};
  std::vector<ModelInput> inputs = model.inputs();
  std::string unknown, all;
  for (const auto &[name, shape] : shapes)
    if (std::ranges::find(inputs, name, &ModelInput::name) == inputs.end())
      unknown += (unknown.empty() ? "'" : " or '") + name + "'";
  if (unknown.empty())
    return {};
  for (const ModelInput &input : inputs)
    all += (all.empty() ? "" : ", ") + input.name + " " + input.type;
  return "the model has no input " + unknown + "; it has " + (all.empty() ? "none" : all);
}

std::vector<std::string> dropOtherShapes(ImportOptions &options) {
  std::vector<std::string> dropped;
  for (const auto &[name, shape] : options.shapes)
    if (auto value = options.inputs.find(name);
        value != options.inputs.end() && !std::ranges::equal(shape, value->second.shape())) {
      dropped.push_back(name);
      options.inputs.erase(value);
    }
  return dropped;
}

} // namespace cupel::frontends
