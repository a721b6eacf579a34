// The options that `cupel compile` and `cupel ops` share, and the form in which `cupel` hands them
// to the worker: one JSON object.
#pragma once

#include "cupel/cli/CommandLine.h"
#include "cupel/support/Error.h"

#include <nlohmann/json_fwd.hpp>

namespace cupel::cli {

struct ModelArguments {
  std::string file;
  std::vector<std::string> shapes; ///< NAME=2x3, as typed.
  std::string program;             ///< Of an archive that holds several.
  uint32_t dataSet = 0;
  bool noData = false;

  void addTo(CommandLine &line);
  /// Options that mean the same on another command line, without the file.
  std::vector<std::string> words() const;
  /// The worker's request; an error for a shape that is none.
  Result<nlohmann::json> request() const;
};

} // namespace cupel::cli
