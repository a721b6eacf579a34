#include "cupel/support/ContentCache.h"

#include "cupel/support/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

namespace cupel {

namespace fs = std::filesystem;

// An entry is its bytes, and behind them this mark and a hash of them and the key, so that one under
// another's name is noticed too.
static constexpr std::string_view kMark = "\ncupel1:";
static constexpr size_t kTail = kMark.size() + 64;

static std::string hashOf(const std::string &key, std::span<const std::string_view> pieces) {
  Sha256 hash;
  hash.update(key);
  for (std::string_view piece : pieces)
    hash.update(piece);
  return hash.finish();
}

std::string cacheFolder(std::string_view kind) {
  auto below = [&](const char *variable, const char *rest) -> std::string {
    const char *folder = std::getenv(variable);
    return folder && *folder ? std::string(folder) + rest + std::string(kind) : "";
  };
  if (std::string folder = below("CUPEL_CACHE_DIR", "/"); !folder.empty())
    return folder;
  if (std::string folder = below("XDG_CACHE_HOME", "/cupel/"); !folder.empty())
    return folder;
  if (std::string folder = below("HOME", "/.cache/cupel/"); !folder.empty())
    return folder;
  return "./.cache/cupel/" + std::string(kind);
}

std::span<const CacheKind> cacheKinds() {
  static constexpr CacheKind kKinds[] = {
      {"golden", "results of the golden reference, and its noise", uint64_t{2} << 30,
       "CUPEL_GOLDEN_CACHE"},
      {"frameworks", "results of PyTorch, JAX and ONNX Runtime for models", uint64_t{2} << 30,
       "CUPEL_FRAMEWORKS_CACHE"}, // Written by python/cupel/worker/golden_cache.py.
      {"code", "machine code of the compiled device", uint64_t{512} << 20, "CUPEL_CODE_CACHE"},
      {"probes", "what became of parts of programs on devices", uint64_t{256} << 20, ""},
      {"explanations", "why tests failed", uint64_t{64} << 20, ""},
  };
  return kKinds;
}

uint64_t cacheLimit(std::string_view kind) {
  auto found = std::ranges::find(cacheKinds(), kind, &CacheKind::name);
  if (found == cacheKinds().end())
    return 0;
  const char *text =
      found->variable.empty() ? nullptr : std::getenv(std::string(found->variable).c_str());
  if (!text || !*text)
    return found->limit;
  char *end = nullptr;
  double number = std::strtod(text, &end);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  return number > 0 ? uint64_t(number * double(uint64_t{1} << shift)) : 0;
}

std::string_view ContentCache::Found::bytes() const {
  std::string_view all = file.bytes();
  return all.substr(0, all.size() - kTail);
}

std::string ContentCache::pathOf(const std::string &key) const {
  return folder + "/" + key.substr(0, 2) + "/" + key.substr(2);
}

/// Whether an entry's bytes are those that were kept under this key.
static bool isWhole(const std::string &key, std::string_view all) {
  return all.size() >= kTail && all.substr(all.size() - kTail, kMark.size()) == kMark &&
         hashOf(key, {{all.substr(0, all.size() - kTail)}}) == all.substr(all.size() - 64);
}

std::optional<ContentCache::Found> ContentCache::find(const std::string &key) const {
  if (folder.empty())
    return {};
  std::string path = pathOf(key);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return {};
  Result<FileContents> file = readInput(path);
  if (!file)
    return {};
  if (!isWhole(key, file->bytes())) {
    ++damagedEntries;
    fs::remove(path, ignored);
    return {};
  }
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return Found(std::move(*file));
}

void ContentCache::keep(const std::string &key, std::span<const std::string_view> pieces) {
  if (folder.empty())
    return;
  uint64_t bytes = kTail;
  for (std::string_view piece : pieces)
    bytes += piece.size();
  if (bytes > largest())
    return;
  std::string tail = std::string(kMark) + hashOf(key, pieces);
  std::vector<std::string_view> all(pieces.begin(), pieces.end());
  all.push_back(tail);
  std::string path = pathOf(key);
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  if (!writeOutput(path, all))
    return;
  // Looking through the folder costs more than most entries.
  if (written.fetch_add(bytes) + bytes > limitBytes / 16) {
    written = 0;
    prune(limitBytes);
  }
}

namespace {

struct Entry {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

/// All files: what a process left half-written goes the same way, in its time.
std::vector<Entry> entriesOf(const std::string &folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone)
      continue;
    Entry entry{it->path(), it->file_size(gone), {}};
    entry.used = it->last_write_time(gone);
    if (!gone)
      entries.push_back(std::move(entry));
  }
  return entries;
}

} // namespace

ContentCache::Usage ContentCache::usage() const {
  Usage usage;
  for (const Entry &entry : entriesOf(folder)) {
    ++usage.entries;
    usage.bytes += entry.bytes;
  }
  return usage;
}

ContentCache::Usage ContentCache::prune(uint64_t bytes) const {
  std::vector<Entry> entries = entriesOf(folder);
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  std::sort(entries.begin(), entries.end(),
            [](const Entry &a, const Entry &b) { return a.used < b.used; });
  Usage removed;
  for (const Entry &entry : entries) {
    if (total <= bytes)
      break;
    std::error_code error;
    if (!fs::remove(entry.path, error))
      continue;
    total -= entry.bytes;
    ++removed.entries;
    removed.bytes += entry.bytes;
  }
  return removed;
}

ContentCache::Usage ContentCache::verify() const {
  Usage removed;
  for (const Entry &entry : entriesOf(folder)) {
    std::string key = entry.path.parent_path().filename().string() + entry.path.filename().string();
    bool isKey = key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!isKey)
      continue; // On its way to be one.
    Result<FileContents> file = readInput(entry.path.string());
    std::error_code error;
    if (!file || isWhole(key, file->bytes()) || !fs::remove(entry.path, error))
      continue;
    ++removed.entries;
    removed.bytes += entry.bytes;
  }
  return removed;
}

} // namespace cupel
