// Reads the loaders of a zoo: parses them on several threads, takes from the cache what has not
// changed, and lets Python import what the text does not tell, if asked to. The matrix makes tests
// of the result. Runs no Python unless `importUndecided` is set.
#pragma once

#include "cupel/testbench/zoo/Loader.h"

#include <string>
#include <vector>

namespace cupel::testbench::zoo {

/// A loader.py that was found.
struct LoaderFile {
  std::string file;
  std::string modelPath; ///< Its folder below the root.
};

struct ReadOptions {
  std::string root;        ///< Absolute, without a slash at the end.
  unsigned threads = 0;    ///< 0: one a core.
  std::string cacheFolder; ///< Empty: no cache.
  bool importUndecided = false;
  std::string python = "python3";
};

struct ReadLoaders {
  std::vector<Loader> loaders; ///< In the order asked for.
  size_t fromCache = 0;
  std::vector<Remark> warnings;
};

ReadLoaders readLoaders(const std::vector<LoaderFile> &files, const ReadOptions &options);

/// Folders whose PyTorch loader upstream leaves out by name, because importing it does harm.
bool isExcludedLoader(std::string_view modelPath);

} // namespace cupel::testbench::zoo
