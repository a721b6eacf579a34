#include "cupel/results/serve/Overview.h"

#include "cupel/results/Suites.h"
#include "cupel/testbench/selection/Expression.h"
#include "cupel/testbench/selection/Keywords.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace cupel::results::serve {
namespace {

using testbench::selection::Expression;
using testbench::selection::Keyword;

std::string jsonText(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// A column of words that repeat.
class WordColumn {
public:
  explicit WordColumn(const char *name) : name(name) {}
  void add(const std::string &word) {
    auto [entry, isNew] = numbers.try_emplace(word, numbers.size());
    if (isNew)
      words.push_back(word);
    fmt::format_to(std::back_inserter(codes), "{}{}", codes.empty() ? "" : ",", entry->second);
  }
  void write(std::string &out) const {
    out += fmt::format(",\n\"{}\":{{\"words\":[", name);
    for (size_t i = 0; i < words.size(); ++i)
      out += (i ? "," : "") + jsonText(words[i]);
    out += "],\"codes\":[" + codes + "]}";
  }

private:
  const char *name;
  std::unordered_map<std::string, size_t> numbers;
  std::vector<std::string> words;
  std::string codes;
};

class ValueColumn {
public:
  explicit ValueColumn(const char *name) : name(name) {}
  void add(std::string_view value) {
    if (!isFirst)
      values += ',';
    isFirst = false;
    values += value;
  }
  void addNumber(std::optional<double> value) {
    if (!value)
      add("null");
    else if (std::isfinite(*value))
      add(fmt::format("{:.6g}", *value));
    else
      add(std::isnan(*value) ? "\"nan\"" : *value > 0 ? "\"inf\"" : "\"-inf\"");
  }
  void write(std::string &out) const { out += fmt::format(",\n\"{}\":[", name) + values + "]"; }

private:
  const char *name;
  std::string values;
  bool isFirst = true;
};

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

} // namespace

Result<std::shared_ptr<const Overview>> Overview::read(Store &store, const std::string &run) {
  auto made = std::make_shared<Overview>();
  WordColumn suite("suite"), arch("arch"), device("device"), runs("run"), outcome("outcome"),
      stage("stage"), bringup("bringup_status"), status("test_status"), reason("reason"),
      framework("framework"), family("family"), task("task"), source("source"), group("group"),
      parallelism("parallelism"), mode("run_mode"), markers("markers"), message("message"), file("file");
  ValueColumn ids("id"), seconds("seconds"), pcc("pcc"), memory("peak_memory_bytes"), flaky("flaky");
  constexpr size_t kMostMessage = 160;
  auto add = [&](const OutcomeBrief &brief) {
    const OutcomeRow &row = brief.row;
    const TestRecord &record = brief.record;
    made->rows.push_back({row.suite, row.id, record.framework, record.file, record.markers});
    suite.add(row.suite);
    ids.add(jsonText(row.id));
    arch.add(brief.arch);
    device.add(brief.device);
    runs.add(row.run);
    outcome.add(std::string(name(row.outcome)));
    stage.add(std::string(name(row.lastStage)));
    bringup.add(record.bringupStatus);
    status.add(record.testStatus);
    reason.add(row.reason);
    framework.add(record.framework);
    // A loader's folder is its family: `llama/causal_lm/pytorch` belongs to llama.
    family.add(record.modelPath.empty() ? record.modelName
                                        : record.modelPath.substr(0, record.modelPath.find('/')));
    task.add(record.task);
    source.add(record.source);
    group.add(record.group);
    parallelism.add(record.parallelism);
    mode.add(record.runMode);
    markers.add(joined(record.markers));
    message.add(row.message.substr(0, kMostMessage));
    file.add(record.file);
    seconds.addNumber(row.seconds);
    pcc.addNumber(row.pcc);
    memory.add(std::to_string(row.peakMemoryBytes));
    flaky.add(row.flaky ? "1" : "0");
  };
  Status read = run.empty() ? store.forEachLatest(add) : store.forEachBrief(run, add);
  if (!read)
    return read.error();
  std::string &out = made->text;
  out = fmt::format("{{\"schema\":\"cupel-overview-1\",\"run\":{},\"count\":{},\"columns\":{{",
                    run.empty() ? "null" : jsonText(run), made->rows.size());
  size_t begin = out.size();
  ids.write(out);
  for (const WordColumn *column :
       {&suite, &arch, &device, &runs, &outcome, &stage, &bringup, &status, &reason, &framework,
        &family, &task, &source, &group, &parallelism, &mode, &markers, &message, &file})
    column->write(out);
  for (const ValueColumn *column : {&seconds, &pcc, &memory, &flaky})
    column->write(out);
  out.erase(begin, 1); // The comma before the first column.
  out += "}}\n";
  return std::shared_ptr<const Overview>(std::move(made));
}

Result<std::vector<uint32_t>> Overview::select(std::string_view keyword,
                                               std::string_view markers) const {
  Result<Expression> words = Expression::parse(keyword), marks = Expression::parse(markers);
  if (!words)
    return words.error().within("-k");
  if (!marks)
    return marks.error().within("-m");
  std::vector<Keyword> keywords;
  std::vector<bool> around;
  for (const std::string &word : words->words()) {
    keywords.emplace_back(word);
    around.push_back(std::ranges::any_of(testbench::selection::namesAroundPytestItems(),
                                         [&](std::string_view name) { return keywords.back().isIn(name); }));
  }
  std::vector<uint32_t> chosen;
  std::string itemName;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row &row = rows[i];
    if (!marks->evaluate([&](uint32_t word) {
          return std::ranges::find(row.markers, marks->words()[word]) != row.markers.end();
        }))
      continue;
    std::string_view function = pytestFunctionOf(row.suite, row.framework);
    itemName = function.empty() ? row.id : fmt::format("{}[{}]", function, row.id);
    if (words->evaluate([&](uint32_t word) {
          const Keyword &one = keywords[word];
          return one.isIn(itemName) || (!function.empty() && around[word]) ||
                 (function.empty() && one.isIn(row.file)) ||
                 std::ranges::any_of(row.markers,
                                     [&](const std::string &marker) { return one.isIn(marker); });
        }))
      chosen.push_back(uint32_t(i));
  }
  return chosen;
}

} // namespace cupel::results::serve
