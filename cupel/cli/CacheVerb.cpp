// `cupel cache`: the Python environments that models asked for, the large files that their loaders
// fetched, and results that are kept by content; lists, makes, checks and removes them.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/Verbs.h"
#include "cupel/results/report/Text.h"
#include "cupel/support/ContentCache.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/requirements/Environments.h"
#include "cupel/testbench/session/PythonServer.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cupel::cli {
namespace {

using namespace cupel::testbench::requirements;
using results::bytesText;

int fail(std::string_view message) { return reportError("cache", message, kExitUsage); }

/// `500M`, `2.5G`, `1073741824`.
std::optional<uint64_t> parseSize(std::string_view text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, size_t(text.data() + text.size() - end));
  if (unit.ends_with("iB"))
    unit.remove_suffix(2);
  else if (unit.ends_with("B"))
    unit.remove_suffix(1);
  constexpr std::string_view kUnits = "KMGT";
  size_t place = unit.size() == 1 ? kUnits.find(unit[0]) : std::string_view::npos;
  if (!unit.empty() && place == std::string_view::npos)
    return std::nullopt;
  size_t power = unit.empty() ? 0 : place + 1;
  if (error != std::errc() || !std::isfinite(number) || number < 0 || number > 1e15)
    return std::nullopt;
  return uint64_t(std::ldexp(number, int(10 * power)));
}

void printList(const std::vector<CachedEnvironment> &list, const std::string &folder) {
  uint64_t total = 0;
  for (const CachedEnvironment &each : list) {
    total += each.bytes;
    fmt::print("{:.12}  {:>10}  {}  {}{}\n", each.key, bytesText(each.bytes),
               results::peopleTime(each.lastUsed), each.inUse ? "[in use] " : "",
               results::oneLine(each.description));
  }
  fmt::print("{}, {} in {}\n", results::counted(list.size(), "environment"), bytesText(total),
             folder);
}

nlohmann::ordered_json toJson(const std::vector<CachedEnvironment> &list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const CachedEnvironment &each : list)
    json.push_back({{"key", each.key},
                    {"path", each.path},
                    {"bytes", each.bytes},
                    {"last_used", each.lastUsed},
                    {"in_use", each.inUse},
                    {"description", each.description}});
  return json;
}

int badLimit(const std::string &limit) {
  return fail(fmt::format("--limit {}: not a size; 500M, 2.5G and 1073741824 are", limit));
}

/// Makes what the loader asks for, or finds it in the cache; prints the interpreter to run it with.
int makeEnvironment(const std::string &loader, EnvironmentOptions options, bool noRequirements,
                    bool asJson) {
  if (loader.empty())
    return fail("make what? Give a loader.py or its folder");
  std::error_code error;
  std::filesystem::path folder = loader;
  if (!std::filesystem::is_directory(folder, error)) {
    if (!std::filesystem::is_regular_file(folder, error))
      return fail(loader + ": no such loader");
    folder = std::filesystem::absolute(folder).parent_path();
  }
  if (std::string found = findOnPath(options.basePython); !found.empty())
    options.basePython = found;
  Result<std::string> python = noRequirements || disabledByEnvironment()
                                   ? Result<std::string>(options.basePython)
                                   : pythonFor(folder.string(), options);
  if (!python)
    return reportError("cache", python.message(), kExitFailure);
  if (asJson)
    fmt::print("{}\n", nlohmann::ordered_json({{"loader", loader}, {"python", *python}})
                           .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}\n", *python);
  return kExitSuccess;
}

/// What is kept by content: golden results, machine code, ...; of one kind or of all.
int runContents(const std::string &action, const std::string &kind, const std::string &limit,
                bool verify, bool asJson) {
  std::optional<uint64_t> bytes = limit.empty() ? std::nullopt : parseSize(limit);
  if (!limit.empty() && !bytes)
    return badLimit(limit);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  std::string names;
  for (const CacheKind &row : cacheKinds()) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
    if (!kind.empty() && row.name != kind)
      continue;
    std::string folder = cacheFolder(row.name);
    ContentCache cache(folder, row.limit);
    ContentCache::Usage damaged, removed;
    if (verify)
      damaged = cache.verify();
    if (action == "prune")
      removed = cache.prune(bytes.value_or(cacheLimit(row.name)));
    ContentCache::Usage usage = cache.usage();
    json.push_back({{"kind", row.name},
                    {"what", row.what},
                    {"folder", folder},
                    {"entries", usage.entries},
                    {"bytes", usage.bytes},
                    {"limit", cacheLimit(row.name)},
                    {"removed_entries", removed.entries},
                    {"removed_bytes", removed.bytes},
                    {"damaged", damaged.entries}});
    if (asJson)
      continue;
    fmt::print("{:<13} {:>7} entries {:>10} of {:>10} in {}{}{}: {}\n", row.name, usage.entries,
               bytesText(usage.bytes), bytesText(cacheLimit(row.name)), folder,
               removed.entries ? fmt::format("; removed {}", bytesText(removed.bytes)) : "",
               damaged.entries ? fmt::format("; {} damaged", damaged.entries) : "", row.what);
  }
  if (json.empty())
    return fail(fmt::format("{}: there is no such cache; there are {}", kind, names));
  if (asJson)
    fmt::print("{}\n", json.dump(2));
  return kExitSuccess;
}

/// Large files are a matter of Python, which fetches them: this process becomes its tool for them.
int runFiles(const std::string &python, const std::string &what, const std::string &path,
             const std::string &limit, bool asJson) {
  std::string worker = testbench::session::findPythonWorker();
  if (worker.empty())
    return fail("the Python package of this installation is not to be found");
  std::string script =
      (std::filesystem::path(worker).parent_path().parent_path() / "files.py").string();
  std::vector<std::string> words = {python, script, what.empty() ? "list" : what};
  if (!path.empty())
    words.push_back(path);
  if (!limit.empty()) {
    std::optional<uint64_t> bytes = parseSize(limit);
    if (!bytes)
      return badLimit(limit);
    words.push_back("--limit=" + std::to_string(*bytes));
  }
  if (asJson)
    words.push_back("--json");
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(python.c_str(), arguments.data());
  return fail(python + ": cannot be started (--python names another interpreter)");
}

} // namespace

int runCacheVerb(const Arguments &arguments) {
  CommandLine line("cache",
                   "List, make or clear the cached Python environments of models, the large "
                   "files of their loaders, and results kept by content.");
  line.example("cupel cache", "what is there, last used first");
  line.example("cupel cache --limit 5G", "remove the least recently used beyond 5 GiB");
  line.example("cupel cache clear", "remove all that nobody uses now");
  line.example("cupel cache make models/yolo/pytorch --verbose",
               "make the environment that a loader asks for, and print its interpreter");
  line.example("cupel cache files verify", "large files that loaders fetched, with checksums");
  line.example("cupel cache show --verify",
               "results kept by content: golden, machine code, probes");
  line.example("cupel cache prune golden --limit 500M", "remove the least recently used beyond it");
  line.example("cupel cache files get URL", "fetch one as loaders do, and print where it lies");
  std::string action = "list", folder = defaultCacheFolder(), limit, loader, path;
  std::string python = "python3";
  bool asJson = false, noRequirements = false, verbose = false, verify = false;
  line.option("ACTION", action,
              "list (default), make, clear: environments; files: large files; show, prune: results "
              "kept by content")
      .oneOf({"list", "make", "clear", "files", "show", "prune"});
  line.option("LOADER", loader,
              "For make: a loader.py or its folder, where its requirements.txt is; for files: list "
              "(default), verify, clear or get; for show and prune: which kind (all)");
  line.option("PATH", path, "For files get: a URL, or a path below the mirror IRD_LF_CACHE");
  line.option("--python", python,
              "For make: the interpreter of the base environment; for files: the one to use");
  line.flag("--no-model-requirements", noRequirements,
            "For make: take the base as it is (also CUPEL_DISABLE_MODEL_REQS=1)");
  line.flag("-v,--verbose", verbose,
            "For make: say what is done and how long it takes (also TT_XLA_REQS_DEBUG=1)");
  line.flag("--verify", verify, "For show: check every entry, and remove what is damaged");
  line.option("--limit", limit, "Remove the least recently used beyond this size, e.g. 500M")
      .placeholder("SIZE");
  line.option("--cache", folder,
              "The cache (default: CUPEL_CACHE_DIR, XDG_CACHE_HOME or ~/.cache, "
              "below it cupel/environments)")
      .placeholder("DIR");
  line.flag("--json", asJson, "Print a JSON list");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;

  if (action == "files")
    return runFiles(python, loader, path, limit, asJson);
  if (!path.empty())
    return fail(fmt::format("{}: only 'cupel cache files get' takes a path", path));
  if (action == "show" || action == "prune")
    return runContents(action, loader, limit, verify, asJson);
  if (action == "make") {
    EnvironmentOptions options;
    options.cacheFolder = folder;
    options.basePython = python;
    options.verbose = verbose || verboseByEnvironment();
    if (!limit.empty()) {
      std::optional<uint64_t> bytes = parseSize(limit);
      if (!bytes)
        return badLimit(limit);
      options.limitBytes = *bytes;
    }
    return makeEnvironment(loader, options, noRequirements, asJson);
  }
  if (!loader.empty())
    return fail(fmt::format("{}: only 'cupel cache make' takes a loader", loader));
  if (action == "clear" || !limit.empty()) {
    std::optional<uint64_t> bytes = limit.empty() ? 0 : parseSize(limit);
    if (!bytes)
      return badLimit(limit);
    Result<std::vector<CachedEnvironment>> removed =
        trimEnvironments(folder, action == "clear" ? 0 : *bytes);
    if (!removed)
      return fail(removed.message());
    if (!asJson) {
      uint64_t freed = 0;
      for (const CachedEnvironment &each : *removed)
        freed += each.bytes;
      fmt::print("removed {}, {}\n", results::counted(removed->size(), "environment"),
                 bytesText(freed));
    }
  }
  Result<std::vector<CachedEnvironment>> list = listEnvironments(folder);
  if (!list)
    return fail(list.message());
  if (asJson)
    fmt::print("{}\n", toJson(*list).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    printList(*list, folder);
  return kExitSuccess;
}

} // namespace cupel::cli
