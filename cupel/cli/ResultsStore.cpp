#include "cupel/cli/ResultsStore.h"
#include "cupel/testbench/matrix/Project.h"

#include <algorithm>
#include <cctype>
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

std::string shellWord(std::string_view text) {
  auto plain = [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./:=@%+,~").find(char(c)) != std::string_view::npos;
  };
  if (!text.empty() && text.front() != '~' && std::all_of(text.begin(), text.end(), plain))
    return std::string(text);
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string wordsToRunAgain(const results::RunInfo &run, bool otherSelection) {
  static constexpr std::string_view kDropped[] = {"-R", "--junitxml", "--json", "--markdown",
                                                  "--results"};
  static constexpr std::string_view kSelecting[] = {"--shard", "-k", "-m", "--preset"};
  std::string text;
  const std::vector<std::string> &words = run.commandLine;
  bool known = words.size() >= 2 && words[1] == "run" &&
               std::find(words.begin(), words.end(), "--resume") == words.end();
  for (size_t i = 2; known && i < words.size(); ++i) {
    std::string_view option = std::string_view(words[i]).substr(0, words[i].find('='));
    auto isOneOf = [&](auto &list) {
      return std::find(std::begin(list), std::end(list), option) != std::end(list);
    };
    if (isOneOf(kDropped) || (otherSelection && isOneOf(kSelecting))) {
      i += option.size() == words[i].size(); // Its value is the next word.
      continue;
    }
    if (words[i].starts_with("-R") || words[i] == "--" ||
        (otherSelection && words[i].find("::") != std::string::npos))
      continue;
    text += " " + shellWord(words[i]);
  }
  if (!known && !run.device.empty())
    text += " --device " + shellWord(run.device);
  if (!known && !run.arch.empty())
    text += " --arch " + shellWord(run.arch);
  return text;
}

std::string resultsTail(const std::string &option) {
  return option.empty() ? "" : " --results " + shellWord(option);
}

} // namespace cupel::cli
