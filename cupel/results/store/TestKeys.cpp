#include "cupel/results/store/TestKeys.h"

#include "cupel/results/store/CopyRows.h"

#include <unordered_set>
#include <utility>

namespace cupel::results {
namespace {

/// From here on reading all tests costs less than asking for each.
constexpr size_t kMany = 64;
/// What a project has; of more than that the oldest are asked for one by one.
constexpr int kMostRead = 200'000;

std::string fullName(const RecordColumns &record) {
  std::string name;
  name.reserve(record.suite.size() + 2 + record.id.size());
  return name.append(record.suite).append("::").append(record.id);
}

} // namespace

std::vector<int64_t> TestKeys::of(std::span<const RecordColumns> records) {
  if (std::exchange(undoneBefore, db.undone) != db.undone) {
    keys.clear();
    isRead = false;
  }
  std::vector<int64_t> numbers(records.size());
  std::vector<size_t> unknown;
  for (size_t i = 0; i < records.size(); ++i)
    if (auto found = keys.find(fullName(records[i])); found != keys.end())
      numbers[i] = found->second;
    else
      unknown.push_back(i);
  if (unknown.empty())
    return numbers;
  if (unknown.size() >= kMany && !std::exchange(isRead, true))
    readNewest();
  std::vector<const RecordColumns *> absent;
  std::unordered_set<std::string> names; // A test may be there twice.
  for (size_t i : unknown)
    if (std::string name = fullName(records[i]); !keys.contains(name) && names.insert(name).second)
      absent.push_back(&records[i]);
  if (!absent.empty())
    db.kind() == Database::Kind::Postgres ? enterByCopy(absent) : enterByRow(absent);
  for (size_t i : unknown)
    numbers[i] = keys.at(fullName(records[i]));
  return numbers;
}

void TestKeys::readNewest() {
  Query query = db.query("SELECT test_id, suite, id FROM tests ORDER BY test_id DESC LIMIT ?");
  for (query.with(kMostRead); query.next();) {
    int64_t key = query.integer();
    std::string name = query.text();
    keys[name.append("::").append(query.text())] = key;
  }
}

void TestKeys::enterByRow(Records records) {
  for (const RecordColumns *r : records) {
    {
      Query query = db.query("SELECT test_id FROM tests WHERE suite = ? AND id = ?");
      if (query.with(r->suite, r->id).next()) {
        keys[fullName(*r)] = query.integer();
        continue;
      }
    }
    Query query =
        db.query("INSERT INTO tests (suite, id, file, framework, model_path, variant, parallelism, "
                 "run_mode, model_name, model_group) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                 "RETURNING test_id");
    query
        .with(r->suite, r->id, r->file, r->framework, r->modelPath, r->variant, r->parallelism,
              r->runMode, r->modelName, r->group)
        .next();
    int64_t key = query.integer();
    query.run();
    keys[fullName(*r)] = key;
  }
}

void TestKeys::enterByCopy(Records records) {
  CopyRows rows(10);
  for (const RecordColumns *r : records)
    rows.row()
        .text(r->suite).text(r->id).text(r->file).text(r->framework).text(r->modelPath)
        .text(r->variant).text(r->parallelism).text(r->runMode).text(r->modelName).text(r->group);
  db.execute("CREATE TEMPORARY TABLE IF NOT EXISTS incoming_tests (suite TEXT, id TEXT, file TEXT, "
             "framework TEXT, model_path TEXT, variant TEXT, parallelism TEXT, run_mode TEXT, "
             "model_name TEXT, model_group TEXT) ON COMMIT DELETE ROWS");
  db.execute("DELETE FROM incoming_tests");
  db.copyIn("incoming_tests", rows.finish());
  db.query("INSERT INTO tests (suite, id, file, framework, model_path, variant, parallelism, "
           "run_mode, model_name, model_group) SELECT suite, id, file, framework, model_path, "
           "variant, parallelism, run_mode, model_name, model_group FROM incoming_tests i WHERE NOT "
           "EXISTS (SELECT 1 FROM tests t WHERE t.suite = i.suite AND t.id = i.id) "
           "ON CONFLICT (suite, id) DO NOTHING")
      .run();
  Query query = db.query("SELECT t.test_id, t.suite, t.id FROM incoming_tests i JOIN tests t USING "
                         "(suite, id)");
  while (query.next()) {
    int64_t key = query.integer();
    std::string name = query.text();
    keys[name.append("::").append(query.text())] = key;
  }
}

} // namespace cupel::results
