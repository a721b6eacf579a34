#include "cupel/cli/PageJobs.h"

#include "cupel/cli/PageJobForms.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/results/Explanation.h"
#include "cupel/results/serve/GraphOverlays.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {
namespace {

using namespace cupel::results;
using namespace cupel::results::serve;
using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::string textOf(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string in(const std::string &folder, const char *name) { return (fs::path(folder) / name).string(); }

/// A verb of `cupel`. What comes behind its name are options with their values in one word each, or
/// paths that the server itself chose.
JobCommand verb(std::vector<std::string> words, std::vector<int> alsoGood = {}) {
  words.insert(words.begin(), executableFolder() + "/cupel");
  return {.words = std::move(words), .alsoGood = std::move(alsoGood)};
}

void append(std::vector<std::string> &words, const std::vector<std::string> &more) { words.insert(words.end(), more.begin(), more.end()); }

/// A device with the options that a form has for our own; others have none of ours.
std::string deviceWord(const JobValues &values, const std::vector<std::string> &others) {
  std::string device = values.at("device");
  if (device == "reference" || std::ranges::find(others, device) != others.end())
    return device;
  std::string separator = "?";
  for (const std::string &option : deviceOptionsIn(values)) {
    device += separator + option;
    separator = "&";
  }
  return device;
}

void addPrecision(std::vector<std::string> &words, const JobValues &values) {
  if (const std::string &precision = values.at("precision"); precision != "(declared)")
    words.push_back("--precision=" + precision);
}

Result<Json> readJson(const std::string &file) {
  Result<FileContents> contents = readInput(file);
  if (!contents)
    return contents.error();
  Json json = Json::parse(contents->bytes(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error{file + ": is no JSON"};
  return json;
}

bool isModel(const std::string &file) { return file.ends_with(".onnx") || file.ends_with(".pt2"); }

/// What a run's report says of its tests, in one sentence: the worst of them.
Json resultOfRun(const Json &report, const std::string &folder) {
  Json worst = nullptr, files = Json::array();
  for (const Json &test : report.value("tests", Json::array())) {
    bool isBad = test.value("outcome", "") != "passed";
    if (worst.is_null() || (isBad && worst.value("outcome", "") == "passed"))
      worst = test;
    if (std::string kept = test.value("reproduction", ""); kept.starts_with(folder + "/"))
      files.push_back(kept.substr(folder.size() + 1));
  }
  if (worst.is_null())
    return {{"sentence", "nothing ran"}, {"files", files}};
  std::string sentence = worst.value("outcome", "");
  Json comparisons = worst.value("comparisons", Json::array());
  auto wrong = std::ranges::find_if(comparisons, [](const Json &one) { return !one.value("passed", true); });
  std::string why = wrong != comparisons.end() ? wrong->value("sentence", "") : worst.value("message", "");
  if (why.empty() && !comparisons.empty())
    why = comparisons.front().value("sentence", "");
  if (!why.empty())
    sentence += ": " + why;
  return {{"sentence", sentence}, {"outcome", worst.value("outcome", "")}, {"stage", worst.value("last_stage", "")}, {"seconds", worst.value("seconds", 0.0)}, {"comparisons", comparisons}, {"files", files}};
}

} // namespace

PageJobs::PageJobs(Explorer &explorer, std::string results, std::vector<std::string> others)
    : explorer(explorer), results(std::move(results)), devices(std::move(others)),
      jobs(pageJobKinds(devices), [this](const JobKind &kind, const std::string &key, const JobValues &values, const std::string &folder) { return planOf(kind, key, values, folder); }) {}

void PageJobs::add(std::string key, OpenProgram program) {
  std::error_code error;
  // Jobs run in folders of their own.
  for (std::string *path : {&program.target.file, &program.target.target})
    *path = fs::absolute(*path, error).string();
  std::lock_guard lock(mutex);
  programs[std::move(key)] = std::move(program);
}

void PageJobs::mountOn(Site &site) {
  site.mount(std::string(Explorer::kRoot), [this](const HttpRequest &asked) { return explorer.answer(asked); });
  site.mount(std::string(Jobs::kRoot), [this](const HttpRequest &asked) { return jobs.answer(asked); });
}

Result<JobPlan> PageJobs::planOf(const JobKind &kind, const std::string &key, const JobValues &values, const std::string &folder) {
  if (kind.name == "open")
    return planOpen(values, folder);
  OpenProgram program;
  {
    std::lock_guard lock(mutex);
    auto found = programs.find(key);
    if (found == programs.end())
      return Error{"the program '" + key + "' is not open"};
    program = found->second;
  }
  if (program.target.target.ends_with("/-"))
    return Error{"a program from standard input cannot be read again; save it as a file"};
  if (kind.name == "compile")
    return planCompile(key, program, values, folder);
  if (kind.name == "extract")
    return planExtract(key, program, values, folder);
  if (kind.name == "run")
    return planRun(program, values, folder);
  if (kind.name == "explain")
    return planExplain(key, program, values, folder);
  if (kind.name == "op-by-op")
    return planOpByOp(key, program, values, folder);
  if (kind.name == "values")
    return planOverlays(key, program, {"--values=" + values.at("seed")}, "Value statistics", "largest magnitude", "stablehlo", folder);
  if (kind.name == "time")
    return planOverlays(key, program, {"--runs=" + values.at("runs")}, "Times of " + values.at("runs") + " runs", "time", "device", folder);
  if (kind.name == "workload")
    return planWorkload(program, values, folder);
  return Error{"there is no such kind of job"};
}

Result<std::string> PageJobs::openGraph(const std::string &file, const std::string &key, OpenProgram program, const std::vector<std::string> &files) {
  Result<FileContents> text = readInput(file);
  if (!text)
    return text.error();
  Result<graph::Graph> graph = graph::readGraph(text->bytes());
  if (!graph)
    return graph.error();
  completeGraph(*graph, program.target);
  size_t nodes = graph->stages.empty() ? 0 : graph->stages.front().nodes.size();
  explorer.add(key, std::move(*graph));
  add(key, std::move(program));
  return textOf({{"sentence", fmt::format("{} nodes", nodes)}, {"key", key}, {"files", files}});
}

Status PageJobs::changeGraph(const std::string &key, const std::function<Status(graph::Graph &)> &change) {
  std::lock_guard lock(changing);
  std::shared_ptr<const graph::Graph> known = explorer.find(key);
  if (!known)
    return Error{"the program '" + key + "' is not open any more"};
  graph::Graph copy = *known;
  if (Status status = change(copy); !status)
    return status;
  explorer.add(key, std::move(copy));
  return {};
}

Result<JobPlan> PageJobs::planOpen(const JobValues &values, const std::string &folder) {
  Result<Store> store = openResults(results);
  if (!store)
    return store.error();
  Result<ExploreTarget> target = findExploredTest(values.at("test"), *store);
  if (!target)
    return target.error();
  std::string output = in(folder, "graph.json");
  return JobPlan{.title = "Graph of " + target->what,
                 .commands = {verb({"explore", fs::absolute(target->file).string(), "--format=graph", "-o", output})},
                 .finish = [this, output, target = *target] { return openGraph(output, target.what, {target, {}}, {}); }};
}

JobPlan PageJobs::planCompile(const std::string &key, const OpenProgram &program, const JobValues &values, const std::string &folder) {
  std::string output = in(folder, "graph.json"), saved = in(folder, "program.mlir");
  std::vector<std::string> words = {"explore", program.target.file, "--format=graph", "-o", output, "--save-program", saved};
  append(words, program.modelWords);
  std::vector<std::string> options = deviceOptionsIn(values);
  for (const std::string &option : options)
    words.push_back("--option=" + option);
  bool writesOut = values.at("composites") == "false";
  if (writesOut)
    words.emplace_back("--no-composites");
  std::string edits = values.at("edits");
  for (size_t at = 0; at < edits.size();) {
    size_t end = std::min(edits.find(',', at), edits.size());
    words.push_back("--override=" + edits.substr(at, end - at));
    at = end + 1;
  }
  std::string how = fmt::format("{}", fmt::join(options, ", "));
  for (const std::string &more : {edits, std::string(writesOut ? "composites written out" : "")})
    if (!more.empty())
      how += (how.empty() ? "" : ", ") + more;
  std::string title = fmt::format("{} compiled {}", program.target.what, how.empty() ? "again" : "with " + how);
  return {.title = title, .commands = {verb(words)}, .finish = [=, this] {
            OpenProgram made = program;
            made.target.what = title;
            made.target.explanation.clear();
            // Whatever was changed in the program is in the file that was saved.
            if (!edits.empty() || writesOut)
              made = {{.file = saved, .target = saved, .explanation = {}, .what = title, .device = program.target.device}, {}};
            return openGraph(output, fmt::format("{} #{}", key, fs::path(folder).filename().string()), made, {"program.mlir"});
          }};
}

JobPlan PageJobs::planExtract(const std::string &key, const OpenProgram &program, const JobValues &values, const std::string &folder) {
  std::string output = in(folder, "graph.json"), saved = in(folder, "part.mlir"), nodes = values.at("nodes");
  std::vector<std::string> words = {"explore", program.target.file, "--format=graph", "-o", output, "--save-program", saved, "--extract=" + nodes};
  append(words, program.modelWords);
  auto count = std::ranges::count(nodes, ',') + (nodes.empty() ? 0 : 1);
  return {.title = fmt::format("{} operations of {}", count, program.target.what), .commands = {verb(words)}, .finish = [=, this] {
            std::vector<std::string> files = {"part.mlir"};
            std::error_code error;
            if (fs::exists(in(folder, "part.weights.safetensors"), error))
              files.emplace_back("part.weights.safetensors");
            std::string part = fmt::format("{} #{}", key, fs::path(folder).filename().string());
            return openGraph(output, part, {{.file = saved, .target = saved, .explanation = {}, .what = "part of " + program.target.what, .device = program.target.device}, {}}, files);
          }};
}

/// What inputs can stand beside: the program as a file in the job's folder, with its weights.
static Result<std::string> withInputs(const OpenProgram &program, const JobValues &values, const std::string &folder, std::vector<JobCommand> &commands) {
  std::string copy = in(folder, "program.mlir");
  std::vector<std::string> words = {"compile", program.target.file, "-o", copy};
  append(words, program.modelWords);
  commands.push_back(verb(words));
  if (!values.at("inputs").empty())
    if (Status status = writeOutput(in(folder, "program.inputs.safetensors"), values.at("inputs")); !status)
      return status.error();
  return copy;
}

Result<JobPlan> PageJobs::planRun(const OpenProgram &program, const JobValues &values, const std::string &folder) {
  JobPlan plan;
  std::string device = deviceWord(values, devices), target = program.target.target, report = in(folder, "report.json");
  if (!values.at("inputs").empty()) {
    Result<std::string> copy = withInputs(program, values, folder, plan.commands);
    if (!copy)
      return copy.error();
    target = *copy;
  }
  std::vector<std::string> words = {"run", target, "--device=" + device, "--seed=" + values.at("seed"), "--json=" + report, "--results=" + in(folder, "results"), "--keep-failed=" + in(folder, "failed"), "-j", "1"};
  addPrecision(words, values);
  if (!values.at("repeat").empty())
    words.push_back("--repeat=" + values.at("repeat"));
  for (const std::string &word : program.modelWords)
    if (word.starts_with("--shape=") && target == program.target.target)
      words.push_back(word);
  plan.title = fmt::format("{} on {}", program.target.what, device);
  plan.commands.push_back(verb(words, {1}));
  plan.finish = [report, folder]() -> Result<std::string> {
    Result<Json> json = readJson(report);
    return json ? Result<std::string>(textOf(resultOfRun(*json, folder))) : Result<std::string>(json.error());
  };
  return plan;
}

JobPlan PageJobs::planExplain(const std::string &key, const OpenProgram &program, const JobValues &values, const std::string &folder) {
  std::string output = in(folder, "explanation.json");
  std::vector<std::string> words = {"explain", program.target.target, "--device=" + deviceWord(values, devices), "--json", "--seed=" + values.at("seed"), "--timeout=" + values.at("seconds"),
                                    "--results=" + in(folder, "results"), "--keep=" + in(folder, "values"), "--output=" + in(folder, "smallest")};
  addPrecision(words, values);
  for (const std::string &word : program.modelWords)
    if (word.starts_with("--shape="))
      words.push_back(word);
  JobCommand command = verb(words, {1});
  command.output = output;
  return {.title = fmt::format("Why {} fails on {}", program.target.what, values.at("device")), .commands = {command}, .finish = [=, this]() -> Result<std::string> {
            Result<FileContents> text = readInput(output);
            if (!text)
              return text.error();
            Result<Explanation> explanation = explanationFromJson(text->bytes());
            if (!explanation)
              return explanation.error();
            std::optional<NodeOfStage> first;
            Status status = changeGraph(key, [&](graph::Graph &graph) -> Status {
              auto added = addExplanation(graph, text->bytes());
              if (!added)
                return added.error();
              first = *added;
              return {};
            });
            if (!status)
              return status.error();
            Json result = {{"sentence", explanation->sentence}, {"answer", name(explanation->answer)}, {"overlay", explanation->operations.empty() ? "error against the reference" : "blamed"}, {"files", Json::array()}};
            if (first) {
              result["stage"] = first->stage;
              result["node"] = first->node;
            }
            std::error_code error;
            for (const char *made : {"smallest", "values"})
              if (fs::exists(in(folder, made), error))
                result["files"].push_back(made);
            return textOf(result);
          }};
}

JobPlan PageJobs::planOpByOp(const std::string &key, const OpenProgram &program, const JobValues &values, const std::string &folder) {
  std::string tables = in(folder, "ops"), report = in(folder, "report.json");
  std::vector<std::string> words = {"run", program.target.target, "--device=" + deviceWord(values, devices), "--depth=" + values.at("depth") + "-op-by-op", "--op-by-op-dir=" + tables, "--results=" + in(folder, "results"), "--json=" + report};
  addPrecision(words, values);
  for (const std::string &word : program.modelWords)
    if (word.starts_with("--shape="))
      words.push_back(word);
  bool executes = values.at("depth") == "execute";
  return {.title = fmt::format("{} operation by operation on {}", program.target.what, values.at("device")), .commands = {verb(words, {1})}, .finish = [=, this]() -> Result<std::string> {
            std::error_code error;
            size_t spokenOf = 0, total = 0, stopping = 0;
            for (const fs::directory_entry &entry : fs::recursive_directory_iterator(tables, error)) {
              if (!entry.path().string().ends_with("_unique_ops.json"))
                continue;
              Result<OpTable> table = readOpTable(entry.path().string());
              if (!table)
                return table.error();
              for (const OpRecord &op : table->ops) {
                ++total;
                stopping += op.stops();
              }
              if (Status status = changeGraph(key, [&](graph::Graph &graph) { spokenOf += addOpTable(graph, *table); return Status(); }); !status)
                return status.error();
            }
            if (total == 0)
              return Error{"no table of operations was made; the log says why"};
            std::string sentence = fmt::format("{} unique operations, {} of them {}; {} nodes of the graph are coloured", total, stopping, executes ? "fail or are wrong" : "are not taken by the device", spokenOf);
            return textOf({{"sentence", sentence}, {"stage", "stablehlo"}, {"overlay", executes ? "op by op" : "coverage of the device"}, {"files", {"ops"}}});
          }};
}

JobPlan PageJobs::planOverlays(const std::string &key, const OpenProgram &program, std::vector<std::string> more, std::string title, std::string overlay, std::string stage, const std::string &folder) {
  std::string output = in(folder, "graph.json");
  std::vector<std::string> words = {"explore", program.target.file, "--format=graph", "-o", output};
  append(words, program.modelWords);
  append(words, more);
  return {.title = title + " of " + program.target.what, .commands = {verb(words)}, .finish = [=, this]() -> Result<std::string> {
            Result<FileContents> text = readInput(output);
            if (!text)
              return text.error();
            Result<graph::Graph> made = graph::readGraph(text->bytes());
            if (!made)
              return made.error();
            if (Status status = changeGraph(key, [&](graph::Graph &graph) { return takeOverlays(graph, *made); }); !status)
              return status.error();
            return textOf({{"sentence", title}, {"stage", stage}, {"overlay", overlay}, {"files", Json::array()}});
          }};
}

Result<JobPlan> PageJobs::planWorkload(const OpenProgram &program, const JobValues &values, const std::string &folder) {
  JobPlan plan;
  std::string file = program.target.file;
  if (isModel(file) || !values.at("inputs").empty()) {
    Result<std::string> copy = withInputs(program, values, folder, plan.commands);
    if (!copy)
      return copy.error();
    file = *copy;
  }
  plan.title = "Workload of " + program.target.what;
  plan.commands.push_back(verb({"eval", file, "--save-workload=" + in(folder, "workload"), "--seed=" + values.at("seed")}));
  plan.finish = [folder]() -> Result<std::string> {
    std::error_code error;
    Json files = Json::array();
    for (const fs::directory_entry &entry : fs::directory_iterator(in(folder, "workload"), error))
      files.push_back("workload/" + entry.path().filename().string());
    if (files.empty())
      return Error{"no workload was written"};
    return textOf({{"sentence", fmt::format("{} saved", files.size() == 1 ? "one workload" : fmt::format("{} workloads", files.size()))}, {"files", files}});
  };
  return plan;
}

} // namespace cupel::cli
