#include "cupel/results/store/Schema.h"

#include "cupel/results/store/OldRecords.h"
#include "cupel/results/store/RecordViews.h"

#include <fmt/format.h>

namespace cupel::results {
namespace {

// Figures that are NaN are kept as the text 'nan' in SQLite. `record` is the JSON form of a TestRecord
// without the lists that have tables of their own.
constexpr const char *kVersion1 = R"sql(
CREATE TABLE runs (
  run_id       INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  started_at   REAL NOT NULL,
  ended_at     REAL NOT NULL DEFAULT 0,
  command_line TEXT NOT NULL DEFAULT '[]',
  arch         TEXT NOT NULL DEFAULT '',
  device       TEXT NOT NULL DEFAULT '',
  plugin       TEXT NOT NULL DEFAULT '',
  selected     INTEGER NOT NULL DEFAULT 0,
  exit_code    INTEGER NOT NULL DEFAULT -1
);
CREATE INDEX runs_by_time ON runs (started_at, id);

CREATE TABLE environment (
  run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  name   TEXT NOT NULL,
  value  TEXT NOT NULL,
  PRIMARY KEY (run_id, name)
) WITHOUT ROWID;

CREATE TABLE tests (
  test_id     INTEGER PRIMARY KEY,
  suite       TEXT NOT NULL,
  id          TEXT NOT NULL,
  file        TEXT NOT NULL DEFAULT '',
  framework   TEXT NOT NULL DEFAULT '',
  model_path  TEXT NOT NULL DEFAULT '',
  variant     TEXT NOT NULL DEFAULT '',
  parallelism TEXT NOT NULL DEFAULT '',
  run_mode    TEXT NOT NULL DEFAULT '',
  model_name  TEXT NOT NULL DEFAULT '',
  model_group TEXT NOT NULL DEFAULT '',
  UNIQUE (suite, id)
);
CREATE INDEX tests_by_id ON tests (id);

CREATE TABLE outcomes (
  outcome_id        INTEGER PRIMARY KEY,
  run_id            INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  test_id           INTEGER NOT NULL REFERENCES tests,
  outcome           TEXT NOT NULL,
  last_stage        TEXT NOT NULL,
  test_status       TEXT NOT NULL DEFAULT '',
  bringup_status    TEXT NOT NULL DEFAULT '',
  started_at        REAL NOT NULL DEFAULT 0,
  seconds           REAL NOT NULL DEFAULT 0,
  peak_memory_bytes INTEGER NOT NULL DEFAULT 0,
  flaky             INTEGER NOT NULL DEFAULT 0,
  pcc               REAL,
  max_absolute      REAL,
  error_class       TEXT NOT NULL DEFAULT '',
  message           TEXT NOT NULL DEFAULT '',
  digest            TEXT NOT NULL,
  record            TEXT NOT NULL,
  UNIQUE (run_id, test_id)
);
CREATE INDEX outcomes_by_test ON outcomes (test_id, run_id);

CREATE TABLE stages (
  outcome_id INTEGER NOT NULL REFERENCES outcomes ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  stage      TEXT NOT NULL,
  seconds    REAL NOT NULL,
  PRIMARY KEY (outcome_id, position)
) WITHOUT ROWID;

CREATE TABLE comparisons (
  outcome_id        INTEGER NOT NULL REFERENCES outcomes ON DELETE CASCADE,
  position          INTEGER NOT NULL,
  output            INTEGER NOT NULL,
  passed            INTEGER NOT NULL,
  pcc               REAL,
  max_absolute      REAL,
  max_relative      REAL,
  relative_l2       REAL,
  pcc_threshold     REAL,
  atol_threshold    REAL,
  rtol_threshold    REAL,
  pcc_asserted      INTEGER NOT NULL,
  atol_asserted     INTEGER NOT NULL,
  allclose_asserted INTEGER NOT NULL,
  sentence          TEXT NOT NULL,
  PRIMARY KEY (outcome_id, position)
) WITHOUT ROWID;

CREATE TABLE reasons (
  outcome_id  INTEGER NOT NULL REFERENCES outcomes ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  name        TEXT NOT NULL,
  description TEXT NOT NULL,
  component   TEXT NOT NULL,
  summary     TEXT NOT NULL,
  PRIMARY KEY (outcome_id, position)
) WITHOUT ROWID;
CREATE INDEX reasons_by_name ON reasons (name);

CREATE TABLE artifacts (
  outcome_id INTEGER NOT NULL REFERENCES outcomes ON DELETE CASCADE,
  position   INTEGER NOT NULL,
  name       TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  PRIMARY KEY (outcome_id, position)
) WITHOUT ROWID;

CREATE TABLE journals (
  name  TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// What the next run must know of every test, without walking through all runs.
constexpr const char *kVersion2 = R"sql(
CREATE TABLE known (
  test_id           INTEGER NOT NULL REFERENCES tests,
  arch              TEXT NOT NULL,
  device            TEXT NOT NULL,
  run_id            INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  outcome           TEXT NOT NULL,
  seconds           REAL NOT NULL,
  peak_memory_bytes INTEGER NOT NULL,
  PRIMARY KEY (test_id, arch, device)
) WITHOUT ROWID;

INSERT INTO known
  SELECT test_id, arch, device, run_id, outcome,
    coalesce((SELECT o.seconds FROM outcomes o JOIN runs r USING (run_id)
      WHERE o.test_id = latest.test_id AND r.arch = latest.arch AND r.device = latest.device
        AND o.outcome IN ('passed', 'failed', 'xfailed', 'xpassed')
      ORDER BY r.started_at DESC, r.id DESC LIMIT 1), latest.seconds),
    peak_memory_bytes
  FROM (SELECT o.*, r.arch, r.device, row_number() OVER (
          PARTITION BY test_id, r.arch, r.device ORDER BY r.started_at DESC, r.id DESC) AS age
        FROM outcomes o JOIN runs r USING (run_id)) AS latest
  WHERE age = 1;
)sql";

// By which rule outputs were judged, and what the strict one says of them.
constexpr const char *kVersion3 = R"sql(
ALTER TABLE comparisons ADD COLUMN rule TEXT NOT NULL DEFAULT '';
ALTER TABLE comparisons ADD COLUMN strict_passed INTEGER;
ALTER TABLE comparisons ADD COLUMN strict_sentence TEXT NOT NULL DEFAULT '';
ALTER TABLE comparisons ADD COLUMN precision TEXT NOT NULL DEFAULT '';
ALTER TABLE comparisons ADD COLUMN noise REAL;
ALTER TABLE comparisons ADD COLUMN worst_in_noise REAL;
ALTER TABLE comparisons ADD COLUMN whole_in_noise REAL;
)sql";

// Outcomes of shards and of second runs, counts that need no counting, and what a run of long ago
// leaves when it is pruned. A record is whole in its JSON; the tables of its parts become views.
constexpr const char *kVersion4 = R"sql(
ALTER TABLE runs ADD COLUMN pruned_at REAL NOT NULL DEFAULT 0;
ALTER TABLE outcomes ADD COLUMN shard TEXT NOT NULL DEFAULT '';
ALTER TABLE outcomes ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
ALTER TABLE outcomes ADD COLUMN reason TEXT NOT NULL DEFAULT '';
CREATE INDEX outcomes_by_reason ON outcomes (reason, run_id) WHERE reason <> '';

ALTER TABLE known ADD COLUMN run_started_at REAL NOT NULL DEFAULT 0;
UPDATE known SET run_started_at = (SELECT started_at FROM runs WHERE runs.run_id = known.run_id);
CREATE INDEX known_by_device ON known (arch, device);

CREATE TABLE counts (
  run_id  INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  outcome TEXT NOT NULL,
  tests   INTEGER NOT NULL,
  PRIMARY KEY (run_id, outcome)
) WITHOUT ROWID;
INSERT INTO counts SELECT run_id, outcome, count(*) FROM outcomes GROUP BY run_id, outcome;

CREATE TABLE reruns (
  run_id  INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
  test_id INTEGER NOT NULL REFERENCES tests,
  shard   TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  digest  TEXT NOT NULL,
  record  TEXT NOT NULL,
  PRIMARY KEY (run_id, test_id, shard, attempt)
) WITHOUT ROWID;
)sql";

void toVersion4(Database &db) {
  db.execute(db.inDialect(kVersion4));
  foldPartsIntoRecords(db);
  db.execute("DROP TABLE stages; DROP TABLE comparisons; DROP TABLE reasons; DROP TABLE artifacts;");
  db.execute(recordViews(db.kind()));
}

/// Outcomes are entered by thousands, by one function that knows their run and their test: a server
/// that looks both up again for every row, and locks them, took most of its time for it. `cupel
/// results check` looks whether all of them belong to something. SQLite, where constraints cannot be
/// dropped, is told for each connection not to ask.
void toVersion5(Database &db) {
  if (db.kind() != Database::Kind::Postgres)
    return;
  for (const char *table : {"outcomes", "known", "reruns"})
    for (const char *column : {"run_id", "test_id"})
      db.execute(fmt::format("ALTER TABLE {0} DROP CONSTRAINT IF EXISTS {0}_{1}_fkey", table, column));
  // Every run changes every row of it: the new one has room on the page of the old one.
  db.execute("ALTER TABLE known SET (fillfactor = 50)");
}

template <const char *const &Sql> void statements(Database &db) { db.execute(db.inDialect(Sql)); }

constexpr void (*kMigrations[])(Database &) = {statements<kVersion1>, statements<kVersion2>,
                                               statements<kVersion3>, toVersion4, toVersion5};

} // namespace

int64_t currentSchema() { return int64_t(std::size(kMigrations)); }

void migrate(Database &db, int64_t version) {
  auto refuseNewer = [&](int64_t found) {
    if (found > currentSchema())
      throw DatabaseError{db.name() + ": was written by a newer Cupel (schema version " +
                          std::to_string(found) + ", this one knows " +
                          std::to_string(currentSchema()) +
                          "); update Cupel, or name another store with --results"};
  };
  int64_t found = db.schemaVersion();
  refuseNewer(found);
  if (found >= version)
    return;
  Transaction transaction(db);
  db.lock("schema");
  // Another process may have been here while we waited for the lock.
  found = db.schemaVersion();
  refuseNewer(found);
  for (; found < version; ++found)
    kMigrations[size_t(found)](db);
  db.setSchemaVersion(found);
  transaction.commit();
}

} // namespace cupel::results
