// ONNX's own layout of test data: folders test_data_set_0, test_data_set_1, ... beside a model.
// Used by the collection of tests, which must not know protobuf, and by the frontend.
#pragma once

#include <cstdint>
#include <string>

namespace cupel::frontends::onnx_import {

/// How many data sets a model has. They belong to `model.onnx` where the folder has one, else to
/// every model beside them whose inputs and outputs they fit.
uint32_t countDataSets(const std::string &modelPath);
/// Whether data sets beside a model may be those of another one: whether they fit then decides.
bool sharesDataSets(const std::string &modelPath);
std::string dataSetFolder(const std::string &modelPath, uint32_t number);

} // namespace cupel::frontends::onnx_import
