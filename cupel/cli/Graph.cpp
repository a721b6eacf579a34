#include "cupel/cli/Graph.h"

#include "cupel/cli/Compile.h"
#include "cupel/cli/GraphEdits.h"
#include "cupel/cli/GraphOfModule.h"
#include "cupel/cli/GraphOptions.h"
#include "cupel/cli/GraphValues.h"
#include "cupel/cli/RewriteWatch.h"
#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/backends/cpu/CpuBackend.h"
#include "cupel/compiler/backends/cpu/Report.h"
#include "cupel/compiler/device/DeviceIr.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"

#include <cmath>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Pass/PassManager.h>

namespace cupel::cli {

using namespace mlir;

namespace {

constexpr const char *kVerb = "explore";

/// A number or word for some nodes of a stage.
struct Overlay {
  const char *name, *unit;
  std::vector<std::pair<size_t, llvm::json::Value>> values;
};

struct Stage {
  std::string name, title;
  std::string nodes; ///< As JSON, since the operations do not stay.
  std::vector<Overlay> overlays;
  std::string error; ///< Why there is no such stage.
};

std::string nodesJson(const StageGraph &graph) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  writeNodes(json, graph);
  return text;
}

Overlay memoryOf(const StageGraph &graph) {
  Overlay overlay{"memory", "B", {}};
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (node.bytes)
      overlay.values.emplace_back(i, node.bytes);
  return overlay;
}

/// Floating-point operations of one operation by itself.
double flopsOf(Operation *op) {
  OwningOpRef<ModuleOp> holder = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(holder->getBody());
  auto function = builder.create<func::FuncOp>(
      op->getLoc(), "main",
      FunctionType::get(op->getContext(), op->getOperandTypes(), op->getResultTypes()));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  IRMapping mapping;
  for (auto [operand, argument] : llvm::zip(op->getOperands(), block->getArguments()))
    mapping.map(operand, argument);
  Operation *copy = builder.clone(*op, mapping);
  builder.create<func::ReturnOp>(op->getLoc(), copy->getResults());
  return compiler::estimateCost(function).flops;
}

Overlay costOf(const StageGraph &graph) {
  Overlay overlay{"flops", "flop", {}};
  for (auto [i, node] : llvm::enumerate(graph.nodes)) {
    // One that uses values from around it, or calls others, means nothing by itself.
    if (!node.op || node.op->getNumResults() == 0 || isa<func::FuncDialect>(node.op->getDialect()))
      continue;
    bool isClosed = true;
    node.op->walk([&](Operation *inside) {
      if (isa<func::CallOp>(inside))
        isClosed = false;
      for (Value operand : inside->getOperands())
        if (inside != node.op && !node.op->isAncestor(operand.getParentRegion()->getParentOp()))
          isClosed = false;
    });
    if (!isClosed)
      continue;
    if (double flops = flopsOf(node.op); flops > 0)
      overlay.values.emplace_back(i, flops);
  }
  return overlay;
}

/// What the backend says of each launch.
Status addReport(Stage &stage, const StageGraph &graph, ModuleOp lowered, int64_t runs) {
  OwningOpRef<ModuleOp> copy = lowered.clone();
  Result<compiler::CpuReport> report = compiler::reportForCpu(*copy, runs);
  if (!report)
    return report.error();
  // Launches of a program come in its order.
  std::map<std::string, std::vector<size_t>> launches;
  for (auto program : lowered.getOps<dev::ProgramOp>())
    for (auto launch : program.getBody().getOps<dev::LaunchOp>())
      launches[program.getSymName().str()].push_back(graph.numbers.lookup(launch));
  Overlay time{"time", "s", {}}, flops{"flops", "flop", {}}, moved{"bytes moved", "B", {}},
      kernel{"kernel", "", {}}, fallback{"fallback", "", {}}, fused{"fused operations", "operations", {}};
  std::map<std::string, size_t> next;
  for (const compiler::LaunchReport &one : report->launches) {
    size_t &at = next[one.program];
    const std::vector<size_t> &nodes = launches[one.program];
    if (at >= nodes.size())
      continue; // A step that another loop runs too.
    size_t node = nodes[at++];
    if (report->seconds)
      time.values.emplace_back(node, one.seconds);
    flops.values.emplace_back(node, one.flops);
    moved.values.emplace_back(node, one.bytes);
    kernel.values.emplace_back(node, one.kernel);
    fallback.values.emplace_back(node, one.isFallback ? "reference" : "compiled");
    fused.values.emplace_back(node, int64_t(one.fused.size()));
  }
  for (Overlay *overlay : {&time, &flops, &moved, &fused, &kernel, &fallback})
    if (!overlay->values.empty())
      stage.overlays.push_back(std::move(*overlay));
  return {};
}

/// What the reference's values look like, a node each.
Status addValues(Stage &stage, const StageGraph &graph, const Compiled &compiled, const std::string &name, uint64_t seed) {
  Result<std::map<size_t, ValueStatistics>> values = valuesOf(*compiled.module, graph, name, compiled.weights, seed);
  if (!values)
    return values.error();
  Overlay largest{"largest magnitude", "", {}}, mean{"mean", "", {}}, spread{"deviation", "", {}},
      zeros{"zeros", "%", {}}, notFinite{"not finite", "elements", {}};
  for (const auto &[node, one] : *values) {
    if (one.elements == 0)
      continue;
    notFinite.values.emplace_back(node, int64_t(one.notFinite));
    uint64_t finite = one.elements - one.notFinite;
    if (finite == 0)
      continue;
    double average = one.sum / double(finite);
    largest.values.emplace_back(node, one.largest);
    mean.values.emplace_back(node, average);
    spread.values.emplace_back(node, std::sqrt(std::max(0.0, one.squares / double(finite) - average * average)));
    zeros.values.emplace_back(node, 100.0 * double(one.zeros) / double(one.elements));
  }
  for (Overlay *overlay : {&largest, &mean, &spread, &zeros, &notFinite})
    stage.overlays.push_back(std::move(*overlay));
  return {};
}

/// What the request wants changed in the program before anything is made of it.
Status applyEdits(const llvm::json::Object &request, Compiled &compiled) {
  std::vector<size_t> chosen;
  if (const llvm::json::Array *nodes = request.getArray("extract"))
    for (const llvm::json::Value &node : *nodes)
      chosen.push_back(size_t(node.getAsInteger().value_or(-1)));
  std::vector<Override> overrides;
  if (const llvm::json::Array *list = request.getArray("overrides"))
    for (const llvm::json::Value &one : *list)
      if (const llvm::json::Array *pair = one.getAsArray(); pair && pair->size() == 2)
        overrides.emplace_back(size_t((*pair)[0].getAsInteger().value_or(-1)), (*pair)[1].getAsString().value_or("").str());
  if (Status status = overrideOperations(*compiled.module, overrides); !status)
    return status;
  if (chosen.empty())
    return {};
  std::set<std::string> names;
  for (const auto &[name, value] : compiled.weights)
    names.insert(name);
  if (Status status = extractOperations(*compiled.module, chosen, names, compiled.inputs); !status)
    return status;
  // Those weights stay that the part takes, in its order.
  std::map<std::string, tensor::Tensor> byName(compiled.weights.begin(), compiled.weights.end());
  compiled.weights.clear();
  Block &body = compiler::entryOf(*compiled.module).getBody().front();
  for (BlockArgument argument : body.getArguments().drop_front(compiled.inputs)) {
    std::string name = argument.getLoc()->findInstanceOf<NameLoc>().getName().str();
    compiled.weights.emplace_back(name, byName.at(name));
  }
  return {};
}

/// The program as it is compiled, with its weights beside it, where the request names a file for it.
Status writeProgram(const llvm::json::Object &request, Compiled &compiled) {
  std::string file = request.getString("program_output").value_or("").str();
  if (file.empty())
    return {};
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo();
  ir::printProgram(*compiled.module, os, flags, compiled.resources.get());
  if (!compiled.weights.empty()) {
    tensor::Safetensors weights;
    weights.tensors = compiled.weights;
    if (Status status = tensor::writeSafetensors(ir::programStem(file) + ".weights.safetensors", weights); !status)
      return status;
  }
  return writeOutput(file, text);
}

std::string toText(StringRef file, const std::vector<Stage> &stages) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("schema", "cupel-graph-1");
    json.attribute("file", llvm::json::fixUTF8(file));
    json.attributeArray("stages", [&] {
      for (const Stage &stage : stages)
        json.object([&] {
          json.attribute("name", stage.name);
          json.attribute("title", stage.title);
          if (!stage.error.empty())
            json.attribute("error", llvm::json::fixUTF8(stage.error));
          json.attributeBegin("nodes");
          json.rawValue(stage.nodes.empty() ? "[]" : stage.nodes);
          json.attributeEnd();
          json.attributeArray("overlays", [&] {
            for (const Overlay &overlay : stage.overlays)
              json.object([&] {
                json.attribute("name", overlay.name);
                json.attribute("unit", overlay.unit);
                json.attributeArray("values", [&] {
                  for (const auto &[node, value] : overlay.values)
                    json.value(llvm::json::Array{int64_t(node), value});
                });
              });
          });
        });
    });
  });
  return text + "\n";
}

} // namespace

int runGraph(const char *text) {
  Result<llvm::json::Object> object = workerRequest(text);
  if (!object)
    return reportError(kVerb, object.message(), kExitUsage);
  Result<ModelRequest> request = ModelRequest::parse(kVerb, *object);
  if (!request)
    return reportError(kVerb, request.message(), kExitUsage);
  ModelContext context;
  Compiled compiled;
  if (std::optional<int> code = readAsStablehlo(*request, context, compiled))
    return *code;
  if (Status status = applyEdits(*object, compiled); !status)
    return reportError(kVerb, request->file + ": " + status.message(), kExitFailure);
  if (Status status = writeProgram(*object, compiled); !status)
    return reportError(kVerb, status.message(), kExitUsage);

  ModulesByName modules;
  Stage source = {.name = "source", .title = {}, .nodes = {}, .overlays = {}, .error = {}};
  if (request->model) {
    frontends::SourceGraph own = request->model->sourceGraph();
    source.title = own.title;
    if (!own.nodes.empty())
      source.nodes = nodesJson(graphOf(own, modules));
  }
  const ModulesByName *known = modules.empty() ? nullptr : &modules;

  std::vector<Stage> stages(3);
  stages[0] = {.name = "stablehlo", .title = "StableHLO", .nodes = {}, .overlays = {}, .error = {}};
  stages[1] = {.name = "tensor", .title = "Tensor IR", .nodes = {}, .overlays = {}, .error = {}};
  stages[2] = {.name = "device", .title = "Device IR", .nodes = {}, .overlays = {}, .error = {}};
  {
    StageGraph graph = graphOf(*compiled.module, known);
    stages[0].nodes = nodesJson(graph);
    stages[0].overlays = {memoryOf(graph), costOf(graph)};
    if (std::optional<int64_t> seed = object->getInteger("values"))
      if (Status status = addValues(stages[0], graph, compiled, request->file, uint64_t(*seed)); !status)
        return reportError(kVerb, request->file + ": its values are not known: " + status.message(), kExitFailure);
  }
  func::FuncOp entry = compiler::entryOf(*compiled.module);
  OwningOpRef<ModuleOp> lowered = compiled.module->clone();
  const llvm::json::Object *given = object->getObject("options");
  Result<GraphOptions> options = GraphOptions::apply(given ? *given : llvm::json::Object(), *lowered);
  if (!options)
    return reportError(kVerb, request->file + ": " + options.message() + (context.complaint.empty() ? "" : ": " + context.complaint), kExitFailure);
  auto watch = [&](PassManager &, compiler::CpuStage stage) {
    if (stage != compiler::CpuStage::Device)
      return;
    StageGraph graph = graphOf(*lowered, known);
    stages[1].nodes = nodesJson(graph);
    stages[1].overlays = {memoryOf(graph)};
  };
  Status status;
  if (options->notCompiled.empty()) {
    RewriteWatch rewrites(context.get(), options->rewriteLimit, /*prints=*/false);
    status = compiler::lowerForCpu(*lowered, entry ? entry.getName() : StringRef("main"), {.level = options->level, .sramBytes = options->sramBytes, .withoutFusions = options->withoutFusions, .watch = watch});
  } else {
    status = Error{ErrorCode::Unsupported, options->notCompiled};
  }
  if (!status) {
    for (Stage *stage : {&stages[1], &stages[2]})
      if (stage->nodes.empty())
        stage->error = status.message();
  } else {
    StageGraph graph = graphOf(*lowered, known);
    stages[2].nodes = nodesJson(graph);
    stages[2].overlays = {memoryOf(graph)};
    if (Status reported = addReport(stages[2], graph, *lowered, object->getInteger("runs").value_or(0)); !reported)
      stages[2].error = reported.message();
  }
  if (!source.nodes.empty())
    stages.insert(stages.begin(), std::move(source));
  if (Status written = writeOutput(object->getString("output").value_or("-").str(), toText(request->file, stages)); !written)
    return reportError(kVerb, written.message(), kExitUsage);
  return kExitSuccess;
}

} // namespace cupel::cli
