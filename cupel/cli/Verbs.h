// The table of verbs behind `cupel VERB`: name, summary and entry point of each. `Main.cpp` looks
// verbs up here and prints the list; a new verb is one function and one row. Nothing in this part
// of the command line may link MLIR.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::cli {

using Arguments = std::vector<std::string>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments &arguments); ///< Returns the exit code.
};

std::span<const Verb> verbs();

// The entry points, one for each row.
int runListVerb(const Arguments &arguments);
int runRunVerb(const Arguments &arguments);
int runExplainVerb(const Arguments &arguments);
int runReduceVerb(const Arguments &arguments);
int runOptVerb(const Arguments &arguments);
int runEvalVerb(const Arguments &arguments);
int runCodegenVerb(const Arguments &arguments);
int runCompileVerb(const Arguments &arguments);
int runBenchVerb(const Arguments &arguments);
int runTuneVerb(const Arguments &arguments);
int runOpsVerb(const Arguments &arguments);
int runShowVerb(const Arguments &arguments);
int runDiffVerb(const Arguments &arguments);
int runHistoryVerb(const Arguments &arguments);
int runResultsVerb(const Arguments &arguments);
int runServeVerb(const Arguments &arguments);
int runExploreVerb(const Arguments &arguments);
int runReportVerb(const Arguments &arguments);
int runTriageVerb(const Arguments &arguments);
int runAcceptVerb(const Arguments &arguments);
int runCacheVerb(const Arguments &arguments);
int runLspVerb(const Arguments &arguments);
int runConfigVerb(const Arguments &arguments);
int runCiMatrixVerb(const Arguments &arguments);
int runDoctorVerb(const Arguments &arguments);
int runVersionVerb(const Arguments &arguments);

} // namespace cupel::cli
