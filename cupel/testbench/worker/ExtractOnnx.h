// From an ONNX model to operator cases: each distinct node that one call of torch stands for, with
// the types its operands have. Behind `cupel ops extract model.onnx`. What the operands' types are
// the importer's survey says; the rest is read from the file. Links no MLIR.
#pragma once

#include "cupel/frontends/onnx/Model.h"
#include "cupel/testbench/worker/ExtractCases.h"

namespace cupel::testbench::worker {

/// A node as a survey of the model describes it.
struct SurveyedTypes {
  std::string name;                  ///< Of the node, or of its first result.
  std::vector<std::string> operands; ///< `tensor<2x3xf32>`, `none`, ...
};

ExtractedCases extractOnnxCases(const frontends::onnx_import::Model &model,
                                const std::vector<SurveyedTypes> &nodes, const std::string &name);

} // namespace cupel::testbench::worker
