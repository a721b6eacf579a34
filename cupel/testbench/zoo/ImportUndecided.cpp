#include "cupel/testbench/zoo/ImportUndecided.h"

#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace cupel::testbench::zoo {
namespace {

using Json = nlohmann::json;

/// Importing a framework takes seconds; a loader that downloads something must not hold us forever.
constexpr std::chrono::seconds kImportLimit(180);

/// The script beside our own Python package: in the source tree, or where it was installed.
std::string findScript() {
  std::string folder = executableFolder();
  for (const char *place :
       {"/../../python/cupel/zoo_import.py", "/../share/cupel/python/cupel/zoo_import.py"}) {
    std::string path = folder + place;
    if (access(path.c_str(), R_OK) == 0)
      return path;
  }
  return "";
}

std::string textOf(const Json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool flagOf(const Json &object, const char *key) {
  auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

const Json &listOf(const Json &object, const char *key) {
  static const Json kEmpty = Json::array();
  auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : kEmpty;
}

std::vector<Variant> variantsOf(const Json &object, const char *key) {
  std::vector<Variant> variants;
  for (const Json &record : listOf(object, key))
    if (record.is_object())
      variants.push_back({textOf(record, "name"), textOf(record, "model"), textOf(record, "group"),
                          textOf(record, "task"), textOf(record, "source"),
                          textOf(record, "framework")});
  return variants;
}

/// Fills the loader from Python's report; what is wrong otherwise.
std::string takeOver(const Json &report, Loader &loader) {
  if (!flagOf(report, "ok"))
    return fmt::format("Python cannot import it: {}", textOf(report, "error"));
  std::vector<Variant> variants = variantsOf(report, "variants");
  if (variants.empty())
    return "Python reports no variants";
  loader.variants = std::move(variants);
  loader.hasPrefill = flagOf(report, "has_prefill");
  loader.prefillVariants = variantsOf(report, "prefill_variants");
  loader.hasDecode = flagOf(report, "has_decode");
  loader.methods.clear();
  for (const Json &record : listOf(report, "methods")) {
    if (!record.is_object())
      continue;
    Method method{textOf(record, "name"), {}};
    for (const Json &parameter : listOf(record, "parameters"))
      if (parameter.is_string())
        method.parameters.push_back(parameter.get<std::string>());
    loader.methods.push_back(std::move(method));
  }
  loader.doubts.clear();
  for (const Json &doubt : listOf(report, "doubts"))
    if (doubt.is_string())
      loader.doubts.push_back({loader.file, 0, 0, doubt.get<std::string>()});
  for (const Json &file : listOf(report, "files"))
    if (file.is_string())
      loader.dependencies.push_back(file.get<std::string>());
  loader.state = Loader::Decided;
  loader.why = {};
  loader.imported = true;
  return "";
}

std::string importOne(Loader &loader, const ReadOptions &options, const std::string &script) {
  std::string output = "/tmp/cupel-import-XXXXXX";
  if (const char *temporary = getenv("TMPDIR"); temporary && *temporary)
    output = std::string(temporary) + "/cupel-import-XXXXXX";
  int handle = mkstemp(output.data());
  if (handle < 0)
    return "no temporary file can be made";
  close(handle);
  Result<CommandOutput> ran =
      runCommand({options.python, script, options.root, loader.file, output}, kImportLimit);
  std::string report;
  if (Result<FileContents> contents = readInput(output, uint64_t{16} << 20))
    report = contents->bytes();
  unlink(output.c_str());
  if (!ran)
    return ran.message();
  Json parsed = Json::parse(report, nullptr, false);
  if (!parsed.is_object()) {
    std::string_view said = ran->text;
    while (said.ends_with('\n'))
      said.remove_suffix(1);
    said = said.substr(said.rfind('\n') + 1);
    return fmt::format("{} ended with code {} and no report{}{}", options.python, ran->exitCode,
                       said.empty() ? "" : ": ", said.substr(0, 300));
  }
  return takeOver(parsed, loader);
}

} // namespace

bool importUndecided(ReadLoaders &result, const ReadOptions &options) {
  std::vector<Loader *> open;
  for (Loader &loader : result.loaders)
    if (loader.state == Loader::Undecided || (!loader.doubts.empty() && !loader.imported))
      open.push_back(&loader);
  if (open.empty())
    return false;
  std::string script = findScript();
  if (script.empty()) {
    result.warnings.push_back(
        {"", 0, 0, "--import: python/cupel/zoo_import.py is not where this build expects it"});
    return false;
  }
  std::atomic<size_t> next = 0;
  std::atomic<bool> learnt = false;
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < open.size();) {
      Loader &loader = *open[i];
      std::string wrong = importOne(loader, options, script);
      if (wrong.empty())
        learnt = true;
      else if (loader.state == Loader::Undecided)
        loader.why.message += "; " + wrong;
      else
        loader.doubts.push_back({loader.file, 0, 0, wrong});
    }
  };
  unsigned threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  threads = std::clamp<unsigned>(threads, 1, static_cast<unsigned>(open.size()));
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  return learnt;
}

} // namespace cupel::testbench::zoo
