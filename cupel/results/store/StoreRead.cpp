// The reading half of Store.

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/StoreImpl.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace cupel::results {
namespace {

/// The columns of an OutcomeRow, from outcomes o, tests t, runs r.
#define CUPEL_OUTCOME_ROW                                                                          \
  "t.suite, t.id, r.id, o.outcome, o.last_stage, o.started_at, o.seconds, o.peak_memory_bytes, "   \
  "o.flaky, o.pcc, o.max_absolute, o.message, o.reason"

OutcomeRow readOutcomeRow(Query &query) {
  OutcomeRow row;
  row.suite = query.text();
  row.id = query.text();
  row.run = query.text();
  row.outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
  row.lastStage = parseStage(query.text()).value_or(Stage::None);
  row.startedAt = query.real();
  row.seconds = query.real();
  row.peakMemoryBytes = uint64_t(query.integer());
  row.flaky = query.integer() != 0;
  row.pcc = query.maybeReal();
  row.maxAbsolute = query.maybeReal();
  row.message = query.text();
  row.reason = query.text();
  return row;
}

RunInfo readRun(Query &query, int64_t &key) {
  RunInfo run;
  key = query.integer();
  run.id = query.text();
  run.startedAt = query.real();
  run.endedAt = query.real();
  nlohmann::json words = nlohmann::json::parse(query.text(), nullptr, false);
  if (words.is_array())
    for (const auto &word : words)
      if (word.is_string())
        run.commandLine.push_back(word.get<std::string>());
  run.arch = query.text();
  run.device = query.text();
  run.plugin = query.text();
  run.selected = uint32_t(query.integer());
  run.exitCode = int(query.integer());
  return run;
}

/// What else ran of a test, in other shards: kept as a note, and as a flake where they differ.
struct Rerun {
  std::string shard;
  Outcome outcome = Outcome::NotRun;
};

void tellOfReruns(TestRecord &record, const std::vector<Rerun> &reruns) {
  std::string text;
  for (const Rerun &rerun : reruns) {
    text += (text.empty() ? "" : ", ") + std::string(name(rerun.outcome)) +
            (rerun.shard.empty() ? "" : " in " + rerun.shard);
    record.flaky |= rerun.outcome != record.outcome;
  }
  if (!text.empty())
    record.notes["ran twice"] = text;
}

/// From the column record; throws where it cannot be read.
TestRecord readRecord(Database &db, Query &query) {
  Result<TestRecord> parsed = testRecordFromJson(query.text());
  if (!parsed)
    throw DatabaseError{db.name() + ": a record cannot be read: " + parsed.message()};
  return std::move(*parsed);
}

/// `a, b, c, ...`
std::string list(const std::vector<std::string> &names, size_t most) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < most; ++i)
    text += (i ? ", " : "") + names[i];
  return names.size() > most ? text + ", ..." : text;
}

/// Splits `suite::id`; an id itself may hold colons.
std::pair<std::string_view, std::string_view> splitName(std::string_view fullName) {
  size_t at = fullName.find("::");
  if (at == std::string_view::npos)
    return {"", fullName};
  return {fullName.substr(0, at), fullName.substr(at + 2)};
}

} // namespace

Result<std::string> Store::resolveRun(std::string_view text) {
  return guarded([&]() -> Result<std::string> {
    if (text == "latest" || text.starts_with("latest~")) {
      uint64_t back = 0;
      if (text.size() > 6) {
        std::string_view digits = text.substr(7);
        auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), back);
        if (error != std::errc() || end != digits.data() + digits.size() || back > INT32_MAX)
          return Error{"'" + std::string(text) + "': latest~ wants a number, as in latest~1"};
      }
      Query query =
          impl->db.query("SELECT id FROM runs ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET ?");
      if (query.with(back).next())
        return query.text();
      Query count = impl->db.query("SELECT count(*) FROM runs");
      count.next();
      int64_t runs = count.integer();
      if (runs == 0)
        return Error{impl->where() + ": no runs yet; `cupel run` makes the first"};
      return Error{"'" + std::string(text) + "': there are only " + std::to_string(runs) +
                   " runs in " + impl->where()};
    }
    std::vector<std::string> found;
    {
      // Ids hold nothing that GLOB gives a meaning to, but the user's text may.
      Query query = impl->db.query("SELECT id FROM runs WHERE substr(id, 1, ?) = ? "
                                   "ORDER BY id DESC LIMIT 20");
      query.with(uint64_t(text.size()), text);
      while (!text.empty() && query.next())
        found.push_back(query.text());
    }
    for (const std::string &id : found)
      if (id == text)
        return id;
    if (found.size() == 1)
      return found[0];
    if (found.size() > 1)
      return Error{"'" + std::string(text) + "' fits more than one run: " + list(found, 4)};
    std::vector<std::string> recent;
    Query query = impl->db.query("SELECT id FROM runs ORDER BY started_at DESC, id DESC LIMIT 200");
    while (query.next())
      recent.push_back(query.text());
    std::vector<std::string_view> candidates(recent.begin(), recent.end());
    candidates.push_back("latest");
    std::string_view nearest = nearestWord(text, candidates);
    std::string hint = !nearest.empty() ? "; did you mean " + std::string(nearest) + "?"
                       : recent.empty() ? "; the store has no runs yet"
                                        : "; the last ones are " + list(recent, 3);
    return Error{"no run '" + std::string(text) + "' in " + impl->where() + hint};
  });
}

Result<std::string> Store::resolveTest(std::string_view text) {
  return guarded([&]() -> Result<std::string> {
    {
      auto [suite, id] = splitName(text);
      Query query = impl->db.query("SELECT 1 FROM tests WHERE suite = ? AND id = ?");
      if (!suite.empty() && query.with(suite, id).next())
        return std::string(text);
    }
    // pytest's spelling: file::function[id].
    std::string_view id = text;
    if (size_t open = text.find('['); open != std::string_view::npos && text.ends_with(']') &&
                                      text.substr(0, open).find("::") != std::string_view::npos)
      id = text.substr(open + 1, text.size() - open - 2);
    std::vector<std::string> suites;
    {
      Query query = impl->db.query("SELECT suite FROM tests WHERE id = ? ORDER BY suite");
      query.with(id);
      while (query.next())
        suites.push_back(query.text() + "::" + std::string(id));
    }
    if (suites.size() == 1)
      return suites[0];
    if (suites.size() > 1)
      return Error{"'" + std::string(id) + "' is in more than one suite: " + list(suites, 6)};

    std::vector<std::string> within, all;
    Query query = impl->db.query("SELECT suite, id FROM tests ORDER BY suite, id");
    while (query.next()) {
      std::string name = query.text();
      name += "::" + query.text();
      if (!id.empty() && within.size() < 5 && name.find(id) != std::string::npos)
        within.push_back(name);
      all.push_back(std::move(name));
    }
    if (within.size() == 1)
      return Error{"no test '" + std::string(text) + "' in " + impl->where() + "; did you mean " +
                   within[0] + "?"};
    if (!within.empty())
      return Error{"no test '" + std::string(text) + "' in " + impl->where() +
                   "; these contain it: " + list(within, 4)};
    std::vector<std::string_view> candidates;
    for (std::string_view name : all)
      for (std::string_view candidate : {name, splitName(name).second})
        if (std::max(candidate.size(), id.size()) - std::min(candidate.size(), id.size()) <= 8)
          candidates.push_back(candidate);
    std::string_view nearest = nearestWord(id, candidates);
    return Error{"no test '" + std::string(text) + "' in " + impl->where() +
                 (nearest.empty() ? std::string("; cupel show latest lists what ran last")
                                  : "; did you mean " + std::string(nearest) + "?")};
  });
}

Result<RunInfo> Store::run(std::string_view id) {
  return guarded([&]() -> Result<RunInfo> {
    Query query = impl->db.query("SELECT run_id, id, started_at, ended_at, command_line, arch, "
                                 "device, plugin, selected, exit_code FROM runs WHERE id = ?");
    if (!query.with(id).next())
      return Error{impl->where() + ": no run '" + std::string(id) + "'"};
    int64_t key = 0;
    RunInfo run = readRun(query, key);
    Query environment = impl->db.query("SELECT name, value FROM environment WHERE run_id = ?");
    for (environment.with(key); environment.next();) {
      std::string name = environment.text();
      run.environment[name] = environment.text();
    }
    return run;
  });
}

Result<std::vector<RunRow>> Store::runs(size_t limit) {
  return guarded([&]() -> Result<std::vector<RunRow>> {
    ReadTransaction snapshot(impl->db);
    std::vector<RunRow> rows;
    std::unordered_map<int64_t, size_t> at;
    {
      Query query =
          impl->db.query("SELECT run_id, id, started_at, ended_at, command_line, arch, device, "
                         "plugin, selected, exit_code FROM runs ORDER BY started_at DESC, id DESC "
                         "LIMIT ?");
      for (query.with(uint64_t(limit)); query.next();) {
        int64_t key = 0;
        rows.emplace_back().info = readRun(query, key);
        at[key] = rows.size() - 1;
      }
    }
    {
      Query query = impl->db.query(
          "SELECT run_id, name, value FROM environment WHERE run_id IN (SELECT run_id FROM runs "
          "ORDER BY started_at DESC, id DESC LIMIT ?)");
      for (query.with(uint64_t(limit)); query.next();) {
        RunRow &row = rows[at.at(query.integer())];
        std::string name = query.text();
        row.info.environment[name] = query.text();
      }
    }
    Query query = impl->db.query(
        "SELECT run_id, outcome, tests FROM counts WHERE tests > 0 AND run_id IN (SELECT run_id "
        "FROM runs ORDER BY started_at DESC, id DESC LIMIT ?)");
    for (query.with(uint64_t(limit)); query.next();) {
      RunRow &row = rows[at.at(query.integer())];
      Outcome outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
      row.counts.emplace_back(outcome, uint64_t(query.integer()));
      row.outcomes += row.counts.back().second;
    }
    for (RunRow &row : rows)
      std::sort(row.counts.begin(), row.counts.end());
    return rows;
  });
}

Result<std::optional<std::string>> Store::runBefore(std::string_view id) {
  return guarded([&]() -> Result<std::optional<std::string>> {
    Query query = impl->db.query(
        "SELECT a.id FROM runs a, runs b WHERE b.id = ? AND (a.started_at, a.id) < (b.started_at, "
        "b.id) ORDER BY a.started_at DESC, a.id DESC LIMIT 1");
    if (query.with(id).next())
      return std::optional(query.text());
    return std::optional<std::string>();
  });
}

Result<std::optional<TestRecord>> Store::record(std::string_view run, std::string_view fullName) {
  return guarded([&]() -> Result<std::optional<TestRecord>> {
    auto [suite, id] = splitName(fullName);
    ReadTransaction snapshot(impl->db);
    std::optional<TestRecord> record;
    {
      Query query =
          impl->db.query("SELECT o.record FROM outcomes o JOIN tests t USING (test_id) "
                         "JOIN runs r USING (run_id) WHERE r.id = ? AND t.suite = ? AND t.id = ?");
      if (!query.with(run, suite, id).next())
        return std::optional<TestRecord>();
      record = readRecord(impl->db, query);
    }
    Query query = impl->db.query(
        "SELECT x.shard, x.outcome FROM reruns x JOIN tests t USING (test_id) JOIN runs r USING "
        "(run_id) WHERE r.id = ? AND t.suite = ? AND t.id = ? ORDER BY x.shard, x.attempt");
    std::vector<Rerun> reruns;
    for (query.with(run, suite, id); query.next();) {
      reruns.emplace_back().shard = query.text();
      reruns.back().outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
    }
    tellOfReruns(*record, reruns);
    return record;
  });
}

Status Store::forEachRecord(std::string_view run,
                            const std::function<void(const TestRecord &)> &visit) {
  return guarded([&]() -> Status {
    ReadTransaction snapshot(impl->db);
    int64_t key = impl->runKey(run).id;
    std::unordered_map<std::string, std::vector<Rerun>> reruns;
    {
      Query query = impl->db.query(
          "SELECT t.suite, t.id, x.shard, x.outcome FROM reruns x JOIN tests t USING (test_id) "
          "WHERE x.run_id = ? ORDER BY x.shard, x.attempt");
      for (query.with(key); query.next();) {
        std::string name = query.text();
        name += "::" + query.text();
        Rerun &rerun = reruns[name].emplace_back();
        rerun.shard = query.text();
        rerun.outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
      }
    }
    Query query =
        impl->db.query("SELECT o.record FROM outcomes o JOIN tests t USING (test_id) "
                       "WHERE o.run_id = ? ORDER BY t.suite, t.id",
                       Database::Rows::Streamed);
    query.with(key);
    while (query.next()) {
      TestRecord record = readRecord(impl->db, query);
      if (auto found = reruns.find(record.fullName()); found != reruns.end())
        tellOfReruns(record, found->second);
      visit(record);
    }
    return {};
  });
}

Result<std::vector<OutcomeRow>> Store::outcomes(std::string_view run) {
  return guarded([&]() -> Result<std::vector<OutcomeRow>> {
    std::vector<OutcomeRow> rows;
    Query query =
        impl->db.query("SELECT " CUPEL_OUTCOME_ROW " FROM outcomes o JOIN tests t USING (test_id) "
                       "JOIN runs r USING (run_id) WHERE o.run_id = ? ORDER BY t.suite, t.id");
    query.with(impl->runKey(run).id);
    while (query.next())
      rows.push_back(readOutcomeRow(query));
    return rows;
  });
}

Result<std::vector<OutcomeRow>> Store::history(std::string_view fullName, size_t limit) {
  return guarded([&]() -> Result<std::vector<OutcomeRow>> {
    auto [suite, id] = splitName(fullName);
    std::vector<OutcomeRow> rows;
    Query query =
        // Which runs are the newest is found out by indexes alone; only their rows are read.
        impl->db.query("SELECT " CUPEL_OUTCOME_ROW " FROM (SELECT x.run_id, x.test_id FROM outcomes "
                       "x JOIN runs r USING (run_id) WHERE x.test_id = (SELECT test_id FROM tests "
                       "WHERE suite = ? AND id = ?) ORDER BY r.started_at DESC, r.id DESC LIMIT ?) "
                       "AS newest JOIN outcomes o ON o.run_id = newest.run_id AND o.test_id = "
                       "newest.test_id JOIN tests t ON t.test_id = o.test_id JOIN runs r ON "
                       "r.run_id = o.run_id ORDER BY r.started_at DESC, r.id DESC");
    query.with(suite, id, uint64_t(limit));
    while (query.next())
      rows.push_back(readOutcomeRow(query));
    return rows;
  });
}

/// From the columns of an OutcomeRow, then record, arch, device; throws where the record cannot be
/// read.
static OutcomeBrief readBrief(Database &db, Query &query) {
  OutcomeBrief brief;
  brief.row = readOutcomeRow(query);
  if (Status read = readBriefly(query.text(), brief.record); !read)
    throw DatabaseError{db.name() + ": " + brief.row.fullName() + " in run " + brief.row.run +
                        ": " + read.message()};
  brief.arch = query.text();
  brief.device = query.text();
  return brief;
}

Status Store::forEachLatest(const std::function<void(const OutcomeBrief &)> &visit) {
  return guarded([&]() -> Status {
    ReadTransaction snapshot(impl->db);
    Query query = impl->db.query(
        "SELECT " CUPEL_OUTCOME_ROW ", o.record, k.arch, k.device FROM known k "
        "JOIN outcomes o ON o.run_id = k.run_id AND o.test_id = k.test_id "
        "JOIN tests t ON t.test_id = k.test_id JOIN runs r ON r.run_id = k.run_id "
        "ORDER BY t.suite, t.id, k.arch, k.device",
        Database::Rows::Streamed);
    while (query.next())
      visit(readBrief(impl->db, query));
    return {};
  });
}

Status Store::forEachBrief(std::string_view run,
                           const std::function<void(const OutcomeBrief &)> &visit) {
  return guarded([&]() -> Status {
    ReadTransaction snapshot(impl->db);
    Query query = impl->db.query(
        "SELECT " CUPEL_OUTCOME_ROW ", o.record, r.arch, r.device FROM outcomes o "
        "JOIN tests t USING (test_id) JOIN runs r USING (run_id) WHERE o.run_id = ? "
        "ORDER BY t.suite, t.id",
        Database::Rows::Streamed);
    query.with(impl->runKey(run).id);
    while (query.next())
      visit(readBrief(impl->db, query));
    return {};
  });
}

Result<std::vector<OutcomeCount>> Store::counts(std::string_view run) {
  return guarded([&]() -> Result<std::vector<OutcomeCount>> {
    std::vector<OutcomeCount> rows;
    Query query = impl->db.query("SELECT outcome, bringup_status, count(*), sum(seconds) "
                                 "FROM outcomes WHERE run_id = ? GROUP BY outcome, bringup_status "
                                 "ORDER BY outcome, bringup_status");
    query.with(impl->runKey(run).id);
    while (query.next()) {
      OutcomeCount &row = rows.emplace_back();
      row.outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
      row.bringupStatus = query.text();
      row.count = uint64_t(query.integer());
      row.seconds = query.real();
    }
    return rows;
  });
}

Result<std::string> Store::state() {
  return guarded([&]() -> Result<std::string> {
    Query query = impl->db.query(
        "SELECT (SELECT coalesce(max(outcome_id), 0) FROM outcomes), (SELECT count(*) FROM runs), "
        "(SELECT coalesce(sum(bytes), 0) FROM journals), "
        "(SELECT coalesce(sum(ended_at), 0) FROM runs)");
    query.next();
    std::string text;
    for (int column = 0; column < 3; ++column)
      text += std::to_string(query.integer()) + ".";
    return text + std::to_string(query.real());
  });
}

Result<std::unordered_map<std::string, std::vector<double>>>
Store::durations(std::string_view arch, std::string_view device, size_t runs) {
  using Durations = std::unordered_map<std::string, std::vector<double>>;
  return guarded([&]() -> Result<Durations> {
    Durations durations;
    Query query = impl->db.query(
        "SELECT t.suite, t.id, o.outcome, o.seconds FROM outcomes o JOIN tests t USING (test_id) "
        "WHERE o.run_id IN (SELECT run_id FROM runs WHERE arch = ? AND device = ? AND pruned_at = 0 "
        "ORDER BY started_at DESC, id DESC LIMIT ?)");
    for (query.with(arch, device, uint64_t(runs)); query.next();) {
      std::string name = query.text();
      name += "::" + query.text();
      std::optional<Outcome> outcome = parseOutcome(query.text());
      if (outcome && ranThrough(*outcome))
        durations[name].push_back(query.real());
    }
    return durations;
  });
}

Result<std::vector<KnownTest>> Store::known(std::string_view arch, std::string_view device) {
  return guarded([&]() -> Result<std::vector<KnownTest>> {
    std::vector<KnownTest> tests;
    Query query = impl->db.query(
        "SELECT t.suite, t.id, r.id, k.outcome, k.seconds, k.peak_memory_bytes FROM known k "
        "JOIN tests t USING (test_id) JOIN runs r USING (run_id) "
        "WHERE k.arch = ? AND k.device = ? ORDER BY t.suite, t.id");
    query.with(arch, device);
    while (query.next()) {
      KnownTest &test = tests.emplace_back();
      test.suite = query.text();
      test.id = query.text();
      test.run = query.text();
      test.outcome = parseOutcome(query.text()).value_or(Outcome::NotRun);
      test.seconds = query.real();
      test.peakMemoryBytes = uint64_t(query.integer());
    }
    return tests;
  });
}

} // namespace cupel::results
