#include "cupel/testbench/session/FailedFolders.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace cupel::testbench::session {

namespace fs = std::filesystem;

uint64_t failedLimit() {
  constexpr uint64_t kDefault = uint64_t{4} << 30;
  const char *text = std::getenv("CUPEL_FAILED_LIMIT");
  if (!text || !*text)
    return kDefault;
  char *end = nullptr;
  double number = std::strtod(text, &end);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  return number > 0 ? uint64_t(number * double(uint64_t{1} << shift)) : 0;
}

static uint64_t bytesIn(const fs::path &folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (it->is_regular_file(gone) && !gone)
      if (uint64_t size = it->file_size(gone); !gone)
        bytes += size;
  }
  return bytes;
}

std::vector<std::string> pruneFailed(const std::string &folder, const std::string &current,
                                     uint64_t limitBytes) {
  std::vector<std::string> runs, removed;
  if (limitBytes == 0)
    return removed;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
    if (std::error_code ignored; entry.is_directory(ignored))
      runs.push_back(entry.path().filename().string());
  std::ranges::sort(runs, std::greater()); // Ids sort by time: the newest first.
  uint64_t kept = 0;
  size_t others = 0;
  for (const std::string &run : runs) {
    fs::path path = fs::path(folder) / run;
    kept += bytesIn(path);
    if (run == current || others++ == 0 || kept <= limitBytes)
      continue;
    if (fs::remove_all(path, error); !error)
      removed.push_back(run);
  }
  return removed;
}

} // namespace cupel::testbench::session
