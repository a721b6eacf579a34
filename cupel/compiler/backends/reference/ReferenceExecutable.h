// A program on the golden reference's plan: once on whole tensors that are put together from what
// devices hold, or by every device on its own. Made by the reference backend; may be run from many
// threads at once.

#pragma once

#include "cupel/compiler/program/DeviceProgram.h"
#include "cupel/reference/Execute.h"
#include "cupel/reference/Plan.h"

#include <span>

namespace cupel::compiler {

class ReferenceExecutable final : public runtime::Executable,
                                  public std::enable_shared_from_this<ReferenceExecutable> {
public:
  ReferenceExecutable(std::shared_ptr<DeviceProgram> program,
                      std::unique_ptr<reference::Plan> plan);

  const runtime::ProgramInfo &info() const override { return program->info; }

  Result<runtime::ProcessTensors> execute(runtime::ProcessTensors arguments,
                                          const std::atomic<bool> *stop) const override;

  std::string text() const override;
  std::string serialize() const override;

private:
  /// Memory of an argument.
  using Range = std::span<const std::byte>;
  using Tensors = std::vector<tensor::Tensor>;

  reference::RunOptions runOptions(const std::atomic<bool> *stop) const;
  reference::Value enter(tensor::Tensor tensor, size_t argument) const;
  Result<runtime::ProcessTensors> runAlone(Tensors arguments, const std::atomic<bool> *stop) const;
  Result<runtime::ProcessTensors> runGrid(runtime::ProcessTensors arguments,
                                          const std::atomic<bool> *stop) const;
  /// What devices get of what was computed.
  Result<runtime::ProcessTensors> handOut(std::vector<Tensors> computed,
                                          std::span<const Range> arguments) const;
  /// Makes a result that may share memory with arguments or constants stand on its own.
  Result<tensor::Tensor> finish(tensor::Tensor tensor, std::span<const Range> arguments) const;

  std::shared_ptr<DeviceProgram> program; // Outlives the plan, which points into it.
  std::unique_ptr<reference::Plan> plan;
  bool meets; // Devices wait for each other.
};

} // namespace cupel::compiler
