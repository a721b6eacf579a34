// What was learnt about loaders, kept on disk: one file a zoo, each loader with the sizes, times
// and contents of all files it was made from. Taken only if none of them has changed; a cache that
// is damaged, or of another version, is as good as none. Never makes collecting fail.
#pragma once

#include "cupel/testbench/zoo/Loader.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::zoo {

class LoaderCache {
public:
  /// Reads the cache of the zoo at `root`, if there is one.
  LoaderCache(const std::string &folder, const std::string &root);

  /// The loader as it was, if everything it was made from is as it was.
  const Loader *find(const std::string &file);

  /// Whether a file that counted as unchanged has another time now: worth remembering.
  bool isStale() const { return stale; }

  /// Remembers these from now on, and nothing else. Stamps come from the library that read them.
  void replace(const std::vector<Loader> &loaders, ModuleLibrary &library);

private:
  struct Dependency {
    std::string path;
    FileStamp stamp;
    uint64_t content = 0; ///< A hash: a file that was merely touched is the same.
    enum : uint8_t { Unchecked, Same, Changed } state = Unchecked;
  };
  bool parse(std::string_view bytes);

  std::string path;
  bool stale = false;
  std::vector<Dependency> dependencies;
  std::unordered_map<std::string, std::pair<Loader, std::vector<uint32_t>>> loaders;
};

} // namespace cupel::testbench::zoo
