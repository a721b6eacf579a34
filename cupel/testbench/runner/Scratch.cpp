#include "cupel/testbench/runner/Scratch.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::runner {

namespace fs = std::filesystem;

Status makeEmptyFolder(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return Error{path + ": " + error.message()};
  emptyFolder(path);
  return {};
}

void emptyFolder(const std::string &path) {
  // rmdir works on empty folders only; the worker keeps its own open, so that it must stay.
  std::error_code error;
  fs::directory_iterator entry(path, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    fs::remove_all(entry->path(), ignored);
    if (ignored) {
      // A folder without permissions.
      chmod(entry->path().c_str(), 0700);
      fs::remove_all(entry->path(), ignored);
    }
  }
}

void removeFolder(const std::string &path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

} // namespace cupel::testbench::runner
