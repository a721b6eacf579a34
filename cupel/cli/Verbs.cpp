#include "cupel/cli/Verbs.h"

namespace cupel::cli {

std::span<const Verb> verbs() {
  static constexpr Verb kVerbs[] = {
      {"list", "List the tests there are: loaders, programs, cases, models", runListVerb},
      {"opt", "Read, verify, transform and convert StableHLO programs", runOptVerb},
      {"eval", "Run programs on the golden reference, with their checks", runEvalVerb},
      {"lsp", "Language server for .mlir files, to be started by an editor", runLspVerb},
      {"doctor", "Say what is installed, what is missing and how to get it", runDoctorVerb},
      {"version", "Say which Cupel this is", runVersionVerb},
  };
  return kVerbs;
}

} // namespace cupel::cli
