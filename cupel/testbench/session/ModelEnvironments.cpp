#include "cupel/testbench/session/ModelEnvironments.h"

#include <filesystem>
#include <fmt/format.h>

namespace cupel::testbench::session {

namespace fs = std::filesystem;

namespace {

std::string folderOf(const TestItem &item) { return fs::path(item.file).parent_path().string(); }

bool isServedByPython(const TestItem &item) {
  const Kind &kind = kindOf(item);
  return !item.modelPath.empty() && !kind.steps.empty() &&
         kind.steps.front().server == Server::Python;
}

} // namespace

void ModelEnvironments::make(const std::vector<TestItem> &items, runner::RunnerOptions &running,
                             const std::function<void(const std::string &)> &note) {
  if (requirements::disabledByEnvironment() || running.server(Server::Python).command.empty())
    return;
  requirements::EnvironmentOptions options;
  options.cacheFolder = requirements::defaultCacheFolder();
  options.basePython = running.server(Server::Python).command.front();
  options.verbose = requirements::verboseByEnvironment();
  options.log = [&](std::string_view line) { note(std::string(line)); };
  std::map<std::string, uint32_t> groups; // By interpreter.
  for (const TestItem &item : items) {
    bool isSkipped = item.expectation.status == config::TestStatus::NotSupportedSkip;
    if (!isServedByPython(item) || (isSkipped && !running.forceRun))
      continue;
    auto [found, isNew] = byFolder.try_emplace(folderOf(item));
    Made &made = found->second;
    if (isNew && fs::exists(fs::path(found->first) / "requirements.txt")) {
      note(fmt::format("{} asks for packages of its own: its environment is made, or taken from "
                       "the cache",
                       item.modelPath));
      Result<std::string> python = requirements::pythonFor(found->first, options);
      if (!python)
        made.failure = python.message();
      else if (*python != options.basePython)
        made.python = *python;
    }
    // Tests of one environment follow each other: a server is started once for all of them.
    if (!made.python.empty())
      running.forecasts[item.fullName()].group =
          groups.try_emplace(made.python, uint32_t(groups.size() + 1)).first->second;
  }
}

runner::Prepared ModelEnvironments::prepare(const TestItem &item) const {
  runner::Prepared prepared;
  auto found = byFolder.find(folderOf(item));
  if (found == byFolder.end())
    return prepared;
  prepared.python = found->second.python;
  if (!found->second.failure.empty()) {
    results::TestRecord &record = prepared.ended.emplace();
    record.outcome = results::Outcome::Failed;
    record.errorClass = "requirements";
    record.message = found->second.failure;
  }
  return prepared;
}

} // namespace cupel::testbench::session
