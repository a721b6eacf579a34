#include "cupel/cli/CollectArguments.h"

#include "cupel/testbench/selection/Shards.h"

#include <fmt/format.h>

namespace cupel::cli {
namespace {

std::vector<std::string> splitList(const std::string &text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    size_t first = word.find_first_not_of(' '), last = word.find_last_not_of(' ');
    if (first != std::string::npos)
      words.push_back(word.substr(first, last - first + 1));
    begin = end + 1;
  }
  return words;
}

} // namespace

CollectArguments::CollectArguments(CommandLine &line) {
  CLI::App &app = line.app;
  app.add_option("PATH", made.arguments,
                 "Files and folders with tests, or ids (`id`, `suite::id`, pytest's "
                 "`file::function[id]`); none: what cupel.yaml names");
  app.add_option("--zoo", made.zoo, "Folder of model loaders; their ids are relative to it");
  app.add_option("--config", made.config, "Folder or file of the test configuration");
  app.add_option("-k", made.keyword,
                 "Tests whose names match, as pytest has it: \"llama and not 70B\"");
  app.add_option("-m", made.markers, "Tests whose markers match: \"n150 and expected_passing\"");
  app.add_option("--suite", suites,
                 "Suites, separated by commas: models, llm, op_by_op, placeholder, programs, "
                 "opcases, onnx, pt2, workloads");
  app.add_option("--arch", made.arch, "Architecture whose overrides in the configuration apply");
  app.add_option("--frameworks", frameworks,
                 "Frameworks whose loaders are taken, by folder name (pytorch,jax)");
  app.add_option("--preset", made.preset,
                 "What a CI job runs: FILE, FILE:name or FILE:name@machine");
  app.add_option(
      "-R", repeat,
      "`latest`: what did not succeed when it last ran, and what is new; a run's id: the same "
      "with its outcomes");
  app.add_option("--shard", shard, "i/n: the i-th of n parts of about equal duration");
  app.add_flag("--import", made.importUndecided,
               "Let Python import the loaders that cannot be read from their text");
  app.add_option("--python", made.python, "The Python for --import (python3)");
  app.add_flag("--no-cache", noCache, "Read every loader anew");
}

Result<testbench::matrix::CollectOptions> CollectArguments::options() const {
  testbench::matrix::CollectOptions result = made;
  result.useCache = !noCache;
  result.suites = splitList(suites);
  if (!frameworks.empty())
    result.frameworks = splitList(frameworks);
  if (!shard.empty()) {
    Result<testbench::selection::Shard> parsed = testbench::selection::parseShard(shard);
    if (!parsed)
      return Error{parsed.message()};
    result.shard = parsed->index;
    result.shards = parsed->count;
  }
  return result;
}

void showRemarks(std::string_view verb, const testbench::matrix::Collection &collection,
                 size_t limit) {
  auto show = [&](size_t index, size_t count, std::string_view kind, const std::string &text) {
    if (index < limit)
      fmt::print(stderr, "cupel {}: {}: {}\n", verb, kind, text);
    else if (index == limit)
      fmt::print(stderr, "cupel {}: {}: and {} more\n", verb, kind, count - limit);
  };
  for (size_t i = 0; i < collection.errors.size(); ++i)
    show(i, collection.errors.size(), "error", collection.errors[i].text());
  for (size_t i = 0; i < collection.undecided.size(); ++i)
    show(i, collection.undecided.size(), "undecided", collection.undecided[i].why.text());
  for (size_t i = 0; i < collection.doubts.size(); ++i)
    show(i, collection.doubts.size(), "undecided", collection.doubts[i].text());
  for (size_t i = 0; i < collection.warnings.size(); ++i)
    show(i, collection.warnings.size(), "warning", collection.warnings[i].text());
}

} // namespace cupel::cli
