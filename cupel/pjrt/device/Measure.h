// `cupel-device measure`: one workload, compiled once and run as often as it is asked to, each run
// timed by itself. Serves `cupel bench` through standard input and output, a line of JSON each:
//   {"compile_seconds":0.2,"first":[0.01,0.005,0.005],"difference":1e-7,"base_bytes":1000000}
//   {"seconds":0.25}  ->  {"times":[0.005,0.005]}
//   {"end":true}      ->  {"peak_bytes":2000000}
// or {"failure":"why"}. What the plugin prints goes to standard error. Results of the first run
// are written to the workload's folder.
#pragma once

#include <string>
#include <vector>

namespace cupel::device {

struct MeasureSettings {
  std::string plugin, folder;
  std::vector<std::string> clientOptions; ///< NAME=VALUE
  double timeout = 600;                   ///< Seconds for one answer of the plugin.
  bool compilesOnly = false;              ///< Ends behind the first line.
};

/// Serves until it is told to end; returns the exit code.
int measure(const MeasureSettings &settings);

} // namespace cupel::device
