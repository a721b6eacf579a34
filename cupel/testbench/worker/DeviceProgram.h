// A program made ready for a device that is reached through a plugin: its checks taken out, written
// as portable artifacts that the plugin reads. Used by the PJRT device and by those who save
// workloads.
#pragma once

#include "cupel/testbench/worker/Device.h"
#include "cupel/workload/Workload.h"

#include <optional>

namespace cupel::testbench::worker {

struct DeviceProgram {
  std::vector<workload::ProgramBytes> artifacts; ///< At least one, in the order asked for.
  std::vector<workload::WorkloadCheck> checks;
  std::vector<tensor::Tensor> constants;
  /// Arguments behind the program's own: constants that the device is to compute with. By device;
  /// one list where all take the same.
  std::vector<std::vector<tensor::Tensor>> inputs;
  /// The program's own results; what checks compare stands behind them.
  uint32_t ownResults = 0;
  /// The devices it runs on, and whether those hold pieces of whole tensors.
  uint32_t replicas = 1, partitions = 1;
  bool useSpmd = false;
  /// A program that ran a grid of programs: the device and number of each of its results.
  struct GridResult {
    uint32_t device, index;
  };
  std::optional<std::vector<GridResult>> gridResults;

  /// What to compile it with, device ids apart.
  workload::CompileOptions compileOptions() const;
  /// The arguments of every device; one list where all take the same.
  std::vector<std::vector<tensor::Tensor>>
  argumentsFor(const std::vector<tensor::Tensor> &given) const;
  /// The program's results, of the types it promises, out of those of every device. An error says
  /// what does not fit.
  Result<std::vector<tensor::Tensor>>
  resultsFrom(const std::vector<std::vector<tensor::Tensor>> &outputs,
              const std::vector<ValueType> &types) const;
};

/// Writes the program for each version that can say it; none asked for means the newest. An error
/// where no version can, or where its checks cannot be taken out.
Result<DeviceProgram> prepareForDevice(const Program &program,
                                       const std::vector<workload::ProgramVersion> &versions);

/// The newest version that we write.
workload::ProgramVersion newestVersion();

} // namespace cupel::testbench::worker
