#include "cupel/testbench/slurm/ChipLocks.h"
#include "cupel/testbench/slurm/Commands.h"
#include "cupel/testbench/slurm/RunFolder.h"
#include "cupel/testbench/slurm/Submissions.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::testbench::slurm;
namespace scale = cupel::testbench::scale;

namespace {

struct Folder {
  Folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "cupel-slurm-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(path + "/" + name) << text;
    return path + "/" + name;
  }
  std::string path;
};

bool has(const std::vector<std::string> &words, const std::string &word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(Profile, SaysWhatALabWants) {
  Folder folder;
  std::string file = folder.write("cupel.yaml", R"(
results: here
slurm:
  default:
    partition: lab
  night:
    partition: night
    account: bringup
    time: 2:00:00
    memory: 16G
    cpus: 4
    gres: accel:{arch}
    constraint: "{arch}&fast"
    modules: [cupel/1, python]
    before: "source env.sh"
    options: [--qos=low]
    launcher: srun
    at_once: 20
    drain: true
)");
  Result<Profile> night = readProfile(file, "night");
  ASSERT_TRUE(night) << night.message();
  EXPECT_EQ(night->memoryBytes, uint64_t(16) << 30);
  EXPECT_EQ(night->modules, (std::vector<std::string>{"cupel/1", "python"}));
  EXPECT_TRUE(night->drain);
  Result<Profile> again = profileFromJson(toJson(*night));
  ASSERT_TRUE(again) << again.message();
  EXPECT_EQ(*again, *night);
  EXPECT_EQ(readProfile(file, "")->partition, "lab");
  EXPECT_EQ(readProfile("", "")->name, "default");

  JobRequest request{.name = "j", .tasks = "0-7", .firstChunk = 3, .needs = {2, uint64_t(32) << 30},
                     .arch = "n300", .script = "/s/job.sh", .logs = "/s/logs", .folder = "/s",
                     .excludedNodes = "n9"};
  Result<std::vector<std::string>> words = submitWords(*night, request);
  ASSERT_TRUE(words) << words.message();
  for (const char *word :
       {"--parsable", "--array=0-7%20", "--requeue", "--open-mode=append", "--partition=night",
        "--account=bringup", "--time=2:00:00", "--gres=accel:n300:2", "--constraint=n300&fast",
        "--mem=40960M", "--cpus-per-task=4", "--exclude=n9", "--qos=low"})
    EXPECT_TRUE(has(*words, word)) << word;
  EXPECT_EQ(words->back(), "3");
  request.arch.clear();
  EXPECT_NE(submitWords(*night, request).message().find("give --arch"), std::string::npos);

  std::string script = jobScript(*night, "/shared/it's here");
  EXPECT_NE(script.find("#!/bin/bash -l\nmodule load"), std::string::npos) << script;
  EXPECT_NE(script.find("source env.sh\nexec srun "), std::string::npos) << script;
  EXPECT_NE(script.find(":$(($1 + SLURM_ARRAY_TASK_ID))"), std::string::npos) << script;
}

TEST(Profile, ToldWrongItSaysWhere) {
  Folder folder;
  auto told = [&](const std::string &text, const std::string &name = "a") {
    return readProfile(folder.write("cupel.yaml", text), name).message();
  };
  EXPECT_NE(told("slurm:\n  a:\n    partitoin: x\n").find("cupel.yaml:3:5: unknown name "
                                                           "'partitoin' in a profile of Slurm; did "
                                                           "you mean 'partition'?"),
            std::string::npos);
  EXPECT_NE(told("slurm:\n  a:\n    memory: much\n").find("'memory' wants an amount such as 16G"), std::string::npos);
  EXPECT_NE(told("slurm:\n  a:\n    cpus: 0\n").find("'cpus' wants a number of at least 1"), std::string::npos);
  EXPECT_NE(told("slurm:\n  a:\n    stale_seconds: -1\n").find("seconds above 0"), std::string::npos);
  EXPECT_NE(told("slurm:\n  b: {}\n  c: {}\n").find("there are: b, c"), std::string::npos);
  EXPECT_NE(told("slurm: yes\n").find("'slurm' is a mapping"), std::string::npos);
  EXPECT_NE(readProfile("", "a").message().find("there is no such profile"), std::string::npos);
}

TEST(Commands, ReadWhatSlurmSays) {
  auto tasks = parseLiveTasks("12|3|cupel-a|RUNNING|None|n2\n"
                              "12|4|cupel-a|PENDING|launch failed requeued held|\n"
                              "13|0|cupel-b|PENDING|BeginTime|\nnonsense\n"
                              "13|1|cupel-b|PENDING|JobHeldUser|\n");
  ASSERT_EQ(tasks.size(), 4u);
  EXPECT_TRUE(tasks[3].isHeldByUser());
  EXPECT_FALSE(tasks[3].isHeldByAccident() || tasks[1].isHeldByUser());
  EXPECT_TRUE(tasks[0].isRunning());
  EXPECT_EQ(tasks[0].node, "n2");
  EXPECT_TRUE(tasks[1].isHeldByAccident());
  EXPECT_FALSE(tasks[2].isHeldByAccident());
  EXPECT_EQ(explain(parseNodesOut("n1|Duplicate jobid\nn2|Duplicate jobid\nn1|Duplicate "
                                  "jobid\nn7|Not responding\nnonsense\n")),
            "n1,n2 take no jobs: Duplicate jobid; n7 take no jobs: Not responding (scontrol update "
            "NodeName=... State=RESUME puts a node back)");
  EXPECT_EQ(explain(parseNodesOut("")), "");
  Profile profile;
  profile.name = "night";
  EXPECT_EQ(explain("sbatch: error: invalid partition specified: nosuch\nsbatch: error: Batch job "
                    "submission failed: Invalid partition name specified\n",
                    profile),
            "invalid partition specified: nosuch (partition of profile 'night' in cupel.yaml; sinfo "
            "lists those there are)");
  EXPECT_NE(explain("sbatch: error: Invalid generic resource (gres) specification", profile)
                .find("gres of profile 'night'"),
            std::string::npos);
  EXPECT_NE(explain("sbatch: error: s_p_parse_file: cannot stat file /x: No such file, retrying in "
                    "1sec up to 60sec\nsbatch: fatal: Unable to process configuration file",
                    profile)
                .find("SLURM_CONF names one"),
            std::string::npos);
  EXPECT_NE(explain("squeue: error: Unable to contact slurm controller (connect failure)", profile)
                .find("is slurmctld up?"),
            std::string::npos);
}

TEST(Submissions, AreKnownAfterAKillAndRefusedOnesAreNot) {
  Folder folder;
  std::string path = folder.path + "/submissions.jsonl";
  {
    Result<Submissions> first = Submissions::open(path);
    ASSERT_TRUE(first);
    ASSERT_TRUE(first->intend({"a", 0, "0-3", ""}));
    ASSERT_TRUE(first->submitted("a", "12"));
    ASSERT_TRUE(first->intend({"b", 1, "0,2", ""}));
    ASSERT_TRUE(first->refused("b"));
    ASSERT_TRUE(first->intend({"c", 1, "0,2", ""}));
  }
  std::ofstream(path, std::ios::app) << "{\"submitted\":\"c\",\"jo"; // Killed while it wrote.
  Result<Submissions> later = Submissions::open(path);
  ASSERT_TRUE(later);
  ASSERT_EQ(later->all().size(), 2u);
  EXPECT_EQ(later->all()[0].job, "12");
  EXPECT_EQ(later->all()[1].name, "c");
  EXPECT_EQ(later->all()[1].job, "");
  EXPECT_EQ(later->all()[1].tasks, "0,2");
  ASSERT_TRUE(later->submitted("c", "13"));
  EXPECT_EQ(Submissions::open(path)->all()[1].job, "13");
}

TEST(RunFolder, HoldsWhatTasksNeed) {
  Folder folder;
  RunDescription description;
  description.run.id = "20261116-000000-0001";
  description.run.commandLine = {"cupel", "run", "x"};
  description.tests = {{"programs::a", "programs", 3, 2, 100}, {"programs::b", "programs"}};
  description.plan = scale::makePlan(description.tests, {});
  description.profile.partition = "lab";
  RunFolder run = RunFolder::of(folder.path, description.run.id);
  ASSERT_TRUE(run.make(description));
  EXPECT_EQ(RunFolder::runsIn(folder.path), std::vector<std::string>{description.run.id});
  Result<RunDescription> read = run.read();
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->run, description.run);
  EXPECT_EQ(read->profile, description.profile);
  EXPECT_EQ(scale::toJson(read->plan), scale::toJson(description.plan));
  EXPECT_EQ(read->tests[0].chips, 2u);
  EXPECT_FALSE(run.isCancelled());
  ASSERT_TRUE(run.cancel(true));
  EXPECT_TRUE(run.isCancelled());
  ASSERT_TRUE(run.cancel(false));
  EXPECT_FALSE(run.isCancelled());
  EXPECT_FALSE(RunFolder::of(folder.path, "other").read());
}

TEST(ChipLocks, AChipIsOneTasks) {
  Folder folder;
  auto never = [] { return false; };
  EXPECT_EQ(chipsOfJob("0,1", ""), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(chipsOfJob("", "   Nodes=n1 CPU_IDs=0 Mem=0 GRES=accel:3(IDX:0-1,4)"),
            (std::vector<uint32_t>{0, 1, 4}));
  EXPECT_TRUE(chipsOfJob("", "GRES=accel(CNT:1)").empty());
  {
    Result<ChipLocks> two = ChipLocks::take(folder.path, "n1", {0, 1}, 2, never);
    ASSERT_TRUE(two) << two.message();
    EXPECT_FALSE(ChipLocks::take(folder.path, "n1", {1, 2}, 2, never));
    EXPECT_TRUE(ChipLocks::take(folder.path, "n2", {1, 2}, 2, never)); // Another node's.
    // Slurm only counted: the first that is free.
    Result<ChipLocks> any = ChipLocks::take(folder.path, "n1", {}, 1, never);
    ASSERT_TRUE(any);
    EXPECT_EQ(any->numbers(), std::vector<uint32_t>{2});
  }
  EXPECT_TRUE(ChipLocks::take(folder.path, "n1", {0, 1}, 2, never));
}

} // namespace
