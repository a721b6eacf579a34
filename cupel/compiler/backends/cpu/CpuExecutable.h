// A program that was compiled for the host's processor: its device program, loaded. Made by the cpu
// backend; may be run from many threads at once.

#pragma once

#include "cupel/compiler/backends/cpu/TracedRuns.h"
#include "cupel/compiler/program/DeviceProgram.h"

namespace cupel::compiler {

class CpuExecutable final : public runtime::Executable {
public:
  /// `compiled` holds the device program and what it plans, in the program's context.
  CpuExecutable(std::shared_ptr<DeviceProgram> program,
                mlir::OwningOpRef<mlir::ModuleOp> compiled, std::unique_ptr<LoadedProgram> loaded);
  ~CpuExecutable() override;

  /// Whether devices run the program as it is: one alone, each on what it is given, or one for all.
  static bool canRun(const DeviceProgram &program);

  /// If the program is to be recorded: notes that it is, or why it cannot be. An error where it has no
  /// room in the region, before there is an executable, whose end would wait for the context.
  static Status planTrace(DeviceProgram &program, const LoadedProgram &loaded);

  const runtime::ProgramInfo &info() const override { return program->info; }
  Result<runtime::ProcessTensors> execute(runtime::ProcessTensors arguments,
                                          const std::atomic<bool> *stop) const override;
  runtime::Reading readingOf(size_t argument) const override;
  std::string text() const override;
  std::string serialize() const override;
  std::optional<runtime::TraceRecord> trace() const override;
  runtime::TraceCounts traceCounts() const override;

private:
  Result<runtime::ProcessTensors> executeGrid(runtime::ProcessTensors arguments,
                                              const std::atomic<bool> *stop) const;

  std::shared_ptr<DeviceProgram> program;
  bool meets; // Some operation needs other devices at the same time.
  mlir::OwningOpRef<mlir::ModuleOp> compiled;
  std::unique_ptr<LoadedProgram> loaded;
  std::unique_ptr<TracedRuns> traced; // Null: its commands are not recorded.
  mutable std::atomic<int64_t> lastNanoseconds = 0; // That a run took.
};

} // namespace cupel::compiler
