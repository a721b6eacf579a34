#include "cupel/cli/GraphOptions.h"

#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/compiler/passes/Pipelines.h"
#include "cupel/compiler/tensor/named/NamedFusion.h"
#include "cupel/runtime/Options.h"
#include "cupel/runtime/Architecture.h"

#include <mlir/Pass/PassManager.h>

namespace cupel::cli {

using namespace mlir;

Status GraphOptions::fuse(ModuleOp module) {
  if (fusionPatterns.empty() && withoutFusions.empty())
    return {};
  Result<std::vector<compiler::FusionCount>> counts =
      compiler::applyFusions(module, fusionPatterns, withoutFusions, tir::namedFusionNames());
  if (!counts)
    return counts.error();
  fusions = std::move(*counts);
  return {};
}

Result<GraphOptions> GraphOptions::apply(const llvm::json::Object &given, ModuleOp module, bool fuses) {
  GraphOptions made;
  made.isGiven = !given.empty();
  if (!made.isGiven)
    return made;
  runtime::Options options(runtime::OptionScope::Client);
  for (const auto &[name, value] : given)
    if (Status status = options.set(name.str(), value.getAsString().value_or("").str()); !status)
      return status.error();
  if (Status status = options.readEnvironment(); !status)
    return status.error();
  runtime::Numerics numerics;
  runtime::Rewrites rewrites;
  chooseNumerics(options, numerics);
  chooseRewrites(options, rewrites);
  Result<runtime::Architecture> architecture = runtime::findArchitecture(options.string("arch").value_or("cpu"));
  if (!architecture)
    return architecture.error();
  made.rewriteLimit = rewrites.limit;
  made.level = rewrites.level;
  made.sramBytes = architecture->sramBytes;
  made.architecture = architecture->name;
  made.traceRegionBytes = options.integer("trace_region_size").value_or(made.traceRegionBytes);
  if (numerics.wideAccumulation)
    made.notCompiled = "it accumulates in f64, and such programs run whole on the reference";
  if (std::string backend = options.string("backend").value_or("cpu"); backend != "cpu")
    made.notCompiled = "the backend " + backend + " compiles nothing";

  compiler::DevicePipeline pipeline;
  pipeline.skipWindows = numerics.scatterSkipsWindows;
  pipeline.split = !numerics.computesWhole;
  if (!numerics.programTypes && architecture->dtypes.size() < tensor::kDTypeCount)
    for (tensor::DType type : architecture->dtypes)
      pipeline.types.emplace_back(tensor::info(type).name);
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  compiler::buildDevicePipeline(passes, pipeline);
  if (failed(passes.run(module)))
    return Error{"the program cannot be compiled with these options"};
  if (std::string files = options.string("fusion_patterns").value_or(""); !files.empty()) {
    Result<std::string> patterns = compiler::readFusions(files);
    if (!patterns)
      return patterns.error();
    made.fusionPatterns = std::move(*patterns);
  }
  made.withoutFusions = options.string("without_fusion_patterns").value_or("");
  if (Status status = fuses ? made.fuse(module) : Status(); !status)
    return status.error();
  if (std::string formats = options.string("experimental_weight_dtype").value_or(""); !formats.empty()) {
    Result<compiler::WeightFormats> chosen = compiler::parseWeightFormats(formats);
    if (!chosen)
      return chosen.error();
    made.weights = compiler::roundWeights(module, *chosen);
  }
  if (numerics.narrowsProducts)
    made.narrowProducts = compiler::narrowProducts(module, numerics.keepsNarrow);
  made.keepsNarrow = numerics.keepsNarrow;
  return made;
}

} // namespace cupel::cli
