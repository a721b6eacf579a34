// Objects on disk by the name of what they were made from, shared by all processes of a user. A
// file is written beside its place and renamed, so that nobody sees half of one; it carries its own
// hash, and what does not match is dropped and made anew. Failing to read or write is never an
// error: the store only saves time.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cupel::codegen {

class ObjectStore {
public:
  /// An empty folder's name: nothing is kept.
  explicit ObjectStore(std::string folder) : folder(std::move(folder)) {}

  /// In the user's cache folder (CUPEL_CACHE_DIR, XDG_CACHE_HOME or ~/.cache); nothing is kept if
  /// CUPEL_CODE_CACHE is 0.
  static ObjectStore &get();

  /// `key` is a hash in hexadecimal.
  std::optional<std::string> load(const std::string &key);
  void save(const std::string &key, std::string_view object);

  int64_t damaged() const { return damagedFiles; }

private:
  /// Removes the oldest files if there are too many bytes; now and then.
  void trim();
  std::string pathOf(const std::string &key) const { return folder + "/" + key + ".o"; }

  std::string folder;
  std::atomic<int64_t> damagedFiles = 0, saved = 0;
};

} // namespace cupel::codegen
