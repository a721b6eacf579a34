#include "cupel/results/report/OpReports.h"

#include "cupel/results/report/Text.h"
#include "cupel/support/Files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace cupel::results {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

std::string shown(const OpRecord &op) { return op.frameworkName.empty() ? op.name : op.frameworkName; }

std::string typesOf(const std::vector<OpTensor> &tensors) {
  std::vector<std::string> texts;
  for (const OpTensor &tensor : tensors)
    texts.push_back(tensor.shape.empty() ? tensor.type : tensor.shapeText() + "x" + tensor.type);
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string whyOf(const OpRecord &op) {
  if (op.passed == false)
    return "wrong: " + op.sentence;
  if (op.error.empty())
    return op.remark.empty() ? std::string(name(op.status)) : op.remark;
  return op.failure + ": " + op.error;
}

/// An operation that stops models, with these.
struct Stopper {
  const OpRecord *op;
  std::vector<std::string> models;
  uint64_t count = 0;
};

std::vector<Stopper> stoppersOf(const std::vector<OpTable> &tables) {
  std::map<std::string, Stopper> byKey;
  for (const OpTable &table : tables)
    for (const OpRecord &op : table.ops)
      if (op.stops()) {
        Stopper &one = byKey.try_emplace(table.backend + " " + op.key, Stopper{&op, {}}).first->second;
        one.models.push_back(table.model);
        one.count += op.count;
      }
  std::vector<Stopper> list;
  for (auto &[key, one] : byKey)
    list.push_back(std::move(one));
  std::ranges::sort(list, [](const Stopper &one, const Stopper &other) {
    return std::tuple(one.models.size(), one.count, other.op->key) >
           std::tuple(other.models.size(), other.count, one.op->key);
  });
  return list;
}

std::string share(uint64_t part, uint64_t all) {
  return all ? fmt::format("{:.1f}%", 100.0 * double(part) / double(all)) : "-";
}

} // namespace

Result<std::vector<OpTable>> readOpTables(const std::string &folder) {
  std::vector<OpTable> tables;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder, error)) {
    if (!entry.path().filename().string().ends_with("_unique_ops.json"))
      continue;
    Result<OpTable> table = readOpTable(entry.path().string());
    if (!table)
      return table.error();
    if (!table->ops.empty())
      tables.push_back(std::move(*table));
  }
  std::ranges::sort(tables, {},
                    [](const OpTable &table) { return std::pair(table.group, table.model); });
  return tables;
}

std::string opMarkdown(const std::vector<OpTable> &tables) {
  std::string text = "# Models, operation by operation\n\n"
                     "Shares are of unique operations.\n\n"
                     "| Model Name | Backend | Unique Ops | Doesn't Compile | Compiles, Doesn't "
                     "Execute | Runs on Device | Wrong |\n|---|---|---|---|---|---|---|\n";
  for (const OpTable &table : tables) {
    uint64_t compiled = 0, executed = 0, wrong = 0, all = table.ops.size();
    for (const OpRecord &op : table.ops) {
      compiled += op.status == OpStatus::Compiled;
      executed += op.status == OpStatus::Executed;
      wrong += op.passed == false;
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", markdownSafe(table.model),
                        table.backend, all, share(all - compiled - executed, all),
                        share(compiled, all), share(executed, all), wrong);
  }
  text += "\n## Which operations stop which models\n\n";
  std::vector<Stopper> stoppers = stoppersOf(tables);
  if (stoppers.empty())
    return text + "None does.\n";
  text += "| Operation | Takes | Status | Ops | Models | Why |\n|---|---|---|---|---|---|\n";
  for (const Stopper &one : stoppers)
    text += fmt::format("| {} | {} | {} | {} | {}: {} | {} |\n", markdownSafe(shown(*one.op)),
                        typesOf(one.op->inputs), int(one.op->status), one.count, one.models.size(),
                        markdownSafe(fmt::format("{}", fmt::join(one.models, ", "))),
                        markdownSafe(cutTo(whyOf(*one.op), 200)));
  return text;
}

std::string opJson(const std::vector<OpTable> &tables) {
  Json json;
  Json &models = json["models"] = Json::array();
  for (const OpTable &table : tables) {
    std::array<uint64_t, kOpStatusCount> counts = {};
    Json stops = Json::array();
    for (const OpRecord &op : table.ops) {
      ++counts[size_t(op.status)];
      if (op.stops())
        stops.push_back(op.key);
    }
    models.push_back({{"model", table.model},
                      {"group", table.group},
                      {"backend", table.backend},
                      {"device", table.device},
                      {"depth", table.depth},
                      {"unique_ops", table.ops.size()},
                      {"num_ops", table.total()},
                      {"statuses", counts},
                      {"stopped_by", std::move(stops)}});
  }
  Json &ops = json["ops"] = Json::array();
  for (const MergedOp &one : mergeOps(tables)) {
    Json row = {{"key", one.op.key},
                {"op_name", one.op.name},
                {"framework_op_name", one.op.frameworkName},
                {"inputs", typesOf(one.op.inputs)},
                {"outputs", typesOf(one.op.outputs)},
                {"compilation_status", int(one.op.status)},
                {"num_ops", one.count},
                {"models", one.models},
                {"pcc", numberText(one.op.pcc)},
                {"atol", numberText(one.op.atol)},
                {"compile_seconds", one.op.compileSeconds},
                {"execute_seconds", one.op.executeSeconds}};
    if (one.op.passed)
      row["passed"] = *one.op.passed;
    if (one.op.stops())
      row["why"] = whyOf(one.op);
    ops.push_back(std::move(row));
  }
  Json &stops = json["stops"] = Json::array();
  for (const Stopper &one : stoppersOf(tables))
    stops.push_back({{"key", one.op->key}, {"models", one.models}, {"num_ops", one.count}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Status writeOpReports(const std::string &folder, const RunInfo &run) {
  std::error_code error;
  fs::remove_all(folder + "/.done", error); // What models of this run told each other.
  Result<std::vector<OpTable>> tables = readOpTables(folder);
  if (!tables)
    return tables.error();
  if (tables->empty())
    return {};
  Status first;
  auto keep = [&](Status status) {
    if (!status && first)
      first = status;
  };
  keep(writeOutput(folder + "/models.md", opMarkdown(*tables)));
  keep(writeOutput(folder + "/ops.json", opJson(*tables)));
  keep(writeOpWorkbook(folder + "/models_op_per_op.xlsx", *tables, run));
  keep(writeStablehloWorkbook(folder + "/stable_hlo_ops.xlsx", *tables));
  return first;
}

} // namespace cupel::results
