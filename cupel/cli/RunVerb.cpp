// `cupel run`: the options, the session that does it, and the exit code.

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/RunOptions.h"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>

namespace cupel::cli {
namespace {

using testbench::session::Ending;
using testbench::session::Session;
using testbench::session::SessionOptions;

Ending begin(const RunOptions &options, const Arguments &arguments) {
  std::vector<std::string> words = {"cupel", "run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Result<SessionOptions> session = options.session(words);
  // A wrong option begins no run.
  return session ? Session().begin(std::move(*session)) : Ending{kExitUsage, session.message()};
}

Ending resume(RunOptions given) {
  if (given.collect.arguments.size() > 1)
    return {kExitUsage, "--resume goes on with one run as it was begun; it takes its id and no "
                        "more"};
  Result<results::StorePlace> place = resultsPlace(given.results);
  if (!place)
    return {kExitUsage, place.message()};
  // Named from here; the run goes on where it was begun.
  for (std::string *report : {&given.junit, &given.json, &given.markdown})
    if (!report->empty())
      *report = std::filesystem::absolute(*report);
  auto read = [&](const std::vector<std::string> &words) -> std::optional<SessionOptions> {
    RunOptions begun;
    if (begun.parse(Arguments(words.begin() + 2, words.end())))
      return std::nullopt;
    begun.quiet |= given.quiet;
    if (given.jobs)
      begun.jobs = given.jobs;
    for (auto [of, to] : {std::pair(&given.junit, &begun.junit),
                          {&given.json, &begun.json},
                          {&given.markdown, &begun.markdown}})
      if (!of->empty())
        *to = *of;
    Result<SessionOptions> session = begun.session(words);
    if (session)
      return std::move(*session);
    reportError("run", session.message(), kExitUsage);
    return std::nullopt;
  };
  const auto &names = given.collect.arguments;
  return Session().resume(
      {place->folder, place->database, names.empty() ? "" : names[0], sayOfRun}, read);
}

} // namespace

int runRunVerb(const Arguments &arguments) {
  RunOptions options;
  if (std::optional<int> exit = options.parse(arguments))
    return *exit;
  if (options.listModels || options.listCases) {
    Result<testbench::matrix::Collection> collection = testbench::matrix::collect(options.collect);
    return collection ? showOpCases("run", *collection, options.listModels)
                      : reportError("run", collection.message(), kExitUsage);
  }
  // Somebody who closed our output is no reason to lose outcomes.
  std::signal(SIGPIPE, SIG_IGN);
  Ending ending = options.resume ? resume(std::move(options)) : begin(options, arguments);
  if (!ending.note.empty())
    fmt::print("{}\n", ending.note);
  return ending.error.empty() ? ending.code : reportError("run", ending.error, ending.code);
}

} // namespace cupel::cli
