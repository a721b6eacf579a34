// A folder under the system's temporary one that goes away with the object. Used where files pass
// between processes. Its path is empty if it could not be made: callers check.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cupel {

class TemporaryFolder {
public:
  /// The folder's name begins with `prefix`.
  explicit TemporaryFolder(const std::string &prefix) {
    std::error_code error;
    std::filesystem::path place = std::filesystem::temp_directory_path(error);
    // The one that TMPDIR names may be gone, as what lies in /tmp for long may be: it is made again.
    if (const char *named = error ? std::getenv("TMPDIR") : nullptr) {
      std::filesystem::create_directories(named, error);
      place = named;
    }
    std::string pattern = (place / (prefix + "-XXXXXX")).string();
    if (::mkdtemp(pattern.data()))
      path = pattern;
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder &operator=(const TemporaryFolder &) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path.empty())
      std::filesystem::remove_all(path, error);
  }

  std::filesystem::path path;
};

} // namespace cupel
