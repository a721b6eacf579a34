#include "cupel/cli/Verbs.h"

namespace cupel::cli {

std::span<const Verb> verbs() {
  static constexpr Verb kVerbs[] = {
      {"list", "List the tests there are: loaders, programs, cases, models", runListVerb},
      {"run", "Run tests, judge, remember and report them", runRunVerb},
      {"explain", "Say which operation makes a test fail on a device", runExplainVerb},
      {"reduce", "Shrink a test that fails on a device while it fails in the same way", runReduceVerb},
      {"opt", "Read, verify, transform and convert StableHLO programs", runOptVerb},
      {"eval", "Run programs on the golden reference, with their checks", runEvalVerb},
      {"compile", "Turn a model or program into StableHLO", runCompileVerb},
      {"bench", "Measure how fast models run on devices and on other runtimes", runBenchVerb},
      {"tune", "Find the batch size at which a model's throughput ends to grow", runTuneVerb},
      {"codegen", "Write a model or program as standalone source code", runCodegenVerb},
      {"ops", "List a model's operators, and where lowering them fails", runOpsVerb},
      {"config", "Check, explain and show the configuration of the tests", runConfigVerb},
      {"ci-matrix", "Turn presets of CI jobs into a job matrix", runCiMatrixVerb},
      {"show", "Show a run's summary, or what happened to a test", runShowVerb},
      {"diff", "Say what is different between two runs", runDiffVerb},
      {"history", "Show the outcomes of one test in all runs", runHistoryVerb},
      {"results", "Take journals into the results store, merge, copy, prune, check", runResultsVerb},
      {"serve", "Show results in a browser: dashboard, tests, trends", runServeVerb},
      {"explore", "Show the graph of a model or program at every stage of its compilation", runExploreVerb},
      {"report", "Write a run as pages that open without a server", runReportVerb},
      {"triage", "Say what fails, why, and what to fix first", runTriageVerb},
      {"accept", "Propose a patch of the configuration from results", runAcceptVerb},
      {"cache", "List, make or clear the cached Python environments of models, and their large files", runCacheVerb},
      {"lsp", "Language server for .mlir files, to be started by an editor", runLspVerb},
      {"doctor", "Say what is installed, what is missing and how to get it", runDoctorVerb},
      {"version", "Say which Cupel this is", runVersionVerb},
  };
  return kVerbs;
}

} // namespace cupel::cli
