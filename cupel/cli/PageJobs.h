// What can be started from the pages of `cupel serve` and `cupel explore`: the kinds of jobs with
// their forms, the commands of each, and what becomes of the graph when one has ended. Commands are
// verbs of `cupel` in processes of their own; files and devices are those that the server was started
// with or that its store names, never a path from a request.
#pragma once

#include "cupel/cli/ExploreTarget.h"
#include "cupel/results/serve/Explorer.h"
#include "cupel/results/serve/Jobs.h"
#include "cupel/results/serve/Site.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace cupel::cli {

/// A program whose graph is open.
struct OpenProgram {
  ExploreTarget target;
  std::vector<std::string> modelWords; ///< `--shape=...` and their like, of a model.
};

class PageJobs {
public:
  /// `results` and `devices` as the options of the server say.
  PageJobs(results::serve::Explorer &explorer, std::string results, std::vector<std::string> devices);

  /// Makes a graph's program known, under the key that the graph has.
  void add(std::string key, OpenProgram program);
  /// The graph's questions and the jobs.
  void mountOn(results::serve::Site &site);

private:
  using Values = results::serve::JobValues;
  using Plan = results::serve::JobPlan;
  Result<Plan> planOf(const results::serve::JobKind &kind, const std::string &key, const Values &values, const std::string &folder);

  Result<Plan> planOpen(const Values &values, const std::string &folder);
  Plan planCompile(const std::string &key, const OpenProgram &program, const Values &values, const std::string &folder);
  Plan planExtract(const std::string &key, const OpenProgram &program, const Values &values, const std::string &folder);
  Result<Plan> planRun(const OpenProgram &program, const Values &values, const std::string &folder);
  Plan planExplain(const std::string &key, const OpenProgram &program, const Values &values, const std::string &folder);
  Plan planOpByOp(const std::string &key, const OpenProgram &program, const Values &values, const std::string &folder);
  /// Overlays of one more graph of the same program: values, times.
  Plan planOverlays(const std::string &key, const OpenProgram &program, std::vector<std::string> words, std::string title, std::string overlay, std::string stage, const std::string &folder);
  Result<Plan> planWorkload(const OpenProgram &program, const Values &values, const std::string &folder);

  /// Reads a graph that a job wrote and keeps it under a key.
  Result<std::string> openGraph(const std::string &file, const std::string &key, OpenProgram program, const std::vector<std::string> &files);
  /// Changes a copy of the graph that is open under a key.
  Status changeGraph(const std::string &key, const std::function<Status(results::graph::Graph &)> &change);

  results::serve::Explorer &explorer;
  const std::string results;
  const std::vector<std::string> devices;
  std::mutex mutex, changing; ///< Of `programs`; of graphs, one change at a time.
  std::map<std::string, OpenProgram> programs;
  // The last member, so that it ends what runs before anything of the above goes.
  results::serve::Jobs jobs;
};

} // namespace cupel::cli
