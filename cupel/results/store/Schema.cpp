#include "cupel/results/store/Schema.h"

namespace cupel::results {
namespace {

// Figures that are NaN are kept as the text 'nan'. `record` is the JSON form of a TestRecord
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

constexpr const char *kMigrations[] = {kVersion1, kVersion2, kVersion3};

} // namespace

std::span<const char *const> migrations() { return kMigrations; }

void migrate(Database &db, int64_t version) {
  auto refuseNewer = [&](int64_t found) {
    if (found > currentSchema())
      throw DatabaseError{db.path() + ": was written by a newer Cupel (schema version " +
                          std::to_string(found) + ", this one knows " +
                          std::to_string(currentSchema()) +
                          "); update Cupel, or name another store with --results"};
  };
  int64_t found = db.userVersion();
  refuseNewer(found);
  if (found >= version)
    return;
  Transaction transaction(db);
  // Another process may have been here while we waited for the lock.
  found = db.userVersion();
  refuseNewer(found);
  for (; found < version; ++found)
    db.execute(migrations()[size_t(found)]);
  db.execute("PRAGMA user_version = " + std::to_string(found));
  transaction.commit();
}

} // namespace cupel::results
