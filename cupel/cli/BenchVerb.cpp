// `cupel bench`: how fast programs run on devices, and on other runtimes beside them. The session
// measures; here are the options, the bar and the report.

#include "cupel/cli/BenchSupport.h"
#include "cupel/cli/CommandLine.h"
#include "cupel/cli/Fusions.h"
#include "cupel/support/Files.h"
#include "cupel/support/TemporaryFolder.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/bench/Report.h"
#include "cupel/testbench/bench/Session.h"
#include "cupel/testbench/session/PythonServer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cupel::cli {

using namespace testbench::bench;

namespace {

Status checkPeers(std::vector<std::string> &peers) {
  if (peers == std::vector<std::string>{"all"}) {
    peers = knownPeers();
    std::erase_if(peers, isNarrowPeer);
  }
  for (const std::string &peer : peers)
    if (std::ranges::find(knownPeers(), peer) == knownPeers().end()) {
      std::vector<std::string_view> names(knownPeers().begin(), knownPeers().end());
      std::string_view nearest = nearestWord(peer, names);
      return Error{fmt::format("--against: there is no peer '{}'; {}there are {}, or all", peer,
                               nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest),
                               fmt::join(knownPeers(), ", "))};
    }
  return {};
}

} // namespace

int runBenchVerb(const Arguments &arguments) {
  CommandLine line(
      "bench",
      "Measure how fast programs and models run on devices, and on other runtimes in turns with "
      "them, so that noise of the machine hits all: latency, throughput, compilation (the second time "
      "with the cache on disk), memory, GFLOP/s and GB/s beside what this machine can do. All results "
      "are held against the golden reference first.");
  BenchOptions options;
  std::vector<std::string> files, compilerOptions, fusions;
  std::string json, python;
  bool noCheck = false;
  options.devices = {"cupel?backend=cpu"};
  options.threads = processors();
  line.option("MODEL", files, "Programs (.mlir, .mlirbc), models (.onnx, .pt2) or workload folders")
      .placeholder("FILE|DIR ...")
      .required();
  line.option("--device", options.devices,
              "What to measure; several where given again: cupel (our own plugin; "
              "cupel?backend=cpu, compiled, where nothing is given), reference, an architecture, a PJRT "
              "plugin's .so file; options may follow: 'cupel?backend=cpu&precision=bf16'")
      .placeholder("DEVICE")
      .oneValueEach();
  line.option("--option", compilerOptions,
              kCompilerOptionHelp)
      .placeholder("NAME=VALUE")
      .oneValueEach();
  line.option("--fusions", fusions, "Rewrites of programs, a file of PDLL (docs/performance.md); may be repeated")
      .placeholder("FILE")
      .oneValueEach();
  line.option("--against", options.peers,
              fmt::format("Peers to run in the same session: {}, or all. Those that Python cannot "
                          "import, or that cannot read the model, are named as not run",
                          fmt::join(knownPeers(), ", ")))
      .placeholder("PEER,...")
      .delimiter(',')
      .oneValueEach();
  line.option("--threads", options.threads,
              "Processors that all of them are kept on, and threads that they are told of (all)")
      .placeholder("N")
      .between(1, 1024);
  line.option("--rounds", options.rounds, "In which they take turns").placeholder("N").between(1, 10000).showDefault();
  line.option("--seconds", options.seconds, "Of runs of each, in all rounds together")
      .placeholder("S")
      .positive()
      .showDefault();
  line.option("--shape", options.shapes, "The shape of a model's input: NAME=8x128")
      .placeholder("NAME=SIZES")
      .oneValueEach();
  line.option("--seed", options.seed, "Of inputs that are made up (0)").placeholder("N");
  line.flag("--no-check", noCheck,
            "Do not evaluate the golden reference; peers are held against the first device");
  line.option("--timeout", options.timeout, "Seconds for a compilation, or for a round")
      .placeholder("SECONDS")
      .positive()
      .showDefault();
  line.option("--python", python,
              "The interpreter that has the peers (CUPEL_PYTHON, .venv here or above, python3)")
      .placeholder("FILE");
  line.option("--json", json, "Write everything that was measured to a file; - is standard output")
      .placeholder("FILE");
  line.example("cupel bench model.onnx", "our device alone");
  line.example("cupel bench model.onnx --against onnxruntime,openvino --threads 1",
               "and ONNX Runtime and OpenVINO, on one processor");
  line.example("cupel bench model.pt2 --against all --json model.json", "every peer there is");
  line.example("cupel bench step.mlir --device cpu --device vendor_plugin.so", "two devices");
  line.example("cupel bench model.pt2 --device 'cupel?backend=cpu&num_threads=1' --seconds 10",
               "options of the device, and more runs");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  auto usage = [](const std::string &message) {
    return reportError("bench", message + " (cupel bench --help explains)", kExitUsage);
  };
  if (Status status = checkPeers(options.peers); !status)
    return usage(status.message());
  if (Status status = addFusions(fusions, compilerOptions); !status)
    return usage(status.message());
  if (Status status = chooseDevices(options.devices, compilerOptions); !status)
    return usage(status.message());
  if (Status status = pinTo(options.threads); !status)
    return usage(status.message());
  if (!options.peers.empty()) {
    options.python = testbench::session::findPython(python);
    std::string worker = testbench::session::findPythonWorker();
    options.peerScript = worker.substr(0, worker.rfind("/worker/")) + "/bench/__main__.py";
    if (worker.empty() || ::access(options.peerScript.c_str(), R_OK) != 0)
      return reportError("bench", "the Python package is not beside this binary; peers need it",
                         kExitUsage);
  }
  TemporaryFolder scratch("cupel-bench");
  if (scratch.path.empty())
    return reportError("bench", "no folder can be made for temporary files", kExitUsage);
  options.scratch = scratch.path.string();
  options.checks = !noCheck;

  listenForInterrupts();

  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  int exit = kExitSuccess;
  Bar bar(files.size());
  for (size_t i = 0; i < files.size() && !gInterrupted; ++i) {
    BenchSession session(
        options,
        [&](const std::string &what, double part) { bar.show(files[i], i, what, part); },
        gInterrupted);
    Measurement measured = session.measure(files[i]);
    bar.clear();
    all.push_back(asJson(measured));
    if (!measured.failure.empty()) {
      if (!gInterrupted)
        exit = reportError("bench", files[i] + ": " + measured.failure, kExitFailure);
      continue;
    }
    // JSON on standard output is all there is on it.
    fmt::print(json == "-" ? stderr : stdout, "{}", asText(measured));
    std::fflush(stdout);
    for (const Contestant &one : measured.contestants)
      if (one.isWrong || (!one.isPeer && !one.failure.empty()))
        exit = kExitFailure;
  }
  if (!json.empty())
    if (Status written = writeOutput(json, nlohmann::ordered_json{{"models", all}}.dump(1) + "\n");
        !written)
      return reportError("bench", written.message(), kExitUsage);
  return gInterrupted ? kExitUnaccounted : exit;
}

} // namespace cupel::cli
