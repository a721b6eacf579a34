#include "cupel/testbench/scale/JobPlan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace cupel;
using namespace cupel::testbench::scale;

namespace {

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

} // namespace
