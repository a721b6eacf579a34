#include "cupel/testbench/zoo/Zoo.h"

#include "cupel/testbench/zoo/Evaluator.h"
#include "cupel/testbench/zoo/ImportUndecided.h"
#include "cupel/testbench/zoo/LoaderCache.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace cupel::testbench::zoo {

bool isExcludedLoader(std::string_view modelPath) {
  return modelPath == "suryaocr/pytorch" || modelPath.ends_with("/suryaocr/pytorch");
}

ReadLoaders readLoaders(const std::vector<LoaderFile> &files, const ReadOptions &options) {
  ReadLoaders result;
  result.loaders.resize(files.size());
  LoaderCache cache(options.cacheFolder, options.root);
  std::vector<uint32_t> missing;
  for (size_t i = 0; i < files.size(); ++i) {
    const Loader *known = cache.find(files[i].file);
    if (known && known->modelPath == files[i].modelPath) {
      result.loaders[i] = *known;
      ++result.fromCache;
    } else {
      missing.push_back(static_cast<uint32_t>(i));
    }
  }

  ModuleLibrary library(options.root);
  if (!missing.empty()) {
    unsigned threads = options.threads ? options.threads : std::thread::hardware_concurrency();
    threads = std::clamp<unsigned>(threads, 1, static_cast<unsigned>((missing.size() + 7) / 8));
    // Parsing is nearly all of the work and is shared; each thread then evaluates for itself.
    std::atomic<size_t> next = 0;
    auto work = [&] {
      Evaluator evaluator(library);
      for (size_t i; (i = next.fetch_add(1)) < missing.size();) {
        const LoaderFile &file = files[missing[i]];
        result.loaders[missing[i]] = readLoader(evaluator, file.file, file.modelPath);
      }
    };
    std::vector<std::thread> helpers;
    for (unsigned i = 1; i < threads; ++i)
      helpers.emplace_back(work);
    work();
    for (std::thread &helper : helpers)
      helper.join();
  }

  bool learnt = !missing.empty() || cache.isStale();
  if (options.importUndecided)
    learnt |= importUndecided(result, options);
  if (learnt)
    cache.replace(result.loaders, library);
  return result;
}

} // namespace cupel::testbench::zoo
