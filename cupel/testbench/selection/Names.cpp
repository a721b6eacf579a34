#include "cupel/testbench/selection/Names.h"

#include <algorithm>
#include <iterator>

namespace cupel::testbench::selection {

namespace {

constexpr PytestFunction kFunctions[] = {
    {"test_all_models_torch", "models", "pytorch"},
    {"test_all_models_jax", "models", "jax"},
    {"test_all_models", "models", ""}, // Its name before frameworks had one each.
    {"test_llms_torch", "llm", "pytorch"},
    {"test_all_models_op_by_op", "op_by_op", ""},
    {"test_placeholder_models", "placeholder", ""},
};

constexpr std::string_view kSuites[] = {"models",  "llm",  "op_by_op", "placeholder", "programs",
                                        "opcases", "onnx", "pt2",      "workloads"};

const PytestFunction *findFunction(std::string_view name) {
  const auto *at = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                [&](const PytestFunction &f) { return f.name == name; });
  return at == std::end(kFunctions) ? nullptr : at;
}

/// `function` or `function[id]`.
ItemName parseFunction(std::string_view file, std::string_view text) {
  ItemName name;
  name.file = file;
  size_t bracket = text.find('[');
  if (bracket != std::string_view::npos && text.ends_with(']'))
    name.id = text.substr(bracket + 1, text.size() - bracket - 2);
  name.function = text.substr(0, bracket);
  if (const PytestFunction *known = findFunction(name.function)) {
    name.suite = known->suite;
    name.framework = known->framework;
  }
  return name;
}

} // namespace

std::span<const PytestFunction> pytestFunctions() { return kFunctions; }
std::span<const std::string_view> suiteNames() { return kSuites; }

std::string_view pytestFunctionOf(std::string_view suite, std::string_view framework) {
  for (const PytestFunction &function : kFunctions)
    if (function.suite == suite && (function.framework.empty() || function.framework == framework))
      return function.name;
  return {};
}

ItemName parseItemName(std::string_view text) {
  size_t colons = text.find("::");
  if (colons != std::string_view::npos) {
    std::string_view left = text.substr(0, colons);
    std::string_view right = text.substr(colons + 2);
    if (left.ends_with(".py"))
      return parseFunction(left, right);
    if (std::find(std::begin(kSuites), std::end(kSuites), left) != std::end(kSuites)) {
      ItemName name;
      name.suite = left;
      name.id = right;
      return name;
    }
  } else if (text.ends_with(".py")) {
    ItemName name;
    name.file = text;
    return name;
  } else if (text.ends_with(']') && findFunction(text.substr(0, text.find('[')))) {
    return parseFunction({}, text);
  }
  ItemName name;
  name.id = text;
  return name;
}

} // namespace cupel::testbench::selection
