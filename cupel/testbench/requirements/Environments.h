// The Python packages a model asks for, in a virtual environment of its own layered on the base
// one: made once for each set of requirement files, kept in a cache, shared by all tests that ask
// for the same. The base environment is never written to, so nothing has to be undone. Commands are
// started directly, never through a shell.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::requirements {

/// The files beside a loader that count; a missing one is empty.
struct Requirements {
  std::string folder;
  std::string install;          ///< requirements.txt
  std::string noDeps;           ///< requirements.nodeps.txt
  std::string noBuildIsolation; ///< requirements.nodeps.nobuildisolation.txt
  std::string uninstallFirst;   ///< uninstall_first.txt: names that must not come from the base
  std::string system;           ///< system-requirements.txt: Debian packages, never installed
  /// Everything that decides what is installed, included files too; hashed.
  std::string contents;
};

/// Nothing where there is no requirements.txt: upstream reads the others only beside one.
Result<std::optional<Requirements>> readRequirements(const std::string &loaderFolder);

struct EnvironmentOptions {
  std::string cacheFolder;                   ///< Of all environments.
  std::string basePython;                    ///< The interpreter of the base environment.
  std::vector<std::string> pipArguments;     ///< More for every `pip install`.
  uint64_t limitBytes = uint64_t{20} << 30;  ///< Least recently used ones beyond this are removed.
  bool verbose = false;                      ///< Says what is done and how long it took.
  uint32_t timeoutSeconds = 1800;            ///< For one pip command.
  std::function<void(std::string_view)> log; ///< Where verbose lines go; standard error if empty.
};

/// Below CUPEL_CACHE_DIR, XDG_CACHE_HOME or ~/.cache.
std::string defaultCacheFolder();

/// CUPEL_DISABLE_MODEL_REQS=1 or TT_XLA_DISABLE_MODEL_REQS=1: models use the base as it is.
bool disabledByEnvironment();
/// TT_XLA_REQS_DEBUG=1.
bool verboseByEnvironment();

/// The interpreter to run a model with: the base's where it has no requirements, else that of its
/// environment, made now if it is not in the cache. The error starts with `requirements: ` and
/// holds pip's last lines; an installation that failed is not tried again by this process. The
/// environment stays in the cache as long as this process lives.
Result<std::string> pythonFor(const std::string &loaderFolder, const EnvironmentOptions &options);

struct CachedEnvironment {
  std::string key; ///< Hash of files, base interpreter and base packages.
  std::string path;
  std::string description; ///< First requirement lines.
  uint64_t bytes = 0;
  double lastUsed = 0; ///< Seconds since the epoch.
  bool inUse = false;  ///< A process holds it.
};

/// Most recently used first.
Result<std::vector<CachedEnvironment>> listEnvironments(const std::string &cacheFolder);
/// Removes least recently used ones until the rest fits; returns what was removed.
Result<std::vector<CachedEnvironment>> trimEnvironments(const std::string &cacheFolder,
                                                        uint64_t limitBytes);

} // namespace cupel::testbench::requirements
