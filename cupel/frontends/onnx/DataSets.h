// ONNX's own layout of test data: folders test_data_set_0, test_data_set_1, ... beside a model.
// Used by the collection of tests, which must not know protobuf, and by the frontend.
#pragma once

#include <cstdint>
#include <string>

namespace cupel::frontends::onnx_import {

/// How many data sets belong to a model. They belong to `model.onnx`, or to a model of another name
/// that is the only one in its folder.
uint32_t countDataSets(const std::string &modelPath);
std::string dataSetFolder(const std::string &modelPath, uint32_t number);

} // namespace cupel::frontends::onnx_import
