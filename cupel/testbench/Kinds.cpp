#include "cupel/testbench/Kinds.h"

#include "cupel/results/Suites.h"

#include <algorithm>

namespace cupel::testbench {

namespace {

using results::Stage;

constexpr Stage kProgramStages[] = {Stage::Load,    Stage::Frontend,  Stage::Compile,
                                    Stage::Execute, Stage::Reference, Stage::Compare};
/// torch makes the inputs and what is expected.
constexpr Stage kTorchStages[] = {Stage::Load, Stage::Reference};
constexpr Stage kCapturedStages[] = {Stage::Frontend, Stage::Compile, Stage::Execute,
                                     Stage::Compare};

/// torch runs the model for its golden result, and captures and lowers it.
constexpr Stage kModelStages[] = {Stage::Load, Stage::Reference, Stage::Frontend};

constexpr Step kProgram[] = {{Server::Worker, kProgramStages}};
constexpr Step kOpCase[] = {{Server::Python, kTorchStages}, {Server::Worker, kCapturedStages}};

constexpr Step kModel[] = {{Server::Python, kModelStages}, {Server::Worker, kCapturedStages}};

constexpr std::string_view kLoaderFiles[] = {"loader.py"};
constexpr std::string_view kProgramFiles[] = {".mlir", ".mlirbc", ".mlir.bc"};
constexpr std::string_view kOpCaseFiles[] = {".yaml", ".yml"};
constexpr std::string_view kOnnxFiles[] = {".onnx"};
constexpr std::string_view kPt2Files[] = {".pt2"};
constexpr std::string_view kWorkloadFiles[] = {"workload.json"};
constexpr std::string_view kGeneratedFiles[] = {"manifest.json"};

// In the order of cupel/results/Suites.cpp; a test compares the two.
constexpr Kind kKinds[] = {
    {.suite = "models", .what = "a model loader", .files = kLoaderFiles, .steps = kModel,
     .preparation = Preparation::Loader, .service = Service::Captured},
    {.suite = "llm", .what = "a language model's loader", .steps = kModel,
     .preparation = Preparation::Loader, .service = Service::Captured},
    {.suite = "op_by_op", .what = "the operators of a model", .steps = kModel,
     .preparation = Preparation::Loader, .service = Service::Captured},
    {.suite = "placeholder", .what = "a model to come", .missing = "a model loader"},
    {.suite = "programs",
     .what = "a StableHLO program",
     .files = kProgramFiles,
     .steps = kProgram,
     .service = Service::Program},
    {.suite = "opcases",
     .what = "an operator case",
     .files = kOpCaseFiles,
     .steps = kOpCase,
     .preparation = Preparation::Case,
     .service = Service::Case,
     .takesBackend = true,
     .deduplicated = true,
     // The start of torch takes as long as hundreds of them.
     .testsAWorker = 500},
    {.suite = "onnx",
     .what = "an ONNX model",
     .files = kOnnxFiles,
     .steps = kProgram,
     .service = Service::Program,
     .takesShapes = true},
    {.suite = "pt2",
     .what = "a torch.export archive",
     .files = kPt2Files,
     .steps = kProgram,
     .service = Service::Program,
     .takesShapes = true},
    {.suite = "workloads",
     .what = "a saved workload",
     .files = kWorkloadFiles,
     .steps = kProgram,
     .service = Service::Program},
    {.suite = "generated",
     .what = "a folder of generated code",
     .files = kGeneratedFiles,
     .steps = kProgram,
     .service = Service::Program},
};

} // namespace

std::string_view name(Server server) {
  switch (server) {
  case Server::Worker:
    return "worker";
  case Server::Python:
    return "Python worker";
  }
  return "";
}

std::span<const Kind> kinds() { return kKinds; }

const Kind &kindOf(std::string_view suite) {
  const Kind *found = std::ranges::find(kKinds, suite, &Kind::suite);
  return found == std::end(kKinds) ? kKinds[0] : *found;
}

const Kind &kindOf(const TestItem &item) {
  // A framework's name may be that of a suite: loaders of ONNX models are loaders.
  bool isLoader = !item.modelPath.empty() && results::findSuite(item.suite) &&
                  !results::findSuite(item.suite)->fromZoo;
  return isLoader ? kKinds[0] : kindOf(item.suite);
}

std::string depthOf(const TestItem &item, const std::string &ofRun) {
  return item.suite == "op_by_op" && ofRun.empty() ? "execute-op-by-op" : ofRun;
}

const Kind *kindOfFile(std::string_view name) {
  for (const Kind &kind : kKinds)
    for (std::string_view file : kind.files)
      if (file.starts_with('.') ? name.ends_with(file) : name == file)
        return &kind;
  return nullptr;
}

} // namespace cupel::testbench
