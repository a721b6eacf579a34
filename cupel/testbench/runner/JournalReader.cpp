#include "cupel/testbench/runner/JournalReader.h"

#include "cupel/results/RecordJson.h"
#include "cupel/support/Files.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace cupel::testbench::runner {

namespace {

using Json = nlohmann::json;

/// What stands between `prefix` and the closing brace of a line, where it begins so.
std::string_view bodyAfter(std::string_view line, std::string_view prefix) {
  if (!line.starts_with(prefix) || !line.ends_with('}'))
    return {};
  return line.substr(prefix.size(), line.size() - prefix.size() - 1);
}

class Folding {
public:
  explicit Folding(JournalContents &contents) : contents(contents) {}

  /// False where the line is not what a journal holds.
  bool line(std::string_view text) {
    if (std::string_view body = bodyAfter(text, "{\"record\":"); !body.empty())
      return record(body);
    if (std::string_view body = bodyAfter(text, "{\"end\":"); !body.empty()) {
      Result<results::RunInfo> run = results::runInfoFromJson(body);
      if (!run)
        return false;
      contents.run = std::move(*run);
      contents.ended = true;
      running.clear();
      return true;
    }
    Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || json.empty())
      return false;
    if (auto found = json.find("start"); found != json.end() && found->is_string()) {
      running.insert(found->get<std::string>());
      return true;
    }
    if (auto found = json.find("select"); found != json.end() && found->is_array()) {
      for (const Json &name : *found) {
        if (!name.is_string())
          return false;
        contents.selection.push_back(name.get<std::string>());
      }
      return true;
    }
    if (auto found = json.find("selected"); found != json.end() && found->is_number_unsigned()) {
      contents.selectionComplete = found->get<uint64_t>() == contents.selection.size();
      return true;
    }
    if (json.contains("resume")) {
      contents.ended = false;
      stop();
      return true;
    }
    return false;
  }

  /// The run did not go on from here: what was running then was killed.
  void stop() {
    for (const std::string &name : running)
      ++contents.killedWhileRunning[name];
    running.clear();
  }

private:
  bool record(std::string_view body) {
    Result<results::TestRecord> read = results::testRecordFromJson(body);
    if (!read)
      return false;
    std::string name = read->fullName();
    running.erase(name);
    auto [at, isNew] = contents.records.try_emplace(name);
    if (!isNew && JournalContents::isFinal(at->second)) {
      ++contents.doubled;
      return true;
    }
    at->second = std::move(*read);
    return true;
  }

  JournalContents &contents;
  std::unordered_set<std::string> running;
};

} // namespace

bool JournalContents::isFinal(const results::TestRecord &record) {
  return record.outcome != results::Outcome::Interrupted &&
         record.outcome != results::Outcome::NotRun;
}

Result<JournalContents> readJournal(const std::string &path) {
  Result<FileContents> file = readInput(path, uint64_t{64} << 30);
  if (!file)
    return Error{file.message()};
  std::string_view rest = file->bytes();
  JournalContents contents;
  Folding folding(contents);
  bool first = true;
  while (true) {
    size_t end = rest.find('\n');
    if (end == std::string_view::npos)
      break;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    contents.validBytes += end + 1;
    if (first) {
      std::string_view run = bodyAfter(line, "{\"cupel_journal\":1,\"run\":");
      Result<results::RunInfo> information = results::runInfoFromJson(run);
      if (run.empty() || !information)
        return Error{path + ":1: this is not the journal of a run, or one of another version"};
      contents.run = std::move(*information);
      first = false;
      continue;
    }
    contents.damaged += !folding.line(line);
  }
  if (first)
    return Error{path + ": the journal is empty: the run was killed before it began"};
  if (!contents.ended)
    folding.stop();
  return contents;
}

} // namespace cupel::testbench::runner
