// `cupel-device`: runs saved workloads on any PJRT plugin, on a machine that has nothing but the
// plugin. One file to copy; the plugin lives in a child process, so whatever it does costs one
// workload.

#include "cupel/compare/Precision.h"
#include "cupel/pjrt/device/Child.h"
#include "cupel/pjrt/device/Measure.h"
#include "cupel/pjrt/device/Print.h"
#include "cupel/pjrt/device/Serve.h"
#include "cupel/pjrt/device/Supervisor.h"
#include "cupel/pjrt/host/NamedValues.h"
#include "cupel/support/CommandLineMistakes.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"
#include "cupel/support/Version.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <utility>

using namespace cupel;
using namespace cupel::device;
using nlohmann::ordered_json;

namespace {

struct Options {
  std::string plugin;
  std::vector<std::string> clientOptions, workloads;
  std::string out, json;
  double timeout = 300;
  uint64_t memoryLimitMiB = 0;
  uint32_t repeat = 1;
  bool asJson = false, quiet = false;
  std::string precision; ///< That the device is said to compute in; empty: what the workload says.
};

constexpr const char *kExamples =
    "Examples:\n"
    "  cupel-device info vendor_plugin.so            what the plugin is, and a one-op self-test\n"
    "  cupel-device run vendor_plugin.so cases/*     every workload folder, one line each\n"
    "  cupel-device run vendor_plugin.so case --out results --repeat 10\n"
    "                                                results/case/results.safetensors and "
    "report.json\n"
    "  cupel-device run xla_cuda_plugin.so case --option preallocate=false --option "
    "allocator=platform\n"
    "  ssh lab cupel-device serve vendor_plugin.so   workloads in and results out through the "
    "pipe\n"
    "\n"
    "A workload is a folder with program.mlirbc, inputs.safetensors, options.json and, where "
    "results\n"
    "are known, expected.safetensors, as 'cupel run' keeps them of failed tests and 'cupel eval\n"
    "--save-workload' makes them. Exit codes: 0 all as expected, 1 not, 2 wrong usage.\n";

int usageError(std::string_view message) {
  fmt::print(stderr, "cupel-device: error: {}\n", message);
  return kExitUsage;
}

/// Where a workload's results go: a folder of its own below --out.
std::string outFolder(const Options &options, const std::string &workload) {
  if (options.out.empty())
    return "";
  std::error_code error;
  auto folder = std::filesystem::weakly_canonical(workload, error);
  auto name = folder.filename();
  // Every model of several graphs has a first one.
  if (std::ranges::find(options.workloads, workload) == options.workloads.end())
    name = folder.parent_path().filename() / name;
  return std::filesystem::absolute(std::filesystem::path(options.out) / name, error).string();
}

/// Folders of workloads; one that holds the graphs of a model (`graph-00`, ...) stands for all of
/// them.
std::vector<std::string> workloadsOf(const std::vector<std::string> &named) {
  namespace fs = std::filesystem;
  std::vector<std::string> all;
  std::error_code error;
  for (const std::string &folder : named) {
    std::vector<std::string> graphs;
    if (!fs::exists(fs::path(folder) / "program.mlirbc", error))
      for (const fs::directory_entry &entry : fs::directory_iterator(folder, error))
        if (fs::exists(entry.path() / "program.mlirbc", error))
          graphs.push_back(entry.path());
    std::ranges::sort(graphs);
    // What holds none is told so where it is read.
    if (graphs.empty())
      graphs.push_back(folder);
    std::ranges::move(graphs, std::back_inserter(all));
  }
  return all;
}

int run(const Options &options, Supervisor &supervisor) {
  ordered_json all = ordered_json::array();
  size_t bad = 0;
  const std::vector<std::string> workloads = workloadsOf(options.workloads);
  for (const std::string &workload : workloads) {
    std::error_code error;
    std::string out = outFolder(options, workload);
    ordered_json answer =
        supervisor.ask({{"do", "run"},
                        {"folder", std::filesystem::absolute(workload, error).string()},
                        {"out", out},
                        {"timeout", options.timeout},
                        {"repeat", options.repeat},
                        {"precision", options.precision}},
                       options.timeout);
    answer["workload"] = workload;
    std::string outcome = answer.value("outcome", "failed");
    bad += outcome != "passed" && outcome != "ran";
    if (!options.quiet)
      fmt::print("{}", formatRun(answer));
    std::fflush(stdout);
    if (!out.empty()) {
      std::filesystem::create_directories(out, error);
      if (Status written = writeOutput(out + "/report.json", dump(answer) + "\n"); !written)
        return usageError(written.message());
    }
    all.push_back(std::move(answer));
  }
  ordered_json shutdown;
  if (Status closed = supervisor.close(); !closed) {
    fmt::print(stderr, "cupel-device: warning: {}\n", closed.message());
    shutdown = closed.message();
  }
  if (!options.json.empty()) {
    ordered_json report = {{"plugin", options.plugin}, {"runs", all}};
    if (!shutdown.is_null())
      report["shutdown"] = shutdown;
    if (Status written = writeOutput(options.json, dump(report) + "\n"); !written)
      return usageError(written.message());
  }
  if (!options.quiet && workloads.size() > 1)
    fmt::print("{} workloads, {} as expected, {} not\n", all.size(), all.size() - bad, bad);
  return bad ? kExitFailure : kExitSuccess;
}

int info(const Options &options, Supervisor &supervisor) {
  ordered_json answer =
      supervisor.ask({{"do", "info"},
                      {"timeout", options.timeout},
                      {"precision", options.precision.empty() ? "f32" : options.precision}},
                     options.timeout);
  if (Status closed = supervisor.close(); !closed)
    answer["warnings"].push_back(closed.message());
  if (options.asJson)
    fmt::print("{}\n", dump(answer));
  else
    fmt::print("{}", formatInfo(options.plugin, answer));
  return answer.value("outcome", "") == "passed" ? kExitSuccess : kExitFailure;
}

} // namespace

int main(int argc, char **argv) {
  ::signal(SIGPIPE, SIG_IGN); // A child that died must not take us along.
  Options options;
  CLI::App app("Runs saved workloads on any PJRT plugin: the PJRT host of Cupel as one binary.",
               "cupel-device");
  app.footer(kExamples);
  app.set_version_flag("--version", fmt::format("cupel-device {}", version()));
  app.require_subcommand(1);

  auto common = [&](CLI::App *verb) {
    verb->add_option("plugin", options.plugin, "The plugin's .so file")->required();
    verb->add_option("--option", options.clientOptions,
                     "NAME=VALUE for the client: text, whole numbers, 1,2 lists, 0.5, true")
        ->allow_extra_args(false);
    verb->add_option("--timeout", options.timeout, "Seconds for each workload (300)")
        ->check(CLI::PositiveNumber);
    verb->add_option("--memory-limit", options.memoryLimitMiB,
                     "MiB of host memory the plugin's process may take (no limit)");
    verb->add_option("--precision", options.precision,
                     "What the device computes in: f32, tf32, f16, bf16, bfp8, fp8 or "
                     "PRODUCTS/REST (what the workload says, else f32)");
    verb->footer(kExamples);
  };
  CLI::App *runVerb = app.add_subcommand("run", "Run workload folders and report on each");
  common(runVerb);
  runVerb->add_option("workload", options.workloads, "Folders with saved workloads");
  std::string plugin;
  runVerb->add_option("--plugin", plugin,
                      "The plugin's .so file, so that all other words are workloads");
  runVerb->add_option("--out", options.out,
                      "Folder for results.safetensors and report.json of each workload");
  runVerb->add_option("--json", options.json, "File for the reports of all; - is standard output");
  runVerb->add_option("--repeat", options.repeat, "How often to execute, each timed (1)")
      ->check(CLI::Range(1u, 1000000u));
  runVerb->add_flag("--quiet", options.quiet, "No line for each workload");
  CLI::App *infoVerb =
      app.add_subcommand("info", "Describe a plugin, its devices and memories, and test it");
  common(infoVerb);
  infoVerb->add_flag("--json", options.asJson, "Print a JSON object");
  CLI::App *serveVerb =
      app.add_subcommand("serve", "Take workloads and give results through pipes");
  common(serveVerb);
  CLI::App *measureVerb = app.add_subcommand("measure", "")->group("");
  common(measureVerb);
  bool compilesOnly = false;
  measureVerb->add_option("workload", options.workloads, "")->required()->expected(1);
  measureVerb->add_flag("--compile-only", compilesOnly, "");
  CLI::App *childVerb = app.add_subcommand("child", "")->group("");
  common(childVerb);

  std::vector<std::string> words(argv + 1, argv + argc);
  if (std::optional<std::string> missing = describeMissingValue(app, words))
    return usageError(*missing + " (cupel-device --help shows how)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    bool isLeftOver = dynamic_cast<const CLI::ExtrasError *>(&error) != nullptr;
    return usageError((isLeftOver ? describeLeftOver(app) : error.what()) +
                      " (cupel-device --help shows how)");
  }
  if (!plugin.empty())
    options.workloads.insert(options.workloads.begin(), std::exchange(options.plugin, plugin));
  if (runVerb->parsed() && options.workloads.empty())
    return usageError("workload is required (cupel-device run --help shows how)");
  for (const std::string &option : options.clientOptions)
    if (Result<pjrt::NamedValue> value = pjrt::parseNamedValue(option); !value)
      return usageError(value.message());
  if (!options.precision.empty())
    if (auto parsed = compare::DevicePrecision::parse(options.precision); !parsed)
      return usageError("--precision: " + parsed.message());
  if (childVerb->parsed())
    return runChild(options.plugin, options.clientOptions);

  if (measureVerb->parsed())
    return measure({options.plugin, options.workloads.front(), options.clientOptions,
                    options.timeout, compilesOnly});

  endChildrenWithUs();
  Supervisor supervisor({options.plugin, options.clientOptions, options.memoryLimitMiB << 20,
                         /*isHeard=*/serveVerb->parsed()});
  if (runVerb->parsed())
    return run(options, supervisor);
  if (infoVerb->parsed())
    return info(options, supervisor);
  return serve(supervisor, options.timeout);
}
