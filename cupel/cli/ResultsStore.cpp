#include "cupel/cli/ResultsStore.h"
#include "cupel/testbench/matrix/Project.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace cupel::cli {

namespace fs = std::filesystem;
using results::ImportSummary;
using results::Store;
using results::StorePlace;

void addResultsOption(Options &line, std::string &folder) {
  line.option("--results", folder,
              "The results store: a folder, or postgresql://HOST/NAME (default: $CUPEL_RESULTS, "
              "results: of cupel.yaml, else .cupel/results)")
      .placeholder("PLACE");
}

Result<StorePlace> resultsPlace(const std::string &option) {
  auto fromEnvironment = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value ? value : "";
  };
  std::string text = option.empty() ? fromEnvironment("CUPEL_RESULTS") : option;
  std::string files = fromEnvironment("CUPEL_RESULTS_FOLDER");
  if (text.empty() || (results::isDatabaseAddress(text) && files.empty())) {
    Result<std::optional<testbench::matrix::Project>> project = testbench::matrix::currentProject();
    if (!project)
      return project.error();
    std::string beside = *project ? (*project)->folder + "/.cupel/results" : ".cupel/results";
    if (files.empty())
      files = beside;
    if (text.empty())
      text = *project ? (*project)->results.value_or(beside) : beside;
  }
  StorePlace place = StorePlace::of(std::move(text), std::move(files));
  if (!place.database.empty())
    if (Status status = results::refuseSecrets(place.database); !status)
      return status.error();
  return place;
}

Result<std::string> resultsFolder(const std::string &option) {
  Result<StorePlace> place = resultsPlace(option);
  if (!place)
    return place.error();
  return std::move(place->folder);
}

Result<Store> openResults(const std::string &option) {
  Result<StorePlace> place = resultsPlace(option);
  if (!place)
    return place.error();
  // A verb that reads must not leave an empty store behind.
  std::error_code error;
  const std::string journals = place->folder + "/journals";
  bool hasJournals = fs::is_directory(journals, error) &&
                     fs::directory_iterator(journals, error) != fs::directory_iterator();
  bool hasDatabase =
      !place->database.empty() || fs::exists(place->folder + "/results.sqlite", error);
  if (!hasDatabase && !hasJournals)
    return Store::open(*place, Store::Access::ReadOnly);
  // Whoever only reads a database may have no right to more.
  if (!place->database.empty() && !hasJournals)
    if (Result<Store> readOnly = Store::open(*place, Store::Access::ReadOnly))
      return readOnly;
  Result<Store> store = Store::open(*place);
  if (!store) {
    Result<Store> readOnly = Store::open(*place, Store::Access::ReadOnly);
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
