#include "cupel/cli/ModelArguments.h"

#include "cupel/frontends/ShapeOption.h"

#include <nlohmann/json.hpp>

namespace cupel::cli {

void ModelArguments::addTo(CommandLine &line) {
  line.option("FILE", file, "A model (.onnx, .pt2) or a StableHLO program (.mlir, .mlirbc)")
      .required();
  line.option("--shape", shapes,
              std::string(frontends::kShapeHelp) + ". Sizes that nothing says are 1, with a note")
      .placeholder("NAME=SIZES")
      .oneValueEach();
  line.option("--data-set", dataSet,
              "Which test_data_set_N beside a model says its inputs' sizes and the values that "
              "decide shapes (0, where there is one)")
      .placeholder("N");
  line.flag("--no-data", noData, "Leave test data aside");
  line.option("--program", program, "Which program of a .pt2 archive that holds several")
      .placeholder("NAME");
}

std::vector<std::string> ModelArguments::words() const {
  std::vector<std::string> words;
  for (const std::string &shape : shapes)
    words.push_back("--shape=" + shape);
  if (dataSet != 0)
    words.push_back("--data-set=" + std::to_string(dataSet));
  if (noData)
    words.emplace_back("--no-data");
  if (!program.empty())
    words.push_back("--program=" + program);
  return words;
}

Result<nlohmann::json> ModelArguments::request() const {
  nlohmann::json request = {{"file", file}, {"shapes", nlohmann::json::object()}};
  if (!program.empty())
    request["program"] = program;
  if (!noData)
    request["data_set"] = dataSet;
  Result<std::map<std::string, std::vector<int64_t>>> given = frontends::parseShapes(shapes);
  if (!given)
    return given.error();
  for (const auto &[name, sizes] : *given)
    request["shapes"][name] = sizes;
  return request;
}

} // namespace cupel::cli
