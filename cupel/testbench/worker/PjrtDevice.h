// Devices behind the PJRT C API: any vendor's plugin by its path, or ours. The plugin is loaded
// into the worker's own process, which the runner replaces when it is lost.
#pragma once

#include "cupel/runtime/DeviceName.h"
#include "cupel/testbench/worker/Device.h"

#include <memory>
#include <string>

namespace cupel::testbench::worker {

/// `cupel` is the plugin beside this binary. Options are those of its client.
Result<std::unique_ptr<Device>> openPjrtDevice(const runtime::DeviceName &device);

/// Makes `cupel` the path of our own plugin, with as many devices as programs want where nobody
/// chooses. Other devices stay as they are.
void addOwnDefaults(runtime::DeviceName &device);

} // namespace cupel::testbench::worker
