// Results that took long to compute, kept in a folder under the hash of what they were computed
// from: of the golden reference, of compilers. Many processes may use one folder at once; what is
// damaged is noticed and dropped; the folder does not grow beyond a limit. A cache never fails
// whoever uses it: where nothing can be read or written, nothing is remembered.
#pragma once

#include "cupel/support/Files.h"

#include <atomic>
#include <optional>

namespace cupel {

/// Where things of this kind are cached: below CUPEL_CACHE_DIR, XDG_CACHE_HOME/cupel or
/// ~/.cache/cupel.
std::string cacheFolder(std::string_view kind);

/// The kinds of results that are cached by content: whoever caches, lists or clears them asks here.
struct CacheKind {
  std::string_view name;     ///< Of its folder.
  std::string_view what;     ///< For people.
  uint64_t limit;            ///< In bytes, unless the variable says otherwise.
  std::string_view variable; ///< `4G`, `0`: off; empty: none.
};
std::span<const CacheKind> cacheKinds();
/// How much a kind may hold, by its row and its variable; 0: it is off.
uint64_t cacheLimit(std::string_view kind);

class ContentCache {
public:
  /// An empty folder: nothing is kept.
  ContentCache(std::string folder, uint64_t limitBytes)
      : folder(std::move(folder)), limitBytes(limitBytes) {}

  class Found {
  public:
    explicit Found(FileContents file) : file(std::move(file)) {}
    /// Aligned for every element type.
    std::string_view bytes() const;

  private:
    FileContents file;
  };
  /// What was kept under this key, 64 hexadecimal digits; used now, so it stays longer.
  std::optional<Found> find(const std::string &key) const;
  /// The most bytes that are kept under one key.
  uint64_t largest() const { return limitBytes / 4; }
  /// Complete or not at all. More than the largest is not kept.
  void keep(const std::string &key, std::span<const std::string_view> pieces);

  /// How many entries this process found damaged and dropped.
  int64_t damaged() const { return damagedEntries; }

  /// How many are kept and how many bytes they take.
  struct Usage {
    uint64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  /// Removes the least recently used until the rest fits; returns what was removed.
  Usage prune(uint64_t bytes) const;
  /// Reads all of them and removes what is damaged; returns that. What another process is writing
  /// is left alone.
  Usage verify() const;

private:
  std::string pathOf(const std::string &key) const;

  std::string folder;
  uint64_t limitBytes;
  mutable std::atomic<int64_t> damagedEntries = 0;
  std::atomic<uint64_t> written = 0; ///< Since the folder was last looked through.
};

} // namespace cupel
