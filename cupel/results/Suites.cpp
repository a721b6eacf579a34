#include "cupel/results/Suites.h"

#include <algorithm>

namespace cupel::results {

namespace {

constexpr Suite kSuites[] = {
    {"models", "model_test", true},      {"llm", "model_test", true},
    {"op_by_op", "model_test", true},    {"placeholder", "model_test", true},
    {"programs", "graph_test"},          {"opcases", "op_test"},
    {"onnx", "graph_test"},              {"pt2", "graph_test"},
    {"workloads", "graph_test"},         {"generated", "graph_test"},
};

constexpr PytestFunction kFunctions[] = {
    {"test_all_models_torch", "models", "pytorch"},
    {"test_all_models_jax", "models", "jax"},
    {"test_all_models", "models", "", true}, // Its name before frameworks had one each.
    {"test_llms_torch", "llm", "pytorch"},
    {"test_all_models_op_by_op", "op_by_op", ""},
    {"test_placeholder_models", "placeholder", ""},
};

} // namespace

std::span<const Suite> suites() { return kSuites; }

const Suite *findSuite(std::string_view name) {
  const Suite *found = std::ranges::find(kSuites, name, &Suite::name);
  return found == std::end(kSuites) ? nullptr : found;
}

std::span<const PytestFunction> pytestFunctions() { return kFunctions; }

std::string_view pytestFunctionOf(std::string_view suite, std::string_view framework) {
  for (const PytestFunction &function : kFunctions)
    if (function.suite == suite && !function.isFormer &&
        (function.framework.empty() || framework.empty() || function.framework == framework))
      return function.name;
  return {};
}

} // namespace cupel::results
