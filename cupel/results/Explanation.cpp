#include "cupel/results/Explanation.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::results {

using Json = nlohmann::ordered_json;
using Answer = Explanation::Answer;

namespace {

struct AnswerName {
  Answer answer;
  std::string_view name;
  std::string_view words; ///< For people.
};

constexpr AnswerName kAnswers[] = {
    {Answer::Unknown, "unknown", "not explained"},
    {Answer::Passes, "passes", "nothing to explain: it passes"},
    {Answer::OperationAlone, "operation alone", "the operation alone is to blame"},
    {Answer::Neighbours, "neighbours", "these operations together are to blame, and none alone"},
    {Answer::TheseValues, "these values", "the operation alone, and only for such values"},
    {Answer::TheseShapes, "these shapes", "the operation alone, and only for such shapes"},
    {Answer::InContext, "in context", "the operation within the whole program, and not alone"},
    {Answer::Accumulates, "accumulates", "the error grows over many operations"},
    {Answer::NotDeterministic, "not deterministic", "the device is not deterministic"},
    {Answer::WrongGolden, "wrong golden", "what is expected may be wrong"},
    {Answer::OwnChecks, "own checks", "its own checks fail, and by the reference it is right"},
    {Answer::WholeOnly, "whole only", "only the program as a whole fails"},
    {Answer::AnyProgram, "any program", "no operation: results of any program are wrong"},
};

/// JSON has no form for what is no number.
Json figure(double value) { return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value)); }

void put(Json &json, const char *key, const std::optional<double> &value) {
  if (value)
    json[key] = figure(*value);
}
void get(const Json &json, const char *key, std::optional<double> &value) {
  auto found = json.find(key);
  if (found == json.end())
    return;
  if (found->is_number())
    value = found->get<double>();
  else if (found->is_string())
    value = std::strtod(found->get<std::string>().c_str(), nullptr);
}
template <typename T> void get(const Json &json, const char *key, T &value) {
  auto found = json.find(key);
  if (found == json.end())
    return;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string())
      value = found->template get<T>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean())
      value = found->template get<T>();
  } else if (found->is_number()) {
    value = found->template get<T>();
  }
}

const AnswerName &rowOf(Answer answer) { return kAnswers[size_t(answer)]; }

} // namespace

std::string_view name(Answer answer) { return rowOf(answer).name; }

std::string toJson(const Explanation &e) {
  Json json = {{"answer", name(e.answer)}, {"sentence", e.sentence}};
  auto text = [&](const char *key, const std::string &value) {
    if (!value.empty())
      json[key] = value;
  };
  text("test", e.test);
  text("device", e.device);
  text("outcome", e.outcome);
  text("stage", e.stage);
  json["operations"] = Json::array();
  for (const Explanation::Operation &one : e.operations) {
    Json operation = {{"name", one.name}, {"types", one.types}, {"place", one.place}};
    if (!one.attributes.empty())
      operation["attributes"] = one.attributes;
    if (!one.through.empty())
      operation["through"] = one.through;
    if (!one.layer.empty())
      operation["layer"] = one.layer;
    json["operations"].push_back(std::move(operation));
  }
  text("inside", e.inside);
  if (!e.operations.empty() && e.stage == "compare")
    json["result"] = e.result;
  put(json, "pcc", e.pcc);
  put(json, "max_absolute", e.maxAbsolute);
  put(json, "relative_l2", e.relativeL2);
  text("worst", e.worst);
  text("picture", e.picture);
  if (e.executions) {
    json["failures"] = e.failures;
    json["executions"] = e.executions;
  }
  if (!e.remarks.empty())
    json["remarks"] = e.remarks;
  for (const Explanation::Depth &depth : e.depths) {
    Json row = {{"operations", depth.operations}, {"place", depth.place}};
    put(row, "pcc", depth.pcc);
    put(row, "relative_l2", depth.relativeL2);
    put(row, "own_l2", depth.ownL2);
    json["depths"].push_back(std::move(row));
  }
  text("pass", e.pass);
  text("reduced", e.reduced);
  text("command", e.command);
  json["probes"] = e.probes;
  json["known"] = e.known;
  json["seconds"] = e.seconds;
  if (e.isRemembered)
    json["remembered"] = true;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Explanation> explanationFromJson(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Error{"no explanation: '" + std::string(text.substr(0, 60)) + "'"};
  Explanation e;
  std::string answer;
  get(json, "answer", answer);
  for (const AnswerName &row : kAnswers)
    if (row.name == answer)
      e.answer = row.answer;
  get(json, "sentence", e.sentence);
  get(json, "test", e.test);
  get(json, "device", e.device);
  get(json, "outcome", e.outcome);
  get(json, "stage", e.stage);
  if (auto list = json.find("operations"); list != json.end() && list->is_array())
    for (const Json &one : *list) {
      Explanation::Operation &operation = e.operations.emplace_back();
      get(one, "name", operation.name);
      get(one, "types", operation.types);
      get(one, "place", operation.place);
      get(one, "attributes", operation.attributes);
      get(one, "through", operation.through);
      get(one, "layer", operation.layer);
    }
  get(json, "inside", e.inside);
  get(json, "result", e.result);
  get(json, "pcc", e.pcc);
  get(json, "max_absolute", e.maxAbsolute);
  get(json, "relative_l2", e.relativeL2);
  get(json, "worst", e.worst);
  get(json, "picture", e.picture);
  get(json, "failures", e.failures);
  get(json, "executions", e.executions);
  if (auto list = json.find("remarks"); list != json.end() && list->is_array())
    for (const Json &one : *list)
      if (one.is_string())
        e.remarks.push_back(one.get<std::string>());
  if (auto list = json.find("depths"); list != json.end() && list->is_array())
    for (const Json &one : *list) {
      Explanation::Depth &depth = e.depths.emplace_back();
      get(one, "operations", depth.operations);
      get(one, "place", depth.place);
      get(one, "pcc", depth.pcc);
      get(one, "relative_l2", depth.relativeL2);
      get(one, "own_l2", depth.ownL2);
    }
  get(json, "pass", e.pass);
  get(json, "reduced", e.reduced);
  get(json, "command", e.command);
  get(json, "probes", e.probes);
  get(json, "known", e.known);
  get(json, "seconds", e.seconds);
  get(json, "remembered", e.isRemembered);
  return e;
}

std::string describe(const Explanation &e) {
  std::string text = fmt::format("{}\n", rowOf(e.answer).words);
  auto line = [&](std::string_view label, const std::string &value) {
    if (!value.empty())
      text += fmt::format("  {:<11} {}\n", label, value);
  };
  if (!e.outcome.empty())
    line("the test", e.stage.empty() ? e.outcome : fmt::format("{} ({})", e.outcome, e.stage));
  constexpr size_t kMostOperations = 12;
  for (size_t i = 0; i < std::min(e.operations.size(), kMostOperations); ++i) {
    const Explanation::Operation &one = e.operations[i];
    line(i ? "" : e.operations.size() == 1 ? "operation" : "operations",
         fmt::format("{} : {}", one.name, one.types));
    line("", "at " + one.place + (one.through.empty() ? "" : ", through " + one.through));
    if (!one.layer.empty())
      line("", "of " + one.layer);
  }
  if (e.operations.size() > kMostOperations)
    line("", fmt::format("and {} more", e.operations.size() - kMostOperations));
  line("", e.inside);
  if (!e.worst.empty())
    line("why", (e.operations.empty() || e.stage != "compare" ? ""
                                                               : fmt::format("result {}: ", e.result)) +
                    e.worst);
  if (e.pcc)
    line("PCC", fmt::format("{:.6g}", *e.pcc));
  line("looks like", e.picture);
  if (e.executions)
    line("fails", fmt::format("{} of {} times", e.failures, e.executions));
  for (const std::string &remark : e.remarks)
    line("note", remark);
  if (!e.depths.empty()) {
    text += fmt::format("  {:>8}  {:>12}  {:>12}  {:>12}  {}\n", "depth", "PCC", "error",
                        "of its own", "up to");
    auto shown = [](const std::optional<double> &value, const char *none) {
      return value ? fmt::format("{:.4g}", *value) : std::string(none);
    };
    for (const Explanation::Depth &depth : e.depths)
      text += fmt::format("  {:>8}  {:>12}  {:>12}  {:>12}  {}\n", depth.operations,
                          depth.pcc ? fmt::format("{:.6f}", *depth.pcc) : "-",
                          shown(depth.relativeL2, "-"), shown(depth.ownL2, "-"), depth.place);
  }
  line("pass", e.pass);
  line("reduced", e.reduced);
  line("run this", e.command);
  text += fmt::format("  {} executions on the device{}, {:.1f} s{}\n", e.probes,
                      e.known ? fmt::format(" ({} of them known before)", e.known) : "", e.seconds,
                      e.isRemembered ? ", all of it known before" : "");
  return text;
}

} // namespace cupel::results
