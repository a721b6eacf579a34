// `cupel run`: the options, the session that does it, and the exit code.

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/RunOptions.h"
#include "cupel/runtime/Options.h"
#include "cupel/testbench/matrix/Project.h"
#include "cupel/testbench/slurm/RunFolder.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
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
  if (!session)
    return {kExitUsage, session.message()};
  if (options.on.empty())
    return Session().begin(std::move(*session));
  constexpr std::string_view kSlurm = "slurm";
  if (options.on != kSlurm && !options.on.starts_with("slurm:"))
    return {kExitUsage, "--on " + options.on + ": there are slurm and slurm:PROFILE"};
  std::string file = options.collect.project.empty() ? testbench::matrix::findProjectFile(".")
                                                     : options.collect.project;
  Result<testbench::slurm::Profile> profile = testbench::slurm::readProfile(
      file, options.on == kSlurm ? "" : options.on.substr(kSlurm.size() + 1));
  if (!profile)
    return {kExitUsage, profile.message()};
  return Session().beginOnSlurm(std::move(*session), *profile);
}

/// FOLDER:CHUNK, as the jobs of Slurm are started.
Ending beTask(const RunOptions &options, const testbench::session::ReadOptions &read) {
  size_t colon = options.task.rfind(':');
  char *end = nullptr;
  unsigned long chunk =
      colon == std::string::npos ? 0 : std::strtoul(options.task.c_str() + colon + 1, &end, 10);
  if (!end || *end || end == options.task.c_str() + colon + 1)
    return {kExitUsage, "--task " + options.task + ": write FOLDER:CHUNK"};
  return Session().runTask(options.task.substr(0, colon), uint32_t(chunk), read);
}

/// Whether the run to go on with is one on Slurm.
bool isOnSlurm(const testbench::session::ResumeRequest &which) {
  return !which.run.empty() &&
         std::ranges::any_of(testbench::slurm::RunFolder::runsIn(which.results),
                             [&](const std::string &run) { return run.starts_with(which.run); });
}

/// Whatever goes on with a run that was begun before, from its own command line.
Ending resume(RunOptions given) {
  if (given.collect.arguments.size() > 1)
    return {kExitUsage, std::string(given.attach   ? "--attach"
                                    : given.cancel ? "--cancel"
                                                   : "--resume") +
                            " takes the id of one run and no more"};
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
  if (!given.task.empty())
    return beTask(given, read);
  const auto &names = given.collect.arguments;
  testbench::session::ResumeRequest which = {place->folder, place->database,
                                             names.empty() ? "" : names[0], sayOfRun};
  if (given.attach || given.cancel || isOnSlurm(which))
    return Session().followOnSlurm(
        {.run = which, .cancel = given.cancel, .goOn = given.resume}, read);
  return Session().resume(which, read);
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
  // Workers run in folders of their own.
  runtime::makePathsOfEnvironmentWhole();
  // Somebody who closed our output is no reason to lose outcomes.
  std::signal(SIGPIPE, SIG_IGN);
  bool isBegun = options.resume || options.attach || options.cancel || !options.task.empty();
  Ending ending = isBegun ? resume(std::move(options)) : begin(options, arguments);
  if (!ending.note.empty())
    fmt::print("{}\n", ending.note);
  return ending.error.empty() ? ending.code : reportError("run", ending.error, ending.code);
}

} // namespace cupel::cli
