#include "cupel/frontends/onnx/DataSets.h"

#include <filesystem>

namespace cupel::frontends::onnx_import {

namespace fs = std::filesystem;

// Keeps a folder of folders that links to itself from being counted for ever.
constexpr uint32_t kMostDataSets = 10'000;

bool sharesDataSets(const std::string &modelPath) {
  int models = 0;
  std::error_code error;
  fs::path path = fs::absolute(modelPath, error);
  if (path.filename() == "model.onnx")
    return false;
  for (fs::directory_iterator entry(path.parent_path(), error), end; !error && entry != end;
       entry.increment(error))
    models += entry->path().extension() == ".onnx";
  return error || models != 1;
}

std::string dataSetFolder(const std::string &modelPath, uint32_t number) {
  return (fs::path(modelPath).parent_path() / ("test_data_set_" + std::to_string(number))).string();
}

uint32_t countDataSets(const std::string &modelPath) {
  uint32_t sets = 0;
  std::error_code error;
  while (sets < kMostDataSets && fs::is_directory(dataSetFolder(modelPath, sets), error))
    ++sets;
  return sets;
}

} // namespace cupel::frontends::onnx_import
