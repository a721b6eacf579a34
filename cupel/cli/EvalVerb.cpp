// `cupel eval`: programs on the golden reference, or on a device. Finds them, has the runner's
// workers evaluate them, and tells what each came to in the order they were given.

#include "cupel/cli/CommandLine.h"
#include "cupel/cli/EvalSettings.h"
#include "cupel/cli/RunOptions.h"
#include "cupel/compare/Precision.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/matrix/Sources.h"
#include "cupel/testbench/runner/JournalReader.h"
#include "cupel/testbench/runner/Limits.h"
#include "cupel/testbench/runner/Scratch.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <thread>
#include <unistd.h>

namespace cupel::cli {
namespace {

namespace fs = std::filesystem;
using results::Outcome;
using results::TestRecord;
using testbench::TestItem;

struct EvalOptions {
  std::vector<std::string> inputs;
  EvalSettings settings;
  uint32_t jobs = 0;

  std::optional<int> parse(const Arguments &arguments);

private:
  Status understand(const CommandLine &line);
  std::string memory, accumulate = "native", grid = "1x1";
};

std::optional<int> EvalOptions::parse(const Arguments &arguments) {
  CommandLine line(
      "eval",
      "Run StableHLO programs on the golden reference. A program that checks itself passes, or the "
      "first check that fails is told with its location and values. Files may hold several "
      "programs, separated by '// -----'; of a folder every .mlir, .mlirbc and .bc file below it "
      "is run. Workers evaluate: a program that crashes costs itself alone. Ends with the number "
      "of programs that passed and failed.");
  line.option("FILE", inputs, "Programs, or folders of them; - is standard input")
      .placeholder("FILE|DIR ...")
      .required();
  line.option("--entry", settings.entry, "The function to run (main, or the only one)")
      .placeholder("NAME");
  line.option("--args", settings.args,
              "Its arguments: random, zeros, FILE.npy or 'dense<...>'; one value alone stands for "
              "all arguments. random:2x3 says the shape where the type leaves it open, random:?=2 "
              "each open size. The last ones, if NAME.weights.safetensors beside the program has "
              "their names, are taken from there")
      .placeholder("VALUE ...");
  line.option("--seed", settings.seed, "Of random arguments and of stablehlo.rng (0)")
      .placeholder("N");
  line.flag("--print", settings.print, "Print the results");
  line.option("--save", settings.saveFolder, "Write the results there as resultN.npy")
      .placeholder("DIR");
  line.option("--processes", grid, "Run R replicas of P partitions side by side (1x1)")
      .placeholder("RxP");
  line.option("--accumulate", accumulate,
              "How sums and products of floats are formed: f64, or native (the default: in the "
              "program's own types, step by step, but for bf16 and f16 where that would stand "
              "still)")
      .oneOf({"f64", "native"});
  line.option("--trace", settings.trace,
              "Print values as they are computed: all, an operation's name (stablehlo.add), "
              "line:N, or its number #N; at most 1024 elements of each")
      .placeholder("WHICH");
  line.option("--probes", settings.probeFolder, "Where interpreter.probe writes")
      .placeholder("DIR");
  line.option("--max-memory", memory,
              "Of a process, such as 4G (80 % of the machine's, divided by the number of programs "
              "at a time)")
      .placeholder("SIZE");
  line.option("--max-steps", settings.maxSteps, "Operations a program may execute (no limit)")
      .placeholder("N")
      .positive();
  line.option("--timeout", settings.timeout,
              "Seconds for each program (no limit; 300 with --device and --save-workload)")
      .placeholder("SECONDS")
      .positive();
  line.option("-j,--jobs", jobs, "Programs at a time, each in a process of its own (all cores)")
      .placeholder("N")
      .between(1, 1024);
  line.option("--threads", settings.threads,
              "For the operations of one program (all cores; 1 where several run side by side); "
              "results do not depend on it")
      .placeholder("N")
      .between(1, 256);
  line.option("--device", settings.device,
              "Run on a device and compare with the golden reference, or by the checks of a "
              "program that checks itself: cupel (our own plugin, with 8 devices), an architecture "
              "that it presents (n300), the path of a PJRT plugin's .so file, or reference; "
              "options of the plugin may follow: cupel?num_devices=2")
      .placeholder("DEVICE");
  line.option("--save-workload", settings.workloadFolder,
              "Write DIR/NAME with program, inputs and what is expected, which cupel-device runs "
              "on a machine that has the plugin alone")
      .placeholder("DIR");
  line.option("--versions", settings.versions,
              "Of StableHLO to save the program for (newest, 1.13.0, 1.0.0)")
      .placeholder("X.Y.Z,...")
      .delimiter(',')
      .needs("--save-workload");
  line.option("--precision", settings.precision,
              "What the device computes in, which sets the limits of its results: f32, tf32, f16, "
              "bf16, bfp8, fp8 or PRODUCTS/REST (precision= of its name, else f32)")
      .placeholder("NAME");
  line.option("--noise", settings.noise,
              "How often the reference evaluates a program with its roundings moved, to learn its "
              "noise (2; 0: limits from the precision alone)")
      .placeholder("K")
      .between(0, 64);
  line.example("cupel eval tests/", "all self-checking programs below a folder");
  line.example("cupel eval model.mlir --args random --seed 7 --print",
               "random inputs, the same for the same seed");
  line.example("cupel eval model.mlir --args x.npy 'dense<1.0>' --save out",
               "given inputs, results as NumPy files");
  line.example("cupel eval sharded.mlir --processes 2x1",
               "two replicas, which meet in collectives");
  line.example("cupel eval model.mlir --device vendor_plugin.so",
               "through a PJRT plugin, compared with the reference");
  line.example("cupel eval tests/ --save-workload cases",
               "then, where the device is: cupel-device run vendor_plugin.so cases/*");
  if (std::optional<int> exit = line.parse(arguments))
    return exit;
  if (Status status = understand(line); !status)
    return reportError("eval", status.message() + " (cupel eval --help explains)", kExitUsage);
  return std::nullopt;
}

Status EvalOptions::understand(const CommandLine &line) {
  if (settings.usesDevice()) {
    for (const char *option : {"--entry", "--args", "--save", "--processes", "--accumulate",
                               "--trace", "--probes", "--max-memory", "--max-steps", "--threads"})
      if (line.given(option))
        return Error{"option " + std::string(option) +
                     " does not go with --device or --save-workload"};
    if (!settings.timeout)
      settings.timeout = 300;
    if (!settings.precision.empty())
      if (auto parsed = compare::DevicePrecision::parse(settings.precision); !parsed)
        return Error{"--precision: " + parsed.message()};
    // One process has the device.
    jobs = 1;
  }
  if (!jobs)
    jobs = std::max(1u, std::thread::hardware_concurrency());
  settings.wideSums = accumulate == "f64";
  int read = 0;
  if (std::sscanf(grid.c_str(), "%ux%u%n", &settings.replicas, &settings.partitions, &read) != 2 ||
      size_t(read) != grid.size() || !settings.replicas || !settings.partitions ||
      uint64_t(settings.replicas) * settings.partitions > 4096)
    return Error{"'" + grid + "' is no value for --processes"};
  if (!memory.empty()) {
    Result<uint64_t> bytes = parseByteCount(memory);
    if (!bytes)
      return bytes.error().within("--max-memory");
    settings.maxMemory = *bytes;
  }
  return {};
}

/// Tells what programs came to in the order they were given, whatever order they end in.
class Teller : public testbench::runner::Observer {
public:
  explicit Teller(const std::vector<TestItem> &items) : items(items), ended(items.size()) {}

  void finished(size_t index, const TestItem &, const TestRecord &record) override {
    ended[index] = record;
    while (next < ended.size() && ended[next])
      tell(next++);
  }

  /// After an interrupt also what others had finished; a second one leaves programs of which the
  /// runner says nothing any more.
  void finish() {
    for (; next < ended.size(); ++next)
      if (ended[next])
        tell(next);
      else
        unfinished.insert(items[next].file);
  }

  size_t passed = 0, failed = 0;
  std::set<std::string> unfinished; ///< Files of which a program has no outcome.

private:
  void tell(size_t index) {
    const TestItem &item = items[index];
    const TestRecord &record = *ended[index];
    std::fwrite(record.output.data(), 1, record.output.size(), stdout);
    std::fflush(stdout);
    if (record.errorClass == testbench::runner::kInterrupted) {
      unfinished.insert(item.file);
    } else if (record.outcome == Outcome::Passed) {
      ++passed;
    } else {
      ++failed;
      // What the worker found says where; what became of the worker does not.
      bool isNamed = record.outcome == Outcome::Failed;
      reportError("eval", isNamed ? record.message : item.id + ": " + record.message, kExitFailure);
    }
    ended[index] = TestRecord();
  }

  const std::vector<TestItem> &items;
  std::vector<std::optional<TestRecord>> ended;
  size_t next = 0;
};

/// Keeps what comes on standard input where a worker can read it.
Status keepStandardInput(EvalOptions &options, const std::string &folder) {
  auto dash = std::ranges::find(options.inputs, "-");
  if (dash == options.inputs.end())
    return {};
  Result<FileContents> contents = readInput("-");
  if (!contents)
    return contents.error();
  *dash = options.settings.standardInput = folder + "/input.mlir";
  return writeOutput(*dash, contents->bytes());
}

int evaluate(EvalOptions &options, const std::string &scratch) {
  EvalSettings &settings = options.settings;
  if (Status status = keepStandardInput(options, scratch); !status)
    return reportError("eval", status.message(), kExitUsage);
  Result<std::vector<TestItem>> items = testbench::matrix::programsIn(options.inputs);
  if (!items)
    return reportError("eval", items.message(), kExitUsage);
  std::set<std::string> files;
  for (TestItem &item : *items) {
    files.insert(item.file);
    if (item.file == settings.standardInput)
      item.id.replace(0, item.file.size(), displayName("-"));
  }
  if (!settings.saveFolder.empty() && files.size() > 1)
    return reportError("eval", "--save goes with one file at a time", kExitUsage);
  for (const std::string &folder : {settings.saveFolder, settings.probeFolder})
    if (std::error_code error;
        !folder.empty() && (fs::create_directories(folder, error), error))
      return reportError("eval", folder + ": " + error.message(), kExitUsage);

  testbench::runner::RunnerOptions run;
  run.jobs = unsigned(std::min<size_t>(options.jobs, items->size()));
  if (!settings.maxMemory)
    settings.maxMemory = testbench::runner::machineMemoryBudget() / std::max(1u, run.jobs);
  if (!settings.threads && run.jobs > 1)
    settings.threads = 1; // Programs side by side use the cores already.
  run.server(testbench::Server::Worker).command = {executableFolder() + "/cupel-worker", "eval",
                                                   nlohmann::json(settings).dump()};
  if (!settings.device.empty())
    run.devices = {{.name = settings.device}};
  run.timeoutSeconds = settings.timeout;
  // A worker ends a program itself at its time, if it comes to look at the clock.
  run.timeoutSlackSeconds = std::max(1.0, settings.timeout / 2);
  run.outputCapBytes = run.passedOutputCapBytes = uint64_t(1) << 40;
  run.scratchFolder = scratch + "/workers";
  Teller teller(*items);
  auto outcome = testbench::runner::run(*items, run, /*journal=*/nullptr, teller);
  if (!outcome)
    return reportError("eval", outcome.message(), kExitUsage);
  if (!outcome->badDevices.empty() && teller.passed == 0)
    return kExitUsage; // Each program has told why.
  teller.finish();
  size_t left = teller.unfinished.size();
  if (left)
    reportError("eval",
                fmt::format("interrupted: {} of {} files were not run to their end", left,
                            files.size()),
                kExitUnaccounted);
  bool saves = settings.device.empty() && !settings.workloadFolder.empty();
  fmt::print("{} {}, {} failed\n", teller.passed, saves ? "saved" : "passed", teller.failed);
  return left ? kExitUnaccounted : teller.failed ? kExitFailure : kExitSuccess;
}

} // namespace

int runEvalVerb(const Arguments &arguments) {
  EvalOptions options;
  if (std::optional<int> exit = options.parse(arguments))
    return *exit;
  std::string scratch = fs::temp_directory_path() / fmt::format("cupel-eval-{}", ::getpid());
  if (Status status = testbench::runner::makeEmptyFolder(scratch); !status)
    return reportError("eval", status.message(), kExitUsage);
  int exit = evaluate(options, scratch);
  testbench::runner::removeFolder(scratch);
  return exit;
}

} // namespace cupel::cli
