// `cupel explore`: the graph of a program at every stage of its compilation, in a browser or as
// files for Model Explorer.

#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/ServeVerbs.h"
#include "cupel/results/graph/ModelExplorer.h"
#include "cupel/results/serve/Explorer.h"
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

int failExplore(std::string_view message, ExitCode code = kExitUsage) { return reportError("explore", message, code); }

/// The program of a workload: the newest form of it.
Result<std::string> programOf(const std::string &folder) {
  std::error_code error;
  for (const char *name : {"program.mlirbc", "program.mlir"})
    if (fs::exists(fs::path(folder) / name, error))
      return (fs::path(folder) / name).string();
  return Error{folder + ": this folder is no workload (it holds no program.mlirbc)"};
}

struct Meant {
  std::string file;
  std::string explanation; ///< Of a failed test, as JSON; empty: there is none.
  std::string what;        ///< How it is called.
};

/// What the user names: a file, a workload, or a test of the store.
Result<Meant> findProgram(const std::string &name, const std::string &results) {
  std::error_code error;
  if (fs::is_directory(name, error)) {
    Result<std::string> program = programOf(name);
    return program ? Result<Meant>(Meant{*program, "", name}) : Result<Meant>(program.error());
  }
  if (fs::exists(name, error) || name == "-")
    return Meant{name, "", name};
  Result<Store> store = openResults(results);
  Result<std::string> test = store ? store->resolveTest(name) : Result<std::string>(store.error());
  if (!test)
    return Error{fmt::format("'{}' is neither a file, nor a workload, nor a test of the results store: {}", name, test.message())};
  Result<std::vector<OutcomeRow>> history = store->history(*test, 20);
  if (!history)
    return history.error();
  Meant meant;
  meant.what = *test;
  for (const OutcomeRow &row : *history) {
    Result<std::optional<TestRecord>> record = store->record(row.run, *test);
    if (!record)
      return record.error();
    if (!*record)
      continue;
    if (auto note = (*record)->notes.find("explanation"); note != (*record)->notes.end() && meant.explanation.empty())
      meant.explanation = note->second;
    if (meant.file.empty() && !(*record)->reproduction.empty())
      if (Result<std::string> program = programOf((*record)->reproduction))
        meant.file = *program;
    // A loader is no program; what comes from a file as a whole is.
    std::string base = (*record)->file;
    auto run = store->run(row.run);
    if (run && fs::path(base).is_relative())
      if (auto folder = run->environment.find("folder"); folder != run->environment.end())
        base = (fs::path(folder->second) / base).lexically_normal().string();
    std::string extension = fs::path(base).extension().string();
    if (meant.file.empty() && (*record)->part == 0 && std::set<std::string>{".mlir", ".mlirbc", ".bc", ".onnx", ".pt2"}.contains(extension) && fs::exists(base, error))
      meant.file = base;
    if (!meant.file.empty())
      return meant;
  }
  return Error{*test + ": no program of it is here. `cupel run --keep-failed DIR` keeps the workloads of failed tests, and a workload can be explored"};
}

/// Asks the worker, in a process of its own: what crashes there harms nothing here.
Result<graph::Graph> makeGraph(const Meant &meant, nlohmann::json request, uint32_t runs, double limit) {
  TemporaryFolder scratch("cupel-explore");
  if (scratch.path.empty())
    return Error{"no temporary folder can be made"};
  std::string output = (scratch.path / "graph.json").string();
  request["file"] = meant.file;
  request["runs"] = runs;
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
  Result<graph::Graph> graph = graph::readGraph(text->bytes());
  if (graph && !meant.explanation.empty())
    if (Status status = serve::addExplanation(*graph, meant.explanation); !status)
      fmt::print(stderr, "warning: {}\n", status.message());
  return graph;
}

/// graph.json, and graph.OVERLAY.json beside it for every overlay.
int writeModelExplorer(const graph::Graph &graph, const std::string &output) {
  if (Status status = writeOutput(output, modelExplorerGraphs(graph)); !status)
    return failExplore(status.message());
  if (output == "-")
    return kExitSuccess;
  std::set<std::string> names;
  for (const graph::GraphStage &stage : graph.stages)
    for (const graph::Overlay &overlay : stage.overlays)
      names.insert(overlay.name);
  std::string files;
  for (const std::string &name : names) {
    std::string word = name;
    std::replace(word.begin(), word.end(), ' ', '-');
    std::string path = (fs::path(output).replace_extension(word + ".json")).string();
    if (Status status = writeOutput(path, modelExplorerOverlay(graph, name)); !status)
      return failExplore(status.message());
    files += (files.empty() ? "" : ",") + path;
  }
  fmt::print("{}\n", output);
  if (!files.empty())
    fmt::print("model-explorer {} --node_data_paths {}\n", shellWord(output), shellWord(files));
  return kExitSuccess;
}

} // namespace

int exploreVerb(const Arguments &arguments) {
  CommandLine line("explore", "Show the graph of a model or program at every stage of its compilation: as StableHLO, in tensor IR\n"
                              "and in device IR, with what each operation costs laid over it, in a browser.");
  line.example("cupel explore model.onnx --open", "its graph in the desktop's browser");
  line.example("cupel explore programs::mlp.mlir --runs 20", "a test of the results store, with times of 20 runs");
  line.example("cupel explore model.mlir --format=model-explorer -o graph.json", "files for Google's Model Explorer");
  ServeOptions options;
  ModelArguments model;
  std::string format = "page", output = "-";
  uint32_t runs = 0;
  double limit = 300;
  model.addTo(line);
  options.addTo(line);
  line.option("--runs", runs, "Run the compiled program so often, on made-up inputs, and show where the time goes").placeholder("N");
  line.option("--format", format, "page: in a browser; model-explorer: JSON files for Model Explorer").oneOf({"page", "model-explorer"}).showDefault();
  line.option("-o", output, "Where files are written; overlays go beside it").placeholder("FILE").showDefault();
  line.option("--timeout", limit, "Seconds until compiling is given up").placeholder("S").between(1, 86400).showDefault();
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  Result<nlohmann::json> request = model.request();
  if (!request)
    return failExplore(request.message());
  Result<Meant> meant = findProgram(model.file, options.results);
  if (!meant)
    return failExplore(meant.message());
  Result<graph::Graph> graph = makeGraph(*meant, *request, runs, limit);
  if (!graph)
    return failExplore(graph.message(), kExitFailure);
  graph->file = meant->what;
  if (format == "model-explorer")
    return writeModelExplorer(*graph, output);
  serve::Explorer explorer;
  explorer.add("program", std::move(*graph));
  auto mount = [&](serve::Site &site) {
    site.mount(std::string(serve::Explorer::kRoot), [&](const serve::HttpRequest &asked) { return explorer.answer(asked); });
  };
  Result<std::unique_ptr<serve::Api>> api = openApi(options.results);
  // Without results there is the explorer alone.
  if (!api)
    api = std::make_unique<serve::Api>(serve::ApiOptions(), []() -> Result<Store> { return Error{"there is no results store here"}; });
  return serveSite("explore", options, **api, mount, "#/graph");
}

} // namespace cupel::cli
