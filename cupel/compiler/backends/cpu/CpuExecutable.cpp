#include "cupel/compiler/backends/cpu/CpuExecutable.h"

#include "cupel/compiler/backends/Backend.h"
#include "cupel/compiler/backends/cpu/SavedProgram.h"
#include "cupel/compiler/program/ProgramText.h"
#include "cupel/reference/Grid.h"
#include "cupel/runtime/CheckArguments.h"

namespace cupel::compiler {

using runtime::ProcessTensors;

CpuExecutable::CpuExecutable(std::shared_ptr<DeviceProgram> given,
                             mlir::OwningOpRef<mlir::ModuleOp> compiled,
                             std::unique_ptr<LoadedProgram> loaded)
    : program(std::move(given)), compiled(std::move(compiled)), loaded(std::move(loaded)) {}

CpuExecutable::~CpuExecutable() {
  loaded = nullptr; // It points into the module.
  std::lock_guard lock(program->context->use);
  compiled = nullptr;
}

Result<ProcessTensors> CpuExecutable::execute(ProcessTensors arguments,
                                              const std::atomic<bool> *stop) const {
  if (Status status = runtime::checkArguments(info(), arguments); !status)
    return status.error();
  reference::RunOptions options;
  options.stop = stop;
  reference::Run run(options);
  reference::Grid grid(1, 1);
  reference::GridProcess process{run, &grid};
  Result<std::vector<tensor::Tensor>> results = loaded->run(process, std::move(arguments[0]));
  if (!results)
    return results.error();
  ProcessTensors all;
  all.push_back(std::move(*results));
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
  std::lock_guard lock(program->context->use);
  return savedForm("cpu", saveProgram(*program, *compiled));
}

} // namespace cupel::compiler
