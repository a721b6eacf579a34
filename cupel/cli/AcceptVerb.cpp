// `cupel accept`: from the results of the last runs to a patch of the configuration, to be
// reviewed.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Text.h"
#include "cupel/testbench/config/Configuration.h"
#include "cupel/testbench/matrix/Project.h"
#include "cupel/testbench/triage/Accept.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {
namespace {

using namespace cupel::results;
using namespace cupel::testbench::triage;
using testbench::config::Configuration;
using Json = nlohmann::ordered_json;

int fail(std::string_view message) { return reportError("accept", message, kExitUsage); }

/// The last outcomes of each test on each architecture, of runs on one device.
Result<AllEvidence> gather(Store &store, const Configuration &configuration,
                           const std::string &device, const std::string &arch, uint32_t wanted,
                           const std::vector<std::string> &only) {
  Result<std::vector<RunRow>> runs = store.runs(100'000);
  if (!runs)
    return runs.error();
  std::string chosen = device;
  AllEvidence evidence;
  for (const RunRow &row : *runs) {
    if (chosen.empty())
      chosen = row.info.device; // That of the newest run.
    if (row.info.device != chosen || (!arch.empty() && row.info.arch != arch))
      continue;
    Result<std::vector<OutcomeRow>> outcomes = store.outcomes(row.info.id);
    if (!outcomes)
      return outcomes.error();
    for (const OutcomeRow &outcome : *outcomes) {
      if (!only.empty() && std::ranges::find(only, outcome.id) == only.end() &&
          std::ranges::find(only, outcome.fullName()) == only.end())
        continue;
      bool isModel = outcome.suite == "models" || outcome.suite == "llm";
      if (!isModel && !configuration.find(outcome.id))
        continue;
      LastOutcomes &own = evidence[outcome.id][row.info.arch];
      if (own.records.size() >= wanted)
        continue;
      Result<std::optional<TestRecord>> record = store.record(row.info.id, outcome.fullName());
      if (!record)
        return record.error();
      if (*record) {
        own.records.push_back(std::move(**record));
        own.runs.push_back(row.info.id);
      }
    }
  }
  return evidence;
}

std::string fieldText(const testbench::config::FieldValue &value) {
  struct {
    std::string operator()(const std::string &text) const { return text; }
    std::string operator()(double number) const { return figure(number); }
    std::string operator()(int64_t number) const { return std::to_string(number); }
    std::string operator()(bool yes) const { return yes ? "true" : "false"; }
    std::string operator()(const std::vector<std::string> &words) const {
      return fmt::format("[{}]", fmt::join(words, ", "));
    }
  } print;
  return std::visit(print, value);
}

Json toJson(const Acceptance &acceptance, const std::string &patch) {
  Json json = {{"schema", "cupel-accept-1"},
               {"proposals", Json::array()},
               {"held_back", Json::array()},
               {"lowered", Json::array()}};
  for (const Proposal &one : acceptance.proposals) {
    Json changes = Json::array();
    for (const FieldChange &change : one.changes)
      changes.push_back({{"arch", change.arch},
                         {"field", change.field},
                         {"value", change.value ? Json(fieldText(*change.value)) : Json()}});
    json["proposals"].push_back({{"test", one.id},
                                 {"file", one.file},
                                 {"new", one.isNewEntry},
                                 {"because", one.because},
                                 {"changes", std::move(changes)}});
  }
  for (const HeldBack &one : acceptance.heldBack)
    json["held_back"].push_back({{"test", one.id}, {"arch", one.arch}, {"why", one.why}});
  for (const LoweredThreshold &one : acceptance.lowered)
    json["lowered"].push_back({{"test", one.id},
                               {"arch", one.arch},
                               {"from", one.from},
                               {"to", one.to},
                               {"runs", one.runs}});
  json["patch"] = patch;
  return json;
}

/// Where lowered thresholds are written down: beside the configuration, and no part of it.
std::string ledgerFor(const std::vector<std::string> &config) {
  std::error_code error;
  std::filesystem::path folder = config.front();
  if (!std::filesystem::is_directory(folder, error))
    folder = std::filesystem::absolute(folder).parent_path();
  return (folder / "lowered-thresholds.jsonl").string();
}

} // namespace

int runAcceptVerb(const Arguments &arguments) {
  CommandLine line("accept", "Propose a patch of the configuration from the results of the last "
                             "runs; nothing is written without --apply.");
  line.example("cupel accept", "print the patch: new passes, new failures, higher thresholds");
  line.example("cupel accept --apply", "write it");
  line.example("cupel accept --check", "for CI: exit code 1 where the configuration is stale");
  line.example("cupel accept --allow-lower-pcc --why 'bfp8 weights, #123' --apply",
               "lower thresholds that are not reached, and write down which and why");
  AcceptOptions options;
  std::vector<std::string> tests, config;
  std::string results, device, arch;
  bool apply = false, check = false, asJson = false, noPasses = false, noFailures = false,
       noThresholds = false;
  line.option("TEST", tests, "Ids of tests; none: all");
  line.option("--config", config, "Folders or files of the configuration (those of the project)")
      .oneValueEach();
  addResultsOption(line, results);
  line.option("--device", device, "Results of this device (that of the last run)");
  line.option("--arch", arch, "Results of this architecture only");
  line.option("--runs", options.runs, "How many runs must agree").showDefault().positive();
  line.flag("--no-passes", noPasses, "Leave tests alone that pass now");
  line.flag("--no-failures", noFailures, "Leave tests alone that fail now");
  line.flag("--no-thresholds", noThresholds, "Do not raise thresholds");
  line.flag("--allow-lower-pcc", options.allowLowerPcc,
            "A PCC that is too low lowers the threshold, instead of making a known failure");
  line.option("--why", options.why, "Why thresholds are lowered, for the ledger")
      .placeholder("TEXT")
      .needs("--allow-lower-pcc");
  line.flag("--apply", apply, "Write the patch to the files");
  line.flag("--check", check, "Say what is stale; exit code 1 where anything is");
  line.flag("--json", asJson, "Print JSON");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  options.passes = !noPasses;
  options.failures = !noFailures;
  options.thresholds = !noThresholds;
  if (apply && check)
    return fail("--apply and --check exclude each other");
  if (options.allowLowerPcc && options.why.empty())
    return fail("--allow-lower-pcc wants --why TEXT: it is written down with every threshold");

  if (config.empty()) {
    Result<std::optional<testbench::matrix::Project>> project = testbench::matrix::currentProject();
    if (!project)
      return fail(project.message());
    if (*project)
      config = (*project)->config;
  }
  if (config.empty())
    return fail("name the folder of the configuration with --config; there is no project file here "
                "that does");
  Configuration configuration = Configuration::load(config);
  for (const testbench::config::Diagnostic &found : configuration.diagnostics())
    if (found.severity == testbench::config::Severity::Error)
      return fail(render(found) + "\n(mend this first; cupel config check says more)");
  Result<Store> store = openResults(results);
  if (!store)
    return fail(store.message());
  Result<AllEvidence> evidence = gather(*store, configuration, device, arch, options.runs, tests);
  if (!evidence)
    return fail(evidence.message());
  if (evidence->empty())
    return reportError("accept", "no results of these tests, this device and this architecture",
                       kExitNothingSelected);
  Acceptance acceptance = propose(configuration, *evidence, options);
  Result<ConfigurationPatch> patch = ConfigurationPatch::make(
      acceptance, ledgerFor(config), isoTime(double(std::time(nullptr))), options.why);
  if (!patch)
    return fail(patch.message());
  std::error_code error;
  std::string text = patch->text(std::filesystem::current_path(error).string());
  if (asJson) {
    fmt::print("{}\n",
               toJson(acceptance, text).dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    // Remarks go where they do not get into a patch that is piped.
    std::FILE *remarks = check ? stdout : stderr;
    for (const Proposal &one : acceptance.proposals)
      for (const std::string &because : one.because)
        fmt::print(remarks, "{}{}: {}\n", check ? "stale: " : "", oneLine(one.id),
                   oneLine(because));
    for (const HeldBack &one : acceptance.heldBack)
      fmt::print(remarks, "held back: {}{}: {}\n", oneLine(one.id),
                 one.arch.empty() ? "" : " on " + one.arch, oneLine(one.why));
    if (!check)
      fmt::print("{}", text);
    fmt::print(remarks, "{}, {} held back\n",
               acceptance.proposals.size() == 1
                   ? "1 entry"
                   : fmt::format("{} entries", acceptance.proposals.size()),
               acceptance.heldBack.size());
  }
  if (apply)
    if (Status status = patch->save(); !status)
      return fail(status.message());
  return check && !acceptance.proposals.empty() ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
