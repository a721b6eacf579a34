#include "cupel/compiler/backends/cpu/CpuExecutable.h"

#include "cupel/compiler/backends/Backend.h"
#include "cupel/compiler/backends/cpu/SavedProgram.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/backends/reference/Pieces.h"
#include "cupel/compiler/program/ProgramText.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/reference/Grid.h"
#include "cupel/reference/Registry.h"
#include "cupel/runtime/CheckArguments.h"

#include <chrono>

namespace cupel::compiler {

using runtime::ProcessTensors;

/// What takes so long is worth waking helpers for before it is known what there will be to share.
static constexpr int64_t kLongRunNanoseconds = 500'000;

static bool holdsCollectives(mlir::ModuleOp module) {
  return module
      .walk([](mlir::Operation *op) {
        return op->hasTrait<stablehlo::Collective>() ? mlir::WalkResult::interrupt()
                                                     : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

static const std::shared_ptr<runtime::TraceRegion> &regionOf(const CompileOptions &options) {
  return options.traceRegion ? options.traceRegion : runtime::TraceRegion::ofProcess();
}

bool CpuExecutable::canRun(const DeviceProgram &program) {
  const runtime::ProgramInfo &info = program.info;
  return !program.devices.isGathered() ||
         (program.devices.view == View::Global && info.replicas == 1);
}

CpuExecutable::CpuExecutable(std::shared_ptr<DeviceProgram> given,
                             mlir::OwningOpRef<mlir::ModuleOp> compiled,
                             std::unique_ptr<LoadedProgram> loaded)
    : program(std::move(given)), meets(holdsCollectives(*compiled)), compiled(std::move(compiled)),
      loaded(std::move(loaded)) {
  auto note = info().notes.find("trace");
  if (program->options.enablesTrace && note != info().notes.end() &&
      !note->second.starts_with(runtime::kNotRecorded))
    traced = std::make_unique<TracedRuns>(*this->loaded, regionOf(program->options), "@" + info().name);
}

CpuExecutable::~CpuExecutable() {
  traced = nullptr;
  loaded = nullptr; // It points into the module.
  std::lock_guard lock(program->context->use);
  compiled = nullptr;
}

Status CpuExecutable::planTrace(DeviceProgram &program, const LoadedProgram &loaded) {
  if (!program.options.enablesTrace)
    return {};
  std::string &note = program.info.notes["trace"];
  if (int64_t devices = program.info.processCount(); devices > 1 && !program.devices.isGathered()) {
    note = std::string(runtime::kNotRecorded) + "it runs on " + std::to_string(devices) + " devices";
    return {};
  }
  Result<Recordable> found = recordable(loaded);
  if (!found)
    return found.error();
  note = found->note;
  return found->can ? regionOf(program.options)->fits(found->bytes, "@" + program.info.name) : Status();
}

std::optional<runtime::TraceRecord> CpuExecutable::trace() const {
  std::optional<runtime::TraceRecord> record;
  if (!traced)
    return record;
  std::lock_guard lock(program->context->use);
  mlir::SmallVector<dev::LaunchOp> launches(
      compiled.get().lookupSymbol<dev::ProgramOp>("main").getBody().getOps<dev::LaunchOp>());
  traced->lookAt([&](const Trace &trace) {
    record = trace.describe();
    for (size_t i = 0; i < record->commands.size(); ++i) {
      dev::LaunchOp launch = launches[trace.launchOf(i)];
      mlir::Operation &op = dev::workOf(launch);
      record->commands[i].operation = op.hasTrait<mlir::OpTrait::IsTerminator>()
                                          ? "copy"
                                          : tir::computedBy(op).getName().getStringRef().str();
      record->commands[i].location = reference::describeLocation(launch.getLoc());
    }
  });
  if (!record)
    return record;
  record->program = info().name;
  for (runtime::TraceSlot &slot : record->slots) {
    const runtime::ValueInfo &value =
        (slot.kind == "argument" ? info().arguments : info().results)[size_t(slot.number)];
    slot.bytes = value.shardBytes();
    slot.type = std::string(tensor::info(value.type.storage).name) + "[";
    for (size_t d = 0; d < value.shape.size(); ++d)
      slot.type += (d ? "x" : "") + std::to_string(value.shape[d]);
    slot.type += "]";
  }
  return record;
}

runtime::TraceCounts CpuExecutable::traceCounts() const {
  return traced ? traced->counts() : runtime::TraceCounts();
}

runtime::Reading CpuExecutable::readingOf(size_t argument) const {
  return info().processCount() == 1 ? loaded->readingOf(argument) : runtime::Reading::Whole;
}

Result<ProcessTensors> CpuExecutable::execute(ProcessTensors arguments,
                                              const std::atomic<bool> *stop) const {
  if (lastNanoseconds.load(std::memory_order_relaxed) >= kLongRunNanoseconds)
    kernelPool().expectWork(); // They are there when the arguments have been looked at.
  if (Status status = runtime::checkArguments(info(), arguments); !status)
    return status.error();
  bool isAlone = info().processCount() == 1, isForAll = !isAlone && program->devices.isGathered();
  if (!isAlone && !isForAll)
    return executeGrid(std::move(arguments), stop);
  if (isForAll) {
    Result<std::vector<tensor::Tensor>> wholes = gather(info(), arguments, 0);
    if (!wholes)
      return wholes.error();
    arguments.assign(1, std::move(*wholes));
  }
  reference::RunOptions options;
  options.stop = stop;
  reference::Run run(options);
  reference::Grid grid(1, 1);
  reference::GridProcess process{run, &grid};
  auto begin = std::chrono::steady_clock::now();
  Result<std::vector<tensor::Tensor>> results =
      traced ? traced->run(process, std::move(arguments[0]))
             : loaded->run(process, std::move(arguments[0]));
  if (!results)
    return results.error();
  lastNanoseconds.store((std::chrono::steady_clock::now() - begin).count(), std::memory_order_relaxed);
  ProcessTensors all;
  all.push_back(std::move(*results));
  if (isForAll)
    return scatter(info(), std::move(all),
                   [](tensor::Tensor piece) { return piece.contiguous(); });
  return all;
}

Result<ProcessTensors> CpuExecutable::executeGrid(ProcessTensors arguments,
                                                  const std::atomic<bool> *stop) const {
  reference::RunOptions options;
  options.stop = stop;
  reference::Run run(options);
  auto partitions = static_cast<uint32_t>(info().partitions);
  reference::Grid grid(static_cast<uint32_t>(info().replicas), partitions);
  ProcessTensors all(grid.size());
  auto work = [&](reference::GridProcess &process) -> Status {
    Result<std::vector<tensor::Tensor>> results =
        loaded->run(process, std::move(arguments[grid.id(process)]));
    if (!results)
      return results.error();
    all[grid.id(process)] = std::move(*results);
    return {};
  };
  if (!meets) {
    // One after the other, each with all threads.
    for (uint32_t number = 0; number < grid.size(); ++number) {
      reference::GridProcess process{run, &grid, number / partitions, number % partitions};
      if (Status status = work(process); !status)
        return run.failure().value_or(status.error());
    }
  } else if (!grid.run(run, work)) {
    return run.failure().value_or(Error{"a device failed"});
  }
  return all;
}

std::string CpuExecutable::text() const {
  if (!program->entry.isExternal())
    return programText(*program);
  DeviceProgram expanded; // Of one that was loaded only the device program is there.
  {
    std::lock_guard lock(program->context->use);
    expanded.context = program->context;
    expanded.module = expandedProgram(*program, *compiled);
  }
  return expanded.module ? programText(expanded) : "";
}

std::string CpuExecutable::serialize() const {
  if (info().processCount() != 1)
    return sourceForm(*program);
  std::lock_guard lock(program->context->use);
  return savedForm("cpu", saveProgram(*program, *compiled));
}

} // namespace cupel::compiler
