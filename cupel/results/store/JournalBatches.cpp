#include "cupel/results/store/JournalBatches.h"

#include "cupel/results/store/Journal.h"

#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace cupel::results {
namespace {

constexpr size_t kAtATime = 2048;

/// `{"key":{"attempt":2,"shard":"n1.4"}}`, which says more of the record in the next line.
std::optional<std::pair<std::string, uint32_t>> keyOfNextRecord(std::string_view line) {
  if (!line.starts_with("{\"key\":"))
    return std::nullopt;
  nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json["key"].is_object())
    return std::nullopt;
  const nlohmann::json &key = json["key"];
  if (!key.contains("shard") || !key["shard"].is_string() || !key.contains("attempt") ||
      !key["attempt"].is_number_unsigned())
    return std::nullopt;
  return std::pair(key["shard"].get<std::string>(), key["attempt"].get<uint32_t>());
}

} // namespace

JournalBatches::JournalBatches(std::string path, std::string shard)
    : path(std::move(path)), shard(std::move(shard)), parser([this] { parse(); }) {}

JournalBatches::~JournalBatches() {
  {
    std::lock_guard guard(mutex);
    isUnwanted = true;
  }
  changed.notify_all();
  parser.join();
}

std::span<const RecordColumns> JournalBatches::next() {
  std::unique_lock guard(mutex);
  if (reading)
    empty.push_back(std::exchange(reading, nullptr));
  changed.notify_all();
  changed.wait(guard, [&] { return isOver || !full.empty(); });
  if (full.empty())
    return {};
  reading = full.front();
  full.erase(full.begin());
  return std::span(reading->records).first(reading->filled);
}

bool JournalBatches::handOver() {
  std::unique_lock guard(mutex);
  full.push_back(std::exchange(filling, nullptr));
  changed.notify_all();
  changed.wait(guard, [&] { return isUnwanted || !empty.empty(); });
  if (isUnwanted)
    return false;
  filling = empty.back();
  empty.pop_back();
  filling->filled = 0;
  return true;
}

void JournalBatches::parse() {
  // The how-manieth record of its test each one is, by the hash of the test's name.
  std::unordered_map<size_t, uint32_t> attempts;
  std::optional<std::pair<std::string, uint32_t>> given; // Of the next record, by the line before.
  JournalReader reader;
  reader.onOther = [&](std::string_view line) { given = keyOfNextRecord(line); };
  reader.onRecord = [&](std::string_view json) -> Status {
    if (!filling)
      return {}; // Nobody wants more.
    if (filling->filled == filling->records.size())
      filling->records.emplace_back();
    RecordColumns &record = filling->records[filling->filled];
    Status status = readColumns(json, record);
    if (status && (record.id.empty() || record.suite.empty()))
      status = Error{"a record without suite or id"};
    if (!status)
      return status;
    std::hash<std::string_view> hash;
    record.shard = shard;
    record.attempt = ++attempts[hash(record.suite) * 31 + hash(record.id)];
    if (given)
      std::tie(record.shard, record.attempt) = *std::exchange(given, std::nullopt);
    if (++filling->filled == kAtATime)
      handOver();
    return {};
  };
  reader.onDamage = [&](uint64_t, std::string message) {
    if (damaged++ == 0)
      firstDamage = std::move(message);
  };
  Result<uint64_t> bytes = readJournal(path, reader);
  std::lock_guard guard(mutex);
  read = std::move(bytes);
  tests = attempts.size();
  if (filling && filling->filled)
    full.push_back(std::exchange(filling, nullptr));
  isOver = true;
  changed.notify_all();
}

} // namespace cupel::results
