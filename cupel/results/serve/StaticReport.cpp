#include "cupel/results/serve/StaticReport.h"

#include "cupel/results/Suites.h"
#include "cupel/results/serve/Pages.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/selection/Keywords.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::results::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// How many tests share a script: one that is opened is read with its neighbours.
constexpr size_t kTestsAPiece = 50;
constexpr const char *kHistory = "30";

class ReportFolder {
public:
  explicit ReportFolder(std::string folder) : folder(std::move(folder)) {}

  Status write(const std::string &name, std::string_view bytes) {
    std::error_code error;
    fs::path path = fs::path(folder) / name;
    fs::create_directories(path.parent_path(), error);
    if (error)
      return Error{path.parent_path().string() + ": " + error.message()};
    ++summary.files;
    summary.bytes += bytes.size();
    return writeOutput(path.string(), bytes);
  }
  /// As a script that hands `json` over under a name.
  Status writeData(const std::string &name, std::string_view json) {
    return write("data/" + name + ".js", fmt::format("cupelData(\"{}\", {});\n", name, json));
  }

  StaticReportSummary summary;

private:
  std::string folder;
};

HttpRequest question(std::string name, std::multimap<std::string, std::string> parameters) {
  return {.method = "GET",
          .path = std::string(Api::kRoot) + std::move(name),
          .parameters = std::move(parameters)};
}

std::string compact(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

Result<StaticReportSummary> writeStaticReport(Api &api, Store &store, const std::string &run,
                                              const std::string &folder) {
  ReportFolder out(folder);
  for (const PageFile &file : pageFiles()) {
    std::string bytes(file.bytes);
    if (constexpr std::string_view kMark = "<!-- report -->"; bytes.find(kMark) != std::string::npos)
      bytes.replace(bytes.find(kMark), kMark.size(), "<script src=\"data/report.js\"></script>\n");
    if (Status status = out.write(std::string(file.name), bytes); !status)
      return status.error();
  }
  Result<std::optional<std::string>> before = store.runBefore(run);
  if (!before)
    return before.error();
  Result<std::vector<OutcomeRow>> rows = store.outcomes(run);
  if (!rows)
    return rows.error();

  // What the page must know to understand expressions as the server would.
  Json functions = Json::object(), around = Json::array(), tests = Json::array();
  for (const Suite &suite : suites())
    for (const char *framework : {"", "pytorch", "jax"})
      if (std::string_view function = pytestFunctionOf(suite.name, framework); !function.empty())
        functions[std::string(suite.name) + "/" + framework] = function;
  for (std::string_view name : testbench::selection::namesAroundPytestItems())
    around.push_back(name);
  for (const OutcomeRow &row : *rows)
    tests.push_back(row.fullName());
  out.summary.tests = rows->size();
  Json known = {{"run", run},           {"before", before->value_or("")}, {"testsAPiece", kTestsAPiece},
                {"functions", functions}, {"around", around},             {"tests", std::move(tests)}};
  if (Status status = out.write("data/report.js", "window.CUPEL_STATIC = " + compact(known) + ";\n"); !status)
    return status.error();

  for (const char *name : {"overview", "triage", "thresholds", "operators", "durations"}) {
    HttpAnswer answer = api.answer(question(name, {{"run", run}}));
    if (Status status = out.writeData(name, answer.body); !status)
      return status.error();
  }
  HttpAnswer trend = api.answer(question("trend", {{"limit", "200"}}));
  if (Status status = out.writeData("trend", trend.body); !status)
    return status.error();
  if (*before) {
    HttpAnswer diff = api.answer(question("diff", {{"before", **before}, {"after", run}}));
    if (Status status = out.writeData("diff", diff.body); !status)
      return status.error();
  }
  for (size_t first = 0; first < rows->size(); first += kTestsAPiece) {
    std::string piece = "[";
    for (size_t i = first; i < std::min(first + kTestsAPiece, rows->size()); ++i) {
      std::string name = (*rows)[i].fullName();
      HttpAnswer answer = api.answer(question("test", {{"name", name}, {"run", run}, {"limit", kHistory}}));
      if (answer.status != 200)
        return Error{name + ": " + answer.body};
      // Its table of operations goes with it.
      if (HttpAnswer table = api.answer(question("op-table", {{"name", name}, {"run", run}})); table.status == 200)
        answer.body.replace(answer.body.rfind('}'), std::string::npos, ",\"op_table\":" + table.body + "}");
      piece += (i > first ? ",\n" : "\n") + answer.body;
    }
    if (Status status = out.writeData(fmt::format("tests-{}", first / kTestsAPiece), piece + "]"); !status)
      return status.error();
  }
  return out.summary;
}

} // namespace cupel::results::serve
