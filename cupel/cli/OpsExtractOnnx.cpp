// The worker's part of `cupel ops extract`: ONNX models, whose types only the importer knows.

#include "cupel/cli/ExtractedCases.h"
#include "cupel/cli/ModelRequest.h"
#include "cupel/cli/Ops.h"
#include "cupel/testbench/worker/ExtractOnnx.h"

namespace cupel::cli {

int runOpsExtractOnnx(const char *text) {
  constexpr const char *kVerb = "ops extract";
  Result<llvm::json::Object> object = workerRequest(text);
  if (!object)
    return reportError(kVerb, object.message(), kExitUsage);
  Result<ModelRequest> request = ModelRequest::parse(kVerb, *object);
  if (!request)
    return reportError(kVerb, request.message(), kExitUsage);
  if (std::optional<int> code = request->load())
    return *code;
  ModelContext context;
  frontends::ModelSurvey survey = request->model->survey(context.get(), request->options);
  Result<frontends::onnx_import::Model> model = frontends::onnx_import::Model::load(request->file);
  if (!model)
    return reportError(kVerb, model.message(), kExitFailure);
  std::vector<testbench::worker::SurveyedTypes> nodes;
  for (const frontends::SurveyedNode &node : survey.nodes)
    nodes.push_back({node.name, node.operands});
  return writeExtractedCases(testbench::worker::extractOnnxCases(
                                 *model, nodes, object->getString("name").value_or("model").str()),
                             request->file, object->getString("output").value_or("").str(),
                             "an ONNX model");
}

} // namespace cupel::cli
