#include "cupel/frontends/ModelImport.h"

#include <algorithm>

namespace cupel::frontends {

std::string_view reasonOf(ErrorCode code) {
  switch (code) {
  case ErrorCode::DataDependent:
    return "data-dependent shape";
  case ErrorCode::Strings:
    return "strings";
  case ErrorCode::Sequences:
    return "sequences";
  case ErrorCode::Random:
    return "random";
  case ErrorCode::Codec:
    return "image codec";
  case ErrorCode::OtherDomain:
    return "other domain";
  default:
    return name(kindOf(code));
  }
}

Error asRefusal(Error error) {
  return error.code == ErrorCode::InvalidArgument ? error.as(ErrorCode::InvalidModel) : error;
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
