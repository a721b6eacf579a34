// `cupel ci-matrix`: presets of CI jobs into the job matrix that a workflow takes.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/Verbs.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/matrix/Collect.h"
#include "cupel/testbench/scale/JobPlan.h"
#include "cupel/testbench/selection/Preset.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <unordered_map>

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

/// Looks what each job selects and how long that took when it last ran; a test that was never
/// measured counts as the average of the others.
Status measure(std::vector<testbench::selection::PresetJob> &jobs,
               const testbench::matrix::CollectOptions &sources, results::Store &store,
               const std::string &device, std::vector<std::vector<std::string>> &selected) {
  for (testbench::selection::PresetJob &job : jobs) {
    std::vector<std::string> &names = selected.emplace_back();
    testbench::matrix::CollectOptions options = sources;
    options.preset = fmt::format("{}:#{}", job.file, job.number);
    options.arch = job.arch;
    Result<testbench::matrix::Collection> collection = testbench::matrix::collect(options);
    if (!collection)
      return collection.error().within(job.where());
    std::unordered_map<std::string, double> seconds;
    std::string name = runtime::DeviceName::parse(device, job.arch).str();
    if (Result<std::vector<results::KnownTest>> known = store.known(job.arch, name))
      for (const results::KnownTest &test : *known)
        if (test.seconds > 0)
          seconds[test.fullName()] = test.seconds;
    double sum = 0;
    size_t measured = 0;
    for (size_t i = 0; i < collection->size(); ++i) {
      std::string full;
      collection->appendFullName(i, full);
      names.push_back(full);
      if (auto found = seconds.find(full); found != seconds.end()) {
        sum += found->second;
        ++measured;
      }
    }
    job.measured = {uint32_t(collection->size()),
                    measured ? sum / double(measured) * double(collection->size()) : 0};
  }
  return {};
}

/// Writes down which job runs which tests, each group of each job with its share.
Result<testbench::scale::JobPlan> planJobs(std::vector<testbench::selection::PresetJob> &jobs,
                                           const std::vector<std::vector<std::string>> &selected,
                                           results::Store &store, const std::string &device) {
  using namespace testbench;
  using namespace std::chrono;
  scale::JobPlan plan;
  plan.run =
      results::newRunId(duration<double>(system_clock::now().time_since_epoch()).count());
  for (size_t i = 0; i < jobs.size(); ++i) {
    selection::PresetJob &job = jobs[i];
    std::string name = runtime::DeviceName::parse(device, job.arch).str();
    auto durations = store.durations(job.arch, name);
    if (!durations)
      return durations.error();
    std::vector<scale::TestDurations> tests;
    for (const std::string &test : selected[i])
      tests.push_back({test, test.substr(0, test.find("::")), (*durations)[test]});
    std::vector<scale::Job> parts = scale::shareOut(tests, job.groups);
    for (size_t part = 0; part < parts.size(); ++part) {
      parts[part].name = fmt::format("{} on {}{}", job.name.empty() ? job.where() : job.name,
                                     job.runsOn, parts.size() == 1 ? "" : fmt::format(" {}/{}", part + 1, parts.size()));
      parts[part].arch = job.arch;
      job.planned.push_back({uint32_t(plan.jobs.size() + 1), parts[part].timeoutMinutes});
      plan.jobs.push_back(std::move(parts[part]));
    }
  }
  return plan;
}

} // namespace

int runCiMatrixVerb(const Arguments &arguments) {
  using namespace testbench::selection;
  CommandLine line("ci-matrix",
                   "Reads presets of CI jobs and prints the job matrix as JSON: included files in "
                   "their place, one\njob for each parallel group, labels of shared machines put "
                   "in.");
  std::vector<std::string> files, runners;
  std::string folder, resultsFolder, planFile, device = "reference";
  testbench::matrix::CollectOptions sources;
  double minutes = 0;
  bool compact = false;
  line.option("FILES", files, "Preset files (JSON); several may be joined by colons").required();
  line.option("--folder", folder, "Where the files are");
  line.option("--runner", runners,
              "LABEL=NAME: the shared machine to use for a label (repeatable)");
  line.option("--minutes", minutes,
              "Split each job into groups that last about so long, by the durations of earlier "
              "runs; jobs that were never run keep their own number");
  line.option("--plan", planFile,
              "Write which job runs which tests, for 'cupel run --job FILE:NUMBER' and 'cupel results "
              "merge'; the jobs get their number and a time-out from percentiles of earlier runs")
      .placeholder("FILE");
  line.option("--zoo", sources.zoo, "With --minutes: root of the loaders");
  line.option("--config", sources.config, "With --minutes: folder of the YAML configuration");
  line.option("--device", device, "With --minutes: whose durations count (reference)");
  addResultsOption(line, resultsFolder);
  line.flag("--compact", compact, "Everything on one line, as step outputs want it");
  line.example("cupel ci-matrix on-pr.json", "the jobs of a pull request");
  line.example("cupel ci-matrix a.json:b.json --compact", "two presets on one line");
  line.example("cupel ci-matrix nightly.json --minutes 20 --zoo models --config test_config",
               "groups of about 20 minutes, as measured");
  line.example("cupel ci-matrix nightly.json --minutes 20 --plan jobs.json",
               "and write down which job runs which tests");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  if (minutes < 0)
    return reportError("ci-matrix", "--minutes should be above 0", kExitUsage);

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
  if (minutes > 0 || !planFile.empty()) {
    Result<results::Store> store = openResults(resultsFolder);
    if (!store)
      return reportError("ci-matrix",
                         (planFile.empty() ? "--minutes: " : "--plan: ") + store.message(),
                         kExitUsage);
    std::vector<std::vector<std::string>> selected;
    if (Status status = measure(jobs, sources, *store, device, selected); !status)
      return reportError("ci-matrix", status.message(), kExitUsage);
    for (PresetJob &job : jobs)
      if (minutes > 0)
        job.splitByDuration(minutes * 60);
    if (!planFile.empty()) {
      Result<testbench::scale::JobPlan> plan = planJobs(jobs, selected, *store, device);
      if (!plan)
        return reportError("ci-matrix", "--plan: " + plan.message(), kExitUsage);
      if (Status status = writeOutput(planFile, testbench::scale::toJson(*plan)); !status)
        return reportError("ci-matrix", "--plan: " + status.message(), kExitUsage);
    }
  }
  Result<std::string> matrix = jobMatrix(jobs, labels, compact);
  if (!matrix)
    return reportError("ci-matrix", matrix.message(), kExitUsage);
  fmt::print("{}\n", *matrix);
  return kExitSuccess;
}

} // namespace cupel::cli
