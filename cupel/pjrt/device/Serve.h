// `cupel-device serve`: workloads and results through a pipe, for a machine that is reached by
// `ssh lab` and shares no files with us.
//
// A request is one line of JSON, then the bytes of its files one after another:
//   {"do":"run","files":{"program.mlirbc":1234,"inputs.safetensors":88},"timeout":60,"repeat":1}
//   {"do":"run","files":{...},"compile_only":true}
//   {"do":"info","timeout":60}
// The answer is a line {"stage":"compile"} for each stage, then one line and the bytes of its
// files:
//   {"done":{"outcome":"ran",...},"files":{"results.safetensors":440}}
#pragma once

#include "cupel/pjrt/device/Supervisor.h"

namespace cupel::device {

/// Serves until standard input ends; returns the exit code.
int serve(Supervisor &supervisor, double defaultTimeout);

} // namespace cupel::device
