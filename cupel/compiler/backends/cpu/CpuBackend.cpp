#include "cupel/compiler/backends/cpu/CpuBackend.h"

#include "cupel/compiler/backends/cpu/Bf16Product.h"
#include "cupel/compiler/backends/cpu/CpuExecutable.h"
#include "cupel/compiler/backends/cpu/Report.h"
#include "cupel/compiler/backends/cpu/SavedProgram.h"
#include "cupel/compiler/backends/reference/ReferenceBackend.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/ir/sdy/Sdy.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// Why a program runs whole on the golden reference; empty if it does not. Quantized types may be written out later.
std::string whyWhole(func::FuncOp entry, bool mayBeQuantized) {
  std::string reason;
  entry.walk([&](Operation *op) {
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    if (op->hasTrait<stablehlo::ActsOutside>() || isa<sdy::ManualComputationOp>(op) ||
        (call && call.getHasSideEffect()))
      reason = "it holds " + op->getName().getStringRef().str();
    return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!reason.empty())
    return reason;
  auto isPlain = [&](Type type) {
    return dev::byteSizeOf(type) || (mayBeQuantized && isa<quant::QuantizedType>(getElementTypeOrSelf(type)));
  };
  for (Type type : entry.getArgumentTypes())
    if (!isPlain(type))
      return "an argument is no tensor of static shape and plain elements";
  for (Operation &op : entry.getBody().front().without_terminator())
    for (Type type : op.getResultTypes())
      if (!isPlain(type))
        return op.getName().getStringRef().str() +
               " gives no tensor of static shape and plain elements";
  return "";
}

/// "3 map, 2 row".
std::string listed(const std::map<std::string, int64_t> &counts) {
  std::string text;
  for (const auto &[what, count] : counts)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  return text;
}

/// `budget` must outlive the making of kernels.
KernelChoice choiceOf(const DeviceProgram &program, BriefBudget &budget) {
  return {.budget = program.options.alwaysMakesCode ? nullptr : &budget,
          .context = &program.context->use};
}

class CpuBackend final : public Backend {
public:
  std::string_view name() const override { return "cpu"; }
  std::string_view summary() const override {
    return "compiled for the host's processor: fused loops and kernels, the reference's where there "
           "is none";
  }

  Result<ExecutablePointer> compile(std::shared_ptr<DeviceProgram> program) const override {
    OwningOpRef<ModuleOp> module = program->module->clone();
    std::string reason;
    if (!CpuExecutable::canRun(*program))
      reason = "its devices take pieces of whole tensors themselves";
    else if (program->options.wideAccumulation)
      reason = "it accumulates in f64";
    if (reason.empty()) {
      StageWriter &stages = program->stages;
      auto watch = [&](PassManager &passes, CpuStage stage) {
        if (!stages.isOn())
          return;
        if (stage == CpuStage::Device) // What the passes before made, whole.
          stages.write("tensor", *module);
        passes.addInstrumentation(stages.watch(stage == CpuStage::Tensor ? "tensor" : "device"));
      };
      Status status = lowerForCpu(*module, program->entry.getName(),
                                  {.level = program->options.level,
                                   .sramBytes = program->options.sramBytes,
                                   .wrongRewrite = program->options.wrongRewrite,
                                   .withoutFusions = program->options.withoutFusions,
                                   .watch = watch});
      if (status && stages.isOn())
        stages.write("device", *module);
      if (!status && status.error().code != ErrorCode::Unsupported)
        return status.error();
      if (!status)
        reason = status.message();
    }
    if (!reason.empty()) {
      program->info.notes["backend"] = "reference (" + reason + ")";
      return referenceBackend().compile(std::move(program));
    }
    auto lowered = module->lookupSymbol<dev::ProgramOp>("main");
    BriefBudget budget = BriefBudget::of(lowered);
    Result<std::unique_ptr<LoadedProgram>> loaded =
        LoadedProgram::load(lowered, *module, choiceOf(*program, budget));
    if (!loaded)
      return loaded.error();
    describeIn(program->info.notes, (*loaded)->report());
    describePrecision(program->info.notes);
    if (dev::SramPlan plan = dev::sramPlanOf(lowered); lowered.getSram())
      program->info.notes["sram"] = std::to_string(plan.buffers) + " buffers in " +
                                    std::to_string(plan.bytes) + " bytes, " +
                                    std::to_string(plan.spilled) + " spilled";
    if (auto folded = (*module)->getAttrOfType<IntegerAttr>(tir::kFoldedAttr))
      program->info.notes["folded"] = std::to_string(folded.getInt());
    if (std::string found = describeFusions(namedFusionsOf(*module)); !found.empty())
      program->info.notes["recognised"] = found;
    if (Status status = CpuExecutable::planTrace(*program, **loaded); !status)
      return status.error();
    return ExecutablePointer(std::make_shared<CpuExecutable>(std::move(program), std::move(module),
                                                             std::move(*loaded)));
  }

  Result<ExecutablePointer> load(std::string_view bytes, const TraceRegionPointer &region) const override {
    if (!isSavedProgram(bytes)) // It runs whole on the reference.
      return Backend::load(bytes, region);
    auto program = std::make_shared<DeviceProgram>(); // Outlives the lease.
    ContextLease lease(static_cast<int64_t>(bytes.size()));
    Result<OwningOpRef<ModuleOp>> module = loadProgram(*program, bytes, lease);
    if (!module)
      return module.error();
    auto main = (*module)->lookupSymbol<dev::ProgramOp>("main");
    BriefBudget budget = BriefBudget::of(main);
    Result<std::unique_ptr<LoadedProgram>> loaded =
        LoadedProgram::load(main, **module, choiceOf(*program, budget));
    if (!loaded)
      return loaded.error();
    describePrecision(program->info.notes); // Of this processor.
    program->options.traceRegion = region;
    if (Status status = CpuExecutable::planTrace(*program, **loaded); !status)
      return status.error();
    return ExecutablePointer(
        std::make_shared<CpuExecutable>(program, std::move(*module), std::move(*loaded)));
  }

private:
  static void describePrecision(std::map<std::string, std::string> &notes) {
    auto found = notes.find("precision");
    if (found != notes.end())
      found->second = found->second.substr(0, found->second.find(" (")) + " (" + howBf16IsMultiplied() + ")";
  }

  static void describeIn(std::map<std::string, std::string> &notes, const ProgramReport &report) {
    notes["kernels"] = listed(report.kernels);
    if (!report.fallbackOps.empty())
      notes["fallbacks"] = listed(report.fallbackOps);
    if (report.brief > 0)
      notes["brief"] = std::to_string(report.brief) + " of " + std::to_string(report.launches);
    notes["arena"] = std::to_string(report.arenaBytes);
  }
};

} // namespace

Status lowerForCpu(ModuleOp module, StringRef entryName, const CpuLowering &lowering) {
  MLIRContext *context = module.getContext();
  context->loadDialect<tir::TirDialect, dev::DevDialect>();
  auto entry = module.lookupSymbol<func::FuncOp>(entryName);
  if (!entry || entry.isExternal() || !entry.getBody().hasOneBlock())
    return Error{ErrorCode::Unsupported, "it has no function @" + entryName.str() + " of one block"};
  std::string reason = whyWhole(entry, /*mayBeQuantized=*/true);
  if (reason.empty() && !inlineCalls(entry))
    reason = "its calls cannot be inlined";
  if (reason.empty()) {
    PassManager types(context, ModuleOp::getOperationName());
    types.addPass(tir::createQuantizedAsIntegers());
    if (failed(types.run(module)))
      return Error{ErrorCode::Internal, "its quantized types cannot be written out"};
    reason = whyWhole(entry, /*mayBeQuantized=*/false); // What was called counts as well.
  }
  if (StringRef rare = ir::rareFloatIn(module); reason.empty() && !rare.empty())
    reason = "it has elements of type " + rare.str();
  if (!reason.empty())
    return Error{ErrorCode::Unsupported, reason};
  std::string complaint;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = diagnostic.str();
    return success();
  });
  entry.setSymName("main");
  dev::Pipeline pipeline{lowering.level, lowering.sramBytes, lowering.wrongRewrite, lowering.withoutFusions};
  auto runTo = [&](CpuStage stage) {
    PassManager passes(context, ModuleOp::getOperationName());
    passes.enableVerifier(false); // What comes out is verified, whole.
    if (stage == CpuStage::Tensor)
      dev::buildTensorPipeline(passes, pipeline);
    else
      dev::buildProgramPipeline(passes, pipeline);
    if (lowering.watch)
      lowering.watch(passes, stage);
    return passes.run(module);
  };
  if (failed(runTo(CpuStage::Tensor)) ||
      (lowering.stage == CpuStage::Device && failed(runTo(CpuStage::Device))) ||
      failed(verify(module)))
    return Error{ErrorCode::Internal, "the program cannot be compiled: " + complaint};
  return {};
}

const Backend &cpuBackend() {
  static const CpuBackend backend;
  return backend;
}

} // namespace cupel::compiler
