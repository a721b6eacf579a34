#include "cupel/testbench/opcases/Case.h"

#include "cupel/support/Files.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::opcases {

using Json = nlohmann::ordered_json;

namespace {

std::string textOf(const TensorSpec &tensor) {
  if (tensor.isNone)
    return "None";
  std::string text =
      fmt::format("tensor {} {} {}", tensor.dtype, fmt::join(tensor.shape, "x"), tensor.init);
  if (tensor.low || tensor.high)
    text += fmt::format(" {}..{}", tensor.low.value_or(0), tensor.high.value_or(1));
  if (tensor.init == "data")
    text += " " + tensor.data.str();
  if (!tensor.preset.empty()) {
    text += " " + tensor.preset;
    NamedValues sorted = tensor.presetArgs;
    std::ranges::sort(sorted, {}, &std::pair<std::string, Value>::first);
    for (const auto &[name, value] : sorted)
      text += " " + name + "=" + value.str();
  }
  return text;
}

std::string textOf(const Input &input) {
  switch (input.kind) {
  case Input::Kind::Tensor:
    return textOf(input.tensors[0]);
  case Input::Kind::TensorList: {
    std::string text = input.isTuple ? "(" : "[";
    for (const TensorSpec &tensor : input.tensors)
      text += textOf(tensor) + "; ";
    return text + (input.isTuple ? ")" : "]");
  }
  case Input::Kind::Value:
    return input.value.str();
  case Input::Kind::File:
    return "file " + input.file + " " + input.key;
  }
  return "";
}

Json toJson(const Value &value) {
  switch (value.kind) {
  case Value::Kind::None:
    return nullptr;
  case Value::Kind::Bool:
    return value.flag;
  case Value::Kind::Int:
    return value.integer;
  case Value::Kind::Float:
    if (!std::isfinite(value.number))
      return Json{{"float", value.str()}};
    return value.number;
  case Value::Kind::Text:
    return value.text;
  case Value::Kind::Ellipsis:
    return Json{{"ellipsis", true}};
  case Value::Kind::List:
  case Value::Kind::Tuple:
  case Value::Kind::Slice: {
    Json items = Json::array();
    for (const Value &item : value.items)
      items.push_back(toJson(item));
    if (value.kind == Value::Kind::List)
      return items;
    return Json{{value.kind == Value::Kind::Tuple ? "tuple" : "slice", std::move(items)}};
  }
  }
  return nullptr;
}

Json toJson(const TensorSpec &tensor) {
  if (tensor.isNone)
    return nullptr;
  Json json = {{"shape", tensor.shape}, {"dtype", tensor.dtype}, {"init", tensor.init}};
  if (tensor.low)
    json["low"] = *tensor.low;
  if (tensor.high)
    json["high"] = *tensor.high;
  if (tensor.init == "data")
    json["data"] = toJson(tensor.data);
  if (!tensor.preset.empty()) {
    json["preset"] = tensor.preset;
    Json arguments = Json::object();
    for (const auto &[name, value] : tensor.presetArgs)
      arguments[name] = toJson(value);
    json["preset_args"] = std::move(arguments);
  }
  return json;
}

Json toJson(const Input &input) {
  switch (input.kind) {
  case Input::Kind::Tensor:
    return Json{{"tensor", toJson(input.tensors[0])}};
  case Input::Kind::TensorList: {
    Json list = Json::array();
    for (const TensorSpec &tensor : input.tensors)
      list.push_back(toJson(tensor));
    return Json{{input.isTuple ? "tensor_tuple" : "tensor_list", std::move(list)}};
  }
  case Input::Kind::Value:
    return Json{{"value", toJson(input.value)}};
  case Input::Kind::File: {
    Json json = {{"file", input.file}};
    if (!input.key.empty())
      json["key"] = input.key;
    return json;
  }
  }
  return nullptr;
}

} // namespace

std::string Case::key() const {
  std::string key = op;
  for (const Input &input : inputs)
    key += "\n" + textOf(input);
  std::vector<std::string> named;
  for (const auto &[name, input] : attrs)
    named.push_back(name + "=" + textOf(input));
  std::ranges::sort(named);
  for (const std::string &one : named)
    key += "\n" + one;
  if (expectsError)
    key += "\nexpects " + expectsError->type + " " + expectsError->match;
  // One that is skipped somewhere is no stand-in for one that is not.
  for (const SkipRule &rule : skipIf)
    key += "\nskip if " + rule.text;
  return key;
}

std::string Case::signature() const {
  std::vector<std::string> parts;
  auto describe = [](const TensorSpec &tensor) {
    if (tensor.isNone)
      return std::string("None");
    std::string text;
    for (int64_t size : tensor.shape)
      text += std::to_string(size) + "x";
    return text + tensor.dtype + (tensor.preset.empty() ? "" : "@" + tensor.preset);
  };
  auto add = [&](const std::string &before, const Input &input) {
    std::string text = before;
    if (input.kind == Input::Kind::Tensor) {
      text += describe(input.tensors[0]);
    } else if (input.kind == Input::Kind::TensorList) {
      text += "[";
      for (size_t i = 0; i < input.tensors.size(); ++i)
        text += (i ? ", " : "") + describe(input.tensors[i]);
      text += "]";
    } else {
      text += input.kind == Input::Kind::File ? "file" : input.value.str();
    }
    parts.push_back(std::move(text));
  };
  for (const Input &input : inputs)
    add("", input);
  for (const auto &[name, input] : attrs)
    add(name + "=", input);
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool Case::isAsStrictAs(const Case &other) const {
  auto least = [](const std::optional<double> &mine, const std::optional<double> &theirs) {
    return mine == theirs || (mine && theirs && *mine <= *theirs);
  };
  return least(rtol, other.rtol) && least(atol, other.atol);
}

std::string toJson(const Case &one) {
  Json json = {{"name", one.name}, {"op", one.op}, {"seed", one.seed}};
  Json inputs = Json::array();
  for (const Input &input : one.inputs)
    inputs.push_back(toJson(input));
  json["inputs"] = std::move(inputs);
  if (!one.attrs.empty()) {
    Json attrs = Json::object();
    for (const auto &[name, input] : one.attrs)
      attrs[name] = toJson(input);
    json["attrs"] = std::move(attrs);
  }
  if (one.rtol)
    json["rtol"] = *one.rtol;
  if (one.atol)
    json["atol"] = *one.atol;
  if (one.expectsError)
    json["expects_error"] = {{"type", one.expectsError->type}, {"match", one.expectsError->match}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<CaseFile> readCaseFile(const std::string &path) {
  Result<FileContents> contents = readInput(path, config::YamlFile::kMaxBytes);
  if (!contents)
    return contents.error();
  std::vector<config::Diagnostic> diagnostics;
  config::YamlFile yaml(path, std::string(contents->bytes()), diagnostics);
  if (!diagnostics.empty())
    return Error{config::render(diagnostics[0])};
  return readCases(yaml);
}

} // namespace cupel::testbench::opcases
