// Devices behind the PJRT C API: any vendor's plugin by its path, or ours. The plugin is loaded
// into the worker's own process, which the runner replaces when it is lost.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <memory>
#include <string>

namespace cupel::testbench::worker {

/// `PLUGIN.so`, or `cupel` for the plugin beside this binary; options for its client may follow:
/// `cupel?num_devices=2&arch=n300`.
Result<std::unique_ptr<Device>> openPjrtDevice(const std::string &name);

/// Whether openPjrtDevice is meant: `cupel` or something that ends in `.so`, options aside.
bool namesPjrtDevice(const std::string &name);

} // namespace cupel::testbench::worker
