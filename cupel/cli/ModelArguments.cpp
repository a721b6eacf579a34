#include "cupel/cli/ModelArguments.h"

#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {

void ModelArguments::addTo(CommandLine &line) {
  line.option("FILE", file, "A model (.onnx, .pt2) or a StableHLO program (.mlir, .mlirbc)")
      .required();
  line.option("--shape", shapes,
              "NAME=2x3: the shape of an input whose sizes are symbols; may be repeated. Sizes "
              "that nothing says are 1, with a note")
      .placeholder("NAME=SIZES")
      .oneValueEach();
  line.option("--data-set", dataSet,
              "Which test_data_set_N beside a model says its inputs' sizes and the values that "
              "decide shapes (0, where there is one)")
      .placeholder("N");
  line.flag("--no-data", noData, "Leave test data aside");
}

Result<nlohmann::json> ModelArguments::request() const {
  nlohmann::json request = {{"file", file}, {"shapes", nlohmann::json::object()}};
  if (!noData)
    request["data_set"] = dataSet;
  for (const std::string &text : shapes) {
    // Names may hold an equals sign, sizes never do.
    size_t equals = text.rfind('=');
    auto wrong = [&] {
      return Error{fmt::format("--shape {}: wants NAME=2x3, or NAME= for a scalar", text)};
    };
    if (equals == std::string::npos || equals == 0)
      return wrong();
    nlohmann::json sizes = nlohmann::json::array();
    std::string_view rest = std::string_view(text).substr(equals + 1);
    while (!rest.empty()) {
      int64_t size = 0;
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
      if (error != std::errc() || size < 0)
        return wrong();
      rest.remove_prefix(size_t(end - rest.data()));
      if (!rest.empty() && (rest[0] != 'x' || rest.size() == 1))
        return wrong();
      if (!rest.empty())
        rest.remove_prefix(1);
      sizes.push_back(size);
    }
    if (!request["shapes"].emplace(text.substr(0, equals), std::move(sizes)).second)
      return Error{fmt::format("--shape {}: this input has a shape already", text)};
  }
  return request;
}

} // namespace cupel::cli
