// One verb's options: CLI11 with Cupel's help layout (every verb shows examples), one-line errors
// and exit codes. Used by the verbs that are served without MLIR.
#pragma once

#include "cupel/cli/Verbs.h"

#include <CLI/App.hpp>
#include <optional>
#include <string>

namespace cupel::cli {

class CommandLine {
public:
  CommandLine(std::string verb, std::string description);

  /// Adds a line to the examples that end the help text.
  void example(std::string_view command, std::string_view meaning);

  /// Parses; returns an exit code where the verb must not go on (help was asked for, or an error
  /// printed).
  std::optional<int> parse(const Arguments &arguments);

  CLI::App app;

private:
  std::string verb;
  std::string examples;
};

} // namespace cupel::cli
