#include "cupel/results/serve/Api.h"

#include "cupel/results/serve/Explorer.h"
#include "cupel/results/serve/Jobs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::results::serve {

std::span<const Api::Question> Api::questions() {
  static const Question kQuestions[] = {
      {"about", "Which Cupel this is, and which store it shows.", {}, "",
       R"({"schema": "cupel-about-1", "version": "0.1.0", "store": "results", "state": "4.1.880.0"})",
       &Api::about},
      {"runs", "The runs, newest first, with how their tests ended.",
       {{"limit", "how many (100)"}}, "limit=2",
       R"({"runs": [{"id": "20261115-081530-4f2a", "started_at": 1794730530.3, "selected": 12, "outcomes": {"passed": 11, "failed": 1}, "seconds": 8.1}]})",
       &Api::runs},
      {"overview",
       "Every test's last outcome on each architecture and device, or those of one run. Columns: a list of `count` values, or "
       "`words` and the `codes` of each row where values repeat.",
       {{"run", "only this run's: an id, its beginning, `latest`, `latest~1`"}}, "run=latest",
       R"({"schema": "cupel-overview-1", "run": "20261115-081530-4f2a", "count": 2, "columns": {"id": ["add.mlir", "mul.mlir"], "outcome": {"words": ["passed"], "codes": [0, 0]}}})",
       &Api::overview},
      {"select", "Which rows of the overview expressions of `-k` and `-m` hold for.",
       {{"k", "an expression of -k"}, {"m", "an expression of -m"}, {"run", "as for overview"}}, "k=a%20or%20b&run=latest",
       R"({"count": 1, "rows": [0]})", &Api::select},
      {"test", "All that is known of one test in one run, what to type to run it again, and its history in short.",
       {{"name", "suite::id, or the id alone"}, {"run", "which run (its last one)"}, {"limit", "how many outcomes of its history (100)"}}, "name=TEST",
       R"({"run": {"id": "20261115-081530-4f2a"}, "test": {"id": "add.mlir", "outcome": "passed"}, "commands": ["cupel run zoo/programs programs::add.mlir"], "history": []})",
       &Api::test},
      {"history", "A test's outcomes, newest first.",
       {{"name", "as for test"}, {"limit", "how many (100)"}}, "name=TEST&limit=10",
       R"({"test": "programs::add.mlir", "outcomes": [{"run": "20261115-081530-4f2a", "outcome": "passed", "seconds": 0.1, "pcc": 1.0}]})",
       &Api::history},
      {"diff", "What is different between two runs, as `cupel diff --json` says it.",
       {{"before", "a run (latest~1)"}, {"after", "a run (latest)"}}, "before=RUN&after=RUN",
       R"({"schema": "cupel-diff-1", "before": "20261114-080000-0001", "after": "20261115-081530-4f2a", "new_failures": [], "fixed": []})",
       &Api::diff},
      {"trend", "Runs over time, oldest first: outcomes and bring-up statuses of each, with times.",
       {{"limit", "how many runs (500)"}}, "limit=30",
       R"({"runs": [{"id": "20261115-081530-4f2a", "arch": "n150", "outcomes": {"passed": 11}, "bringup": {"PASSED": 11}, "seconds": 8.1}]})",
       &Api::trend},
      {"triage", "What fails, why, and what to fix first, as `cupel triage --json` says it.",
       {{"run", "a run (latest)"}}, "run=latest",
       R"({"schema": "cupel-triage-1", "runs": ["20261115-081530-4f2a"], "fixes": [{"kind": "reason", "name": "OUT_OF_SRAM", "unlocks_tests": 3, "unlocks_models": 2}], "failing": []})", &Api::triage},
      {"thresholds", "What each test of a run is held to, what it reaches, and the ledger of thresholds that were lowered.",
       {{"run", "a run (latest)"}}, "run=latest",
       R"({"run": "20261115-081530-4f2a", "tests": [{"test": "models::m", "pcc": 0.97, "pcc_threshold": 0.95, "asserted": true}], "lowered": []})",
       &Api::thresholds},
      {"operators", "Operators by element type and architecture, from operator cases and tables of operations.",
       {{"run", "a run (latest)"}}, "run=latest",
       R"({"run": "20261115-081530-4f2a", "operators": [{"op": "add", "dtype": "f32", "arch": "n150", "passed": 3, "failed": 0}], "tables": []})",
       &Api::operators},
      {"op-table", "The table of operations of a test that ran op by op.",
       {{"name", "as for test"}, {"run", "as for test"}}, "",
       R"({"model": "m", "ops": [{"name": "aten.add.Tensor", "status": "EXECUTED", "count": 2, "pcc": 1.0}]})", &Api::opTable},
      {"durations", "Where the time of a run goes: by stage, by suite, the slowest tests.",
       {{"run", "a run (latest)"}}, "run=latest",
       R"({"run": "20261115-081530-4f2a", "stages": [{"stage": "compile", "seconds": 3.1, "tests": 12}], "suites": [], "slowest": []})",
       &Api::durations},
      {"artifact", "A file that a test left behind, to download.",
       {{"sha256", "its contents' SHA-256, as the test's record names it"}, {"name", "what to call it"}}, "", "", &Api::artifact},
      {"workload", "The Workload folder that reproduces a failed test, as a tar archive.",
       {{"name", "as for test"}, {"run", "as for test"}}, "", "", &Api::workload},
      {"events", "Server-sent events: `changed` whenever the store did, with the newest runs and how far they are.",
       {}, "", "", &Api::events},
  };
  return kQuestions;
}

HttpAnswer refuse(int status, std::string_view message) {
  nlohmann::json body = {{"error", message}};
  return {.status = status,
          .body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

HttpAnswer Api::answer(const HttpRequest &request) {
  if (request.method != "GET" && request.method != "HEAD")
    return refuse(405, "this API is read: GET only");
  std::string_view name = std::string_view(request.path).substr(kRoot.size());
  for (const Question &question : questions())
    if (question.path == name)
      return (this->*question.reply)(request);
  return refuse(404, "no such question; docs/reference/api.md lists them");
}

std::string describeApi() {
  std::string page =
      "# The API of `cupel serve`\n\n"
      "Made by `scripts/docs.py` from the table in `cupel/results/serve/Api.cpp`: change that, not this page.\n\n"
      "The pages ask nothing that others could not: `GET /api/v1/QUESTION?PARAMETERS` answers JSON. Fields are only ever added. A "
      "question that cannot be answered has a status of 400 or more and `{\"error\": \"...\"}`. Where the server listens on another "
      "address than 127.0.0.1, every request carries the token that it printed: `Authorization: Bearer TOKEN`.\n";
  for (const Api::Question &question : Api::questions()) {
    page += fmt::format("\n## {}\n{}\n", question.path, question.summary);
    if (!question.parameters.empty()) {
      page += "\n| parameter | meaning |\n|---|---|\n";
      for (const Api::Parameter &parameter : question.parameters)
        page += fmt::format("| `{}` | {} |\n", parameter.name, parameter.meaning);
    }
    if (question.answer.empty())
      continue;
    page += fmt::format("\n```\n$ curl 'http://127.0.0.1:8008/api/v1/{}{}{}'\n{}\n```\n", question.path,
                        question.query.empty() ? "" : "?", question.query, question.answer);
  }
  return page + Explorer::describe() + Jobs::describe();
}

} // namespace cupel::results::serve
