#include "cupel/compiler/backends/cpu/Report.h"

#include "cupel/compiler/analysis/Cost.h"
#include "cupel/compiler/backends/cpu/LaunchWatch.h"
#include "cupel/compiler/backends/cpu/LoadedProgram.h"
#include "cupel/compiler/backends/cpu/MakeKernel.h"
#include "cupel/compiler/backends/cpu/TracedRuns.h"
#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/compiler/tensor/named/NamedFusion.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"

#include "mlir/IR/IRMapping.h"

#include <chrono>
#include <map>

namespace cupel::compiler {

using namespace mlir;
using tensor::Tensor;

namespace {

/// Times kernels, each without those that it runs in turn.
class Timer final : public LaunchWatch {
public:
  struct Times {
    int64_t runs = 0;
    double seconds = 0;
  };

  Status run(const Kernel &kernel, LaunchContext &context, const LaunchMemory &memory) override {
    double outer = std::exchange(inner, 0);
    auto begin = std::chrono::steady_clock::now();
    Status status = kernel.run(context, memory.reads, memory.writes);
    double elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    Times &own = times[&kernel];
    ++own.runs;
    own.seconds += elapsed - inner;
    inner = outer + elapsed;
    return status;
  }

  std::map<const Kernel *, Times> times;

private:
  double inner = 0; // Of launches within the one that runs.
};

class Reporter {
public:
  explicit Reporter(ModuleOp module) : module(module) {}

  void visit(dev::ProgramOp program, const LoadedProgram &loaded) {
    size_t number = 0;
    for (auto launch : program.getBody().getOps<dev::LaunchOp>()) {
      const Kernel &kernel = loaded.kernel(number++);
      kernels.push_back(&kernel);
      report.launches.push_back(describe(program, launch, kernel));
      Operation &op = dev::workOf(launch);
      SmallVector<FlatSymbolRefAttr> steps;
      if (auto loop = dyn_cast<tir::WhileOp>(op))
        steps = {loop.getConditionAttr(), loop.getBodyAttr()};
      else if (auto branches = dyn_cast<tir::CaseOp>(op))
        llvm::append_range(steps, branches.getBranches().getAsRange<FlatSymbolRefAttr>());
      for (auto [step, one] : llvm::zip(steps, kernel.programs()))
        if (auto inner = module.lookupSymbol<dev::ProgramOp>(step.getAttr()))
          visit(inner, *one);
    }
  }

  CpuReport report;
  std::vector<const Kernel *> kernels; // Of each launch.

private:
  LaunchReport describe(dev::ProgramOp program, dev::LaunchOp launch, const Kernel &kernel) {
    LaunchReport one;
    one.program = program.getSymName().str();
    one.kernel = kernel.kind();
    one.isFallback = kernel.isFallback();
    one.location = reference::describeLocation(launch.getLoc());
    for (ValueRange buffers : {ValueRange(launch.getReads()), ValueRange(launch.getWrites())})
      for (Value buffer : buffers) {
        int64_t bytes = dev::byteSizeOf(cast<dev::BufferType>(buffer.getType()).getTensor()).value_or(0);
        one.bytes += bytes;
        one.sramBytes += dev::isInSram(program, buffer) ? bytes : 0;
      }
    Operation &op = dev::workOf(launch);
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      one.operation = "copy";
      return one;
    }
    one.operation = tir::computedBy(op).getName().getStringRef().str();
    if (isa<tir::TirDialect>(op.getDialect()) && !isa<tir::OnReferenceOp>(op))
      for (Region &region : op.getRegions())
        for (Operation &inside : region.front().without_terminator())
          one.fused.push_back(inside.getName().getStringRef().str());
    if (isa<tir::WhileOp, tir::CaseOp>(op))
      return one; // Its programs have launches of their own.
    runtime::CostEstimate cost = costOf(launch);
    one.flops = cost.flops;
    one.transcendentals = cost.transcendentals;
    return one;
  }

  /// Of what the launch holds, written out as StableHLO.
  runtime::CostEstimate costOf(dev::LaunchOp launch) {
    OwningOpRef<ModuleOp> holder = ModuleOp::create(launch.getLoc());
    OpBuilder builder = OpBuilder::atBlockEnd(holder->getBody());
    Block &body = launch.getBody().front();
    auto function = builder.create<func::FuncOp>(
        launch.getLoc(), "main",
        FunctionType::get(launch.getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
    builder.setInsertionPointToStart(function.addEntryBlock());
    IRMapping mapping;
    mapping.map(body.getArguments(), function.getArguments());
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    SmallVector<Value> values;
    for (Value value : body.getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(value));
    builder.create<func::ReturnOp>(launch.getLoc(), values);
    if (failed(tir::expandTensorIr(*holder)))
      return {};
    return estimateCost(function);
  }

  ModuleOp module;
};

Result<std::vector<Tensor>> argumentsFor(dev::ProgramOp program) {
  std::vector<Tensor> arguments;
  uint64_t state = 12345;
  for (auto one : program.getBody().getOps<dev::ArgumentOp>()) {
    RankedTensorType type = cast<dev::BufferType>(one.getBuffer().getType()).getTensor();
    Result<tensor::ElementType> element = reference::elementTypeOf(type.getElementType());
    if (!element)
      return element.error();
    Result<Tensor> made = Tensor::zeros(*element, reference::shapeOf(type));
    if (!made)
      return made.error().as(ErrorCode::OutOfMemory);
    if (made->dtype() == tensor::DType::F32)
      for (int64_t i = 0; i < made->size(); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        made->mutableAs<float>()[i] = float(state >> 40) / float(1 << 23) - 1;
      }
    if (arguments.size() <= one.getNumber())
      arguments.resize(one.getNumber() + 1);
    arguments[one.getNumber()] = std::move(*made);
  }
  return arguments;
}

Status measure(dev::ProgramOp program, const LoadedProgram &loaded, Reporter &reporter,
               int64_t runs) {
  Result<std::vector<Tensor>> arguments = argumentsFor(program);
  if (!arguments)
    return arguments.error();
  CpuReport &report = reporter.report;
  for (int64_t i = 0; i < runs; ++i) {
    reference::Run run{reference::RunOptions()};
    reference::Grid grid(1, 1);
    reference::GridProcess process{run, &grid};
    Timer timer;
    LaunchWatch::Scope scope(&timer);
    auto begin = std::chrono::steady_clock::now();
    if (Result<std::vector<Tensor>> results = loaded.run(process, *arguments); !results)
      return results.error();
    double elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (report.seconds && *report.seconds <= elapsed)
      continue;
    report.seconds = elapsed;
    for (size_t k = 0; k < reporter.kernels.size(); ++k) {
      const Timer::Times &times = timer.times[reporter.kernels[k]];
      report.launches[k].runs = times.runs;
      report.launches[k].seconds = times.seconds;
    }
  }
  report.runs = runs;
  return {};
}

} // namespace

Result<std::string> assemblyForCpu(ModuleOp module) {
  std::string text;
  SmallVector<dev::LaunchOp> launches;
  module.walk([&](dev::LaunchOp launch) { launches.push_back(launch); });
  for (auto [i, launch] : llvm::enumerate(launches)) {
    std::string code;
    Operation &op = dev::workOf(launch);
    std::string kind;
    if (!isa<tir::WhileOp, tir::CaseOp>(op)) { // What they run has launches of its own.
      codegen::AssemblyListing listing(code);
      Result<KernelPointer> kernel = makeKernel(launch, module);
      if (!kernel)
        return kernel.error();
      kind = ", kernel " + std::string((*kernel)->kind());
    }
    bool isCopy = op.hasTrait<OpTrait::IsTerminator>();
    text += "# launch " + std::to_string(i + 1) + ": " +
            (isCopy ? "copy" : op.getName().getStringRef().str()) + " at " +
            reference::describeLocation(launch.getLoc()) + kind +
            (code.empty() ? ", without code of its own\n" : "\n" + code);
  }
  return text;
}

std::vector<FusionCount> namedFusionsOf(ModuleOp module) {
  std::vector<FusionCount> counts;
  for (const auto &[name, count] : tir::countedFusions(module))
    counts.push_back({.name = name, .count = std::max(count, int64_t{0}), .isOff = count < 0});
  return counts;
}

Result<CpuReport> reportForCpu(ModuleOp module, int64_t runs) {
  auto main = module.lookupSymbol<dev::ProgramOp>("main");
  if (!main)
    return Error{"there is no device program"};
  BriefBudget budget = BriefBudget::of(main);
  Result<std::unique_ptr<LoadedProgram>> loaded = LoadedProgram::load(main, module, {.budget = &budget});
  if (!loaded)
    return loaded.error();
  Reporter reporter(module);
  reporter.visit(main, **loaded);
  CpuReport &report = reporter.report;
  report.arenaBytes = (*loaded)->report().arenaBytes;
  report.constantBytes = (*loaded)->report().constantBytes;
  report.kept = (*loaded)->report().kept;
  Result<Recordable> trace = recordable(**loaded);
  if (!trace)
    return trace.error();
  report.trace = trace->note;
  dev::SramPlan plan = dev::sramPlanOf(main);
  report.sramBytes = plan.bytes;
  report.inSram = plan.buffers;
  report.spilled = plan.spilled;
  report.spilledBytes = plan.spilledBytes;
  for (Operation &op : main.getBody().front()) {
    auto bytes = [&] {
      return dev::byteSizeOf(cast<dev::BufferType>(op.getResult(0).getType()).getTensor())
          .value_or(0);
    };
    if (isa<dev::ArgumentOp>(op))
      report.argumentBytes += bytes();
    else if (isa<dev::ResultOp>(op))
      report.resultBytes += bytes();
  }
  if (runs > 0)
    if (Status status = measure(main, **loaded, reporter, runs); !status)
      return status.error();
  return report;
}

} // namespace cupel::compiler
