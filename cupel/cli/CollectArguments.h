// The options by which `list` and `run` say which tests are meant: one set of flags, one place that
// turns them into what `collect` takes, so that both verbs always mean the same. Also shows what
// collecting had to say.
#pragma once

#include "cupel/cli/CommandLine.h"
#include "cupel/testbench/matrix/Collect.h"

#include <string>
#include <vector>

namespace cupel::cli {

class CollectArguments {
public:
  /// Adds the flags to a verb's command line.
  explicit CollectArguments(CommandLine &line);

  /// After parsing: what they mean. `repeat` is the value of -R, left to the verb, which has the
  /// results at hand.
  Result<testbench::matrix::CollectOptions> options() const;

  std::string repeat; ///< -R: empty, or the run whose failures are wanted.
  std::string python; ///< --python; empty where it is not given.
  bool listModels = false, listCases = false;

private:
  testbench::matrix::CollectOptions made;
  std::string shard, frameworks, suites;
  bool noCache = false, givenDedupe = false, noDedupe = false;
};

/// --list-models: the models of the operator cases among the selected tests; --list-cases: these
/// cases, one a line. The exit code of the verb.
int showOpCases(std::string_view verb, const testbench::matrix::Collection &collection,
                bool models);

/// Prints errors, undecided loaders and warnings on standard error, `cupel VERB: ...` each; at most
/// `limit` of a kind, then how many more there are.
void showRemarks(std::string_view verb, const testbench::matrix::Collection &collection,
                 size_t limit = 20);

} // namespace cupel::cli
