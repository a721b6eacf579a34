// The reading half of Store.

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/StoreImpl.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace cupel::results {
namespace {

/// The columns of an OutcomeRow, from outcomes o, tests t, runs r.
#define CUPEL_OUTCOME_ROW                                                                          \
  "t.suite, t.id, r.id, o.outcome, o.last_stage, o.started_at, o.seconds, o.peak_memory_bytes, "   \
  "o.flaky, o.pcc, o.max_absolute, o.message, "                                                    \
  "(SELECT name FROM reasons WHERE outcome_id = o.outcome_id AND position = 0)"

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

RunInfo readRun(Database &db, Query &query, int64_t &key) {
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
  Query environment = db.query("SELECT name, value FROM environment WHERE run_id = ?");
  environment.with(key);
  while (environment.next()) {
    std::string name = environment.text();
    run.environment[name] = environment.text();
  }
  return run;
}

/// From columns outcome_id, record; throws where the record cannot be read.
TestRecord readRecord(Database &db, Query &query) {
  int64_t key = query.integer();
  Result<TestRecord> parsed = testRecordFromJson(query.text());
  if (!parsed)
    throw DatabaseError{db.path() + ": outcome " + std::to_string(key) + ": " + parsed.message()};
  TestRecord record = std::move(*parsed);
  {
    Query rows = db.query("SELECT stage, seconds FROM stages WHERE outcome_id = ? "
                          "ORDER BY position");
    for (rows.with(key); rows.next();) {
      StageTime &stage = record.stages.emplace_back();
      stage.stage = parseStage(rows.text()).value_or(Stage::None);
      stage.seconds = rows.real();
    }
  }
  {
    Query rows = db.query(
        "SELECT output, passed, pcc, max_absolute, max_relative, relative_l2, pcc_threshold, "
        "atol_threshold, rtol_threshold, pcc_asserted, atol_asserted, allclose_asserted, "
        "sentence, rule, strict_passed, strict_sentence, precision, noise, worst_in_noise, "
        "whole_in_noise FROM comparisons WHERE outcome_id = ? ORDER BY position");
    for (rows.with(key); rows.next();) {
      ComparisonRecord &c = record.comparisons.emplace_back();
      c.output = uint32_t(rows.integer());
      c.passed = rows.integer() != 0;
      c.pcc = rows.maybeReal();
      c.maxAbsolute = rows.maybeReal();
      c.maxRelative = rows.maybeReal();
      c.relativeL2 = rows.maybeReal();
      c.pccThreshold = rows.maybeReal();
      c.atolThreshold = rows.maybeReal();
      c.rtolThreshold = rows.maybeReal();
      c.pccAsserted = rows.integer() != 0;
      c.atolAsserted = rows.integer() != 0;
      c.allcloseAsserted = rows.integer() != 0;
      c.sentence = rows.text();
      c.rule = rows.text();
      if (std::optional<double> strict = rows.maybeReal())
        c.strictPassed = *strict != 0;
      c.strictSentence = rows.text();
      c.precision = rows.text();
      c.noise = rows.maybeReal();
      c.worstInNoise = rows.maybeReal();
      c.wholeInNoise = rows.maybeReal();
    }
  }
  {
    Query rows = db.query("SELECT name, description, component, summary FROM reasons "
                          "WHERE outcome_id = ? ORDER BY position");
    for (rows.with(key); rows.next();) {
      ReasonRecord &reason = record.reasons.emplace_back();
      reason.name = rows.text();
      reason.description = rows.text();
      reason.component = rows.text();
      reason.summary = rows.text();
    }
  }
  {
    Query rows = db.query("SELECT name, sha256, bytes FROM artifacts WHERE outcome_id = ? "
                          "ORDER BY position");
    for (rows.with(key); rows.next();) {
      ArtifactRecord &artifact = record.artifacts.emplace_back();
      artifact.name = rows.text();
      artifact.sha256 = rows.text();
      artifact.bytes = uint64_t(rows.integer());
    }
  }
  return record;
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
        return Error{impl->folder + ": no runs yet; `cupel run` makes the first"};
      return Error{"'" + std::string(text) + "': there are only " + std::to_string(runs) +
                   " runs in " + impl->folder};
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
    return Error{"no run '" + std::string(text) + "' in " + impl->folder + hint};
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
      return Error{"no test '" + std::string(text) + "' in " + impl->folder + "; did you mean " +
                   within[0] + "?"};
    if (!within.empty())
      return Error{"no test '" + std::string(text) + "' in " + impl->folder +
                   "; these contain it: " + list(within, 4)};
    std::vector<std::string_view> candidates;
    for (std::string_view name : all)
      for (std::string_view candidate : {name, splitName(name).second})
        if (std::max(candidate.size(), id.size()) - std::min(candidate.size(), id.size()) <= 8)
          candidates.push_back(candidate);
    std::string_view nearest = nearestWord(id, candidates);
    return Error{"no test '" + std::string(text) + "' in " + impl->folder +
                 (nearest.empty() ? std::string("; cupel show latest lists what ran last")
                                  : "; did you mean " + std::string(nearest) + "?")};
  });
}

Result<RunInfo> Store::run(std::string_view id) {
  return guarded([&]() -> Result<RunInfo> {
    Query query = impl->db.query("SELECT run_id, id, started_at, ended_at, command_line, arch, "
                                 "device, plugin, selected, exit_code FROM runs WHERE id = ?");
    if (!query.with(id).next())
      return Error{impl->folder + ": no run '" + std::string(id) + "'"};
    int64_t key = 0;
    return readRun(impl->db, query, key);
  });
}

Result<std::vector<RunRow>> Store::runs(size_t limit) {
  return guarded([&]() -> Result<std::vector<RunRow>> {
    ReadTransaction snapshot(impl->db);
    std::vector<RunRow> rows;
    Query query =
        impl->db.query("SELECT run_id, id, started_at, ended_at, command_line, arch, device, "
                       "plugin, selected, exit_code FROM runs ORDER BY started_at DESC, id DESC "
                       "LIMIT ?");
    query.with(uint64_t(limit));
    while (query.next()) {
      RunRow &row = rows.emplace_back();
      int64_t key = 0;
      row.info = readRun(impl->db, query, key);
      Query counts = impl->db.query(
          "SELECT outcome, count(*) FROM outcomes WHERE run_id = ? GROUP BY outcome");
      counts.with(key);
      while (counts.next()) {
        Outcome outcome = parseOutcome(counts.text()).value_or(Outcome::NotRun);
        row.counts.emplace_back(outcome, uint64_t(counts.integer()));
        row.outcomes += row.counts.back().second;
      }
      std::sort(row.counts.begin(), row.counts.end());
    }
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
    Query query =
        impl->db.query("SELECT o.outcome_id, o.record FROM outcomes o JOIN tests t USING (test_id) "
                       "JOIN runs r USING (run_id) WHERE r.id = ? AND t.suite = ? AND t.id = ?");
    if (!query.with(run, suite, id).next())
      return std::optional<TestRecord>();
    return std::optional(readRecord(impl->db, query));
  });
}

Status Store::forEachRecord(std::string_view run,
                            const std::function<void(const TestRecord &)> &visit) {
  return guarded([&]() -> Status {
    ReadTransaction snapshot(impl->db);
    int64_t key = impl->runKey(run);
    Query query =
        impl->db.query("SELECT o.outcome_id, o.record FROM outcomes o JOIN tests t USING (test_id) "
                       "WHERE o.run_id = ? ORDER BY t.suite, t.id");
    query.with(key);
    while (query.next())
      visit(readRecord(impl->db, query));
    return {};
  });
}

Result<std::vector<OutcomeRow>> Store::outcomes(std::string_view run) {
  return guarded([&]() -> Result<std::vector<OutcomeRow>> {
    std::vector<OutcomeRow> rows;
    Query query =
        impl->db.query("SELECT " CUPEL_OUTCOME_ROW " FROM outcomes o JOIN tests t USING (test_id) "
                       "JOIN runs r USING (run_id) WHERE o.run_id = ? ORDER BY t.suite, t.id");
    query.with(impl->runKey(run));
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
        impl->db.query("SELECT " CUPEL_OUTCOME_ROW " FROM outcomes o JOIN tests t USING (test_id) "
                       "JOIN runs r USING (run_id) WHERE t.suite = ? AND t.id = ? "
                       "ORDER BY r.started_at DESC, r.id DESC LIMIT ?");
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
  Result<TestRecord> parsed = testRecordFromJson(query.text());
  if (!parsed)
    throw DatabaseError{db.path() + ": " + brief.row.fullName() + " in run " + brief.row.run +
                        ": " + parsed.message()};
  brief.record = std::move(*parsed);
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
        "ORDER BY t.suite, t.id, k.arch, k.device");
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
        "ORDER BY t.suite, t.id");
    query.with(impl->runKey(run));
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
    query.with(impl->runKey(run));
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

Result<std::vector<KnownTest>> Store::known(std::string_view arch, std::string_view device) {
  return guarded([&]() -> Result<std::vector<KnownTest>> {
    std::vector<KnownTest> tests;
    Query query = impl->db.query(
        "SELECT t.suite, t.id, r.id, k.outcome, k.seconds, k.peak_memory_bytes FROM known k "
        "JOIN tests t USING (test_id) JOIN runs r USING (run_id) "
        "WHERE k.arch = ? AND k.device = ?");
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
