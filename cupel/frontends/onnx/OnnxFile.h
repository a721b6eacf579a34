// An .onnx file as a ModelFile, with the test data that ONNX's own layout keeps beside it
// (test_data_set_N/{input,output}_M.pb). The row of the table of formats.
#pragma once

#include "cupel/frontends/ModelImport.h"

namespace cupel::frontends::onnx_import {

Result<std::unique_ptr<ModelFile>> loadOnnxFile(const std::string &path,
                                               const std::string &program);
std::vector<KnownOperator> knownOperators();

} // namespace cupel::frontends::onnx_import
