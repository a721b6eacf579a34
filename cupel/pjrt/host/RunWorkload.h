// Runs a saved workload on a client: stages that are announced and timed, results read back, or the
// failure and the stage it happened in. `cupel-device` does nothing else.
#pragma once

#include "cupel/pjrt/host/Client.h"
#include "cupel/workload/Workload.h"

#include <functional>

namespace cupel::pjrt {

using workload::Workload;

struct RunSettings {
  double timeout = 300;     ///< Seconds for everything.
  uint32_t repetitions = 1; ///< How often to execute; every execution is timed.
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
  std::vector<std::vector<tensor::Tensor>> results; ///< By device, then by position.
};

/// Calls `announce` as it enters each stage.
RunReport runWorkload(Client &client, const Workload &workload, const RunSettings &settings,
                      const std::function<void(std::string_view stage)> &announce);

/// The devices a workload runs on, by its ids or the first ones; a failure says how many there are.
Result<std::vector<const Device *>> devicesFor(const Client &client, const Workload &workload);

} // namespace cupel::pjrt
