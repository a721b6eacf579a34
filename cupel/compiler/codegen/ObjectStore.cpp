#include "cupel/compiler/codegen/ObjectStore.h"

#include "cupel/support/Files.h"
#include "cupel/support/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace cupel::codegen {
namespace {

namespace fs = std::filesystem;

/// Before the object: what the file is, then the hash of the key and the object. The key is in it
/// so that a file under another's name is noticed too.
constexpr std::string_view kMagic = "cupel object 1\n";
constexpr size_t kHash = 64;
constexpr uint64_t kMostBytes = uint64_t{512} << 20;
constexpr uint64_t kMostOfOne = uint64_t{64} << 20;

std::string hashOf(const std::string &key, std::string_view object) {
  Sha256 hash;
  hash.update(key);
  hash.update(object);
  return hash.finish();
}

std::string cacheFolder() {
  const char *isWanted = std::getenv("CUPEL_CODE_CACHE");
  if (isWanted && std::string_view(isWanted) == "0")
    return "";
  if (const char *folder = std::getenv("CUPEL_CACHE_DIR"); folder && *folder)
    return std::string(folder) + "/code";
  if (const char *folder = std::getenv("XDG_CACHE_HOME"); folder && *folder)
    return std::string(folder) + "/cupel/code";
  const char *home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/cupel/code" : "";
}

} // namespace

ObjectStore &ObjectStore::get() {
  static ObjectStore store(cacheFolder());
  return store;
}

std::optional<std::string> ObjectStore::load(const std::string &key) {
  std::error_code error;
  if (folder.empty() || !fs::exists(pathOf(key), error))
    return std::nullopt;
  Result<FileContents> contents = readInput(pathOf(key), kMostOfOne);
  if (contents) {
    std::string_view bytes = contents->bytes();
    if (bytes.starts_with(kMagic) && bytes.size() >= kMagic.size() + kHash) {
      std::string_view object = bytes.substr(kMagic.size() + kHash);
      if (bytes.substr(kMagic.size(), kHash) == hashOf(key, object))
        return std::string(object);
    }
    // Another process may have put a sound one in its place by now: that one is made again.
    ++damagedFiles;
    fs::remove(pathOf(key), error);
  }
  return std::nullopt;
}

void ObjectStore::save(const std::string &key, std::string_view object) {
  if (folder.empty() || object.size() > kMostOfOne)
    return;
  std::error_code error;
  fs::create_directories(folder, error);
  std::string bytes(kMagic);
  bytes += hashOf(key, object);
  bytes += object;
  if (!writeOutput(pathOf(key), bytes))
    return;
  if (saved++ % 64 == 0)
    trim();
}

void ObjectStore::trim() {
  struct File {
    fs::path path;
    fs::file_time_type time;
    uint64_t bytes;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".o")
      continue;
    files.push_back({entry.path(), entry.last_write_time(error), entry.file_size(error)});
    total += files.back().bytes;
  }
  if (total <= kMostBytes)
    return;
  std::ranges::sort(files, {}, &File::time);
  for (const File &file : files) {
    if (total <= kMostBytes / 2)
      return;
    fs::remove(file.path, error);
    total -= file.bytes;
  }
}

} // namespace cupel::codegen
