// JUnit XML as pytest writes it, one test case at a time.

#include "cupel/results/Suites.h"
#include "cupel/results/report/Reports.h"
#include "cupel/results/report/Tally.h"
#include "cupel/results/report/Text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <ostream>
#include <pugixml.hpp>

namespace cupel::results {
namespace {

using Json = nlohmann::ordered_json;

/// The test function that upstream runs a record's suite with; empty where upstream has none.
std::string functionOf(const TestRecord &record) {
  return std::string(pytestFunctionOf(record.suite, record.framework));
}

/// The comparison that supplies the numbers: the first that failed, else the last.
const ComparisonRecord *representative(const TestRecord &record) {
  for (const ComparisonRecord &comparison : record.comparisons)
    if (!comparison.passed)
      return &comparison;
  return record.comparisons.empty() ? nullptr : &record.comparisons.back();
}

/// What stands in the JSON must also be a Python literal, since upstream's scripts read it as one:
/// what would be null is left out, true and false are 1 and 0, an apostrophe is escaped.
void setIf(Json &json, const char *key, const std::string &text) {
  if (!text.empty())
    json[key] = text;
}
void setIf(Json &json, const char *key, std::optional<double> value) {
  if (value && std::isfinite(*value))
    json[key] = *value;
}

std::string tagsText(const TestRecord &record) {
  auto [className, caseName] = junitName(record);
  std::string function = functionOf(record);
  Json tags;
  tags["test_name"] = function.empty() ? caseName : function;
  tags["specific_test_case"] = caseName;
  // Suites that are none of ours are frameworks of loaders, which upstream does not run.
  const Suite *suite = findSuite(record.suite);
  tags["category"] = suite ? suite->category : "graph_test";
  bool isModel = suite && suite->fromZoo;
  setIf(tags, "model_name", record.modelName);
  Json info = Json::object();
  setIf(info, "task", record.task);
  setIf(info, "source", record.source);
  setIf(info, "framework", record.framework);
  // The first folder of the path names the architecture of the model.
  setIf(info, "model_arch", record.modelPath.substr(0, record.modelPath.find('/')));
  setIf(info, "variant_name", record.variant);
  setIf(info, "model_name_clean", record.modelName);
  tags["model_info"] = info;
  setIf(tags, "run_mode", record.runMode);
  tags["run_phase"] = record.phase.empty() ? "default" : record.phase;
  tags["bringup_status"] = record.bringupStatus.empty() ? "UNKNOWN" : record.bringupStatus;
  tags["model_test_status"] = record.testStatus.empty() ? "UNSPECIFIED" : record.testStatus;
  Json reason = Json::object();
  if (!record.reasons.empty()) {
    const ReasonRecord &first = record.reasons.front();
    reason["name"] = first.name;
    setIf(reason, "description", first.description);
    setIf(reason, "component", first.component);
    setIf(reason, "summary", first.summary);
  }
  tags["failing_reason"] = reason;
  setIf(tags, "parallelism", record.parallelism);
  setIf(tags, "arch", record.arch);
  if (record.sequenceLength)
    tags["seq_len"] = record.sequenceLength;
  if (record.batchSize)
    tags["batch_size"] = record.batchSize;
  auto note = [&](const char *key) {
    auto found = record.notes.find(key);
    return found == record.notes.end() ? std::string() : found->second;
  };
  std::string dtype = note("dtype");
  if (isModel)
    tags["weights_dtype"] = dtype.empty() ? "unknown" : dtype;
  if (std::string parameters = note("parameters"); isModel && !parameters.empty())
    setIf(tags, "model_size_billions", std::strtod(parameters.c_str(), nullptr) / 1e9);
  setIf(tags, "execution_pass", note("execution_pass"));
  if (const ComparisonRecord *comparison = representative(record)) {
    setIf(tags, "pcc", comparison->pcc);
    setIf(tags, "atol", comparison->maxAbsolute);
    tags["comparison_passed"] =
        int(std::all_of(record.comparisons.begin(), record.comparisons.end(),
                        [](const ComparisonRecord &c) { return c.passed; }));
    if (!comparison->passed)
      setIf(tags, "comparison_error_message", comparison->sentence);
    setIf(tags, "pcc_threshold", comparison->pccThreshold);
    setIf(tags, "atol_threshold", comparison->atolThreshold);
    tags["pcc_assertion_enabled"] = int(comparison->pccAsserted);
    tags["atol_assertion_enabled"] = int(comparison->atolAsserted);
    setIf(tags, "comparison_rule", comparison->rule);
    setIf(tags, "precision", comparison->precision);
    setIf(tags, "noise", comparison->noise);
    setIf(tags, "worst_in_noise", comparison->worstInNoise);
    setIf(tags, "whole_in_noise", comparison->wholeInNoise);
    if (comparison->strictPassed)
      tags["strict_passed"] =
          int(std::all_of(record.comparisons.begin(), record.comparisons.end(),
                          [](const ComparisonRecord &c) { return c.strictPassed.value_or(true); }));
    if (const ComparisonRecord *lax = record.passesOnlyAsConfigured())
      setIf(tags, "strict_error_message", lax->strictSentence);
    if (auto note = record.notes.find("ill-conditioned"); note != record.notes.end())
      tags["ill_conditioned"] = note->second;
  }
  tags["guidance"] = record.guidance;
  tags["outcome"] = name(record.outcome);
  tags["last_stage"] = name(record.lastStage);
  tags["full_name"] = record.fullName();
  std::string text = tags.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 6)
    text.replace(at, 1, "\\u0027");
  return text;
}

void property(pugi::xml_node properties, const char *name, const std::string &value) {
  pugi::xml_node node = properties.append_child("property");
  node.append_attribute("name") = name;
  node.append_attribute("value") = xmlSafe(value).c_str();
}

/// failure, error, skipped or nothing, as pytest has them.
const char *elementOf(Outcome outcome) {
  switch (familyOf(outcome)) {
  case Family::Pass:
    return nullptr;
  case Family::Failure:
  case Family::UnexpectedPass:
    return "failure";
  case Family::KnownFailure:
  case Family::Skip:
  case Family::Unjudged:
    return "skipped";
  case Family::Crash:
  case Family::Limit:
  case Family::NoResult:
    return "error";
  }
  return nullptr;
}

struct Verdict {
  const char *element = nullptr, *type = nullptr;
  std::string message;
};

Verdict verdictOf(const TestRecord &record) {
  std::string why = record.message;
  if (why.empty() && !record.reasons.empty())
    why = record.reasons.front().description;
  Verdict verdict{elementOf(record.outcome), nullptr, why};
  std::string word(name(record.outcome));
  switch (familyOf(record.outcome)) {
  case Family::Pass:
    break;
  case Family::Failure:
    verdict.message = why.empty() ? word : why;
    break;
  case Family::UnexpectedPass:
    verdict.message =
        "[XPASS(strict)] " + (why.empty() ? "the configuration expects it to fail" : why);
    break;
  case Family::KnownFailure:
    verdict.type = "pytest.xfail";
    break;
  case Family::Skip:
    verdict.type = "pytest.skip";
    break;
  case Family::Unjudged:
    verdict.type = "pytest.skip";
    verdict.message = word + (why.empty() ? "" : ": " + why);
    break;
  case Family::Crash:
  case Family::Limit:
  case Family::NoResult:
    verdict.message = word + (why.empty() ? "" : ": " + why);
    break;
  }
  return verdict;
}

void writeCase(pugi::xml_document &document, const TestRecord &record) {
  auto [className, caseName] = junitName(record);
  pugi::xml_node node = document.append_child("testcase");
  node.append_attribute("classname") = xmlSafe(className).c_str();
  node.append_attribute("name") = xmlSafe(caseName).c_str();
  node.append_attribute("time") = fmt::format("{:.3f}", record.seconds).c_str();
  pugi::xml_node properties = node.append_child("properties");
  property(properties, "tags", tagsText(record));
  auto owner = record.notes.find("owner");
  property(properties, "owner", owner == record.notes.end() ? "cupel" : owner->second);
  if (!record.group.empty())
    property(properties, "group", record.group);
  if (!record.message.empty())
    property(properties, "error_message", record.message);
  if (record.flaky)
    property(properties, "flaky", triesText(record));
  if (!record.reproduction.empty())
    property(properties, "reproduction", record.reproduction);
  for (const char *key : {"explained", "guilty", "reduced"})
    if (auto note = record.notes.find(key); note != record.notes.end())
      property(properties, key, note->second);

  Verdict verdict = verdictOf(record);
  if (verdict.element) {
    pugi::xml_node child = node.append_child(verdict.element);
    if (verdict.type)
      child.append_attribute("type") = verdict.type;
    child.append_attribute("message") = xmlSafe(verdict.message).c_str();
    std::string text = verdict.message;
    if (record.lastStage != Stage::None && record.lastStage != Stage::Done)
      text += fmt::format("\nat stage {}", name(record.lastStage));
    for (const ReasonRecord &reason : record.reasons)
      text += fmt::format("\nreason {}: {}{}", reason.name, reason.description,
                          reason.summary.empty() ? "" : " (" + reason.summary + ")");
    for (const ComparisonRecord &comparison : record.comparisons)
      if (!comparison.sentence.empty())
        text += fmt::format("\noutput {}: {}", comparison.output, comparison.sentence);
    for (const std::string &command : commandsAgain(record))
      text += "\nagain: " + command;
    child.append_child(pugi::node_pcdata).set_value(xmlSafe(text).c_str());
  }
  if (!record.output.empty())
    node.append_child("system-out")
        .append_child(pugi::node_pcdata)
        .set_value(xmlSafe(record.output).c_str());
}

std::string attribute(std::string_view text) {
  std::string escaped;
  for (char c : xmlSafe(text))
    if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\n' || c == '\r' || c == '\t')
      escaped += fmt::format("&#{};", int(c));
    else
      escaped += c;
  return escaped;
}

} // namespace

std::pair<std::string, std::string> junitName(const TestRecord &record) {
  std::string function = functionOf(record);
  if (function.empty())
    return {"cupel." + record.suite, record.id};
  return {"tests.runner.test_models", function + "[" + record.id + "]"};
}

Status writeJUnit(std::ostream &out, const RunInfo &run, const RecordSource &records) {
  Tally tally;
  if (Status status = records([&](const TestRecord &record) { tally.add(record); }); !status)
    return status;
  std::map<std::string_view, uint64_t> elements;
  for (size_t i = 0; i < kOutcomeCount; ++i)
    if (const char *element = elementOf(Outcome(i)))
      elements[element] += tally.count(Outcome(i));
  double wall = run.endedAt > run.startedAt ? run.endedAt - run.startedAt : tally.seconds();
  auto host = run.environment.find("host");
  out << "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites name=\"cupel\">\n"
      << fmt::format("<testsuite name=\"cupel\" errors=\"{}\" failures=\"{}\" skipped=\"{}\" "
                     "tests=\"{}\" time=\"{:.3f}\" timestamp=\"{}\" hostname=\"{}\">\n",
                     elements["error"], elements["failure"], elements["skipped"], tally.total(), wall, isoTime(run.startedAt),
                     attribute(host == run.environment.end() ? "" : host->second));
  out << "<properties>";
  auto runProperty = [&](std::string_view name, std::string_view value) {
    if (!value.empty())
      out << "<property name=\"" << name << "\" value=\"" << attribute(value) << "\" />";
  };
  runProperty("run", run.id);
  runProperty("arch", run.arch);
  runProperty("device", run.device);
  runProperty("plugin", run.plugin);
  if (auto rule = run.environment.find("comparison"); rule != run.environment.end())
    runProperty("comparison", rule->second);
  out << "</properties>\n";
  Status status = records([&](const TestRecord &record) {
    pugi::xml_document document;
    writeCase(document, record);
    document.save(out, "", pugi::format_raw | pugi::format_no_declaration);
    out << '\n';
  });
  if (!status)
    return status;
  out << "</testsuite>\n</testsuites>\n";
  return {};
}

} // namespace cupel::results
