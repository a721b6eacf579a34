#include "cupel/testbench/scale/JobPlan.h"

#include "cupel/support/Files.h"
#include "cupel/support/JsonValues.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace cupel::testbench::scale {
namespace {

constexpr double kUnmeasuredSeconds = 60; ///< Where nothing of any kind was.
constexpr double kPercentile = 0.95, kSlack = 1.5, kSurroundingsSeconds = 600;

double percentile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  size_t place = size_t(std::ceil(share * double(values.size())));
  return values[std::clamp<size_t>(place, 1, values.size()) - 1];
}

/// What to expect of a test, and what it takes when it takes long.
struct Expected {
  double median = 0, late = 0;
};

} // namespace

std::vector<Job> shareOut(const std::vector<TestDurations> &tests, uint32_t count) {
  std::map<std::string_view, std::vector<double>> ofKind;
  for (const TestDurations &test : tests)
    ofKind[test.kind].insert(ofKind[test.kind].end(), test.seconds.begin(), test.seconds.end());
  std::vector<Expected> expected;
  for (const TestDurations &test : tests) {
    const std::vector<double> &known = test.seconds.empty() ? ofKind[test.kind] : test.seconds;
    expected.push_back(known.empty()
                           ? Expected{kUnmeasuredSeconds, kUnmeasuredSeconds}
                           : Expected{percentile(known, 0.5), percentile(known, kPercentile)});
  }
  std::vector<uint32_t> order(tests.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    return expected[a].median != expected[b].median ? expected[a].median > expected[b].median
                                                    : tests[a].name < tests[b].name;
  });
  std::vector<Job> jobs(std::max(1u, count));
  std::vector<double> late(jobs.size());
  for (uint32_t test : order) {
    size_t least = 0;
    for (size_t job = 1; job < jobs.size(); ++job)
      if (jobs[job].seconds < jobs[least].seconds)
        least = job;
    jobs[least].seconds += expected[test].median;
    jobs[least].tests.push_back(tests[test].name);
    late[least] += expected[test].late;
  }
  for (size_t job = 0; job < jobs.size(); ++job) {
    std::ranges::sort(jobs[job].tests);
    jobs[job].timeoutMinutes =
        uint32_t(std::ceil((kSlack * late[job] + kSurroundingsSeconds) / 60));
  }
  return jobs;
}

std::string toJson(const JobPlan &plan) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const Job &job : plan.jobs)
    jobs.push_back({{"name", job.name},
                    {"arch", job.arch},
                    {"estimated_seconds", job.seconds},
                    {"timeout_minutes", job.timeoutMinutes},
                    {"tests", job.tests}});
  return nlohmann::ordered_json({{"cupel_jobs", 1}, {"run", plan.run}, {"jobs", std::move(jobs)}})
             .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

Result<JobPlan> readJobPlan(const std::string &path) {
  Result<FileContents> contents = readInput(path);
  if (!contents)
    return contents.error();
  using json_values::take;
  nlohmann::json json =
      nlohmann::json::parse(contents->bytes(), nullptr, /*allow_exceptions=*/false);
  const Error none{path + ": not a plan of jobs (cupel ci-matrix --plan writes one)"};
  int64_t version = 0;
  if (!take(json, "cupel_jobs", version))
    return none;
  if (version != 1)
    return Error{path + ": jobs of a newer Cupel; update this one"};
  JobPlan plan;
  const nlohmann::json *jobs = json_values::list(json, "jobs");
  if (!jobs || !take(json, "run", plan.run))
    return none;
  for (const nlohmann::json &each : *jobs) {
    Job &job = plan.jobs.emplace_back();
    if (!take(each, "name", job.name) || !take(each, "arch", job.arch) ||
        !take(each, "estimated_seconds", job.seconds) ||
        !take(each, "timeout_minutes", job.timeoutMinutes) || !take(each, "tests", job.tests))
      return none;
  }
  return plan;
}

Result<JobOfPlan> findJob(const std::string &spec) {
  size_t colon = spec.rfind(':');
  size_t number = 0;
  std::string_view digits =
      colon == std::string::npos ? std::string_view() : std::string_view(spec).substr(colon + 1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return Error{"'" + spec + "': write FILE:NUMBER, as in jobs.json:1"};
  Result<JobPlan> plan = readJobPlan(spec.substr(0, colon));
  if (!plan)
    return plan.error();
  if (number < 1 || number > plan->jobs.size())
    return Error{"'" + spec + "': there are jobs 1 to " + std::to_string(plan->jobs.size())};
  return JobOfPlan{plan->run, std::move(plan->jobs[number - 1])};
}

} // namespace cupel::testbench::scale
