// A program made ready for a device that is reached through a plugin: its checks taken out, written
// as portable artifacts that the plugin reads. Used by the PJRT device and by those who save
// workloads.
#pragma once

#include "cupel/pjrt/host/Workload.h"
#include "cupel/testbench/worker/Device.h"

namespace cupel::testbench::worker {

struct DeviceProgram {
  std::vector<pjrt::ProgramBytes> artifacts; ///< At least one, in the order asked for.
  std::vector<pjrt::WorkloadCheck> checks;
  std::vector<tensor::Tensor> constants;
  /// Arguments behind the program's own: constants that the device is to compute with.
  std::vector<tensor::Tensor> inputs;
  /// The program's own results; what checks compare stands behind them.
  uint32_t ownResults = 0;
};

/// Writes the program for each version that can say it; none asked for means the newest. An error
/// where no version can, or where its checks cannot be taken out.
Answer<DeviceProgram> prepareForDevice(const Program &program,
                                       const std::vector<pjrt::ProgramVersion> &versions);

/// The newest version that we write.
pjrt::ProgramVersion newestVersion();

} // namespace cupel::testbench::worker
