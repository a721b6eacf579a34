#include "cupel/cli/RunOptions.h"

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/Fusions.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/frontends/ShapeOption.h"
#include "cupel/results/report/Terminal.h"
#include "cupel/runtime/Architecture.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/runtime/Options.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/matrix/Project.h"
#include "cupel/testbench/scale/JobPlan.h"
#include "cupel/testbench/session/PythonServer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

namespace cupel::cli {

using testbench::Server;
using testbench::runner::RunnerOptions;
using testbench::session::SessionOptions;

namespace {

/// What is kept of failed tests where nobody asked for it.
constexpr uint64_t kKeptTestBytes = 64 << 20, kKeptRunBytes = 1 << 30;

/// How many chips a device has, where its options (`cupel?num_devices=4&arch=n300`) or the
/// architecture of the run tell; 0 where nobody knows, and for the reference, which has as many as
/// a program asks for.
uint32_t chipsOf(const runtime::DeviceName &device, const std::string &arch) {
  if (device.plugin == "reference")
    return 0;
  if (std::string_view count = device.option("num_devices"); !count.empty())
    return static_cast<uint32_t>(std::strtoul(std::string(count).c_str(), nullptr, 10));
  std::string described(device.option("arch"));
  if (described.empty())
    described = arch;
  if (described.empty())
    return 0;
  Result<runtime::Architecture> architecture = runtime::findArchitecture(described);
  return architecture ? static_cast<uint32_t>(architecture->chips) : 0;
}

/// What is named here must be here, before a night's tests are told that it is not. A plugin is
/// named by its whole path, and so is what options name, because workers run in folders of their own.
Status find(runtime::DeviceName &device, const std::string &typed) {
  for (const std::string &option : device.options)
    if (size_t at = option.find('='); at == 0 || at == std::string::npos)
      return Error{"--device " + typed + ": '" + option +
                   "' is no option of a device, which are NAME=VALUE"};
  if (device.plugin == "cupel")
    std::ranges::transform(device.options, device.options.begin(), runtime::withWholePaths);
  if (device.plugin == "reference" || device.plugin == "cupel" ||
      device.plugin.find('@') != std::string::npos)
    return {};
  std::error_code error;
  bool isFile = std::filesystem::is_regular_file(device.plugin, error);
  std::string name = std::filesystem::path(device.plugin).filename().string();
  if (isFile && name.find(".so") != std::string::npos) {
    device.plugin = std::filesystem::absolute(device.plugin).string();
    return {};
  }
  if (device.isPlugin())
    return Error{"--device " + device.plugin + ": no such file"};
  // Several stand in for each other, so what is meant as a test may come as the next device.
  bool isTest = isFile || std::filesystem::exists(device.plugin, error) ||
                device.plugin.find("::") != std::string::npos;
  return Error{fmt::format(
      "--device {}: there are reference, cupel (our own plugin), the architectures that it "
      "presents ({}), and PJRT plugins by the path of their .so file{}",
      device.plugin, fmt::join(runtime::architectureNames(), ", "),
      isTest ? "; --device takes all words up to the next option, so name tests before it" : "")};
}

/// `--explain` stands for `--explain=1` where no number follows.
Arguments withExplainCount(const Arguments &given) {
  Arguments words;
  for (size_t i = 0; i < given.size(); ++i) {
    bool isCounted = i + 1 < given.size() && !given[i + 1].empty() &&
                     std::ranges::all_of(given[i + 1], [](unsigned char c) { return std::isdigit(c); });
    words.push_back(given[i] == "--explain" && !isCounted ? "--explain=1" : given[i]);
  }
  return words;
}

} // namespace

Result<uint64_t> parseByteCount(const std::string &text) {
  const char *begin = text.c_str();
  char *end = nullptr;
  double number = std::strtod(begin, &end);
  std::string unit(end);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
  double factor = unit.empty() || unit == "b"                    ? 1
                  : unit == "k" || unit == "kb" || unit == "kib" ? 0x1p10
                  : unit == "m" || unit == "mb" || unit == "mib" ? 0x1p20
                  : unit == "g" || unit == "gb" || unit == "gib" ? 0x1p30
                  : unit == "t" || unit == "tb" || unit == "tib" ? 0x1p40
                                                                 : 0;
  double bytes = number * factor;
  if (end == begin || !(bytes >= 1) || bytes > 0x1p60)
    return Error{"'" + text + "' is no amount of memory; write 512M or 4G"};
  return uint64_t(bytes);
}

std::optional<int> RunOptions::parse(const Arguments &given) {
  CommandLine line("run", "Run tests in worker processes, judge, remember and report them.");
  CollectArguments selection(line);
  line.option("--device", devices,
              "Where tests run: reference (the default), cupel (our own plugin, as the "
              "architecture of --arch), an architecture (n300), or a PJRT plugin's .so file; "
              "several stand in for each other")
      .placeholder("NAME")
      .delimiter(',')
      .repeatable();
  line.option("--fusions", fusions, "Rewrites of programs, a file of PDLL (docs/performance.md); may be repeated")
      .placeholder("FILE")
      .oneValueEach();
  line.option("--option", compilerOptions,
              "An option of the device's compiler, such as optimization_level=1 "
              "(docs/reference/plugin-options.md; of a vendor's plugin, its own); may be repeated")
      .placeholder("NAME=VALUE")
      .oneValueEach();
  line.option("--device-launcher", deviceLauncher,
              "Reach the devices through this command and cupel-device there, e.g. 'ssh lab'")
      .placeholder("COMMAND")
      .needs("--device");
  line.flag("--strict", strict,
            "Wave nothing through: noise judges results even where the configuration names a "
            "comparator; a program that our own plugin cannot split over its devices fails, "
            "instead of being computed whole with a warning; an unjudged test makes the run fail");
  line.option("--compare", compare,
              "How results are judged where no comparator is configured: strict (by the noise of "
              "the program, the default; comparison: of cupel.yaml) or pcc (a correlation of "
              "0.99, as upstream's testers do)")
      .placeholder("RULE");
  line.option("--noise", noise,
              "How often the reference evaluates a program with its roundings moved, to learn "
              "its noise (2; 0: limits from the declared precision alone)")
      .placeholder("K")
      .between(0, 64);
  line.option("--pieces", pieces,
              "Cut every test that is right as a whole into so many pieces, feed each the "
              "reference's values and judge it alone; 0: never. Without it 24 on devices that "
              "compute in less than f32, whose noise hides faults of a whole model; on others "
              "those of 24 that "
              "show only in outputs that rounding decides")
      .placeholder("N")
      .between(0, 100'000);
  line.option("--explain", explain,
              "Find the operation to blame for the first N tests that fail: the program is cut "
              "into pieces that are fed right values, and the smallest part that fails is saved "
              "beside the failed test (--explain alone: 1)")
      .placeholder("N");
  line.option("--explain-time", explainTime,
              "Seconds for all of that together (300; 0: no limit)")
      .placeholder("S");
  line.option("--depth", depth,
              "How far tests go: execute (the default: run and judge them), stablehlo (frontends "
              "alone), device-ir (compile for the device and do not run), compile-op-by-op or "
              "execute-op-by-op (take each program apart into its unique operations and compile, or "
              "run and judge, each alone in a process of its own, fed with the reference's values)")
      .oneOf({"stablehlo", "device-ir", "compile-op-by-op", "execute-op-by-op", "execute"});
  line.option("--op-by-op-backend", opByOpBackend,
              "What an operation is: one of stablehlo (the default), or a call of torch, which may "
              "be many")
      .oneOf({"torch", "stablehlo"});
  line.option("--op-by-op-dir", opByOpFolder,
              "Where tables of operations go, with models.md, ops.json and "
              "models_op_per_op.xlsx over all of them (op-by-op/RUN in the results folder)")
      .placeholder("DIR");
  line.option("--op-timeout", opTimeout, "Seconds one operation may take (30)").placeholder("S");
  line.option("--precision", precision,
              "What the devices compute in: f32, tf32, f16, bf16, bfp8 or fp8 for all, or "
              "PRODUCTS/REST. Without it, precision= of the device's name, what --arch declares, "
              "or f32")
      .placeholder("NAME");
  line.option("-j,--jobs", jobs, "How many workers at once (one a core)").placeholder("N");
  line.option("--timeout", timeout, "Seconds one try of a test may take (300; 0: no limit)")
      .placeholder("S");
  line.option("--stage-timeout", stageTimeouts,
              "Seconds a stage may take, e.g. compile=60; may be repeated")
      .placeholder("STAGE=S")
      .repeatable();
  line.option("--memory", memory, "Memory one test may hold, e.g. 4G").placeholder("SIZE");
  line.option("--retries", retries, "Try a failing test so many times more; mark it as flaky")
      .placeholder("N");
  line.option("--seed", seed, "Of inputs that are made up (0)").placeholder("N");
  line.option("--repeat", repeats,
              "Execute each test N times, with other inputs and with its own in turn (3 and more "
              "where one execution takes less than 2 s; once otherwise)")
      .placeholder("N");
  line.option("--shape", shapes,
              std::string(frontends::kShapeHelp) +
                  ", and holds for every model with such an input. It says more than data of "
                  "another shape, which are then left aside")
      .placeholder("NAME=SIZES")
      .repeatable();
  const char *backend = std::getenv("TEST_COMPILE_BACKEND");
  compileBackend = backend && *backend ? backend : "cupel";
  line.option("--compile-backend", compileBackend,
              "What operator cases test: cupel (the default, on --device), or a backend of "
              "torch.compile such as inductor ($TEST_COMPILE_BACKEND)")
      .placeholder("NAME");
  line.option("--keep-failed", keepFailed,
              fmt::format("Save every failed test as a workload folder in DIR, which 'cupel run "
                          "DIR/NAME' and cupel-device run again. Without it those up to {} MiB a "
                          "test and {} MiB a run are saved in the results folder, under "
                          "failed/RUN; none: nothing is",
                          kKeptTestBytes >> 20, kKeptRunBytes >> 20))
      .placeholder("DIR|none");
  line.flag("--force-run", forceRun, "Run tests the configuration says to skip");
  line.flag("--runxfail", runXfail, "Report known failures as if they were not known");
  line.option("--dtype", dtype,
              "What loaders of PyTorch are asked for: bfloat16 (the default), float16, float32, "
              "float64, or none (the loader decides)")
      .placeholder("NAME");
  line.flag("--no-dropout", noDropout,
            "Train models without dropout; otherwise the device gets the masks that torch drew");
  line.flag("--no-model-requirements", noModelRequirements,
            "Models use the base environment as it is, whatever their requirements.txt asks for");
  line.option("--weights", weights,
              "Of models: pretrained, or random (seeded, from the architecture's configuration; the "
              "record says so)")
      .oneOf({"pretrained", "random"});
  line.option("--layers", layers, "With --weights random: at most N layers (1 or more)")
      .placeholder("N")
      .needs("--weights");
  line.flag("--verbose-requirements", verboseRequirements,
            "Say how the environments of models are made");
  line.option("--job", job,
              "Run the tests of one job of a plan that 'cupel ci-matrix --plan FILE' wrote; NUMBER "
              "counts from 1")
      .placeholder("FILE:NUMBER");
  line.option("--on", on,
              "Where the run is done: slurm, or slurm:PROFILE of cupel.yaml. The selection is cut "
              "into jobs by measured durations; here it is followed and reported as one run")
      .placeholder("slurm[:PROFILE]");
  line.flag("--attach", attach,
            "Follow a run on Slurm again: the newest that goes on, or the one named");
  line.flag("--cancel", cancel, "Call a run on Slurm off and report what there is of it; likewise");
  line.option("--task", task, "Be a task of a run on Slurm (what its jobs are started with)")
      .placeholder("FOLDER:CHUNK");
  line.flag("--resume", resume,
            "Go on with the run that was killed or interrupted last, or with the one named");

  addResultsOption(line, results);
  line.option("--junitxml", junit, "Write a JUnit XML report").placeholder("FILE");
  line.option("--json", json, "Write a JSON report").placeholder("FILE");
  line.option("--markdown", markdown, "Write a summary for a pull request").placeholder("FILE");
  line.option("--reasons", reasons, "Further failure reasons; they replace those that ship by name")
      .placeholder("FILE")
      .repeatable();
  line.flag("-q,--quiet", quiet, "No line for tests that went as expected");
  line.example("cupel run zoo/programs", "run the programs that ship");
  line.example("cupel run -k 'conv and not train' -j 4", "those of the project that match");
  line.example("cupel run -R latest --retries 2", "what failed last time, three tries each");
  line.example("cupel run zoo/ops --model template -k torch.add", "operator cases of one model");
  line.example("cupel run model.onnx --shape ids=4x128", "a model of symbolic sizes, batch of 4");
  line.example("cupel run --device plugin.so --keep-failed cases",
               "every failure as a folder to run again");
  line.example("cupel run models --device n150 --option optimization_level=0",
               "without optional passes of our own compiler");
  line.example("cupel run generated", "code that cupel codegen wrote, against the program it came from");
  line.example("cupel run --resume", "go on where a killed run stopped");
  line.example("cupel run --on slurm:night --arch n300 --device n300", "on the machines of a lab");
  if (std::optional<int> exit = line.parse(withExplainCount(given)))
    return exit;
  if (auto parsed = frontends::parseShapes(shapes); !parsed)
    return reportError("run", parsed.message(), kExitUsage);
  static constexpr std::string_view kDtypes[] = {"", "bfloat16", "float16", "float32", "float64", "none"};
  if (std::ranges::find(kDtypes, dtype) == std::end(kDtypes))
    return reportError("run",
                       "--dtype " + dtype +
                           ": there are bfloat16, float16, float32, float64 and none",
                       kExitUsage);
  Result<testbench::matrix::CollectOptions> selected = selection.options();
  if (!selected)
    return reportError("run", selected.message(), kExitUsage);
  collect = std::move(*selected);
  if (Status status = addFusions(fusions, compilerOptions); !status)
    return reportError("run", status.message(), kExitUsage);
  for (const std::string &name : devices.empty() ? std::vector<std::string>{"reference"} : devices)
    if (Status status = runtime::DeviceName::parse(name, collect.arch).addCompilerOptions(compilerOptions);
        !status)
      return reportError("run", "--option: " + status.message(), kExitUsage);
  repeat = selection.repeat;
  python = selection.python;
  listModels = selection.listModels;
  listCases = selection.listCases;
  return std::nullopt;
}

Status RunOptions::setJudging(RunnerOptions &run) const {
  run.strict = strict;
  run.comparison = compare;
  if (run.comparison.empty() && collect.useProject) {
    // What is wrong with the project is told by whoever collects tests.
    std::string file = collect.project.empty() ? testbench::matrix::findProjectFile(".")
                                               : collect.project;
    if (!file.empty())
      if (Result<testbench::matrix::Project> project = testbench::matrix::readProject(file))
        run.comparison = project->comparison;
  }
  if (run.comparison != "" && run.comparison != "strict" && run.comparison != "pcc")
    return Error{"--compare " + run.comparison + ": there are strict and pcc"};
  if (layers != kAllLayers && (layers == 0 || weights != "random"))
    return Error{"--layers N leaves at most N layers of models with --weights random, at least 1"};
  run.noise = noise;
  if (pieces != kAsPrecisionAsks)
    run.pieces = pieces;
  run.keep.explain = explain;
  run.keep.explainSeconds = explainTime;
  run.precision = precision;
  using cupel::compare::DevicePrecision;
  if (!precision.empty())
    if (Result<DevicePrecision> parsed = DevicePrecision::parse(precision); !parsed)
      return Error{"--precision: " + parsed.message()};
  for (const std::string &name : devices)
    if (Result<DevicePrecision> parsed = runtime::declaredPrecision(name, collect.arch); !parsed)
      return Error{"--device " + name + ": " + parsed.message()};
  return {};
}

Result<RunnerOptions> RunOptions::running() const {
  RunnerOptions run;
  run.jobs = jobs ? jobs : std::max(1u, std::thread::hardware_concurrency());
  if (run.jobs > 1024)
    return Error{fmt::format("-j {} is more workers than anybody can want", jobs)};
  if (!(timeout >= 0))
    return Error{fmt::format("--timeout {}: give seconds, 0 for no limit", timeout)};
  run.timeoutSeconds = timeout;
  for (const std::string &text : stageTimeouts) {
    size_t at = text.find('=');
    std::optional<results::Stage> stage = results::parseStage(text.substr(0, at));
    double seconds = at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 1, nullptr);
    if (!stage || !(seconds > 0))
      return Error{"--stage-timeout " + text +
                   ": write STAGE=SECONDS with load, frontend, compile, execute, reference or "
                   "compare"};
    run.stageTimeouts[*stage] = seconds;
  }
  if (!memory.empty()) {
    Result<uint64_t> bytes = parseByteCount(memory);
    if (!bytes)
      return Error{"--memory: " + bytes.message()};
    run.memoryLimitBytes = *bytes;
  }
  if (keepFailed != "none" && !keepFailed.empty())
    run.keep.folder = std::filesystem::absolute(keepFailed).lexically_normal().string();
  run.retries = retries;
  run.seed = seed;
  run.forceRun = forceRun;
  if (depth != "execute")
    run.depth = depth;
  run.opByOpBackend = opByOpBackend;
  if (!opByOpFolder.empty())
    run.opTables = std::filesystem::absolute(opByOpFolder).lexically_normal().string();
  if (!(opTimeout > 0))
    return Error{fmt::format("--op-timeout {}: give seconds", opTimeout)};
  run.opTimeoutSeconds = opTimeout;
  run.runXfail = runXfail;
  run.arch = collect.arch;
  if (Status judging = setJudging(run); !judging)
    return judging.error();
  run.compileBackend = compileBackend;
  if (repeats)
    run.repeat = repeats;
  run.shapes = shapes;
  run.server(Server::Python) = testbench::session::pythonServer(python, compileBackend);
  if (!devices.empty()) {
    run.devices.clear();
    for (const std::string &name : devices) {
      runtime::DeviceName device = named(name);
      if (deviceLauncher.empty())
        if (Status status = find(device, name); !status)
          return status.error();
      run.devices.push_back(
          {.name = launched(device.str()), .chips = chipsOf(device, collect.arch)});
    }
  }
  // For tests of the runner itself.
  const char *other = std::getenv("CUPEL_WORKER");
  run.server(Server::Worker).command = {other ? other : executableFolder() + "/cupel-worker", "serve"};
  return run;
}

Result<SessionOptions> RunOptions::session(const std::vector<std::string> &words) const {
  Result<RunnerOptions> run = running();
  if (!run)
    return run.error();
  Result<results::StorePlace> place = resultsPlace(results);
  if (!place)
    return place.error();
  std::map<std::string, std::string> environment;
  std::optional<std::vector<std::string>> only = collect.only;
  if (!job.empty()) {
    Result<testbench::scale::JobOfPlan> found = testbench::scale::findJob(job);
    if (!found)
      return found.error().within("--job");
    only = found->job.tests;
    environment = {{"plan", found->run}, {"job", found->job.name}};
  }
  // Generated code in Python runs where loaders do, unless somebody says otherwise.
  if (std::string interpreter = testbench::session::findPython(python); !interpreter.empty())
    setenv("PYTHON", interpreter.c_str(), 0);
  // Whoever makes the environments of models heeds these.
  if (noModelRequirements)
    setenv("CUPEL_DISABLE_MODEL_REQS", "1", 1);
  if (verboseRequirements)
    setenv("TT_XLA_REQS_DEBUG", "1", 1);
  SessionOptions session{.collect = collect,
                         .running = std::move(*run),
                         .chooseJobs = jobs == 0,
                         .repeat = repeat,
                         .device = deviceText(),
                         .weights = weights,
                         .layers = layers == kAllLayers ? 0 : layers,
                         .results = std::move(place->folder),
                         .database = std::move(place->database),
                         .modelDtype = dtype,
                         .noDropout = noDropout,
                         .unjudgedFails = strict,
                         .junit = junit,
                         .json = json,
                         .markdown = markdown,
                         .reasons = reasons,
                         .commandLine = words,
                         .environment = std::move(environment),
                         .keepByDefault = {},
                         .makeReporter = {},
                         .say = sayOfRun,
                         .remark = [](const auto &found) { showRemarks("run", found); }};
  session.collect.only = std::move(only);
  if (keepFailed.empty())
    session.keepByDefault = testbench::runner::KeepOptions{
        .folder = {}, .explain = explain, .explainSeconds = explainTime, .testBytes = kKeptTestBytes, .runBytes = kKeptRunBytes};
  session.makeReporter = [quiet = quiet, tail = resultsTail(results)](const results::RunInfo &info) {
    results::TerminalOptions terminal = results::TerminalOptions::forStream(stdout);
    terminal.quiet = quiet;
    terminal.commandTail = tail;
    terminal.runWords = wordsToRunAgain(info, /*otherSelection=*/false);
    return results::makeTerminalReporter(std::move(terminal));
  };
  return session;
}

void sayOfRun(const std::string &line) { fmt::print(stderr, "cupel run: {}\n", line); }

runtime::DeviceName RunOptions::named(const std::string &name) const {
  runtime::DeviceName device = runtime::DeviceName::parse(name, collect.arch);
  if (strict && device.plugin == "cupel")
    device.options.push_back("strict=true");
  (void)device.addCompilerOptions(compilerOptions); // They were checked when they were read.
  return device;
}

std::string RunOptions::deviceText() const {
  std::vector<std::string> names;
  if (compileBackend != "cupel")
    return "torch.compile:" + compileBackend;
  for (const std::string &name : devices)
    names.push_back(launched(named(name).str()));
  std::string text = names.empty() ? "reference" : fmt::format("{}", fmt::join(names, ","));
  // Outcomes of another depth say nothing of these.
  return depth == "execute" ? text : text + " (" + depth + ")";
}

} // namespace cupel::cli
