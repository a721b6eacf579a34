// `cupel history`: what became of one test, run after run.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Text.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {
namespace {

using namespace cupel::results;
using Json = nlohmann::ordered_json;

int fail(std::string_view message) { return reportError("history", message, kExitUsage); }

} // namespace

int runHistoryVerb(const Arguments &arguments) {
  CommandLine line("history", "Show the outcomes of one test, newest first.");
  line.example("cupel history programs::add.mlir", "outcome, time and PCC in every run");
  line.example("cupel history ID --json", "the same for programs");
  std::string test, results;
  size_t limit = 50;
  bool asJson = false;
  line.option("ID", test, "The test: suite::id, or the id alone").required();
  addResultsOption(line, results);
  line.option("--limit", limit, "Most lines (50)").placeholder("N");
  line.flag("--json", asJson, "Print a JSON list");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;

  Result<Store> store = openResults(results);
  if (!store)
    return fail(store.message());
  Result<std::string> fullName = store->resolveTest(test);
  if (!fullName)
    return fail(fullName.message());
  Result<std::vector<OutcomeRow>> rows = store->history(*fullName, limit);
  if (!rows)
    return fail(rows.message());
  if (asJson) {
    Json json = Json::array();
    for (const OutcomeRow &row : *rows) {
      Json entry = {{"run", row.run},
                    {"outcome", name(row.outcome)},
                    {"last_stage", name(row.lastStage)},
                    {"started_at", row.startedAt},
                    {"seconds", row.seconds},
                    {"peak_memory_bytes", row.peakMemoryBytes},
                    {"flaky", row.flaky}};
      auto add = [&](const char *key, std::optional<double> value) {
        if (value)
          entry[key] = std::isfinite(*value) ? Json(*value) : Json(figure(*value));
      };
      add("pcc", row.pcc);
      add("max_absolute", row.maxAbsolute);
      if (!row.reason.empty())
        entry["reason"] = row.reason;
      if (!row.message.empty())
        entry["message"] = row.message;
      json.push_back(std::move(entry));
    }
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
    return kExitSuccess;
  }
  fmt::print("{}\n", oneLine(*fullName));
  fmt::print("  {:<20}  {:<13}  {:>11}  {:>9}  {}\n", "run", "outcome", "time", "pcc", "why");
  for (const OutcomeRow &row : *rows)
    fmt::print("  {:<20}  {:<13}  {:>11}  {:>9}  {}{}\n", row.run, name(row.outcome),
               row.seconds > 0 ? durationText(row.seconds) : "-", row.pcc ? figure(*row.pcc) : "-",
               row.flaky ? "[flaky] " : "",
               row.reason.empty() ? cutTo(row.message, 80) : oneLine(row.reason));
  return kExitSuccess;
}

} // namespace cupel::cli
