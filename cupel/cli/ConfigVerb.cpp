// `cupel config`: check the configuration of the tests, explain what the checks say, show what
// holds for a test.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/Verbs.h"
#include "cupel/support/Error.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/config/Check.h"
#include "cupel/testbench/config/Configuration.h"
#include "cupel/testbench/matrix/Collect.h"
#include "cupel/testbench/matrix/Project.h"
#include "cupel/testbench/matrix/Table.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {

using namespace testbench::config;
namespace matrix = testbench::matrix;
namespace zoo = testbench::zoo;

namespace {

using Json = nlohmann::ordered_json;

int failUsage(std::string_view message) { return reportError("config", message, kExitUsage); }

/// Bytes of a hostile file may be no UTF-8; JSON must be.
std::string dumped(const Json &json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

struct Counts {
  size_t errors = 0, warnings = 0, notes = 0;
  explicit Counts(const std::vector<Diagnostic> &diagnostics) {
    for (const Diagnostic &diagnostic : diagnostics)
      ++(diagnostic.severity == Severity::Error     ? errors
         : diagnostic.severity == Severity::Warning ? warnings
                                                    : notes);
  }
};

std::string plural(size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string entryCount(size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "entry" : "entries");
}

void printJson(const Configuration &configuration, const std::vector<Diagnostic> &diagnostics,
               const Counts &counts, bool passed) {
  Json list = Json::array();
  for (const Diagnostic &d : diagnostics)
    list.push_back({{"code", info(d.code).id},
                    {"severity", name(d.severity)},
                    {"file", d.file},
                    {"line", d.line},
                    {"column", d.column},
                    {"message", d.message},
                    {"hint", d.hint}});
  Json root = {{"passed", passed},
               {"files", configuration.files().size()},
               {"entries", configuration.entries().size()},
               {"placeholders", configuration.placeholders().size()},
               {"errors", counts.errors},
               {"warnings", counts.warnings},
               {"notes", counts.notes},
               {"diagnostics", std::move(list)}};
  fmt::print("{}\n", dumped(root));
}

/// What `cupel config check` was asked for.
struct CheckRequest {
  std::vector<std::string> paths;
  CheckOptions options;
  matrix::CollectOptions collect;
  bool againstZoo = false;
  bool strict = false, json = false, quiet = false, listMissing = false;
};

/// The tests of the zoo and the names of its models.
KnownTests knownTests(const matrix::Collection &collection) {
  const matrix::Table &table = collection.table();
  KnownTests tests;
  for (uint32_t row = 0; row < table.size(); ++row)
    if (table.suiteOf(row) == "models" || table.suiteOf(row) == "llm")
      table.appendId(row, tests.ids.emplace_back());
  for (const zoo::Loader &loader : table.loaders) {
    if (loader.state != zoo::Loader::Decided) {
      tests.undecidedModels.push_back(loader.modelPath);
      continue;
    }
    std::string folder = loader.modelPath.substr(0, loader.modelPath.rfind('/'));
    tests.modelNames.push_back(folder);
    // A placeholder is called what people call the model, which may be any of these.
    for (const std::vector<zoo::Variant> *variants : {&loader.variants, &loader.prefillVariants})
      for (const zoo::Variant &variant : *variants)
        for (const std::string &name :
             {variant.model, variant.name, variant.model + variant.name, folder + variant.name})
          if (!name.empty())
            tests.modelNames.push_back(name);
  }
  for (const matrix::UndecidedLoader &loader : collection.undecided)
    tests.undecidedModels.push_back(loader.modelPath);
  return tests;
}

int checkConfiguration(const CheckRequest &request) {
  Configuration configuration = Configuration::load(request.paths);
  std::vector<Diagnostic> diagnostics = check(configuration, request.options);
  if (request.againstZoo) {
    Result<matrix::Collection> collection = matrix::collect(request.collect);
    if (!collection)
      return failUsage(collection.message());
    for (const testbench::Remark &error : collection->errors)
      fmt::print(stderr, "{}\n", error.text());
    KnownTests tests = knownTests(*collection);
    if (tests.ids.empty())
      return failUsage("no model loader was found to compare with; --zoo names the root of a tree "
                       "of loaders, --no-zoo leaves the comparison out");
    std::vector<Diagnostic> more =
        checkAgainst(tests, configuration, request.paths.front(), request.listMissing);
    diagnostics.insert(diagnostics.end(), more.begin(), more.end());
    sortDiagnostics(diagnostics);
  }
  Counts counts(diagnostics);
  bool passed = counts.errors == 0 && !(request.strict && counts.warnings != 0);
  if (request.json) {
    printJson(configuration, diagnostics, counts, passed);
  } else {
    for (const Diagnostic &diagnostic : diagnostics)
      if (!request.quiet || diagnostic.severity != Severity::Note)
        fmt::print("{}\n", render(diagnostic));
    fmt::print("{} in {}, {}: {}, {}, {}\n", entryCount(configuration.entries().size()),
               plural(configuration.files().size(), "file"),
               plural(configuration.placeholders().size(), "placeholder"),
               plural(counts.errors, "error"), plural(counts.warnings, "warning"),
               plural(counts.notes, "note"));
    if (!diagnostics.empty())
      fmt::print("cupel config explain CODE says what a code means\n");
  }
  return passed ? kExitSuccess : kExitFailure;
}

int explain(const std::vector<std::string> &wanted, bool markdown) {
  if (markdown) {
    fmt::print("{}", codesPage());
    return kExitSuccess;
  }
  if (wanted.empty()) {
    for (const CodeInfo &row : codes())
      fmt::print("{}  {:<8} {}\n", row.id, name(row.severity), row.title);
    return kExitSuccess;
  }
  for (const std::string &id : wanted) {
    const CodeInfo *row = findCode(id);
    if (!row) {
      std::vector<std::string_view> ids;
      for (const CodeInfo &each : codes())
        ids.push_back(each.id);
      std::string_view near = id.size() < 20 ? nearestWord(id, ids) : "";
      return failUsage(fmt::format("no diagnostic has the code {}{}", id,
                                   near.empty() ? "; cupel config explain lists them"
                                                : fmt::format("; did you mean {}?", near)));
    }
    fmt::print("{}: {} ({})\n\n{}\n", row->id, row->title, name(row->severity), row->explanation);
    if (!row->example.empty())
      fmt::print("\nFor example:\n\n{}\n", row->example);
    fmt::print("\n{}\n", row->remedy);
  }
  return kExitSuccess;
}

Json asJson(const Expectation &e) {
  Json json = {{"file", e.file}, {"line", e.line}, {"status", name(e.status)}};
  auto add = [&](const char *field, const auto &value) {
    if (value)
      json[field] = *value;
  };
  if (e.bringupStatus)
    json["bringup_status"] = name(*e.bringupStatus);
  if (!e.reason.empty())
    json["reason"] = e.reason;
  if (!e.markers.empty())
    json["markers"] = e.markers;
  add("supported_archs", e.supportedArchs);
  add("required_pcc", e.requiredPcc);
  add("assert_pcc", e.assertPcc);
  add("required_atol", e.requiredAtol);
  add("assert_atol", e.assertAtol);
  add("assert_allclose", e.assertAllclose);
  add("allclose_rtol", e.allcloseRtol);
  add("allclose_atol", e.allcloseAtol);
  add("batch_size", e.batchSize);
  add("execution_pass", e.executionPass);
  if (!e.filechecks.empty())
    json["filechecks"] = e.filechecks;
  add("enable_weight_bfp8_conversion", e.enableWeightBfp8Conversion);
  add("optimization_level", e.optimizationLevel);
  add("inject_custom_moe", e.injectCustomMoe);
  add("emitpy_assert_exact", e.emitpyAssertExact);
  return json;
}

int show(const std::vector<std::string> &paths, const std::vector<std::string> &ids,
         const std::string &arch) {
  Configuration configuration = Configuration::load(paths);
  for (const Diagnostic &diagnostic : configuration.diagnostics())
    if (diagnostic.severity == Severity::Error)
      fmt::print(stderr, "{}\n", render(diagnostic));
  Json all = Json::object();
  for (const std::string &id : ids) {
    if (!configuration.find(id)) {
      std::vector<std::string> known;
      for (const Entry &entry : configuration.entries())
        known.emplace_back(entry.id);
      std::string closest;
      for (std::string_view close : closestIds(id, known, 3))
        closest += fmt::format("{}{}", closest.empty() ? "; closest: " : ", ", close);
      return reportError("config", fmt::format("{} has no entry{}", id, closest), kExitFailure);
    }
    all[id] = asJson(configuration.expectation(id, arch));
  }
  fmt::print("{}\n", dumped(all));
  return kExitSuccess;
}

} // namespace

int runConfigVerb(const Arguments &arguments) {
  CommandLine line("config", "Checks, explains and shows the configuration of the tests: YAML "
                             "files that say what is expected of each.");
  CheckRequest request;
  std::vector<std::string> shownPaths, explained, shown;
  std::string arch;
  bool markdown = false, noZoo = false;

  Options checkAction = line.action("check", "Find what is wrong or out of date");
  checkAction.option("PATHS", request.paths,
                     "Folders or files of the configuration (those of the project)");
  checkAction.option("--zoo", request.collect.zoo,
                     "Compare with the tests of this tree of loaders (that of the project)");
  checkAction.flag("--no-zoo", noZoo, "Do not compare with any tests");
  checkAction.flag("--import", request.collect.importUndecided,
                   "Let Python import loaders whose text does not tell");
  checkAction.flag("--missing", request.listMissing, "List each test without an entry");
  checkAction.flag("--strict", request.strict, "Fail for warnings too");
  checkAction.flag("--json", request.json, "Machine-readable output");
  checkAction.flag("-q,--quiet", request.quiet, "Leave notes out");
  checkAction.option("--known-arch", request.options.furtherArchs,
                     "An architecture besides those that are known (repeatable)");

  Options explainAction = line.action("explain", "Say what a diagnostic means");
  explainAction.option("CODES", explained, "Codes such as C010; none lists all");
  explainAction.flag("--markdown", markdown, "The whole reference page");

  Options showAction = line.action("show", "Print as JSON what holds for tests");
  showAction.option("IDS", shown, "Ids of tests").required();
  showAction.option("--config", shownPaths,
                    "Folders or files of the configuration (those of the project)");
  showAction.option("--arch", arch, "Apply the overrides of this architecture");

  line.example("cupel config check", "the project's configuration");
  line.example("cupel config check test_config --strict", "a folder; fail for warnings too");
  line.example("cupel config check test_config --zoo DIR", "find what is out of date, too");
  line.example("cupel config explain C033", "what this code means");
  line.example("cupel config show ID --arch n150", "what holds for a test");
  if (std::optional<int> code = line.parse(arguments))
    return *code;

  if (explainAction.chosen())
    return explain(explained, markdown);
  Result<std::optional<matrix::Project>> project = matrix::currentProject();
  if (!project)
    return failUsage(project.message());
  std::vector<std::string> &paths = checkAction.chosen() ? request.paths : shownPaths;
  bool isProjects = paths.empty();
  if (isProjects && *project)
    paths = (*project)->config;
  if (paths.empty())
    return failUsage("name the folder of the configuration; there is no project file here that "
                     "does");
  if (showAction.chosen())
    return show(paths, shown, arch);
  // Another configuration than the project's has nothing to do with the project's zoo.
  bool ofProject = isProjects && *project && !(*project)->zoo.empty();
  request.againstZoo = !noZoo && (!request.collect.zoo.empty() || ofProject);
  request.collect.useProject = request.collect.zoo.empty();
  request.collect.suites = {"models", "llm"};
  return checkConfiguration(request);
}

} // namespace cupel::cli
