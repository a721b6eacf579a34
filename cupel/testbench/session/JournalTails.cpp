#include "cupel/testbench/session/JournalTails.h"

#include "cupel/results/RecordJson.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace cupel::testbench::session {

namespace fs = std::filesystem;

void JournalTails::readNew(const std::string &path,
                           const std::function<void(const std::string &)> &line) {
  uint64_t &offset = offsets[path];
  std::error_code error;
  uint64_t size = fs::file_size(path, error);
  if (error || size <= offset)
    return;
  // Opened anew each time: that is when a network file system looks what others wrote.
  std::ifstream in(path, std::ios::binary);
  in.seekg(std::streamoff(offset));
  for (std::string text; std::getline(in, text) && !in.eof();) {
    offset += text.size() + 1;
    line(text);
  }
}

void JournalTails::read() {
  for (const std::string &path : folder.journalPaths())
    readNew(path, [&](const std::string &line) {
      constexpr std::string_view kRecord = "{\"record\":", kStart = "{\"start\":";
      if (line.starts_with(kRecord)) {
        Result<results::TestRecord> record = results::testRecordFromJson(
            std::string_view(line).substr(kRecord.size(), line.size() - kRecord.size() - 1));
        if (!record)
          return;
        running[path].erase(record->fullName());
        if (onRecord)
          onRecord(*record);
      } else if (line.find(kStart.substr(1)) != std::string::npos) {
        nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
        auto name = json.is_object() ? json.find("start") : json.end();
        if (!json.is_object() || name == json.end() || !name->is_string())
          return;
        running[path].insert(name->get<std::string>());
        if (onStart)
          onStart(name->get<std::string>());
      }
    });
  std::error_code error;
  if (onNote)
    for (fs::directory_iterator it(folder.notes(), error), end; !error && it != end;
         it.increment(error))
      readNew(it->path(), [&](const std::string &line) { onNote(it->path().filename(), line); });
}

std::unordered_map<std::string, uint32_t> JournalTails::unfinished() const {
  std::unordered_map<std::string, uint32_t> counts;
  for (const auto &[path, names] : running)
    for (const std::string &name : names)
      ++counts[name];
  return counts;
}

} // namespace cupel::testbench::session
