#include "cupel/cli/ExploreTarget.h"

#include "cupel/cli/ResultsStore.h"
#include "cupel/results/serve/GraphOverlays.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/support/TemporaryFolder.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace cupel::cli {
namespace {

using namespace cupel::results;
namespace fs = std::filesystem;

/// The program of a workload: the newest form of it.
Result<std::string> programOf(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"program.mlirbc", "program.mlir"})
    if (fs::exists(fs::path(folder) / name, error))
      return (fs::path(folder) / name).string();
  return Error{folder + ": this folder is no workload (it holds no program.mlirbc)"};
}

} // namespace

Result<ExploreTarget> findExploredTest(const std::string &name, Store &store) {
  Result<std::string> test = store.resolveTest(name);
  if (!test)
    return test.error();
  Result<std::vector<OutcomeRow>> history = store.history(*test, 20);
  if (!history)
    return history.error();
  ExploreTarget meant;
  meant.what = *test;
  std::error_code error;
  for (const OutcomeRow &row : *history) {
    Result<std::optional<TestRecord>> record = store.record(row.run, *test);
    if (!record)
      return record.error();
    if (!*record)
      continue;
    if (auto note = (*record)->notes.find("explanation"); note != (*record)->notes.end() && meant.explanation.empty())
      meant.explanation = note->second;
    if (meant.device.empty())
      meant.device = (*record)->device;
    if (meant.file.empty() && !(*record)->reproduction.empty())
      if (Result<std::string> program = programOf((*record)->reproduction)) {
        meant.file = *program;
        meant.target = (*record)->reproduction;
      }
    // A loader is no program; what comes from a file as a whole is.
    std::string base = (*record)->file;
    auto run = store.run(row.run);
    if (run && fs::path(base).is_relative())
      if (auto folder = run->environment.find("folder"); folder != run->environment.end())
        base = (fs::path(folder->second) / base).lexically_normal().string();
    std::string extension = fs::path(base).extension().string();
    if (meant.file.empty() && (*record)->part == 0 && std::set<std::string>{".mlir", ".mlirbc", ".bc", ".onnx", ".pt2"}.contains(extension) && fs::exists(base, error))
      meant.file = meant.target = base;
    if (!meant.file.empty())
      return meant;
  }
  return Error{*test + ": no program of it is here. `cupel run --keep-failed DIR` keeps the workloads of failed tests, and a workload can be explored"};
}

Result<ExploreTarget> findExploreTarget(const std::string &name, const std::string &results) {
  std::error_code error;
  if (fs::is_directory(name, error)) {
    Result<std::string> program = programOf(name);
    if (!program)
      return program.error();
    return ExploreTarget{.file = *program, .target = name, .explanation = {}, .what = name, .device = {}};
  }
  if (fs::exists(name, error) || name == "-")
    return ExploreTarget{.file = name, .target = name, .explanation = {}, .what = name, .device = {}};
  Result<Store> store = openResults(results);
  Result<ExploreTarget> test = store ? findExploredTest(name, *store) : Result<ExploreTarget>(store.error());
  if (!test)
    return Error{fmt::format("'{}' is neither a file, nor a workload, nor a test of the results store: {}", name, test.message())};
  return test;
}

Result<std::string> makeGraphText(const ExploreTarget &meant, nlohmann::json request, double limit) {
  TemporaryFolder scratch("cupel-explore");
  if (scratch.path.empty())
    return Error{"no temporary folder can be made"};
  std::string output = (scratch.path / "graph.json").string();
  request["file"] = meant.file;
  request["output"] = output;
  Result<CommandOutput> ran = runCommand({executableFolder() + "/cupel-worker", "graph", request.dump()}, std::chrono::seconds(int64_t(limit)));
  if (!ran)
    return ran.error();
  if (ran->exitCode != 0) {
    std::string said = ran->text.substr(0, ran->text.find_last_not_of('\n') + 1);
    if (constexpr std::string_view kStart = "cupel explore: error: "; said.starts_with(kStart))
      said.erase(0, kStart.size());
    std::replace(said.begin(), said.end(), '\n', ' ');
    return Error{said.empty() ? fmt::format("the worker ended with {} while it compiled {}", ran->exitCode, meant.what) : said};
  }
  Result<FileContents> text = readInput(output);
  if (!text)
    return text.error();
  return std::string(text->bytes());
}

Result<graph::Graph> makeGraph(const ExploreTarget &meant, nlohmann::json request, double limit) {
  Result<std::string> text = makeGraphText(meant, std::move(request), limit);
  return text ? graph::readGraph(*text) : Result<graph::Graph>(text.error());
}

void completeGraph(graph::Graph &graph, const ExploreTarget &target) {
  graph.file = target.what;
  serve::addPlacement(graph);
  if (!target.explanation.empty())
    if (auto added = serve::addExplanation(graph, target.explanation); !added)
      fmt::print(stderr, "warning: {}\n", added.message());
}

} // namespace cupel::cli
