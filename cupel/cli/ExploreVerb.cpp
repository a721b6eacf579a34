// `cupel explore`: the graph of a program at every stage of its compilation, in a browser or as
// files for Model Explorer.

#include "cupel/cli/ExploreTarget.h"
#include "cupel/cli/ModelArguments.h"
#include "cupel/cli/OperationOptions.h"
#include "cupel/cli/PageJobs.h"
#include "cupel/cli/ServeVerbs.h"
#include "cupel/results/graph/ModelExplorer.h"
#include "cupel/results/serve/Explorer.h"
#include "cupel/results/serve/GraphOverlays.h"
#include "cupel/support/Files.h"

#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace cupel::cli {
namespace {

using namespace cupel::results;
namespace fs = std::filesystem;

int failExplore(std::string_view message, ExitCode code = kExitUsage) { return reportError("explore", message, code); }

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

/// `NAME=VALUE` each.
Status readOptions(const std::vector<std::string> &given, nlohmann::json &request) {
  for (const std::string &one : given) {
    size_t at = one.find('=');
    if (at == std::string::npos)
      return Error{"--option: '" + one + "' is not NAME=VALUE"};
    request["options"][one.substr(0, at)] = one.substr(at + 1);
  }
  return {};
}

Status readNodes(const std::vector<std::string> &given, nlohmann::json &request) {
  for (const std::string &one : given) {
    uint64_t node = 0;
    auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), node);
    if (error != std::errc() || end != one.data() + one.size())
      return Error{"--extract: '" + one + "' is no number of a node"};
    request["extract"].push_back(node);
  }
  return {};
}

/// `NODE:WHAT` each.
Status readOverrides(const std::vector<std::string> &given, nlohmann::json &request) {
  for (const std::string &one : given) {
    size_t colon = one.find(':');
    uint64_t node = 0;
    auto [end, error] = std::from_chars(one.data(), one.data() + std::min(colon, one.size()), node);
    if (colon == std::string::npos || error != std::errc() || end != one.data() + colon)
      return Error{"--override: '" + one + "' is not NODE:WHAT, such as 12:fusion-barrier"};
    request["overrides"].push_back({node, one.substr(colon + 1)});
  }
  return {};
}

} // namespace

int exploreVerb(const Arguments &arguments) {
  CommandLine line("explore", "Show the graph of a model or program at every stage of its compilation: as its framework wrote it, as\n"
                              "StableHLO, in tensor IR and in device IR, with what each operation costs laid over it, in a browser.");
  line.example("cupel explore model.onnx --open", "its graph in the desktop's browser");
  line.example("cupel explore programs::mlp.mlir --runs 20", "a test of the results store, with times of 20 runs");
  line.example("cupel explore model.mlir --device plugin.so --open", "with a device that jobs of the page may run it on");
  line.example("cupel explore model.mlir --format=model-explorer -o graph.json", "files for Google's Model Explorer");
  ServeOptions options;
  ModelArguments model;
  std::string format = "page", output = "-", program, explanation, opTable;
  uint32_t runs = 0;
  double limit = 300;
  uint64_t values = 0;
  std::vector<std::string> compileOptions, overrides, extract;
  bool noComposites = false;
  model.addTo(line);
  options.addTo(line);
  line.option("--runs", runs, "Run the compiled program so often, on made-up inputs, and show where the time goes").placeholder("N");
  line.option("--values", values, "Evaluate it on the reference with inputs of this seed, and show statistics of every value").placeholder("SEED");
  line.flag("--no-composites", noComposites, "Write out Gelu, LayerNormalization, Softmax, ... of a model");
  line.option("--option", compileOptions, "An option of our own device that it is compiled with (docs/reference/plugin-options.md); may be repeated").placeholder("NAME=VALUE").oneValueEach();
  line.option("--override", overrides, "Change one operation, by its number in the graph of StableHLO, before it is compiled: " + listOperationOptions(true) + "; may be repeated").placeholder("NODE:WHAT").oneValueEach();
  line.option("--extract", extract, "Only these operations of it, as a program of their own: numbers in the graph of StableHLO").placeholder("NODE,...").delimiter(',').oneValueEach();
  line.option("--save-program", program, "Write the program, with what --override and --extract made of it, as StableHLO").placeholder("FILE");
  line.option("--explanation", explanation, "Show what `cupel explain --json` found: the error against the reference by depth, and what is to blame").placeholder("FILE");
  line.option("--op-table", opTable, "Show a table of operations that `cupel run --depth execute-op-by-op` made: NAME_unique_ops.json").placeholder("FILE");
  line.option("--format", format, "page: in a browser; model-explorer: JSON files for Model Explorer; graph: our own JSON").oneOf({"page", "model-explorer", "graph"}).showDefault();
  line.option("-o", output, "Where files are written; overlays go beside it").placeholder("FILE").showDefault();
  line.option("--timeout", limit, "Seconds until compiling is given up").placeholder("S").between(1, 86400).showDefault();
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  Result<nlohmann::json> request = model.request();
  if (!request)
    return failExplore(request.message());
  (*request)["runs"] = runs;
  (*request)["composites"] = !noComposites;
  if (line.given("--values"))
    (*request)["values"] = values;
  if (!program.empty())
    (*request)["program_output"] = program;
  for (Status status : {readOptions(compileOptions, *request), readOverrides(overrides, *request), readNodes(extract, *request)})
    if (!status)
      return failExplore(status.message());
  Result<ExploreTarget> meant = findExploreTarget(model.file, options.results);
  if (!meant)
    return failExplore(meant.message());
  if (format == "graph") {
    Result<std::string> text = makeGraphText(*meant, *request, limit);
    if (!text)
      return failExplore(text.message(), kExitFailure);
    Status status = writeOutput(output, *text);
    return status ? int(kExitSuccess) : failExplore(status.message());
  }
  Result<graph::Graph> graph = makeGraph(*meant, *request, limit);
  if (!graph)
    return failExplore(graph.message(), kExitFailure);
  if (!explanation.empty()) {
    Result<FileContents> text = readInput(explanation);
    if (!text)
      return failExplore(text.message());
    meant->explanation = text->bytes();
  }
  completeGraph(*graph, *meant);
  if (!opTable.empty()) {
    Result<OpTable> table = readOpTable(opTable);
    if (!table)
      return failExplore(table.message());
    serve::addOpTable(*graph, *table);
  }
  if (format == "model-explorer")
    return writeModelExplorer(*graph, output);
  serve::Explorer explorer;
  explorer.add("program", std::move(*graph));
  PageJobs jobs(explorer, options.results, options.devices);
  if (!program.empty())
    meant->file = meant->target = program;
  jobs.add("program", {*meant, model.words()});
  Result<std::unique_ptr<serve::Api>> api = openApi(options.results);
  // Without results there is the explorer alone.
  if (!api)
    api = std::make_unique<serve::Api>(serve::ApiOptions(), []() -> Result<Store> { return Error{"there is no results store here"}; });
  return serveSite("explore", options, **api, [&](serve::Site &site) { jobs.mountOn(site); }, "graph");
}

} // namespace cupel::cli
