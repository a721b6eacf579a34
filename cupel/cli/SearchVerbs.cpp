// `cupel explain` and `cupel reduce`: one test is searched by a worker for why it fails. Both are a
// session of that one test whose reporter shows what was found instead of an outcome.

#include "cupel/cli/CollectArguments.h"
#include "cupel/cli/ResultsStore.h"
#include "cupel/cli/RunOptions.h"
#include "cupel/results/Explanation.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

namespace cupel::cli {
namespace {

namespace fs = std::filesystem;
using results::TestRecord;
using testbench::session::Ending;
using testbench::session::Session;
using testbench::session::SessionOptions;

/// Shows how far the search is on a terminal, and keeps the record that it ends in.
class SearchReporter : public results::Reporter {
public:
  SearchReporter(std::vector<TestRecord> &records, bool isShown)
      : records(records), isShown(isShown), began(Clock::now()) {}
  ~SearchReporter() override { clear(); }

  void runStarted(const results::RunInfo &) override {}
  void testStarted(std::string_view, uint32_t, uint32_t) override {}
  void stageEntered(std::string_view, uint32_t, results::Stage) override {}
  void testTold(std::string_view, std::string_view told) override {
    line = told;
    show();
  }
  void testEnded(const TestRecord &record) override { records.push_back(record); }
  void note(std::string_view text) override {
    clear();
    fmt::print(stderr, "{}\n", text);
  }
  void tick() override { show(); }
  void runEnded(const results::RunInfo &, const results::RunChanges *) override { clear(); }

private:
  using Clock = std::chrono::steady_clock;

  void show() {
    if (!isShown || line.empty())
      return;
    double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    fmt::print(stderr, "\r\033[K{:5.1f} s  {}", seconds, line.substr(0, 110));
    std::fflush(stderr);
    isDirty = true;
  }
  void clear() {
    if (isDirty)
      fmt::print(stderr, "\r\033[K");
    isDirty = false;
  }

  std::vector<TestRecord> &records;
  bool isShown, isDirty = false;
  Clock::time_point began;
  std::string line;
};

struct SearchOptions {
  std::string target, memory, keep, out;
  std::vector<std::string> where;
  double timeout = 600, probeTimeout = 20, seconds = 0;
  uint32_t tries = 10, jobs = 0;
  bool asJson = false, isFresh = false, bisectPasses = false;
  RunOptions run;
};

void addCommon(CommandLine &line, SearchOptions &options) {
  line.option("TARGET", options.target,
              "The test: its id, a file (program, model, loader) or a workload folder")
      .placeholder("TEST_ID|FILE|WORKLOAD")
      .required();
  line.option("PATH", options.where,
              "Files and folders to look for a test in that is named by its id; none: those of cupel.yaml");
  line.option("--device", options.run.devices,
              "Where it fails: a PJRT plugin's .so file, cupel or an architecture. Without it the "
              "device of the last run in which the test failed")
      .placeholder("NAME")
      .oneValueEach();
  line.option("--device-launcher", options.run.deviceLauncher,
              "Reach the device through this command and cupel-device there, e.g. 'ssh lab'")
      .placeholder("COMMAND")
      .needs("--device");
  line.option("--precision", options.run.precision, "What the device computes in (cupel run --help)")
      .placeholder("NAME");
  line.option("--memory", options.memory, "What intermediate values may take at a time (2G)")
      .placeholder("SIZE");
  line.option("--probe-timeout", options.probeTimeout,
              "Seconds one execution on the device may take (20); one that takes longer hangs")
      .placeholder("S");
  line.option("--tries", options.tries,
              "How often to execute what fails now and then, to state its rate (10)")
      .placeholder("N")
      .between(2, 1000);
  line.option("-j,--jobs", options.jobs, "Processes with the device at once (one a core, at most 4)")
      .placeholder("N");
  line.option("--seed", options.run.seed, "Of inputs that are made up (0)").placeholder("N");
  line.option("--shape", options.run.shapes, "Of a model's input, NAME=2x3").repeatable();
  line.flag("--fresh", options.isFresh, "Do not look at what was found before");
  line.flag("--json", options.asJson, "Print a JSON object");
  addResultsOption(line, options.run.results);
}

/// The device of the newest run in which the test failed.
Result<std::string> deviceOfLastFailure(const SearchOptions &options) {
  Result<results::Store> store = openResults(options.run.results);
  if (!store)
    return Error{"--device is needed: " + store.message()};
  Result<std::string> test = store->resolveTest(options.target);
  if (!test)
    return Error{"--device is needed: no run is known of this test (" + test.message() + ")"};
  Result<std::vector<results::OutcomeRow>> rows = store->history(*test, 100);
  if (!rows)
    return rows.error();
  for (const results::OutcomeRow &row : *rows)
    if (results::isFailure(row.outcome))
      if (Result<results::RunInfo> run = store->run(row.run); run && run->device != "reference")
        return run->device.substr(0, run->device.find(','));
  return Error{"--device is needed: this test failed on no device that results are known of"};
}

/// What to look for: of a file of several programs or operator cases one is asked for as FILE#2 or
/// FILE#NAME.
Result<std::vector<std::string>> targetOf(const SearchOptions &options) {
  std::error_code error;
  size_t hash = options.target.rfind('#');
  std::string file = options.target.substr(0, hash);
  if (hash != std::string::npos && fs::is_regular_file(file, error))
    return std::vector<std::string>{
        (fs::path(file).extension() == ".yaml" ? "opcases::" : "programs::") +
            fs::path(file).filename().string() +
            (options.target.ends_with("#1") ? "" : options.target.substr(hash)),
        file};
  // One folder holds what is found of one test.
  const bool isText = fs::path(options.target).extension() == ".mlir";
  if (!options.out.empty() && isText && fs::is_regular_file(options.target, error)) {
    Result<FileContents> read = readInput(options.target);
    if (read && read->bytes().find("\n// -----\n") != std::string_view::npos)
      return Error{fmt::format("{} holds several programs: name one, such as {}#2", options.target,
                               options.target)};
  }
  std::vector<std::string> all = options.where;
  all.insert(all.begin(), options.target);
  return all;
}

/// What both verbs ask of a session.
Result<SessionOptions> sessionFor(SearchOptions &options, const char *what,
                                  std::vector<TestRecord> &records) {
  Result<std::vector<std::string>> target = targetOf(options);
  if (!target)
    return target.error();
  options.run.collect.arguments = std::move(*target);
  // A model's operators are looked at one by one anyway: its test op by op has to be asked for.
  std::error_code error;
  const bool isLoader =
      fs::path(options.target).extension() == ".py" || fs::is_directory(options.target, error);
  if (isLoader && options.run.collect.suites.empty())
    options.run.collect.suites = {"models",  "llm",     "placeholder", "programs",
                                  "opcases", "onnx",    "pt2",         "workloads"};
  options.run.keepFailed = "none";
  options.run.timeout = options.timeout;
  options.run.forceRun = options.run.runXfail = true;
  options.run.jobs = 1;
  options.run.compileBackend = "cupel";
  if (options.run.devices.empty()) {
    Result<std::string> device = deviceOfLastFailure(options);
    if (!device)
      return device.error();
    if (size_t at = device->find("@"); at != std::string::npos) {
      options.run.deviceLauncher = device->substr(at + 1);
      device->resize(at);
    }
    options.run.devices = {*device};
  }
  Result<SessionOptions> session = options.run.session({"cupel", what, options.target});
  if (!session)
    return session.error();
  testbench::worker::SearchRequest &search = session->running.search;
  search.what = what;
  if (!options.memory.empty()) {
    Result<uint64_t> bytes = parseByteCount(options.memory);
    if (!bytes)
      return bytes.error().within("--memory");
    search.memoryBytes = *bytes;
  }
  auto whole = [](const std::string &path) {
    return path.empty() ? path : fs::absolute(path).lexically_normal().string();
  };
  search.folder = whole(options.out);
  search.keepFolder = whole(options.keep);
  search.probeSeconds = options.probeTimeout;
  search.tries = options.tries;
  search.seconds = options.seconds;
  search.isFresh = options.isFresh;
  search.bisectPasses = options.bisectPasses;
  search.jobs = options.jobs ? options.jobs
                             : std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
  // The worker opens no plugin itself; a device that is broken is what is looked at.
  session->running.trustDevices = true;
  session->running.threadsPerTest = std::max(1u, std::thread::hardware_concurrency());
  // Searches are no outcomes of tests: they have a store of their own.
  session->results += "/searches";
  session->keepByDefault.reset();
  session->say = [](const std::string &) {};
  session->makeReporter = [&records](const results::RunInfo &) {
    return std::make_unique<SearchReporter>(records, ::isatty(2) == 1);
  };
  return session;
}

/// What of a record says why there is no explanation.
std::string whyNot(const TestRecord &record) {
  for (const char *note : {"not explained", "not reduced"})
    if (auto found = record.notes.find(note); found != record.notes.end())
      return found->second;
  return record.message.empty() ? std::string(results::name(record.outcome)) : record.message;
}

int search(SearchOptions &options, const char *what, const char *note,
           const std::function<int(const TestRecord &, const std::string &)> &show) {
  std::vector<TestRecord> records;
  Result<SessionOptions> session = sessionFor(options, what, records);
  if (!session)
    return reportError(what, session.message(), kExitUsage);
  std::signal(SIGPIPE, SIG_IGN);
  Ending ending = Session().begin(std::move(*session));
  if (records.empty())
    return reportError(what, ending.error.empty() ? ending.note : ending.error,
                       ending.code ? ending.code : kExitFailure);
  int exit = kExitSuccess;
  const bool isList = options.asJson && records.size() > 1;
  bool isFirst = true;
  for (const TestRecord &record : records) {
    auto found = record.notes.find(note);
    if (found == record.notes.end()) {
      std::fflush(stdout);
      exit = std::max(exit, reportError(what, record.fullName() + ": " + whyNot(record),
                                        kExitUsage));
      continue;
    }
    if (isList)
      fmt::print("{}", isFirst ? "[\n" : ",\n");
    isFirst = false;
    if (records.size() > 1 && !options.asJson)
      fmt::print("{}: ", record.fullName());
    exit = std::max(exit, show(record, found->second));
  }
  if (isList)
    fmt::print("{}]\n", isFirst ? "[" : "");
  return exit;
}

} // namespace

int runExplainVerb(const Arguments &arguments) {
  CommandLine line("explain", "Say why a test fails on a device: which operation, or which group of "
                              "them, for which values, and what runs just this.");
  SearchOptions options;
  addCommon(line, options);
  line.option("--keep", options.keep,
              "Keep the intermediate values of the reference and of the device in DIR, as "
              "safetensors, and show the error by depth")
      .placeholder("DIR");
  line.option("-o,--output", options.out, "Where the smallest program that fails goes, as a "
                                          "workload folder (in the cache)")
      .placeholder("DIR");
  line.option("--timeout", options.timeout, "Seconds it may take (600)").placeholder("S");
  line.flag("--bisect-passes", options.bisectPasses,
            "Of our own compiler: name the pass and the rewrite that make the result wrong");
  line.example("cupel explain programs::attention.mlir --device plugin.so", "a test by its id");
  line.example("cupel explain model.onnx --device plugin.so", "a model");
  line.example("cupel explain cases.yaml#conv2d_1 --device plugin.so", "one of a file's operator cases");
  line.example("cupel explain failed/case-17 --device plugin.so --device-launcher 'ssh lab'",
               "a workload, on a device elsewhere");
  line.example("cupel explain models::bert-single_device-inference", "on the device it failed on");
  line.example("cupel explain models::cnn/jax-small-single_device-inference zoo/models/cnn --device plugin.so",
               "one test of a loader");
  line.example("cupel explain model.mlir --device cupel --bisect-passes", "which pass of ours");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  return search(options, "explain", "explanation",
                [&](const TestRecord &, const std::string &text) -> int {
                  Result<results::Explanation> found = results::explanationFromJson(text);
                  if (!found)
                    return reportError("explain", found.message(), kExitUsage);
                  if (options.asJson)
                    fmt::print("{}\n", nlohmann::ordered_json::parse(text).dump(2));
                  else
                    fmt::print("{}", describe(*found));
                  bool passes = found->answer == results::Explanation::Answer::Passes;
                  return passes ? kExitSuccess : kExitFailure;
                });
}

int runReduceVerb(const Arguments &arguments) {
  CommandLine line("reduce", "Shrink a test that fails on a device while it fails in the same way: "
                             "a workload folder, a program that checks itself, and scripts that "
                             "reproduce it.");
  SearchOptions options;
  double seconds = 120;
  addCommon(line, options);
  line.option("-o,--output", options.out, "The folder to write").placeholder("DIR").required();
  line.option("--time", seconds, "Seconds after which the best so far is taken (120; 0: no limit)")
      .placeholder("S");
  line.example("cupel reduce programs::attention.mlir --device plugin.so -o out",
               "out/workload, out/repro.mlir, out/repro.sh, out/repro.py");
  line.example("cupel reduce failed/case-17 --device plugin.so --time 600 -o out",
               "a workload that a run kept; the same again goes on where it was killed");
  if (std::optional<int> exit = line.parse(arguments))
    return *exit;
  // The worker stops by itself; a probe that hangs may take its whole deadline.
  options.timeout = seconds > 0 ? 2 * seconds + 10 * options.probeTimeout + 60 : 0;
  options.seconds = seconds;
  return search(options, "reduce", "reduction",
                [&](const TestRecord &, const std::string &text) -> int {
                  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
                  if (!json.is_object())
                    return reportError("reduce", "the worker told nothing", kExitUsage);
                  if (options.asJson) {
                    fmt::print("{}\n", json.dump(2));
                    return kExitSuccess;
                  }
                  auto size = [&](const char *key) {
                    const auto &one = json[key];
                    return fmt::format("{} operations, {} arguments, {} results, {} elements",
                                       one.value("operations", 0), one.value("arguments", 0),
                                       one.value("results", 0), one.value("elements", 0));
                  };
                  fmt::print("{}\n  before      {}\n  after       {}\n",
                             json["explanation"].value("sentence", ""), size("before"),
                             size("after"));
                  for (const auto &file : json["files"])
                    fmt::print("  {:<11} {}/{}\n", &file == &json["files"].front() ? "written" : "",
                               options.out, file.get<std::string>());
                  for (const auto &remark : json.value("remarks", nlohmann::ordered_json::array()))
                    fmt::print("  note        {}\n", remark.get<std::string>());
                  fmt::print("  {} executions on the device ({} of them known before), {:.1f} s{}\n",
                             json.value("probes", 0), json.value("known", 0),
                             json.value("seconds", 0.0),
                             json.value("timed_out", false) ? "; the time was up: the best so far"
                                                            : "");
                  return kExitSuccess;
                });
}

} // namespace cupel::cli
