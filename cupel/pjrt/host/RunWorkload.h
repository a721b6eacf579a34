// Runs a workload on a client: stages that are announced and timed, results read back, or the
// failure and the stage it happened in. `cupel-device` does nothing else; the worker runs programs
// on plugins by the same steps.
#pragma once

#include "cupel/pjrt/host/Client.h"
#include "cupel/workload/Workload.h"

#include <functional>

namespace cupel::pjrt {

using workload::Workload;

/// Tensors and buffers by device, then by position.
using TensorLists = std::vector<std::vector<tensor::Tensor>>;
using BufferLists = std::vector<std::vector<Buffer>>;

/// A workload that a client has compiled. The client must outlive it.
class LoadedWorkload {
public:
  /// Chooses the devices and the version of the program, and compiles.
  static Result<LoadedWorkload> compile(Client &client, const Workload &workload);

  const ExecutableInfo &info() const { return executable.info(); }
  std::optional<workload::ProgramVersion> programVersion() const { return version; }

  /// One list for all devices, or one for each.
  Result<BufferLists> transfer(const TensorLists &inputs, Deadline deadline) const;
  /// The same without copies where the plugin needs none: it may read the tensors in place.
  Result<BufferLists> give(TensorLists inputs) const;
  /// Transfers them, and lets each go as soon as its last device has it. With `lends`, the plugin may read in place what it cannot
  /// spoil for others: files that are mapped, and what nobody else holds, which is gone when the plugin is done with it.
  Result<BufferLists> handOver(TensorLists inputs, bool lends, Deadline deadline) const;
  /// Waits until the results are there.
  Result<BufferLists> execute(const BufferLists &arguments, Deadline deadline);
  static Result<TensorLists> readBack(const BufferLists &results, Deadline deadline);

private:
  LoadedWorkload(Client &client, Executable executable, std::vector<const Device *> devices,
                 std::optional<workload::ProgramVersion> version)
      : client(&client), executable(std::move(executable)), devices(std::move(devices)),
        version(version) {}

  Client *client;
  Executable executable;
  std::vector<const Device *> devices;
  std::optional<workload::ProgramVersion> version;
};

struct RunSettings {
  double timeout = 300;     ///< Seconds for everything.
  uint32_t repetitions = 1; ///< How often to execute; every execution is timed.
  bool compilesOnly = false; ///< Ends behind the compilation, without results.
};

struct RunReport {
  struct Stage {
    std::string name;
    double seconds = 0;
  };
  std::vector<Stage> stages; ///< compile, transfer, execute, read back; the last is where it ended.
  std::optional<Error> failure;
  std::optional<workload::ProgramVersion> programVersion;
  ExecutableInfo executable;
  std::vector<double> executeSeconds;
  TensorLists results;
};

/// Calls `announce` as it enters each stage.
RunReport runWorkload(Client &client, const Workload &workload, const RunSettings &settings,
                      const std::function<void(std::string_view stage)> &announce);

/// The devices a workload runs on, by its ids or the first ones; a failure says how many there are.
Result<std::vector<const Device *>> devicesFor(const Client &client, const Workload &workload);

} // namespace cupel::pjrt
