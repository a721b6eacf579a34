// `cupel compile ID`: a test of a model loader as a workload folder, without running it on a
// device. Used by the verb where what is asked for is no file. Never judges anything: Python makes the
// folder, and `cupel run DIR` or cupel-device run it later, without Python.
#pragma once

#include <string>

namespace cupel::cli {

struct ModelCompilation {
  std::string id;            ///< `models::ID`, or the id alone.
  std::string zoo, python;   ///< As --zoo and --python name them.
  std::string dtype, output; ///< The folder that is made.
};

/// Whether this is how a test of a loader is called, and no file.
bool isModelId(const std::string &text);

/// Becomes the Python process that makes the folder; comes back with an exit code where there is
/// no such test.
int compileModel(const ModelCompilation &wanted);

} // namespace cupel::cli
