// A folder of its own for a test, removed at the end; and records to fill a store with.
#pragma once

#include "cupel/results/RecordJson.h"

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cupel::results {

class TestFolder {
public:
  TestFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "cupel-store-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~TestFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::string path;
  std::string operator/(const std::string &name) const { return path + "/" + name; }
};

inline TestRecord simpleRecord(std::string id, Outcome outcome = Outcome::Passed,
                               double seconds = 0.25) {
  TestRecord r;
  r.suite = "programs";
  r.id = std::move(id);
  r.file = "programs/" + r.id;
  r.outcome = outcome;
  r.lastStage = outcome == Outcome::Passed ? Stage::Done : Stage::Execute;
  r.stages = {{Stage::Load, 0.1}, {Stage::Execute, seconds - 0.1}};
  r.seconds = seconds;
  r.peakMemoryBytes = 1000;
  r.attempts = 1;
  return r;
}

// Lines as the runner writes them.
inline std::string journalBegin(const RunInfo &run) {
  return "{\"cupel_journal\":1,\"run\":" + toJson(run) + "}\n";
}
inline std::string journalLine(const TestRecord &record) {
  return "{\"record\":" + toJson(record) + "}\n";
}
inline std::string journalEnd(const RunInfo &run) { return "{\"end\":" + toJson(run) + "}\n"; }

} // namespace cupel::results
