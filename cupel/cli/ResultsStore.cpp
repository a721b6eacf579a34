#include "cupel/cli/ResultsStore.h"
#include "cupel/testbench/matrix/Project.h"

#include <filesystem>
#include <fmt/format.h>

namespace cupel::cli {

namespace fs = std::filesystem;
using results::ImportSummary;
using results::Store;

void addResultsOption(CommandLine &line, std::string &folder) {
  line.option("--results", folder,
              "The results store (default: results: of cupel.yaml, else .cupel/results)")
      .placeholder("DIR");
}

Result<std::string> resultsFolder(const std::string &option) {
  if (!option.empty())
    return option;
  Result<std::optional<testbench::matrix::Project>> project = testbench::matrix::currentProject();
  if (!project)
    return project.error();
  if (!*project)
    return std::string(".cupel/results");
  return (*project)->results.value_or((*project)->folder + "/.cupel/results");
}

Result<Store> openResults(const std::string &option) {
  Result<std::string> folder = resultsFolder(option);
  if (!folder)
    return folder.error();
  // A verb that reads must not leave an empty store behind.
  std::error_code error;
  bool hasJournals =
      fs::is_directory(*folder + "/journals", error) &&
      fs::directory_iterator(*folder + "/journals", error) != fs::directory_iterator();
  if (!fs::exists(*folder + "/results.sqlite", error) && !hasJournals)
    return Store::open(*folder, Store::Access::ReadOnly);
  Result<Store> store = Store::open(*folder);
  if (!store) {
    Result<Store> readOnly = Store::open(*folder, Store::Access::ReadOnly);
    return readOnly ? std::move(readOnly) : std::move(store);
  }
  Result<std::vector<ImportSummary>> imported = store->importPending();
  if (!imported) {
    fmt::print(stderr, "warning: {}\n", imported.message());
    return store;
  }
  for (const ImportSummary &summary : *imported) {
    if (summary.added + summary.replaced)
      fmt::print(stderr, "note: {} of run {} came from its journal\n",
                 summary.added + summary.replaced == 1
                     ? std::string("1 outcome")
                     : fmt::format("{} outcomes", summary.added + summary.replaced),
                 summary.run);
    if (summary.damaged)
      fmt::print(stderr, "warning: {}\n", summary.firstDamage);
  }
  return store;
}

std::string resultsTail(const std::string &option) {
  return option.empty() ? "" : " --results " + shellWord(option);
}

} // namespace cupel::cli
