#include "cupel/support/SmallCache.h"

#include "cupel/support/Sha256.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace cupel {

// An entry is a mark, the key, the size in eight hexadecimal digits, the bytes, and sixteen digits of
// a hash of key and bytes. A process that is killed may leave part of one: the next mark is looked for.
static constexpr std::string_view kEntryMark = "\ncupels1:";
static constexpr size_t kKeySize = 64, kSizeDigits = 8, kHashDigits = 16;
static constexpr size_t kHead = kEntryMark.size() + kKeySize + kSizeDigits;

static std::string checksum(const std::string &key, std::string_view bytes) {
  Sha256 hash;
  hash.update(key);
  hash.update(bytes);
  return hash.finish().substr(0, kHashDigits);
}

SmallCache::SmallCache(std::string folder, uint64_t limit) : limitBytes(limit) {
  if (folder.empty())
    return;
  current.path = folder + "/small.log";
  old.path = folder + "/small.old";
}

SmallCache::~SmallCache() {
  for (Log *log : {&current, &old})
    if (log->file >= 0)
      ::close(log->file);
}

/// Looks at what was added since, by whomever; begins anew where it is another file now.
void SmallCache::refresh(Log &log) {
  struct stat status = {};
  const bool isThere = ::stat(log.path.c_str(), &status) == 0;
  if (!isThere || status.st_ino != log.inode) {
    if (log.file >= 0)
      ::close(log.file);
    log.places.clear();
    log.known = 0;
    log.inode = 0;
    log.file = isThere ? ::open(log.path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    if (log.file < 0 || ::fstat(log.file, &status) != 0)
      return;
    log.inode = status.st_ino;
  }
  const auto end = uint64_t(status.st_size);
  if (end <= log.known)
    return;
  std::string text(end - log.known, '\0');
  ssize_t given = ::pread(log.file, text.data(), text.size(), off_t(log.known));
  text.resize(given > 0 ? size_t(given) : 0);
  size_t at = 0, done = 0;
  for (;; done = at) {
    at = text.find(kEntryMark, at);
    if (at == std::string::npos) {
      // The mark of the next may have begun.
      done = std::max(done, text.size() - std::min(text.size(), kEntryMark.size() - 1));
      break;
    }
    done = at;
    if (text.size() - at < kHead)
      break;
    std::string key = text.substr(at + kEntryMark.size(), kKeySize);
    std::string digits = text.substr(at + kEntryMark.size() + kKeySize, kSizeDigits);
    char *last = nullptr;
    size_t size = std::strtoul(digits.c_str(), &last, 16);
    if (*last || size > kLargest) {
      at += kEntryMark.size();
      continue;
    }
    if (text.size() - at < kHead + size + kHashDigits)
      break; // On its way, or all that was written of it.
    log.places[key] = {log.known + at + kHead, uint32_t(size)};
    at += kHead;
    // Past what it holds, unless another begins in it: then it was cut short.
    size_t next = text.find(kEntryMark, at);
    at = next < at + size && !read(log, key) ? next : at + size + kHashDigits;
  }
  log.known += done;
}

std::optional<std::string> SmallCache::read(const Log &log, const std::string &key) {
  auto found = log.places.find(key);
  if (found == log.places.end() || log.file < 0)
    return {};
  std::string bytes(found->second.size + kHashDigits, '\0');
  if (::pread(log.file, bytes.data(), bytes.size(), off_t(found->second.offset)) !=
      ssize_t(bytes.size()))
    return {};
  std::string_view whole(bytes);
  if (checksum(key, whole.substr(0, found->second.size)) != whole.substr(found->second.size))
    return {};
  bytes.resize(found->second.size);
  return bytes;
}

std::optional<std::string> SmallCache::find(const std::string &key) {
  if (current.path.empty() || key.size() != kKeySize)
    return {};
  std::lock_guard lock(mutex);
  for (Log *log : {&current, &old}) {
    if (!log->places.contains(key))
      refresh(*log);
    if (std::optional<std::string> found = read(*log, key))
      return found;
  }
  return {};
}

void SmallCache::keep(const std::string &key, std::string_view bytes) {
  if (current.path.empty() || key.size() != kKeySize || bytes.size() > kLargest)
    return;
  std::lock_guard lock(mutex);
  std::error_code ignored;
  struct stat status = {};
  if (::stat(current.path.c_str(), &status) != 0)
    std::filesystem::create_directories(std::filesystem::path(current.path).parent_path(), ignored);
  else if (uint64_t(status.st_size) > limitBytes / 2)
    std::filesystem::rename(current.path, old.path, ignored);
  int file = ::open(current.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0)
    return;
  char digits[kSizeDigits + 1];
  std::snprintf(digits, sizeof digits, "%08zx", bytes.size());
  std::string entry = std::string(kEntryMark) + key + digits;
  entry += bytes;
  entry += checksum(key, bytes);
  // In one piece: others add to it too.
  [[maybe_unused]] ssize_t written = ::write(file, entry.data(), entry.size());
  ::close(file);
}

} // namespace cupel
