// An ONNX model made into a StableHLO module of static shapes: every node is lowered by the table
// of operators (OpTable.h), nodes on known values are evaluated with the golden reference on the
// way, and what decides shapes is taken from the data where the graph has it as an input. Weights
// stay outside the module, as arguments that share the model's memory. Used through OnnxFile.h.
#pragma once

#include "cupel/frontends/ModelImport.h"
#include "cupel/frontends/onnx/Model.h"

namespace cupel::frontends::onnx_import {

Result<ImportedModel> importModel(const Model &model, mlir::MLIRContext &context,
                                  const ImportOptions &options);

/// What becomes of each node, past those that fail.
ModelSurvey surveyModel(const Model &model, mlir::MLIRContext &context,
                        const ImportOptions &options);

} // namespace cupel::frontends::onnx_import
