// Devices on another machine: `cupel-device serve` there, started through a command such as
// `ssh lab`, fed with workloads through its pipe. Nothing but that binary and the plugin is needed
// on the other side.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <memory>
#include <optional>
#include <string>

namespace cupel::testbench::worker {

/// `PLUGIN.so@LAUNCHER`, options before the @: `/opt/vendor.so?preallocate=false@ssh lab`. The
/// launcher is taken apart as a shell does and followed by `cupel-device serve PLUGIN`; where its
/// last word names cupel-device itself, by `serve PLUGIN`. What it prints before the first answer
/// is passed over.
Result<std::unique_ptr<Device>> openRemoteDevice(const std::string &name);

bool namesRemoteDevice(const std::string &name);

/// The same device in a process of its own on this machine: a plugin that crashes or hangs there
/// costs one execution. The name as it is where it names none of our plugins, or one elsewhere.
std::string isolatedName(const std::string &name);

/// How an execution behind `cupel-device` did not come to its end.
struct RemoteFailure {
  std::string outcome; ///< failed, crashed, exited, timed out, out of memory
  std::string stage;   ///< load, client, compile, execute, ...
  std::string kind;    ///< Of an error: `unimplemented`, ...
  bool operator==(const RemoteFailure &) const = default;
};
/// That of the last execution; nothing where it came to its end, or for devices of other kinds.
std::optional<RemoteFailure> lastFailure(const Device &device);

} // namespace cupel::testbench::worker
