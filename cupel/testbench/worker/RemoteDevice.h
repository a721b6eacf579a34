// Devices on another machine: `cupel-device serve` there, started through a command such as
// `ssh lab`, fed with workloads through its pipe. Nothing but that binary and the plugin is needed
// on the other side.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <map>
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
/// What our own plugin said of the program that was executed last, by name; empty for others.
std::map<std::string, std::string> lastNotes(const Device &device);
/// That of the last execution; nothing where it came to its end, or for devices of other kinds.
std::optional<RemoteFailure> lastFailure(const Device &device);
/// What became of a workload in a process of its own.
struct Attempt {
  /// `ran`, `compiled`, or how it ended instead: `failed`, `crashed`, `exited`, `timed out`,
  /// `out of memory`.
  std::string outcome;
  std::string stage; ///< The last one that it entered: load, compile, transfer, execute, ...
  std::string kind, message;
  double compileSeconds = 0, executeSeconds = 0;
  TensorLists results;
  std::map<std::string, std::string> notes; ///< Of our own plugin on the executable.

  bool isDone() const { return outcome == "ran" || outcome == "compiled"; }
  /// Whether the device's compiler took it, whatever came then.
  bool hasCompiled() const;
};

/// A plugin behind a process of its own: what a program does to it, a crash or a hang too, costs
/// that program and no other. For those who try programs that may do anything.
class DeviceProcess {
public:
  virtual ~DeviceProcess() = default;
  virtual std::vector<workload::ProgramVersion> versions() const = 0;
  virtual Attempt attempt(const workload::Workload &workload, double seconds,
                          bool compilesOnly) = 0;
};

/// Any device that is behind a plugin, here or elsewhere.
Result<std::unique_ptr<DeviceProcess>> openDeviceProcess(const std::string &name);

} // namespace cupel::testbench::worker
