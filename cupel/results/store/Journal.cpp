#include "cupel/results/store/Journal.h"

#include "cupel/results/RecordJson.h"
#include "cupel/support/Files.h"

namespace cupel::results {
namespace {

// As the runner writes them; nothing else makes journals.
constexpr std::string_view kRunKey = "{\"cupel_journal\":1,\"run\":";
constexpr std::string_view kRecordKey = "{\"record\":";
constexpr std::string_view kEndKey = "{\"end\":";

/// The value of a one-key object without looking into the value.
std::optional<std::string_view> valueOf(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || !line.ends_with('}'))
    return std::nullopt;
  return line.substr(key.size(), line.size() - key.size() - 1);
}

} // namespace

Result<uint64_t> readJournal(const std::string &path, const JournalReader &reader) {
  Result<FileContents> contents = readInput(path, uint64_t{64} << 30);
  if (!contents)
    return contents.error();
  std::string_view rest = contents->bytes();
  uint64_t number = 0, complete = 0;
  auto damaged = [&](std::string message) {
    if (reader.onDamage)
      reader.onDamage(number, path + ":" + std::to_string(number) + ": " + std::move(message));
  };
  for (size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    complete += end + 1;
    ++number;
    if (line.empty())
      continue;
    if (auto value = valueOf(line, kRecordKey); value && reader.onRecord) {
      if (Status status = reader.onRecord(*value); !status)
        damaged(status.message());
    } else if (value) {
      Result<TestRecord> record = testRecordFromJson(*value);
      if (!record)
        damaged(record.message());
      else if (record->id.empty() || record->suite.empty())
        damaged("a record without suite or id");
      else if (reader.onTest)
        reader.onTest(std::move(*record));
    } else if (auto value = valueOf(line, line.starts_with(kEndKey) ? kEndKey : kRunKey)) {
      Result<RunInfo> run = runInfoFromJson(*value);
      if (!run)
        damaged(run.message());
      else if (run->id.empty())
        damaged("a run without id");
      else if (reader.onRun)
        reader.onRun(std::move(*run));
    } else if (line.front() == '{' && line.back() == '}') {
      if (reader.onOther)
        reader.onOther(line);
    } else {
      damaged("not a JSON object: " + std::string(line.substr(0, 60)));
    }
  }
  return complete;
}

} // namespace cupel::results
