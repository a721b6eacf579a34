// `cupel list`.

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/CommandLine.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/Verbs.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/testbench/session/Session.h"
#include "cupel/testbench/matrix/Table.h"

#include <fmt/format.h>
#include <map>

namespace cupel::cli {
namespace {

using testbench::Remark;
using testbench::matrix::Collection;

/// Collects output and hands it on in large pieces: a hundred thousand lines in a few writes.
class Output {
public:
  ~Output() {
    flush();
    fflush(stdout); // Before anything is said on standard error.
  }
  std::string text;
  void maybeFlush() {
    if (text.size() > (size_t{1} << 16))
      flush();
  }
  void flush() {
    fwrite(text.data(), 1, text.size(), stdout);
    text.clear();
  }
};

/// `text` as a JSON string. What is not UTF-8 (a file name may be anything) is written as
/// replacement characters.
void appendJson(std::string_view text, std::string &out) {
  out += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i];
    } else if (c < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", c);
    } else if (c < 0x80) {
      out += text[i];
    } else {
      size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
      bool isGood = length && c <= 0xF4 && i + length <= text.size();
      for (size_t k = 1; isGood && k < length; ++k)
        isGood = (text[i + k] & 0xC0) == 0x80;
      if (isGood) {
        out += text.substr(i, length);
        i += length - 1;
      } else {
        out += "\xEF\xBF\xBD";
      }
    }
  }
  out += '"';
}

void appendRemarks(std::string_view name, const std::vector<Remark> &remarks, std::string &out) {
  out += fmt::format(",\n\"{}\": [", name);
  for (size_t i = 0; i < remarks.size(); ++i) {
    const Remark &remark = remarks[i];
    out += i ? ",\n  {\"file\": " : "\n  {\"file\": ";
    appendJson(remark.file, out);
    out += fmt::format(", \"line\": {}, \"column\": {}, \"message\": ", remark.line, remark.column);
    appendJson(remark.message, out);
    out += '}';
  }
  out += ']';
}

/// What is known of every loader found, selected or not: which methods a worker may call, and with
/// what.
void appendLoaders(const testbench::matrix::Table &table, std::string &out) {
  out += ",\n\"loaders\": [";
  bool isFirst = true;
  for (const testbench::zoo::Loader &loader : table.loaders) {
    out += std::exchange(isFirst, false) ? "\n  {\"model_path\": " : ",\n  {\"model_path\": ";
    appendJson(loader.modelPath, out);
    out += ", \"file\": ";
    appendJson(loader.file, out);
    static constexpr std::string_view kStates[] = {"decided", "undecided", "broken"};
    out += fmt::format(", \"state\": \"{}\", \"imported\": {}, \"methods\": {{",
                       kStates[loader.state], loader.imported);
    for (size_t i = 0; i < loader.methods.size(); ++i) {
      out += i ? ", " : "";
      appendJson(loader.methods[i].name, out);
      out += ": [";
      for (size_t k = 0; k < loader.methods[i].parameters.size(); ++k) {
        out += k ? ", " : "";
        appendJson(loader.methods[i].parameters[k], out);
      }
      out += ']';
    }
    out += "}}";
  }
  out += ']';
}

void printJson(const Collection &collection) {
  Output output;
  std::string &out = output.text;
  out += "{\"tests\": [";
  for (size_t i = 0; i < collection.size(); ++i) {
    testbench::TestItem item = collection.item(i);
    out += i ? ",\n  {" : "\n  {";
    bool isFirst = true;
    auto text = [&](std::string_view name, std::string_view value, bool always = false) {
      if (value.empty() && !always)
        return;
      out += fmt::format("{}\"{}\": ", std::exchange(isFirst, false) ? "" : ", ", name);
      appendJson(value, out);
    };
    text("suite", item.suite, true);
    text("id", item.id, true);
    text("file", item.file);
    text("framework", item.framework);
    text("model_path", item.modelPath);
    text("variant", item.variant);
    text("model", item.modelName);
    text("group", item.group);
    text("task", item.task);
    text("source", item.source);
    text("parallelism", item.parallelism);
    text("run_mode", item.runMode);
    text("phase", item.phase);
    text("sharding", item.sharding);
    text("mesh", item.mesh);
    if (item.sequenceLength)
      out += fmt::format(", \"sequence_length\": {}, \"batch_size\": {}", item.sequenceLength,
                         item.batchSize);
    if (item.part)
      out += fmt::format(", \"part\": {}", item.part);
    text("status", testbench::config::name(item.expectation.status));
    if (item.expectation.bringupStatus)
      text("bringup_status", testbench::config::name(*item.expectation.bringupStatus));
    text("reason", item.expectation.reason);
    out += ", \"markers\": [";
    for (size_t k = 0; k < item.markers.size(); ++k) {
      if (k)
        out += ", ";
      appendJson(item.markers[k], out);
    }
    out += "]}";
    output.maybeFlush();
  }
  out += "],\n\"undecided\": [";
  for (size_t i = 0; i < collection.undecided.size(); ++i) {
    const testbench::matrix::UndecidedLoader &loader = collection.undecided[i];
    out += i ? ",\n  {\"model_path\": " : "\n  {\"model_path\": ";
    appendJson(loader.modelPath, out);
    out += ", \"file\": ";
    appendJson(loader.why.file, out);
    out += fmt::format(", \"line\": {}, \"column\": {}, \"reason\": ", loader.why.line,
                       loader.why.column);
    appendJson(loader.why.message, out);
    out += '}';
  }
  out += ']';
  appendLoaders(collection.table(), out);
  appendRemarks("doubts", collection.doubts, out);
  appendRemarks("errors", collection.errors, out);
  appendRemarks("warnings", collection.warnings, out);
  out += fmt::format(",\n\"counts\": {{\"found\": {}, \"excluded\": {}, \"selected\": {}}}}}\n",
                     collection.found, collection.excluded, collection.size());
}

void printIds(const Collection &collection) {
  Output output;
  for (size_t i = 0; i < collection.size(); ++i) {
    collection.appendFullName(i, output.text);
    output.text += '\n';
    output.maybeFlush();
  }
}

void printTable(const Collection &collection) {
  using namespace testbench;
  Output output;
  const matrix::Table &table = collection.table();
  bool hasConfiguration = !table.configuration.files().empty();
  std::map<std::string_view, size_t> perSuite;
  // What an entry says does not change from row to row; resolving it does cost.
  std::map<std::pair<uint32_t, const matrix::Annotation *>, std::string> statuses;
  for (size_t i = 0; i < collection.size(); ++i) {
    uint32_t row = collection.row(i);
    ++perSuite[table.suiteOf(row)];
    if (hasConfiguration) {
      const matrix::Annotation &annotation = collection.annotation(i);
      uint32_t entry = annotation.entries[row];
      std::string &status = statuses[{entry, &annotation}];
      if (status.empty()) {
        config::TestStatus value = config::TestStatus::Unspecified;
        if (entry != matrix::kNone)
          value =
              table.configuration.entries()[entry].resolved(annotation.arch).status.value_or(value);
        status = fmt::format("{:<20}", config::name(value));
      }
      output.text += status;
    }
    collection.appendFullName(i, output.text);
    output.text += '\n';
    output.maybeFlush();
  }
  std::string parts;
  for (const std::string &suite : table.suites)
    if (size_t count = perSuite[suite])
      parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", count, suite);
  output.text += fmt::format("{} of {} tests selected", collection.size(), collection.found);
  if (!parts.empty())
    output.text += fmt::format(" ({})", parts);
  if (collection.excluded)
    output.text += fmt::format(", {} excluded by the configuration", collection.excluded);
  if (!collection.undecided.empty())
    output.text += fmt::format(", {} loaders undecided (--import lets Python read them)",
                               collection.undecided.size());
  if (!collection.errors.empty())
    output.text += fmt::format(", {} errors", collection.errors.size());
  output.text += '\n';
}

/// What earlier runs have to say: -R, and durations that balance the shards as `cupel run` does.
Status useResults(const CollectArguments &selection, const std::string &folder,
                  const std::string &device, testbench::matrix::CollectOptions &options) {
  if (selection.repeat.empty() && options.shards < 2)
    return {};
  Result<results::Store> store = openResults(folder);
  if (!store)
    return selection.repeat.empty() ? Status() : Error{"-R: " + store.message()};
  if (!selection.repeat.empty()) {
    Result<std::unordered_map<std::string, bool>> succeeded =
        testbench::session::succeededBefore(*store, selection.repeat, options.arch, device);
    if (!succeeded)
      return succeeded.error();
    options.succeededBefore = std::move(*succeeded);
  }
  if (options.shards > 1) {
    auto seconds = std::make_shared<std::unordered_map<std::string, double>>();
    if (Result<std::vector<results::KnownTest>> known = store->known(options.arch, device))
      for (const results::KnownTest &test : *known)
        if (test.seconds > 0)
          (*seconds)[test.fullName()] = test.seconds;
    options.knownSeconds = [seconds](const std::string &name) -> std::optional<double> {
      auto found = seconds->find(name);
      return found == seconds->end() ? std::nullopt : std::optional(found->second);
    };
  }
  return {};
}

} // namespace

int runListVerb(const Arguments &arguments) {
  CommandLine line("list",
                   "List the tests there are, without running anything: model loaders of a "
                   "zoo, programs, operator\ncases, ONNX models and archives below the given "
                   "paths or in the project (cupel.yaml).");
  CollectArguments selection(line);
  std::string format = "table", resultsFolder, device = "reference";
  addResultsOption(line, resultsFolder);
  line.option("--device", device,
              "Whose outcomes -R means and whose durations balance --shard (reference)");
  line.option("--format", format, "table, ids (one suite::id a line) or json")
      .oneOf({"table", "ids", "json"});
  line.example("cupel list", "everything the project file names");
  line.example("cupel list zoo/programs", "the programs below a folder");
  line.example(
      "cupel list --zoo models --config test_config -m \"n150 and expected_passing\" --arch n150",
      "what should pass on one architecture");
  line.example("cupel list --zoo models -k llama --suite llm --format ids", "ids for a script");
  line.example("cupel list --zoo models --preset presets/nightly.json:run_jax",
               "what a CI job runs");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  Result<testbench::matrix::CollectOptions> options = selection.options();
  if (!options)
    return reportError("list", options.message(), kExitUsage);
  if (Status status = useResults(selection, resultsFolder,
                                 runtime::DeviceName::parse(device, options->arch).str(), *options);
      !status)
    return reportError("list", status.message(), kExitUsage);
  Result<Collection> collection = testbench::matrix::collect(*options);
  if (!collection)
    return reportError("list", collection.message(), kExitUsage);
  if (selection.listModels || selection.listCases)
    return showOpCases("list", *collection, selection.listModels);

  if (format == "json")
    printJson(*collection);
  else if (format == "ids")
    printIds(*collection);
  else
    printTable(*collection);
  if (format != "json")
    showRemarks("list", *collection);
  if (fflush(stdout) != 0 || ferror(stdout))
    return reportError("list", "the list could not be written out", kExitFailure);
  if (!collection->errors.empty())
    return kExitFailure;
  // A loader that is undecided may hold what was asked for.
  return collection->size() == 0 && collection->undecided.empty() ? kExitNothingSelected
                                                                  : kExitSuccess;
}

} // namespace cupel::cli
