// What a reduced test leaves beside its workload folder: a program that checks itself, a script for
// a machine that has nothing but cupel-device and the plugin, and one for JAX. Used by whoever
// reduces; each file stands alone and says how it is used.
#pragma once

#include "cupel/results/Explanation.h"
#include "cupel/testbench/worker/Probe.h"

namespace cupel::testbench::worker {

struct Reproduction {
  std::vector<std::string> files;   ///< By name, below the folder.
  std::vector<std::string> remarks; ///< What is not there, and why.
};

/// `folder` holds the program as the workload `workload` already.
Reproduction writeReproduction(const Prepared &program, const Request &request,
                               const results::Explanation &explanation, const TriedPiece &failure,
                               const std::string &folder);

/// The program with its inputs as constants and its results checked; an error where a type has no
/// such form or the values are too many for a text. `tolerance` is absolute, of floats.
Result<std::string> selfChecking(const Prepared &program, double tolerance);

} // namespace cupel::testbench::worker
