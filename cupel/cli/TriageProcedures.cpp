#include "cupel/cli/TriageProcedures.h"

#include "cupel/cli/CommandLine.h"
#include "cupel/results/RecordJson.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/support/TemporaryFolder.h"
#include "cupel/testbench/matrix/Collect.h"
#include "cupel/testbench/matrix/Project.h"
#include "cupel/testbench/procedures/Procedure.h"
#include "cupel/testbench/requirements/Environments.h"
#include "cupel/testbench/session/PythonServer.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::cli {
namespace {

using namespace cupel::testbench;
using namespace cupel::testbench::procedures;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Settings {
  std::string zoo, config, device, python, arch;
  std::vector<std::string> runOptions;
  uint64_t seconds = 1200;
};

/// The interpreter for loaders of this folder.
Result<std::string> pythonOf(const std::string &base, const std::string &folder) {
  if (requirements::disabledByEnvironment() || !fs::exists(fs::path(folder) / "requirements.txt"))
    return base;
  requirements::EnvironmentOptions options;
  options.cacheFolder = requirements::defaultCacheFolder();
  options.basePython = base;
  return requirements::pythonFor(folder, options);
}

Result<std::vector<CpuRun>> runOnCpu(const Settings &settings, const std::string &zoo,
                                     const std::vector<CpuTest> &tests) {
  TemporaryFolder folder("cupel-triage");
  std::string script = session::findPythonWorker();
  if (script.empty())
    return Error{"the Python package of this installation is not to be found"};
  Json request = {{"zoo", zoo}, {"seconds", settings.seconds}, {"tests", Json::array()}};
  for (const CpuTest &test : tests) {
    Json one = {{"loader", zoo + "/" + test.loaderPath}, {"variant", test.variant}};
    if (test.batchSize)
      one["batch_size"] = test.batchSize;
    request["tests"].push_back(std::move(one));
  }
  Result<std::string> python =
      pythonOf(session::pythonServer(settings.python, "cupel").command.front(),
               (fs::path(settings.zoo) / tests.front().loaderPath).parent_path().string());
  if (!python)
    return python.error();
  std::string out = (folder.path / "answer.json").string();
  Result<CommandOutput> output = runCommand({*python, "-u", script, "phases", request.dump(), out},
                                            std::chrono::seconds(settings.seconds + 120));
  if (!output)
    return output.error();
  std::error_code error;
  if (!fs::exists(out, error))
    return Error{fmt::format(
        "the loader on the CPU ended its process (exit code {}): {}", output->exitCode,
        output->text.substr(output->text.size() - std::min<size_t>(2000, output->text.size())))};
  Result<FileContents> answer = readInput(out);
  return answer ? parseCpuRuns(answer->bytes()) : Result<std::vector<CpuRun>>(answer.error());
}

Result<std::vector<results::TestRecord>> runThroughRunner(const Settings &settings,
                                                          const std::string &zoo,
                                                          const std::vector<std::string> &ids) {
  std::vector<results::TestRecord> records;
  if (ids.empty())
    return records;
  TemporaryFolder folder("cupel-triage");
  std::string json = (folder.path / "report.json").string();
  std::vector<std::string> words = {executableFolder() + "/cupel", "run"};
  for (const std::string &id : ids)
    words.push_back("models::" + id);
  for (const std::string &word :
       {std::string("--zoo"), zoo, std::string("--config"), settings.config,
        std::string("--force-run"), std::string("--runxfail"), std::string("--no-cache"),
        std::string("--json"), json, std::string("--junitxml"),
        (folder.path / "report.xml").string(), std::string("--results"),
        (folder.path / "results").string(), std::string("--keep-failed"), std::string("none")})
    words.push_back(word);
  auto option = [&](const char *name, const std::string &value) {
    if (!value.empty())
      words.insert(words.end(), {name, value});
  };
  option("--device", settings.device);
  option("--python", settings.python);
  option("--arch", settings.arch);
  words.insert(words.end(), settings.runOptions.begin(), settings.runOptions.end());
  Result<CommandOutput> output =
      runCommand(words, std::chrono::seconds(settings.seconds * ids.size() + 120));
  if (!output)
    return output.error();
  std::error_code error;
  if (!fs::exists(json, error))
    return Error{"the tests could not be run: " + output->text};
  Result<FileContents> bytes = readInput(json);
  if (!bytes)
    return bytes.error();
  nlohmann::json report = nlohmann::json::parse(bytes->bytes(), nullptr, false);
  if (report.is_discarded() || !report.contains("tests"))
    return Error{"the report of the run cannot be read"};
  for (const nlohmann::json &test : report["tests"]) {
    Result<results::TestRecord> record = results::testRecordFromJson(test.dump());
    if (!record)
      return record.error();
    records.push_back(std::move(*record));
  }
  return records;
}

int run(const Procedure &procedure, const Arguments &arguments) {
  std::string verb = "triage " + std::string(procedure.name);
  CommandLine line(
      verb,
      std::string(procedure.summary) +
          ": runs its loader on the CPU, tries the smallest fix, verifies, and proposes a patch "
          "of loader and configuration. Nothing is written without --apply.");
  line.example("cupel " + verb + " a/pytorch-Base-single_device-training",
               "print the report and the patch");
  line.example("cupel " + verb + " pytorch_A_Base_cv_image_cls_github --apply",
               "by the name in reports; write both");
  Settings settings;
  std::string test, report;
  bool doApply = false, asJson = false;
  line.option("TEST", test, "A key of the configuration, or the name that a model has in reports")
      .required();
  line.flag("--apply", doApply, "Write loader and configuration; nothing is committed");
  line.option("--zoo", settings.zoo, "Folder of model loaders (that of the project)");
  line.option("--config", settings.config,
              "Folder or file of the test configuration (that of the project)");
  line.option("--device", settings.device, "Where the tests are verified, as cupel run has it");
  line.option("--arch", settings.arch, "The architecture they are verified for");
  line.option("--python", settings.python,
              "The Python for loaders ($CUPEL_PYTHON, .venv, python3)");
  line.option("--run-option", settings.runOptions,
              "Another option of cupel run for the verification; may be repeated")
      .placeholder("WORD")
      .oneValueEach();
  line.option("--seconds", settings.seconds, "Longest that a loader may take on the CPU")
      .showDefault();
  line.option("--report", report, "Write the report to this file too").placeholder("FILE");
  line.flag("--json", asJson, "Print JSON");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  auto fail = [&](std::string_view message) { return reportError(verb, message, kExitUsage); };

  Result<std::optional<matrix::Project>> project = matrix::currentProject();
  if (!project)
    return fail(project.message());
  if (settings.zoo.empty() && *project && !(*project)->zoo.empty())
    settings.zoo = (*project)->zoo.front();
  if (settings.config.empty() && *project && !(*project)->config.empty())
    settings.config = (*project)->config.front();
  if (settings.zoo.empty() || settings.config.empty())
    return fail("--zoo and --config say where loaders and configuration are; there is no project "
                "file here that does");
  std::error_code error;
  settings.zoo = fs::canonical(settings.zoo, error).string();
  if (error)
    return fail("--zoo: " + error.message());
  settings.config = fs::absolute(settings.config, error).lexically_normal().string();

  matrix::CollectOptions collect;
  collect.zoo = settings.zoo;
  collect.config = settings.config;
  collect.useProject = false;
  collect.suites = {"models"};
  collect.frameworks = {"pytorch"};
  Result<matrix::Collection> collection = matrix::collect(collect);
  if (!collection)
    return fail(collection.message());
  config::Configuration configuration = config::Configuration::load({settings.config});
  if (configuration.hasErrors())
    return fail("the configuration has errors; cupel config check says which");
  Inputs inputs{&configuration, {}, settings.zoo};
  for (TestItem &item : collection->items())
    if (item.parallelism == "single_device")
      inputs.items.push_back(std::move(item));
  Seams seams;
  seams.cpu = [&](const std::string &zoo, const std::vector<CpuTest> &tests) {
    return runOnCpu(settings, zoo, tests);
  };
  seams.verify = [&](const std::string &zoo, const std::vector<std::string> &ids) {
    return runThroughRunner(settings, zoo, ids);
  };
  seams.say = [&](const std::string &text) { fmt::print(stderr, "{}\n", text); };
  Result<ProcedureReport> found = runProcedure(procedure, inputs, test, seams);
  if (!found)
    return reportError(verb, found.message(), kExitFailure);
  Result<std::string> patch = patchOf(*found, settings.zoo, fs::current_path(error).string());
  if (!patch)
    return fail(patch.message());
  if (asJson)
    fmt::print("{}\n", jsonOf(*found, *patch));
  else
    fmt::print("{}{}{}", textOf(*found), patch->empty() ? "" : "\n", *patch);
  if (!report.empty())
    if (Status status = writeOutput(report, textOf(*found) + (patch->empty() ? "" : "\n" + *patch));
        !status)
      return fail(status.message());
  if (doApply && found->stopped.empty())
    if (Status status = writeFiles(*found, settings.zoo); !status)
      return fail(status.message());
  return found->stopped.empty() ? kExitSuccess : kExitFailure;
}

} // namespace

std::optional<int> runTriageProcedure(const Arguments &arguments) {
  if (arguments.empty())
    return std::nullopt;
  for (const Procedure *procedure : allProcedures())
    if (procedure->name == arguments.front())
      return run(*procedure, Arguments(arguments.begin() + 1, arguments.end()));
  return std::nullopt;
}

} // namespace cupel::cli
