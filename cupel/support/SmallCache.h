// Small results kept by content in one file that only grows, where a file each would cost more than
// computing them again. Many processes may add to it at once; what is damaged is passed over; it does
// not grow beyond a limit. Used beside a ContentCache, which keeps the large ones. It never fails
// whoever uses it: where nothing can be read or written, nothing is remembered.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cupel {

class SmallCache {
public:
  /// More bytes than these are not small.
  static constexpr size_t kLargest = 16 << 10;

  /// An empty folder: nothing is kept. When the file has half of the limit it becomes the old one, and
  /// what was the old one goes.
  SmallCache(std::string folder, uint64_t limitBytes);
  ~SmallCache();
  SmallCache(const SmallCache &) = delete;
  SmallCache &operator=(const SmallCache &) = delete;

  /// What was kept under this key, 64 hexadecimal digits.
  std::optional<std::string> find(const std::string &key);
  /// Complete or not at all.
  void keep(const std::string &key, std::string_view bytes);

private:
  struct Place {
    uint64_t offset;
    uint32_t size;
  };
  /// One of the two files, and what is known of it.
  struct Log {
    std::string path;
    int file = -1;
    uint64_t inode = 0, known = 0; ///< How much of it has been looked through.
    std::unordered_map<std::string, Place> places;
  };
  void refresh(Log &log);
  static std::optional<std::string> read(const Log &log, const std::string &key);

  uint64_t limitBytes;
  std::mutex mutex;
  Log current, old;
};

} // namespace cupel
