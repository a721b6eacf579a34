#include "cupel/testbench/slurm/RunFolder.h"

#include "cupel/results/RecordJson.h"
#include "cupel/support/CommandWords.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cupel::testbench::slurm {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kFormat = 1;

} // namespace

std::vector<std::string> RunFolder::runsIn(const std::string &results) {
  std::vector<std::string> runs;
  std::error_code error;
  for (fs::directory_iterator it(results + "/slurm", error), end; !error && it != end;
       it.increment(error))
    if (fs::exists(it->path() / "run.json", error))
      runs.push_back(it->path().filename());
  std::ranges::sort(runs, std::greater<>());
  return runs;
}

std::string jobScript(const Profile &profile, const std::string &folder) {
  // A login shell is what knows `module`.
  std::string text = profile.modules.empty() ? "#!/bin/bash\n" : "#!/bin/bash -l\n";
  for (const std::string &module : profile.modules)
    text += fmt::format("module load {} || exit 1\n", quotedForShell(module));
  for (const std::string &line : profile.before)
    text += line + "\n";
  std::string cupel = profile.cupel.empty() ? executableFolder() + "/cupel" : profile.cupel;
  return text + fmt::format("exec {}{}{} run --task {}:$(($1 + SLURM_ARRAY_TASK_ID))\n",
                            profile.launcher, profile.launcher.empty() ? "" : " ",
                            quotedForShell(cupel), quotedForShell(folder));
}

Status RunFolder::make(const RunDescription &description) const {
  std::error_code error;
  for (const std::string &folder : {claims(), journals(), notes(), logs()}) {
    fs::create_directories(folder, error);
    if (error)
      return Error{folder + ": " + error.message()};
  }
  Json tests = Json::array();
  for (const scale::PlannedTest &test : description.tests)
    tests.push_back({test.name, test.kind, test.seconds, test.chips, test.memoryBytes});
  if (Status status = writeOutput(script(), jobScript(description.profile, root)); !status)
    return status;
  fs::permissions(script(), fs::perms(0755), error);
  // Last: a folder that has it is whole.
  return writeOutput(root + "/run.json",
                     fmt::format("{{\"cupel_slurm\":{},\"run\":{},\"profile\":{},\"plan\":{},"
                                 "\"collection_errors\":{},\"tests\":{}}}\n",
                                 kFormat, results::toJson(description.run),
                                 toJson(description.profile), scale::toJson(description.plan),
                                 description.collectionErrors,
                                 tests.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

Result<RunDescription> RunFolder::read() const {
  std::string path = root + "/run.json";
  Result<FileContents> contents = readInput(path);
  if (!contents)
    return contents.error();
  auto wrong = [&](const std::string &why) {
    return Error{path + ": not the description of a run on Slurm: " + why};
  };
  try {
    Json json = Json::parse(contents->bytes());
    if (json.at("cupel_slurm").get<int>() != kFormat)
      return wrong("it is of another version of Cupel");
    RunDescription description;
    Result<results::RunInfo> run = results::runInfoFromJson(json.at("run").dump());
    Result<Profile> profile = profileFromJson(json.at("profile").dump());
    Result<scale::Plan> plan = scale::planFromJson(json.at("plan").dump());
    if (!run || !profile || !plan)
      return wrong(!run ? run.message() : !profile ? profile.message() : plan.message());
    description.run = std::move(*run);
    description.profile = std::move(*profile);
    description.plan = std::move(*plan);
    description.collectionErrors = json.at("collection_errors").get<uint32_t>();
    for (const Json &test : json.at("tests"))
      description.tests.push_back({test.at(0).get<std::string>(), test.at(1).get<std::string>(),
                                   test.at(2).get<double>(), test.at(3).get<uint32_t>(),
                                   test.at(4).get<uint64_t>()});
    for (const scale::Chunk &chunk : description.plan.chunks)
      for (const scale::Block &block : chunk.blocks)
        for (uint32_t test : block.tests)
          if (test >= description.tests.size())
            return wrong("its plan names a test that it does not have");
    return description;
  } catch (const Json::exception &error) {
    return wrong(error.what());
  }
}

bool RunFolder::isCancelled() const {
  std::error_code error;
  return fs::exists(root + "/cancelled", error);
}

Status RunFolder::cancel(bool yes) const {
  std::string path = root + "/cancelled";
  std::error_code error;
  if (!yes) {
    fs::remove(path, error);
    return error ? Status(Error{path + ": " + error.message()}) : Status();
  }
  // An empty file finds room on a full disk.
  std::ofstream file(path);
  return file ? Status() : Status(Error{path + ": cannot be made; is the folder writable?"});
}

std::vector<std::string> RunFolder::journalPaths() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(journals(), error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".jsonl")
      paths.push_back(it->path());
  std::ranges::sort(paths);
  return paths;
}

void RunFolder::note(const std::string &task, const std::string &line) const {
  std::ofstream(notes() + "/" + task, std::ios::app) << line << std::endl;
}

} // namespace cupel::testbench::slurm
