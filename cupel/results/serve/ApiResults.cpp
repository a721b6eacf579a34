// The answers that come from runs and records as they are.

#include "cupel/results/RecordJson.h"
#include "cupel/results/report/Changes.h"
#include "cupel/results/report/Rerun.h"
#include "cupel/results/report/Tally.h"
#include "cupel/results/serve/Api.h"
#include "cupel/results/serve/Archive.h"
#include "cupel/support/Files.h"
#include "cupel/support/Version.h"
#include "cupel/testbench/triage/Gathering.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::results::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string textOf(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}
HttpAnswer answerWith(const Json &json) { return {.body = textOf(json)}; }

Json number(std::optional<double> value) {
  if (!value)
    return nullptr;
  if (std::isfinite(*value))
    return *value;
  return std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf";
}

size_t limitOf(const HttpRequest &request, size_t usual, size_t most) {
  std::string text = request.parameter("limit");
  size_t value = usual;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::min(value, most);
}

Json outcomeJson(const OutcomeRow &row) {
  Json entry = {{"run", row.run},
                {"outcome", name(row.outcome)},
                {"last_stage", name(row.lastStage)},
                {"started_at", row.startedAt},
                {"seconds", row.seconds},
                {"peak_memory_bytes", row.peakMemoryBytes},
                {"flaky", row.flaky},
                {"pcc", number(row.pcc)},
                {"max_absolute", number(row.maxAbsolute)}};
  if (!row.reason.empty())
    entry["reason"] = row.reason;
  if (!row.message.empty())
    entry["message"] = row.message;
  return entry;
}

Json runJson(const RunRow &row) {
  Json entry = Json::parse(toJson(row.info));
  Json counts = Json::object();
  for (const auto &[outcome, count] : row.counts)
    counts[std::string(name(outcome))] = count;
  entry["outcomes"] = std::move(counts);
  entry["finished"] = row.outcomes;
  entry["seconds"] = row.info.endedAt > 0 ? row.info.endedAt - row.info.startedAt : 0.0;
  return entry;
}

Json historyJson(Store &store, const std::string &test, size_t limit, Status &status) {
  Json list = Json::array();
  Result<std::vector<OutcomeRow>> rows = store.history(test, limit);
  if (!rows)
    status = rows.error();
  else
    for (const OutcomeRow &row : *rows)
      list.push_back(outcomeJson(row));
  return list;
}

bool isSha256(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// A name for a download that is no path and needs no quotes.
std::string plainName(std::string_view text) {
  std::string name;
  for (char c : text.substr(0, 120))
    name += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ? c : '_';
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

HttpAnswer download(std::string bytes, std::string_view name) {
  return {.type = "application/octet-stream",
          .body = std::move(bytes),
          .headers = {{"Content-Disposition", "attachment; filename=\"" + plainName(name) + "\""}}};
}

} // namespace

Result<std::string> Api::refresh() {
  Result<StorePool::Lease> lease = stores.take();
  if (!lease)
    return lease.error();
  // A store that cannot be written shows what it has.
  (void)(*lease)->importPending();
  return (*lease)->state();
}

Result<std::string> Api::progress() {
  Result<StorePool::Lease> lease = stores.take();
  if (!lease)
    return lease.error();
  Result<std::vector<RunRow>> rows = (*lease)->runs(3);
  if (!rows)
    return rows.error();
  Json list = Json::array();
  for (const RunRow &row : *rows)
    list.push_back(runJson(row));
  std::string text = textOf({{"runs", std::move(list)}});
  text.pop_back(); // An event's data is one line.
  return text;
}

Result<std::string> Api::namedRunOf(Store &store, const HttpRequest &request) {
  std::string run = request.parameter("run");
  return run.empty() ? Result<std::string>(run) : store.resolveRun(run);
}

Result<std::string> Api::runOf(Store &store, const HttpRequest &request) {
  return store.resolveRun(request.parameter("run", "latest"));
}

Result<Api::Found> Api::testOf(Store &store, const HttpRequest &request) {
  Result<std::string> test = store.resolveTest(request.parameter("name"));
  if (!test)
    return test.error();
  std::string run = request.parameter("run");
  if (!run.empty()) {
    Result<std::string> resolved = store.resolveRun(run);
    if (!resolved)
      return resolved.error();
    run = *resolved;
  } else {
    Result<std::vector<OutcomeRow>> last = store.history(*test, 1);
    if (!last)
      return last.error();
    if (!last->empty())
      run = last->front().run;
  }
  Result<std::optional<TestRecord>> record = store.record(run, *test);
  if (!record)
    return record.error();
  if (!*record)
    return Error{*test + " has no outcome in run " + run};
  Result<RunInfo> info = store.run(run);
  if (!info)
    return info.error();
  return Found{std::move(*info), std::move(**record)};
}

Result<std::shared_ptr<const Overview>> Api::overviewOf(Store &store, const std::string &run) {
  // The server reads the first one while the first page comes: it is read once.
  std::lock_guard turn(reading);
  Result<std::string> state = store.state();
  if (!state)
    return state.error();
  {
    std::lock_guard lock(mutex);
    auto found = overviews.find(run);
    if (found != overviews.end() && found->second.first == *state)
      return found->second.second;
  }
  Result<std::shared_ptr<const Overview>> made = Overview::read(store, run);
  if (!made)
    return made.error();
  std::lock_guard lock(mutex);
  constexpr size_t kMostKept = 16;
  if (overviews.size() >= kMostKept)
    overviews.erase(overviews.begin());
  overviews[run] = {*state, *made};
  return *made;
}

HttpAnswer Api::about(const HttpRequest &) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> state = store.state();
  if (!state)
    return refuse(500, state.message());
  return answerWith({{"schema", "cupel-about-1"},
                     {"version", version()},
                     {"store", settings.folder},
                     {"state", *state}});
}

HttpAnswer Api::runs(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::vector<RunRow>> rows = store.runs(limitOf(request, 100, 100'000));
  if (!rows)
    return refuse(500, rows.message());
  Json list = Json::array();
  for (const RunRow &row : *rows)
    list.push_back(runJson(row));
  return answerWith({{"runs", std::move(list)}});
}

HttpAnswer Api::overview(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> run = namedRunOf(store, request);
  if (!run)
    return refuse(404, run.message());
  Result<std::shared_ptr<const Overview>> found = overviewOf(store, *run);
  return found ? HttpAnswer{.body = (*found)->json()} : refuse(500, found.message());
}

HttpAnswer Api::select(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> run = namedRunOf(store, request);
  if (!run)
    return refuse(404, run.message());
  Result<std::shared_ptr<const Overview>> found = overviewOf(store, *run);
  if (!found)
    return refuse(500, found.message());
  Result<std::vector<uint32_t>> rows = (*found)->select(request.parameter("k"), request.parameter("m"));
  if (!rows)
    return refuse(400, rows.message());
  return answerWith({{"count", rows->size()}, {"rows", *rows}});
}

HttpAnswer Api::test(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<Found> found = testOf(store, request);
  if (!found)
    return refuse(404, found.message());
  std::error_code error;
  Json commands = {rerunCommand(found->run, found->record, settings.commandTail,
                                std::filesystem::current_path(error).string())};
  for (const std::string &command : commandsAgain(found->record))
    commands.push_back(command);
  Status status;
  Json history = historyJson(store, found->record.fullName(), limitOf(request, 100, 10'000), status);
  if (!status)
    return refuse(500, status.message());
  bool hasWorkload = !found->record.reproduction.empty() &&
                     bool(within(settings.roots, found->record.reproduction));
  return answerWith({{"run", Json::parse(toJson(found->run))},
                     {"test", Json::parse(toJson(found->record))},
                     {"commands", std::move(commands)},
                     {"has_workload", hasWorkload},
                     {"history", std::move(history)}});
}

HttpAnswer Api::history(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> test = store.resolveTest(request.parameter("name"));
  if (!test)
    return refuse(404, test.message());
  Status status;
  Json list = historyJson(store, *test, limitOf(request, 100, 10'000), status);
  return status ? answerWith({{"test", *test}, {"outcomes", std::move(list)}})
                : refuse(500, status.message());
}

HttpAnswer Api::diff(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> before = store.resolveRun(request.parameter("before", "latest~1")),
                      after = store.resolveRun(request.parameter("after", "latest"));
  for (const Result<std::string> *run : {&before, &after})
    if (!*run)
      return refuse(404, run->message());
  Result<std::vector<OutcomeRow>> first = store.outcomes(*before), second = store.outcomes(*after);
  for (const Result<std::vector<OutcomeRow>> *rows : {&first, &second})
    if (!*rows)
      return refuse(500, rows->message());
  return {.body = toJson(compareOutcomes(*first, *second), *before, *after) + "\n"};
}

HttpAnswer Api::trend(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::vector<RunRow>> rows = store.runs(limitOf(request, 500, 100'000));
  if (!rows)
    return refuse(500, rows.message());
  Json list = Json::array();
  for (auto row = rows->rbegin(); row != rows->rend(); ++row) {
    const RunInfo &info = row->info;
    std::vector<OutcomeCount> counts;
    {
      std::lock_guard lock(mutex);
      auto known = endedCounts.find(info.id);
      if (known != endedCounts.end())
        counts = known->second;
    }
    if (counts.empty()) {
      Result<std::vector<OutcomeCount>> read = store.counts(info.id);
      if (!read)
        return refuse(500, read.message());
      counts = std::move(*read);
      if (info.endedAt > 0) {
        std::lock_guard lock(mutex);
        endedCounts[info.id] = counts;
      }
    }
    std::map<std::string, uint64_t> outcomes, bringup;
    double seconds = 0;
    for (const OutcomeCount &count : counts) {
      outcomes[std::string(name(count.outcome))] += count.count;
      bringup[count.bringupStatus.empty() ? "UNKNOWN" : count.bringupStatus] += count.count;
      seconds += count.seconds;
    }
    Json entry = {{"id", info.id},           {"started_at", info.startedAt},
                  {"ended_at", info.endedAt}, {"arch", info.arch},
                  {"device", info.device},   {"selected", info.selected},
                  {"outcomes", outcomes},    {"bringup", bringup},
                  {"seconds", seconds}};
    if (auto commit = info.environment.find("git"); commit != info.environment.end())
      entry["commit"] = commit->second;
    list.push_back(std::move(entry));
  }
  return answerWith({{"runs", std::move(list)}});
}

HttpAnswer Api::triage(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<std::string> run = runOf(store, request);
  if (!run)
    return refuse(404, run.message());
  Result<RunInfo> info = store.run(*run);
  if (!info)
    return refuse(500, info.message());
  Result<testbench::triage::TriageReport> report =
      testbench::triage::gatherReport(store, {.from = info->startedAt, .onlyRun = *run});
  return report ? HttpAnswer{.body = testbench::triage::toJson(*report) + "\n"}
                : refuse(500, report.message());
}

HttpAnswer Api::artifact(const HttpRequest &request) {
  std::string sha256 = request.parameter("sha256");
  if (!isSha256(sha256))
    return refuse(400, "sha256 is 64 digits of base 16");
  CUPEL_TAKE_STORE(store);
  Result<FileContents> contents = readInput(store.artifactPath(sha256));
  if (!contents)
    return refuse(404, "no such artifact");
  return download(std::string(contents->bytes()), request.parameter("name", sha256));
}

HttpAnswer Api::workload(const HttpRequest &request) {
  CUPEL_TAKE_STORE(store);
  Result<Found> found = testOf(store, request);
  if (!found)
    return refuse(404, found.message());
  if (found->record.reproduction.empty())
    return refuse(404, "no workload was kept of this test (cupel run keeps those of failed tests)");
  Result<std::string> folder = within(settings.roots, found->record.reproduction);
  if (!folder)
    return refuse(403, folder.message());
  Result<std::string> tar = archiveOf(*folder);
  return tar ? download(std::move(*tar), found->record.id + ".tar") : refuse(500, tar.message());
}

HttpAnswer Api::events(const HttpRequest &) {
  return {.type = "text/event-stream", .body = "retry: 2000\n\n", .isStream = true};
}

#undef CUPEL_TAKE_STORE

} // namespace cupel::results::serve
