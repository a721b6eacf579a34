// The answers that look at all records of a run: thresholds, operators, durations.

#include "cupel/results/OpTable.h"
#include "cupel/results/Record.h"
#include "cupel/results/serve/Api.h"
#include "cupel/results/serve/Archive.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace cupel::results::serve {
namespace {

using Json = nlohmann::ordered_json;

HttpAnswer answered(const Json &json) {
  return {.body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

Json figureJson(std::optional<double> value) {
  if (!value)
    return nullptr;
  if (std::isfinite(*value))
    return *value;
  return std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf";
}

std::string noteOf(const TestRecord &record, const char *name) {
  auto found = record.notes.find(name);
  return found == record.notes.end() ? std::string() : found->second;
}

/// Whether a word is an element type as torch or we write them: `float16`, `bfloat16`, `i8`, `bool`.
bool isElementType(std::string_view word) {
  if (word == "bool" || word.starts_with("float8_") || word.starts_with("f8"))
    return true;
  for (std::string_view stem : {"bfloat", "float", "uint", "int", "complex", "qint", "quint", "bf", "f", "ui", "i", "si"})
    if (word.starts_with(stem) && word.size() > stem.size() && std::ranges::all_of(word.substr(stem.size()), [](unsigned char c) { return std::isdigit(c); }))
      return true;
  return false;
}

/// The element types in an operator case's inputs (`[4x128xfloat16, 3xint64], dim=-1`), joined where
/// mixed.
std::string elementTypes(std::string_view signature) {
  std::set<std::string> types;
  for (size_t at = 0; at < signature.size();) {
    size_t end = at;
    while (end < signature.size() && (std::isalnum(static_cast<unsigned char>(signature[end])) || signature[end] == '_'))
      ++end;
    std::string_view word = signature.substr(at, end - at);
    // Sizes come first, each with an x behind it.
    while (!word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) && word.find('x') != std::string_view::npos)
      word.remove_prefix(word.find('x') + 1);
    if (isElementType(word))
      types.emplace(word);
    at = end + 1;
  }
  std::string text;
  for (const std::string &type : types)
    text += (text.empty() ? "" : "+") + type;
  return text.empty() ? "none" : text;
}

} // namespace

HttpAnswer Api::thresholds(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> run = runOf(store, request);
  if (!run)
    return refuse(404, run.message());
  Json tests = Json::array();
  Status status = store.forEachRecord(*run, [&](const TestRecord &record) {
    // The output that is nearest to failing speaks for the test.
    const ComparisonRecord *worst = nullptr;
    for (const ComparisonRecord &one : record.comparisons)
      if (!worst || !(one.pcc.value_or(2) >= worst->pcc.value_or(2)))
        worst = &one;
    if (!worst)
      return;
    tests.push_back({{"test", record.fullName()},
                     {"outcome", name(record.outcome)},
                     {"pcc", figureJson(worst->pcc)},
                     {"pcc_threshold", figureJson(worst->pccThreshold)},
                     {"asserted", worst->pccAsserted},
                     {"atol", figureJson(worst->maxAbsolute)},
                     {"atol_threshold", figureJson(worst->atolThreshold)},
                     {"atol_asserted", worst->atolAsserted || worst->allcloseAsserted},
                     {"rule", worst->rule},
                     {"only_as_configured", record.passesOnlyAsConfigured() != nullptr},
                     {"guidance", record.guidance}});
  });
  if (!status)
    return refuse(500, status.message());
  Json lowered = Json::array();
  std::ifstream ledger(settings.ledger);
  for (std::string line; !settings.ledger.empty() && std::getline(ledger, line);)
    if (Json entry = Json::parse(line, nullptr, false); entry.is_object())
      lowered.push_back(std::move(entry));
  return answered({{"run", *run}, {"tests", std::move(tests)}, {"lowered", std::move(lowered)}});
}

HttpAnswer Api::operators(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  bool isOfAll = request.parameter("run") == "all";
  Result<std::string> run = isOfAll ? Result<std::string>("") : runOf(store, request);
  if (!run)
    return refuse(404, run.message());
  struct Cell {
    uint64_t passed = 0, failed = 0, other = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string>, Cell> cells;
  Json tables = Json::array();
  auto add = [&](const OutcomeBrief &brief) {
    const TestRecord &record = brief.record;
    const std::string &arch = brief.arch.empty() ? brief.device : brief.arch;
    if (std::string op = noteOf(record, "op"); !op.empty()) {
      Cell &cell = cells[{op, elementTypes(noteOf(record, "inputs")), arch}];
      Family family = familyOf(brief.row.outcome);
      ++(family == Family::Pass ? cell.passed : isFailure(brief.row.outcome) ? cell.failed : cell.other);
    }
    std::string path = noteOf(record, "op table");
    if (path.empty())
      return;
    Result<std::string> inside = within(settings.roots, path);
    Result<OpTable> table = inside ? readOpTable(*inside) : Result<OpTable>(inside.error());
    Json entry = {{"test", brief.row.fullName()}, {"run", brief.row.run}, {"arch", arch}, {"outcome", name(brief.row.outcome)}};
    if (!table) {
      entry["error"] = table.message();
    } else {
      uint64_t bad = 0;
      for (const OpRecord &op : table->ops) {
        bad += op.stops();
        std::string type = op.inputs.empty() ? "unknown" : op.inputs.front().type;
        Cell &cell = cells[{op.name, type, arch}];
        ++(op.stops() ? cell.failed : op.passed == true ? cell.passed : cell.other);
      }
      entry["operations"] = table->total();
      entry["unique"] = table->ops.size();
      entry["stopping"] = bad;
    }
    tables.push_back(std::move(entry));
  };
  Status status = isOfAll ? store.forEachLatest(add) : store.forEachBrief(*run, add);
  if (!status)
    return refuse(500, status.message());
  Json list = Json::array();
  for (const auto &[key, cell] : cells)
    list.push_back({{"op", std::get<0>(key)},
                    {"dtype", std::get<1>(key)},
                    {"arch", std::get<2>(key)},
                    {"passed", cell.passed},
                    {"failed", cell.failed},
                    {"other", cell.other}});
  return answered({{"run", *run}, {"operators", std::move(list)}, {"tables", std::move(tables)}});
}

HttpAnswer Api::opTable(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<Found> found = testOf(store, request);
  if (!found)
    return refuse(404, found.message());
  std::string path = noteOf(found->record, "op table");
  if (path.empty())
    return refuse(404, "this test was not run op by op");
  Result<std::string> inside = within(settings.roots, path);
  if (!inside)
    return refuse(403, inside.message());
  Result<OpTable> table = readOpTable(*inside);
  if (!table)
    return refuse(500, table.message());
  Json ops = Json::array();
  for (const OpRecord &op : table->ops) {
    std::string inputs, outputs;
    for (auto [tensors, text] : {std::pair(&op.inputs, &inputs), std::pair(&op.outputs, &outputs)})
      for (const OpTensor &tensor : *tensors)
        *text += (text->empty() ? "" : ", ") + tensor.shapeText() + " " + tensor.type;
    ops.push_back({{"name", op.name},
                   {"framework_name", op.frameworkName},
                   {"count", op.count},
                   {"inputs", inputs},
                   {"outputs", outputs},
                   {"status", name(op.status)},
                   {"passed", op.passed ? Json(*op.passed) : Json()},
                   {"pcc", figureJson(op.pcc)},
                   {"atol", figureJson(op.atol)},
                   {"compile_seconds", op.compileSeconds},
                   {"execute_seconds", op.executeSeconds},
                   {"failure", op.failure},
                   {"error", op.error},
                   {"sentence", op.sentence}});
  }
  return answered({{"test", found->record.fullName()},
                   {"model", table->model},
                   {"device", table->device},
                   {"backend", table->backend},
                   {"ops", std::move(ops)}});
}

HttpAnswer Api::durations(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> run = runOf(store, request);
  if (!run)
    return refuse(404, run.message());
  struct Sum {
    double seconds = 0;
    uint64_t tests = 0;
    void add(double more) {
      seconds += more;
      ++tests;
    }
  };
  std::map<Stage, Sum> stages;
  std::map<std::string, Sum> suites;
  std::vector<std::pair<double, std::string>> slowest;
  Status status = store.forEachRecord(*run, [&](const TestRecord &record) {
    for (const StageTime &stage : record.stages)
      stages[stage.stage].add(stage.seconds);
    suites[record.suite].add(record.seconds);
    slowest.emplace_back(record.seconds, record.fullName());
  });
  if (!status)
    return refuse(500, status.message());
  std::ranges::sort(slowest, std::greater());
  constexpr size_t kMost = 100;
  slowest.resize(std::min(slowest.size(), kMost));
  Json stageList = Json::array(), suiteList = Json::array(), slowList = Json::array();
  for (const auto &[stage, sum] : stages)
    stageList.push_back({{"stage", name(stage)}, {"seconds", sum.seconds}, {"tests", sum.tests}});
  for (const auto &[suite, sum] : suites)
    suiteList.push_back({{"suite", suite}, {"seconds", sum.seconds}, {"tests", sum.tests}});
  for (const auto &[seconds, test] : slowest)
    slowList.push_back({{"test", test}, {"seconds", seconds}});
  return answered({{"run", *run},
                   {"stages", std::move(stageList)},
                   {"suites", std::move(suiteList)},
                   {"slowest", std::move(slowList)}});
}

} // namespace cupel::results::serve
