#include "cupel/compiler/backends/cpu/CpuBackend.h"

#include "cupel/compiler/backends/cpu/CpuExecutable.h"
#include "cupel/compiler/backends/reference/ReferenceBackend.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// Why a program runs whole on the golden reference; empty if it does not.
std::string whyWhole(const DeviceProgram &program, func::FuncOp entry) {
  if (program.info.processCount() != 1)
    return "it is for several devices";
  if (program.options.wideAccumulation)
    return "it accumulates in f64";
  std::string reason;
  entry.walk([&](Operation *op) {
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    if (op->hasTrait<stablehlo::Collective>() || op->hasTrait<stablehlo::ActsOutside>() ||
        (call && call.getHasSideEffect()))
      reason = "it holds " + op->getName().getStringRef().str();
    return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!reason.empty())
    return reason;
  auto isPlain = [](Type type) { return dev::byteSizeOf(type).has_value(); };
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

class CpuBackend final : public Backend {
public:
  std::string_view name() const override { return "cpu"; }
  std::string_view summary() const override {
    return "compiled for the host's processor: fused loops and kernels, the reference's where there "
           "is none";
  }

  Result<ExecutablePointer> compile(std::shared_ptr<DeviceProgram> program) const override {
    MLIRContext *context = program->module->getContext();
    context->loadDialect<tir::TirDialect, dev::DevDialect>();
    OwningOpRef<ModuleOp> module = program->module->clone();
    auto entry = module->lookupSymbol<func::FuncOp>(program->entry.getName());
    std::string reason = whyWhole(*program, entry);
    if (reason.empty() && !inlineCalls(entry))
      reason = "its calls cannot be inlined";
    if (reason.empty())
      reason = whyWhole(*program, entry); // What was called counts as well.
    if (!reason.empty()) {
      program->info.notes["backend"] = "reference (" + reason + ")";
      return referenceBackend().compile(std::move(program));
    }
    std::string complaint;
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
        complaint = diagnostic.str();
      return success();
    });
    PassManager passes(context, ModuleOp::getOperationName());
    passes.enableVerifier(false); // What comes out is verified, whole.
    entry.setSymName("main");
    dev::buildDevicePipeline(passes);
    if (failed(passes.run(*module)) || failed(verify(*module)))
      return Error{ErrorCode::Internal, "the program cannot be compiled: " + complaint};
    auto lowered = *module->getOps<dev::ProgramOp>().begin();
    Result<std::unique_ptr<LoadedProgram>> loaded = LoadedProgram::load(lowered, *module);
    if (!loaded)
      return loaded.error();
    describeIn(program->info.notes, (*loaded)->report());
    return ExecutablePointer(std::make_shared<CpuExecutable>(std::move(program), std::move(module),
                                                             std::move(*loaded)));
  }

private:
  static void describeIn(std::map<std::string, std::string> &notes, const ProgramReport &report) {
    std::string kernels;
    for (const auto &[kind, count] : report.kernels)
      kernels += (kernels.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
    notes["kernels"] = kernels;
    std::string fallbacks;
    for (const auto &[name, count] : report.fallbackOps)
      fallbacks += (fallbacks.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    if (!fallbacks.empty())
      notes["fallbacks"] = fallbacks;
    notes["arena"] = std::to_string(report.arenaBytes);
  }
};

} // namespace

const Backend &cpuBackend() {
  static const CpuBackend backend;
  return backend;
}

} // namespace cupel::compiler
