#include "cupel/compiler/program/DeviceProgram.h"

#include "cupel/compiler/analysis/CompositesUsed.h"
#include "cupel/compiler/fusions/Fusions.h"
#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/analysis/MemoryEstimate.h"
#include "cupel/compiler/partition/PartitionCalls.h"
#include "cupel/compiler/passes/NarrowProducts.h"
#include "cupel/compiler/passes/Pipelines.h"
#include "cupel/compiler/tensor/named/NamedFusion.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"

namespace cupel::compiler {

using namespace mlir;
using runtime::CostEstimate;
using runtime::ProgramInfo;

DeviceProgram::~DeviceProgram() {
  if (!context)
    return;
  std::lock_guard lock(context->use);
  module = nullptr;
}

namespace {

/// Below this a run takes less than handing it to another thread and back.
constexpr double kBriefWork = 1 << 16;
constexpr int64_t kBriefOperations = 64;

std::string hexHash(std::initializer_list<std::string_view> parts) {
  llvm::SHA256 hash;
  for (std::string_view part : parts) {
    uint64_t size = part.size();
    hash.update(ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof size));
    hash.update(StringRef(part));
  }
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

DevicePipeline pipelineFor(const CompileOptions &options) {
  DevicePipeline pipeline;
  pipeline.replicas = options.replicas;
  pipeline.partitions = options.partitions;
  pipeline.own = !options.isGlobal;
  pipeline.skipWindows = options.scatterSkipsWindows;
  pipeline.results = options.propagateToResults;
  for (tensor::DType type : options.types)
    pipeline.types.emplace_back(tensor::info(type).name);
  pipeline.weightFormats = options.weightFormats;
  pipeline.narrow = options.narrowsProducts;
  pipeline.narrowKept = options.keepsNarrow;
  pipeline.split = options.splitsWork;
  pipeline.strict = options.isStrict;
  return pipeline;
}

/// Reads the program; null with a diagnostic if that cannot be done.
OwningOpRef<ModuleOp> read(std::string_view source, MLIRContext &context, StageWriter &stages) {
  std::unique_ptr<llvm::MemoryBuffer> bytes =
      llvm::MemoryBuffer::getMemBufferCopy(StringRef(source), "program");
  if (stages.isOn() && portable::artifactVersion(bytes->getBuffer()))
    if (OwningOpRef<ModuleOp> raw = portable::readPortable(
            bytes->getMemBufferRef(), &context, {.keepVhlo = true}))
      stages.write("vhlo", *raw);
  ParserConfig config(&context);
  return ir::readProgram(bytes->getMemBufferRef(), config);
}

/// What hosts are told, after all passes.
Status describeProgram(DeviceProgram &program) {
  ModuleOp module = *program.module;
  program.devices = Devices::of(module);
  program.entry = entryOf(module);
  if (!program.entry)
    return Error{"the program has no function @main"};
  Result<ProgramInfo> info = describe(module, program.entry);
  if (!info)
    return info.error();
  program.info = std::move(*info);
  CostEstimate &cost = program.info.cost;
  cost = estimateCost(program.entry);
  cost.temporaryBytes = temporaryBytes(program.entry, program.info, program.devices);
  program.info.isBrief = program.info.processCount() == 1 && !cost.hasLoop &&
                         cost.operations <= kBriefOperations && workOf(cost) < kBriefWork;
  return {};
}

} // namespace

Status prepare(DeviceProgram &program, std::string_view source, const CompileOptions &options,
               ContextLease &lease) {
  program.options = options;
  program.source = std::string(source);
  program.context = lease.shared();
  std::string complaint;
  ScopedDiagnosticHandler handler(&*lease, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  auto complain = [&](const char *otherwise) {
    return Error{complaint.empty() ? otherwise : complaint};
  };

  program.stages = StageWriter(options.dumpFolder);
  StageWriter &stages = program.stages;
  program.module = read(source, *lease, stages);
  if (!program.module)
    return complain("the program cannot be read");
  ModuleOp module = *program.module;
  std::string name = module.getSymName().value_or("program").str();
  if (stages.isOn()) {
    stages.name(name);
    stages.write("shlo", module);
  }
  complaint.clear();
  std::string composites = describeComposites(compositesIn(module));

  auto outside = [&](llvm::function_ref<void()> work) { lease.outside(work); };
  if (func::FuncOp entry = entryOf(module)) {
    Result<bool> isSplit = partitionCalls(module, entry, options.partitions, outside);
    if (!isSplit)
      return isSplit.error();
    if (*isSplit) { // Who loads the executable later may not have those who split calls.
      program.source.clear();
      llvm::raw_string_ostream(program.source) << module;
      if (stages.isOn())
        stages.write("shlo_calls", module);
    }
  }

  PassManager passes(&*lease, ModuleOp::getOperationName());
  passes.enableVerifier(false); // The program was verified, and each pass has its tests.
  DevicePipeline pipeline = pipelineFor(options);
  pipeline.outside = outside;
  buildDevicePipeline(passes, pipeline);
  if (stages.isOn())
    passes.addInstrumentation(stages.watch("shlo"));
  bool isDone = succeeded(passes.run(module));
  auto reason = module->getAttrOfType<StringAttr>(kNotPartitionedAttr);
  if (!isDone && reason)
    return Error{ErrorCode::Unsupported,
                 "the program is not split over its devices: " + reason.str()};
  if (!isDone)
    return complain("the program cannot be compiled for devices");

  std::string fusions;
  if (!options.fusions.empty() || !options.withoutFusions.empty()) {
    Result<std::vector<FusionCount>> counts =
        applyFusions(module, options.fusions, options.withoutFusions, tir::namedFusionNames());
    if (!counts)
      return counts.error();
    fusions = describeFusions(*counts);
    if (stages.isOn())
      stages.write("shlo_fused", module);
  }
  if (Status status = describeProgram(program); !status)
    return status;
  ProgramInfo &info = program.info;
  if (!fusions.empty())
    info.notes["fusions"] = fusions;
  info.name = name;
  info.fingerprint = hexHash({source, options.backend, describe(options)});
  if (!composites.empty())
    info.notes["composites"] = composites;
  // As `cupel run` and others declare a precision; whoever judges results goes by it.
  if (int64_t count = narrowedProducts(module); count > 0)
    info.notes["precision"] = (options.keepsNarrow ? "bf16/bf16, " : "bf16/f32, ") + std::to_string(count) + (count == 1 ? " product" : " products");
  if (reason)
    info.notes["partition"] = "whole (" + reason.str() + ")";
  return {};
}

} // namespace cupel::compiler
