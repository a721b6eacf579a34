#include "cupel/testbench/selection/Preset.h"

#include "cupel/testbench/selection/Expression.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cupel::testbench::selection {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class Presets : public testing::Test {
protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("cupel-presets-" + std::to_string(::getpid()));
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  std::string failure(const std::string &text) {
    Result<PresetJobs> result = loadPreset(write("bad.json", text));
    return result ? "loaded" : result.message().substr(folder.string().size() + 1);
  }
  fs::path folder;
};

TEST_F(Presets, ReadsAJob) {
  std::string path = write("a.json", R"([{"runs-on": "n150", "name": "run", "dir": "./tests",
    "test-mark": "push and not large", "contains": "llama", "args": "--emitpy",
    "parallel-groups": 2, "shared-runners": "true", "forge-models": true, "forked": "false"}])");
  Result<PresetJobs> result = loadPreset(path);
  ASSERT_TRUE(bool(result)) << result.message();
  ASSERT_EQ(result->jobs.size(), 1u);
  const PresetJob &job = result->jobs[0];
  EXPECT_EQ(job.runsOn, "n150");
  EXPECT_EQ(job.arch, "n150");
  EXPECT_EQ(job.path, "./tests");
  EXPECT_EQ(job.markers, "push and not large");
  EXPECT_EQ(job.keyword, "llama");
  EXPECT_EQ(job.arguments, "--emitpy");
  EXPECT_EQ(job.groups, 2u);
  EXPECT_TRUE(job.sharedRunners);
  EXPECT_TRUE(job.forgeModels);
  EXPECT_FALSE(job.forked);
  EXPECT_EQ(job.where(), path + ": entry 1 (run on n150)");

  Result<std::string> matrix = jobMatrix(result->jobs, sharedRunnerLabels());
  ASSERT_TRUE(bool(matrix));
  json expected = json::parse(R"({"runs-on": "tt-ubuntu-2204-n150-stable", "name": "run",
    "dir": "./tests", "test-mark": "push and not large", "contains": "llama", "args": "--emitpy",
    "parallel-groups": 2, "shared-runners": true, "forge-models": true, "forked": "false",
    "runs-on-original": "n150", "group-id": 1})");
  json second = expected;
  second["group-id"] = 2;
  EXPECT_EQ(json::parse(*matrix), json::array({expected, second}));
}

TEST_F(Presets, ArchIsPassedOnlyForModels) {
  Result<PresetJobs> result =
      loadPreset(write("a.json", R"([{"runs-on": "n150", "name": "x", "forge-models": false}])"));
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(result->jobs[0].arch, "");
}

TEST_F(Presets, IncludesComeInTheirPlace) {
  write("b.json", R"([{"runs-on": "p150", "name": "b"}])");
  fs::create_directories(folder / "sub");
  write("sub/c.json", R"([{"include": ["../b.json"]}, {"runs-on": "n300", "name": "c"}])");
  std::string path = write("a.json", R"([{"runs-on": "n150", "name": "first"},
    {"include": ["b.json", "sub/c.json"]}, {"runs-on": "n150", "name": "last"}])");
  Result<PresetJobs> result = loadPreset(path);
  ASSERT_TRUE(bool(result)) << result.message();
  std::vector<std::string> names;
  for (const PresetJob &job : result->jobs)
    names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("first", "b", "b", "c", "last"));
}

TEST_F(Presets, CyclesAndBombsAreErrors) {
  std::string a = write("a.json", R"([{"include": ["b.json"]}])");
  write("b.json", R"([{"include": ["./a.json"]}])");
  Result<PresetJobs> result = loadPreset(a);
  ASSERT_FALSE(bool(result));
  EXPECT_THAT(std::string(result.message()), HasSubstr("includes itself: " + a + " -> "));

  write("n0.json", R"([{"runs-on": "cpu", "name": "x"}])");
  for (int i = 1; i < 12; ++i) {
    std::string below = "\"n" + std::to_string(i - 1) + ".json\"";
    write("n" + std::to_string(i) + ".json",
          "[{\"include\": [" + below + "," + below + "," + below + "," + below + "]}]");
  }
  Result<PresetJobs> bomb = loadPreset((folder / "n11.json").string());
  ASSERT_FALSE(bool(bomb));
  EXPECT_THAT(std::string(bomb.message()), HasSubstr("too many includes"));
}

TEST_F(Presets, ErrorsSayWhere) {
  EXPECT_THAT(failure("[{\"a\": 1},\n {\"b\" 2}]"), HasSubstr("bad.json:2:7: not JSON"));
  EXPECT_EQ(failure("{}"), "bad.json:1:1: expected a list of jobs at the top of the file");
  EXPECT_EQ(failure("[3]"), "bad.json: entry 1: expected a job, an object in braces");
  EXPECT_EQ(failure(R"([{"name": "x"}])"),
            "bad.json: entry 1 (x): the field \"runs-on\" is missing");
  EXPECT_EQ(failure(R"([{"name": "x", "runs-on": 3}])"),
            "bad.json: entry 1 (x): runs-on: expected a text in quotes");
  EXPECT_EQ(failure(R"([{"name": "x", "runs-on": "n150", "forked": "yes"}])"),
            "bad.json: entry 1 (x on n150): forked: expected true, false, \"true\" or \"false\"");
  EXPECT_EQ(failure(R"([{"name": "x", "runs-on": "n150", "parallel-groups": 0}])"),
            "bad.json: entry 1 (x on n150): parallel-groups: expected a number from 1 to 1000");
  EXPECT_EQ(failure(R"([{"include": "b.json"}])"),
            "bad.json: entry 1: include: expected a list of file names");
  EXPECT_THAT(failure(R"([{"include": ["none.json"]}])"), HasSubstr("none.json"));
  EXPECT_THAT(failure(std::string(2000000, '[')), HasSubstr("not JSON"));
  EXPECT_THAT(failure("[\"\xff\"]"), HasSubstr("not JSON"));
  EXPECT_THAT(failure(""), HasSubstr("not JSON"));
}

TEST_F(Presets, UnknownFieldsAndLabels) {
  Result<PresetJobs> result = loadPreset(
      write("a.json",
            R"([{"runs-on": "n1500", "name": "x", "test-marks": "a", "shared-runners": true}])"));
  ASSERT_TRUE(bool(result));
  ASSERT_EQ(result->warnings.size(), 1u);
  EXPECT_THAT(
      result->warnings[0],
      EndsWith("entry 1 (x on n1500): unknown field \"test-marks\"; did you mean test-mark?"));
  Result<std::string> matrix = jobMatrix(result->jobs, sharedRunnerLabels());
  ASSERT_FALSE(bool(matrix));
  EXPECT_THAT(std::string(matrix.message()), HasSubstr("no shared machine is known for n1500"));
}

TEST_F(Presets, JobsAreFoundByName) {
  std::string path = write("a.json", R"([{"runs-on": "n150", "name": "run"},
    {"runs-on": "p150", "name": "run"}, {"runs-on": "p150", "name": "other"}])");
  EXPECT_EQ(findPresetJobs(path)->jobs.size(), 3u);
  EXPECT_EQ(findPresetJobs(path + ":run")->jobs.size(), 2u);
  EXPECT_EQ(findPresetJobs(path + ":run@p150")->jobs.size(), 1u);
  EXPECT_EQ(std::string(findPresetJobs(path + ":ruun").message()),
            path + ": no job is called ruun; did you mean run?");
  EXPECT_EQ(std::string(findPresetJobs(path + ":run@n300").message()),
            path + ": no job is called run@n300; it has run@n150, run@p150, other@p150");
  ASSERT_EQ(findPresetJobs(path + ":#3")->jobs.size(), 1u);
  EXPECT_EQ(findPresetJobs(path + ":#3")->jobs.front().name, "other");
  EXPECT_EQ(std::string(findPresetJobs(path + ":#4").message()), path + ": has no entry 4");
}

TEST_F(Presets, JobsAreSplitByWhatTheirTestsTook) {
  std::string path = write("a.json", R"([{"runs-on": "n150", "name": "long"},
    {"runs-on": "n150", "name": "short", "parallel-groups": 4},
    {"runs-on": "n150", "name": "unknown", "parallel-groups": 3},
    {"runs-on": "n150", "name": "few"}])");
  std::vector<PresetJob> jobs = findPresetJobs(path)->jobs;
  jobs[0].measured = {100, 900};
  jobs[1].measured = {10, 30};
  jobs[2].measured = {10, 0};
  jobs[3].measured = {2, 900};
  for (PresetJob &job : jobs)
    job.splitByDuration(200);
  EXPECT_EQ(jobs[0].groups, 5u);
  EXPECT_EQ(jobs[1].groups, 1u);
  EXPECT_EQ(jobs[2].groups, 3u) << "never measured: its own number stays";
  EXPECT_EQ(jobs[3].groups, 2u) << "no group is empty";
  Result<std::string> matrix = jobMatrix(jobs, sharedRunnerLabels(), true);
  ASSERT_TRUE(matrix) << matrix.message();
  EXPECT_THAT(*matrix, HasSubstr(R"("tests":100,"estimated-seconds":180,"parallel-groups":5,"group-id":5})"));
  EXPECT_THAT(*matrix, HasSubstr(R"("parallel-groups":1,"tests":10,"estimated-seconds":30,"group-id":1})"));
}

TEST_F(Presets, TheRealOnesLoad) {
  const char *given = std::getenv("CUPEL_REAL_PRESETS");
  std::string real =
      given ? given : CUPEL_SOURCE_DIR "/../shared/realworld/tt-xla/test-matrix-presets";
  if (!fs::is_directory(real))
    GTEST_SKIP() << "the real presets are not here; set CUPEL_REAL_PRESETS";
  size_t files = 0, jobs = 0;
  for (const fs::directory_entry &file : fs::directory_iterator(real)) {
    ++files;
    Result<PresetJobs> result = loadPreset(file.path().string());
    ASSERT_TRUE(bool(result)) << result.message();
    EXPECT_THAT(result->warnings, ElementsAre());
    jobs += result->jobs.size();
    for (const PresetJob &job : result->jobs) {
      EXPECT_TRUE(bool(Expression::parse(job.markers))) << job.where();
      EXPECT_TRUE(bool(Expression::parse(job.keyword))) << job.where();
    }
    Result<std::string> matrix = jobMatrix(result->jobs, sharedRunnerLabels());
    ASSERT_TRUE(bool(matrix)) << matrix.message();
  }
  EXPECT_EQ(files, 27u);
  EXPECT_GT(jobs, 164u); // 164 are written down; included ones count again.
}

} // namespace
} // namespace cupel::testbench::selection
