#include "cupel/results/store/OldRecords.h"

#include "cupel/results/RecordJson.h"
#include "cupel/results/store/RecordColumns.h"

#include <vector>

namespace cupel::results {
namespace {

/// The whole of an outcome's record; throws where what is there cannot be read.
TestRecord readOldRecord(Database &db, int64_t key, const std::string &json) {
  Result<TestRecord> parsed = testRecordFromJson(json);
  if (!parsed)
    throw DatabaseError{db.name() + ": outcome " + std::to_string(key) + ": " + parsed.message()};
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

} // namespace

void foldPartsIntoRecords(Database &db) {
  constexpr int kAtATime = 1000;
  int64_t last = -1;
  while (true) {
    std::vector<std::pair<int64_t, std::string>> rows;
    {
      Query query = db.query("SELECT outcome_id, record FROM outcomes WHERE outcome_id > ? "
                             "ORDER BY outcome_id LIMIT ?");
      for (query.with(last, kAtATime); query.next();) {
        int64_t key = query.integer();
        rows.emplace_back(key, query.text());
      }
    }
    if (rows.empty())
      return;
    last = rows.back().first;
    for (const auto &[key, json] : rows) {
      RecordColumns columns;
      if (Status status = readColumns(toJson(readOldRecord(db, key, json)), columns); !status)
        throw DatabaseError{db.name() + ": outcome " + std::to_string(key) + ": " +
                            status.message()};
      db.query("UPDATE outcomes SET record = ?, digest = ?, reason = ? WHERE outcome_id = ?")
          .with(columns.json, columns.digest, columns.reason, key)
          .run();
    }
  }
}

} // namespace cupel::results
