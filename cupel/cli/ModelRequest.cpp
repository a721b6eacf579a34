#include "cupel/cli/ModelRequest.h"

#include "cupel/ir/Dialects.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Fill.h"

#include <mlir/IR/Diagnostics.h>
#include <unistd.h>

namespace cupel::cli {

using namespace mlir;

Result<llvm::json::Object> workerRequest(const char *text) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (parsed && parsed->getAsObject())
    return std::move(*parsed->getAsObject());
  llvm::consumeError(parsed.takeError());
  return Error{"cupel-worker serves cupel and is not meant to be started by hand"};
}

Result<tensor::Tensor> madeUpInput(RankedTensorType type, uint64_t seed, size_t number) {
  Result<tensor::ElementType> element = reference::elementTypeOf(type.getElementType());
  if (!element)
    return element.error();
  return tensor::randomTensor(*element, reference::shapeOf(type), tensor::defaultFill(*element), {seed, number});
}

Result<ModelRequest> ModelRequest::parse(std::string verb, const llvm::json::Object &request) {
  ModelRequest made;
  made.verb = std::move(verb);
  std::optional<llvm::StringRef> file = request.getString("file");
  const llvm::json::Object *shapes = request.getObject("shapes");
  if (!file || !shapes)
    return Error{"the request names no file or no shapes"};
  made.file = file->str();
  made.program = request.getString("program").value_or("").str();
  for (const auto &[name, sizes] : *shapes) {
    tensor::Shape shape;
    if (const llvm::json::Array *list = sizes.getAsArray())
      for (const llvm::json::Value &size : *list)
        shape.push_back(size.getAsInteger().value_or(0));
    made.options.shapes[name.str()] = std::move(shape);
  }
  made.options.composites = request.getBoolean("composites").value_or(true);
  if (std::optional<int64_t> number = request.getInteger("data_set"))
    made.dataSet = uint32_t(*number);
  return made;
}

std::optional<int> ModelRequest::load() {
  Result<std::unique_ptr<frontends::ModelFile>> loaded = frontends::loadModel(file, program);
  if (!loaded)
    return reportError(verb, loaded.message(),
                       access(file.c_str(), R_OK) == 0 ? kExitFailure : kExitUsage);
  model = std::move(*loaded);
  if (std::string unknown = frontends::describeUnknownInputs(*model, options.shapes);
      !unknown.empty())
    return reportError(verb, file + ": --shape: " + unknown, kExitUsage);
  if (!dataSet)
    return std::nullopt;
  Result<std::optional<frontends::ModelData>> data = model->testData(*dataSet);
  if (!data)
    return reportError(verb, data.message() + " (--no-data leaves test data aside)", kExitFailure);
  if (!*data) {
    if (*dataSet == 0)
      return std::nullopt;
    return reportError(verb, file + ": has no test_data_set_" + std::to_string(*dataSet),
                       kExitUsage);
  }
  options.inputs = std::move((*data)->inputs);
  frontends::dropOtherShapes(options);
  notes.push_back("sizes of inputs are those of " + (*data)->source);
  return std::nullopt;
}

ModelContext::ModelContext() {
  DialectRegistry registry;
  ir::registerAllDialects(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
}

std::string describe(const Error &refusal) {
  switch (kindOf(refusal.code)) {
  case ErrorKind::Never:
    return "never supported (" + std::string(frontends::reasonOf(refusal.code)) +
           "): " + refusal.message;
  case ErrorKind::NotYet:
    return "not supported yet: " + refusal.message;
  default:
    return refusal.message;
  }
}

} // namespace cupel::cli
