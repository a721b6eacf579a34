// Which job of a CI runs which tests, written down once when the jobs are made (`cupel ci-matrix
// --plan`), so that all of them mean the same tests whatever the results store learns meanwhile
// (`cupel run --job`), and so that what a job that died was to run is known (`cupel results merge`).
// A value with a JSON form; it runs nothing.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::scale {

struct Job {
  std::string name; ///< `run_jax n150 2/3`: what messages call it.
  std::string arch;
  double seconds = 0;            ///< Expected.
  uint32_t timeoutMinutes = 0;   ///< After which it surely hangs.
  std::vector<std::string> tests; ///< Full names.
};

struct JobPlan {
  std::string run; ///< The id of the run that all of them are parts of.
  std::vector<Job> jobs;
};

std::string toJson(const JobPlan &plan);
Result<JobPlan> readJobPlan(const std::string &path);

/// One job, and the run it is a part of.
struct JobOfPlan {
  std::string run;
  Job job;
};
/// `FILE:2`: the second job of a plan.
Result<JobOfPlan> findJob(const std::string &spec);

/// How long a test took in earlier runs.
struct TestDurations {
  std::string name, kind;
  std::vector<double> seconds; ///< Empty: nobody measured it.
};

/// Shares tests out to `count` jobs so that they last about as long, by medians of what was measured
/// (of their kind where nothing was); a job's time-out comes from the 95th percentiles: half as much
/// again, and ten minutes for its surroundings.
std::vector<Job> shareOut(const std::vector<TestDurations> &tests, uint32_t count);

} // namespace cupel::testbench::scale
