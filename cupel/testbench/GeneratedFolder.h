// A folder that `cupel codegen` wrote, known by its manifest: which language its code is in, and what
// it takes and gives by name. Used to find such folders and to test them. Links no MLIR.
#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <vector>

namespace cupel::testbench {

struct GeneratedFolder {
  std::string path;
  bool isCpp = false;
  bool hasTensors = false; ///< Inputs and weights lie in tensors/.
  std::string program;     ///< What it was generated from, below the folder.
  std::vector<std::string> inputs, weights, outputs; ///< Names, by position.

  std::string file(const std::string &below) const { return path + "/" + below; }

  static Result<GeneratedFolder> read(const std::string &path);
};

/// Whether a manifest of ours lies in the folder.
bool isGeneratedFolder(const std::string &path);

} // namespace cupel::testbench
