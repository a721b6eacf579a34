// `cupel ci-matrix`: presets of CI jobs into the job matrix that a workflow takes.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/Verbs.h"
#include "cupel/support/Error.h"
#include "cupel/testbench/selection/Preset.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace cupel::cli {

namespace {

/// A file, or several joined by colons as workflows pass them.
std::vector<std::string> splitFiles(const std::string &argument) {
  std::error_code error;
  if (std::filesystem::exists(argument, error))
    return {argument};
  std::vector<std::string> files;
  for (size_t begin = 0; begin <= argument.size();) {
    size_t colon = std::min(argument.find(':', begin), argument.size());
    files.push_back(argument.substr(begin, colon - begin));
    begin = colon + 1;
  }
  return files;
}

} // namespace

int runCiMatrixVerb(const Arguments &arguments) {
  using namespace testbench::selection;
  CommandLine line("ci-matrix",
                   "Reads presets of CI jobs and prints the job matrix as JSON: included files in "
                   "their place, one\njob for each parallel group, labels of shared machines put "
                   "in.");
  std::vector<std::string> files, runners;
  std::string folder;
  bool compact = false;
  line.option("FILES", files, "Preset files (JSON); several may be joined by colons").required();
  line.option("--folder", folder, "Where the files are");
  line.option("--runner", runners,
              "LABEL=NAME: the shared machine to use for a label (repeatable)");
  line.flag("--compact", compact, "Everything on one line, as step outputs want it");
  line.example("cupel ci-matrix on-pr.json", "the jobs of a pull request");
  line.example("cupel ci-matrix a.json:b.json --compact", "two presets on one line");
  if (std::optional<int> code = line.parse(arguments))
    return *code;

  RunnerLabels labels = sharedRunnerLabels();
  for (const std::string &runner : runners) {
    size_t equals = runner.find('=');
    if (equals == std::string::npos || equals == 0)
      return reportError("ci-matrix", "--runner " + runner + ": expected LABEL=NAME", kExitUsage);
    labels[runner.substr(0, equals)] = runner.substr(equals + 1);
  }
  std::vector<PresetJob> jobs;
  for (const std::string &argument : files) {
    for (const std::string &file : splitFiles(argument)) {
      std::string path = folder.empty() ? file : (std::filesystem::path(folder) / file).string();
      Result<PresetJobs> loaded = loadPreset(path);
      if (!loaded)
        return reportError("ci-matrix", loaded.message(), kExitUsage);
      for (const std::string &warning : loaded->warnings)
        fmt::print(stderr, "cupel ci-matrix: warning: {}\n", warning);
      std::move(loaded->jobs.begin(), loaded->jobs.end(), std::back_inserter(jobs));
    }
  }
  Result<std::string> matrix = jobMatrix(jobs, labels, compact);
  if (!matrix)
    return reportError("ci-matrix", matrix.message(), kExitUsage);
  fmt::print("{}\n", *matrix);
  return kExitSuccess;
}

} // namespace cupel::cli
