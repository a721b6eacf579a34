// Devices on another machine: `cupel-device serve` there, started through a command such as
// `ssh lab`, fed with workloads through its pipe. Nothing but that binary and the plugin is needed
// on the other side.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <memory>
#include <string>

namespace cupel::testbench::worker {

/// `PLUGIN.so@LAUNCHER`, options before the @: `/opt/vendor.so?preallocate=false@ssh lab`. The
/// launcher is taken apart as a shell does and followed by `cupel-device serve PLUGIN`; where its
/// last word names cupel-device itself, by `serve PLUGIN`. What it prints before the first answer
/// is passed over.
Result<std::unique_ptr<Device>> openRemoteDevice(const std::string &name);

bool namesRemoteDevice(const std::string &name);

} // namespace cupel::testbench::worker
