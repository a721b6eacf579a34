#include "cupel/testbench/runner/JournalReader.h"

#include "cupel/results/store/Journal.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

namespace cupel::testbench::runner {

namespace {

using Json = nlohmann::json;

/// Puts the lines of a journal together, in their order.
class Folding {
public:
  explicit Folding(JournalContents &contents) : contents(contents) {}

  void run(results::RunInfo information) {
    hasRun = true;
    // It stands there once more when the run has ended.
    contents.ended = information.endedAt > 0;
    if (contents.ended)
      running.clear();
    contents.run = std::move(information);
  }

  void record(results::TestRecord record) {
    std::string name = record.fullName();
    running.erase(name);
    auto [at, isNew] = contents.records.try_emplace(name);
    if (!isNew && JournalContents::isFinal(at->second))
      ++contents.doubled;
    else
      at->second = std::move(record);
  }

  void other(std::string_view line) { contents.damaged += !readOther(line); }

  /// The run did not go on from here: what was running then was killed.
  void stop() {
    for (const std::string &name : running)
      ++contents.killedWhileRunning[name];
    running.clear();
  }

  bool hasRun = false;

private:
  /// False where the line is not what a journal holds.
  bool readOther(std::string_view line) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || json.empty())
      return false;
    if (auto found = json.find("start"); found != json.end() && found->is_string()) {
      running.insert(found->get<std::string>());
      return true;
    }
    if (auto found = json.find("select"); found != json.end() && found->is_array()) {
      for (const Json &name : *found)
        if (name.is_string())
          contents.selection.push_back(name.get<std::string>());
      return true;
    }
    if (auto found = json.find("selected"); found != json.end() && found->is_number_unsigned()) {
      contents.selectionComplete = found->get<uint64_t>() == contents.selection.size();
      return true;
    }
    if (json.contains("resume")) {
      contents.ended = false;
      stop();
    }
    return true; // Others are from a newer Cupel.
  }

  JournalContents &contents;
  std::unordered_set<std::string> running;
};

} // namespace

bool JournalContents::isFinal(const results::TestRecord &record) {
  if (record.outcome == results::Outcome::Interrupted)
    return record.errorClass == kKilledRunner;
  return record.outcome != results::Outcome::NotRun ||
         (record.errorClass != kInterrupted && record.errorClass != kBadDevice);
}

bool JournalContents::canResume() const {
  if (!ended)
    return true;
  for (const auto &[name, record] : records)
    if (!isFinal(record))
      return true;
  return false;
}

Result<JournalContents> readJournal(const std::string &path) {
  JournalContents contents;
  Folding folding(contents);
  results::JournalReader reader;
  reader.onRun = [&](results::RunInfo run) { folding.run(std::move(run)); };
  reader.onTest = [&](results::TestRecord record) { folding.record(std::move(record)); };
  reader.onOther = [&](std::string_view line) { folding.other(line); };
  reader.onDamage = [&](uint64_t, const std::string &) { ++contents.damaged; };
  Result<uint64_t> read = results::readJournal(path, reader);
  if (!read)
    return read.error();
  if (!folding.hasRun)
    return Error{path +
                 ": this is not the journal of a run, or the run was killed before it began"};
  contents.validBytes = *read;
  if (!contents.ended)
    folding.stop();
  return contents;
}

} // namespace cupel::testbench::runner
