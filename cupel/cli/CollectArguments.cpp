#include "cupel/cli/CollectArguments.h"

#include "cupel/results/Suites.h"
#include "cupel/testbench/selection/Shards.h"

#include <fmt/format.h>
#include <map>
#include <set>

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
  line.option("PATH", made.arguments,
              "Files and folders with tests, or ids (`id`, `suite::id`, pytest's "
              "`file::function[id]`); none: what cupel.yaml names");
  line.option("--zoo", made.zoo, "Folder of model loaders; their ids are relative to it");
  line.option("--config", made.config, "Folder or file of the test configuration");
  line.option("-k", made.keyword,
              "Tests whose names match, as pytest has it: \"llama and not 70B\"");
  line.option("-m", made.markers, "Tests whose markers match: \"n150 and expected_passing\"");
  std::string known;
  for (const results::Suite &suite : results::suites())
    known += (known.empty() ? "" : ", ") + std::string(suite.name);
  line.option("--suite", suites, "Suites, separated by commas: " + known);
  line.option("--arch", made.arch,
              "Architecture whose overrides in the configuration apply, and which our own device "
              "presents");
  line.option("--frameworks", frameworks,
              "Frameworks whose loaders are taken, by folder name (pytorch,jax)");
  line.option("--preset", made.preset, "What a CI job runs: FILE, FILE:name or FILE:name@machine");
  line.option(
      "-R", repeat,
      "`latest`: what did not succeed when it last ran, and what is new; a run's id: the same "
      "with its outcomes");
  line.option("--shard", shard, "i/n: the i-th of n parts of about equal duration");
  line.flag("--import", made.importUndecided,
            "Let Python import the loaders that cannot be read from their text");
  line.option("--python", python,
              "The Python for model loaders and operator cases ($CUPEL_PYTHON, .venv, python3) and --import "
              "(python3)");
  line.option("--model", made.models,
              "Operator cases of this model and nothing else; may be repeated")
      .placeholder("NAME")
      .repeatable();
  Option dedupe =
      line.flag("--dedupe", givenDedupe,
                "Of operator cases that test the same run the first only (the default)");
  line.flag("--no-dedupe", noDedupe, "Run them all").excludes(dedupe);
  line.flag("--list-models", listModels, "List the models that have operator cases, and stop");
  line.flag("--list-cases", listCases, "List the operator cases, and stop");
  line.flag("--no-cache", noCache, "Read every loader anew");
}

Result<testbench::matrix::CollectOptions> CollectArguments::options() const {
  testbench::matrix::CollectOptions result = made;
  result.useCache = !noCache;
  result.dedupe = !noDedupe;
  if (!python.empty())
    result.python = python;
  result.suites = splitList(suites);
  if (!frameworks.empty())
    result.frameworks = splitList(frameworks);
  if (!shard.empty()) {
    Result<testbench::selection::Shard> parsed = testbench::selection::parseShard(shard);
    if (!parsed)
      return parsed.error();
    result.shard = parsed->index;
    result.shards = parsed->count;
  }
  return result;
}

int showOpCases(std::string_view verb, const testbench::matrix::Collection &collection,
                bool models) {
  struct Model {
    size_t cases = 0, duplicates = 0;
    std::set<std::string> ops, files;
  };
  std::map<std::string, Model> found;
  size_t width = 0;
  std::vector<testbench::TestItem> items;
  for (size_t i = 0; i < collection.size(); ++i) {
    testbench::TestItem item = collection.item(i);
    if (item.suite != "opcases")
      continue;
    Model &model = found[item.modelName];
    ++model.cases;
    model.duplicates += !item.duplicateOf.empty();
    model.ops.insert(item.op);
    model.files.insert(item.file);
    width = std::max(width, item.id.size());
    items.push_back(std::move(item));
  }
  showRemarks(verb, collection);
  if (found.empty())
    return reportError(verb, "no operator cases are selected", kExitNothingSelected);
  if (models) {
    fmt::print("{:<28} {:>6} {:>5} {:>10}  {}\n", "model", "cases", "ops", "duplicates", "file");
    for (const auto &[name, model] : found)
      fmt::print("{:<28} {:>6} {:>5} {:>10}  {}\n", name, model.cases, model.ops.size(),
                 model.duplicates, fmt::join(model.files, ", "));
  } else {
    for (const testbench::TestItem &item : items)
      fmt::print("{:<{}}  {}({}){}\n", item.id, width, item.op, item.signature,
                 item.duplicateOf.empty() ? "" : "  = " + item.duplicateOf);
  }
  return collection.errors.empty() ? kExitSuccess : kExitFailure;
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
