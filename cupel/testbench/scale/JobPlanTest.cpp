#include "cupel/testbench/scale/JobPlan.h"
#include "cupel/testbench/scale/Plan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace cupel;
using namespace cupel::testbench::scale;

namespace {

/// The same document with each value, however deep, replaced by each of other kinds, and without
/// it.
void replaceEach(const nlohmann::json &whole, const nlohmann::json::json_pointer &at,
                 const std::function<void(const nlohmann::json &)> &seen) {
  static const nlohmann::json kOthers[] = {nullptr,
                                           true,
                                           -1,
                                           0.5,
                                           1e300,
                                           "text",
                                           nlohmann::json::array({"a"}),
                                           nlohmann::json::object({{"a", 1}})};
  const nlohmann::json &here = whole[at];
  for (const nlohmann::json &other : kOthers)
    if (other.type() != here.type()) {
      nlohmann::json changed = whole;
      changed[at] = other;
      seen(changed);
    }
  for (auto one = here.begin(); here.is_structured() && one != here.end(); ++one) {
    nlohmann::json::json_pointer below =
        here.is_object() ? at / one.key() : at / size_t(one - here.begin());
    if (here.is_object()) {
      nlohmann::json without = whole;
      without[at].erase(one.key());
      seen(without);
    }
    replaceEach(whole, below, seen);
  }
}

TEST(JobPlan, SharesOutByWhatWasMeasured) {
  std::vector<TestDurations> tests = {{"m::long", "m", {100, 110, 90, 100, 400}}};
  for (int i = 0; i < 9; ++i)
    tests.push_back({"m::" + std::to_string(i), "m", {10, 10, 10}});
  tests.push_back({"m::new", "m", {}});
  std::vector<Job> jobs = shareOut(tests, 2);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].tests, std::vector<std::string>{"m::long"});
  EXPECT_EQ(jobs[1].tests.size(), 10u);
  EXPECT_EQ(jobs[0].seconds, 100);
  EXPECT_EQ(jobs[1].seconds, 100);
  // 1.5 times the 95th percentile, and ten minutes.
  EXPECT_EQ(jobs[0].timeoutMinutes, 20u);
  // An unknown test is late as its kind is late, not for hours.
  EXPECT_EQ(jobs[1].timeoutMinutes, 15u); // 90 s, and 110 s of the unknown one.
  jobs = shareOut({{"x::a", "x", {}}}, 3);
  EXPECT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].timeoutMinutes, 12u);
}

TEST(JobPlan, IsReadAsItWasWritten) {
  std::string path =
      std::filesystem::temp_directory_path() / ("cupel-jobs-" + std::to_string(::getpid()));
  JobPlan plan{"20261116-000000-0001", {{"a 1/1", "n150", 12.5, 11, {"p::x", "p::y \"z\""}}}};
  std::ofstream(path) << toJson(plan);
  Result<JobPlan> read = readJobPlan(path);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(toJson(*read), toJson(plan));
  std::ofstream(path) << "{}";
  read = readJobPlan(path);
  ASSERT_FALSE(read);
  EXPECT_NE(read.message().find("not a plan of jobs"), std::string::npos);
  std::filesystem::remove(path);
}

/// A number where another kind of number stands may be one that is meant; everything else is
/// refused, and nothing ends the process.
TEST(JobPlan, RefusesOtherKindsOfValuesEverywhere) {
  std::string path =
      std::filesystem::temp_directory_path() / ("cupel-planted-" + std::to_string(::getpid()));
  JobPlan plan{"20261116-000000-0001", {{"a 1/1", "n150", 12.5, 11, {"p::x"}}}};
  size_t count = 0;
  replaceEach(nlohmann::json::parse(toJson(plan)), nlohmann::json::json_pointer(),
              [&](const nlohmann::json &planted) {
                std::ofstream(path) << planted.dump();
                Result<JobPlan> read = readJobPlan(path);
                bool isMeant = read && planted["jobs"].is_array() && !planted["jobs"].empty() &&
                               planted["jobs"][0].is_object() &&
                               planted["jobs"][0].contains("estimated_seconds") &&
                               planted["jobs"][0]["estimated_seconds"].is_number();
                EXPECT_TRUE(!read || isMeant) << planted.dump();
                ++count;
              });
  EXPECT_GT(count, 60u);
  for (const char *text : {"", "{", "[", "\xff", "{\"cupel_jobs\": 2}"}) {
    std::ofstream(path) << text;
    EXPECT_FALSE(readJobPlan(path)) << text;
  }
  std::filesystem::remove(path);
}

TEST(Plan, RefusesOtherKindsOfValuesEverywhere) {
  nlohmann::json plan = nlohmann::json::parse(
      R"({"classes": [{"chips": 2, "memory_bytes": 7}], "chunks": [{"class": 0, "blocks": [{"seconds": 1.5, "tests": [3]}]}]})");
  ASSERT_TRUE(planFromJson(plan.dump()));
  size_t count = 0;
  replaceEach(plan, nlohmann::json::json_pointer(), [&](const nlohmann::json &planted) {
    Result<Plan> read = planFromJson(planted.dump());
    bool isMeant = read && planted != plan &&
                   planted["chunks"][0]["blocks"][0]["seconds"].is_number() &&
                   planted["chunks"][0]["blocks"][0]["seconds"] != 1.5;
    EXPECT_TRUE(!read || isMeant) << planted.dump();
    ++count;
  });
  EXPECT_GT(count, 60u);
  for (const char *text : {"", "{", "\xff", "[]"})
    EXPECT_FALSE(planFromJson(text)) << text;
}

} // namespace
