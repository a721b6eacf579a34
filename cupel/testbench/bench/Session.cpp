#include "cupel/testbench/bench/Session.h"

#include "cupel/compare/Defaults.h"
#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::bench {

using nlohmann::json;
namespace fs = std::filesystem;

const std::vector<std::string> &knownPeers() {
  static const std::vector<std::string> kPeers = {"onnxruntime", "openvino", "openvino_bf16", "torch",
                                                  "inductor",    "xla",      "iree"};
  return kPeers;
}

bool isNarrowPeer(const std::string &name) { return name.ends_with("_bf16"); }

/// The answer of a process of ours, or why there is none.
static Result<json> parsed(Result<std::string> line) {
  if (!line)
    return line.error();
  json answer = json::parse(*line, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object())
    return Error{"it answered no JSON: " + line->substr(0, 200)};
  if (answer.contains("failure"))
    return Error{answer.value("failure", "")};
  return answer;
}

Status BenchSession::prepare(const std::string &file, BenchProgram &program) {
  std::string folder = fmt::format("{}/{}", options.scratch, models);
  json request = {{"file", file},           {"folder", folder},
                  {"seed", options.seed},   {"shapes", options.shapes},
                  {"check", options.checks}, {"threads", options.threads}};
  LineProcess worker;
  if (Status started = worker.start({executableFolder() + "/cupel-worker", "bench-prepare",
                                     request.dump()},
                                    {}, folder + ".prepare.txt");
      !started)
    return started;
  Result<json> answer = parsed(worker.readLine(options.timeout, stop));
  if (!answer) {
    if (stop)
      worker.kill();
    return answer.error();
  }
  program.file = file;
  program.folder = folder;
  program.form = answer->value("form", "");
  program.arguments = answer->value("arguments", uint64_t{0});
  program.inputs = answer->value("inputs", uint64_t{0});
  program.inputNames = answer->value("input_names", std::vector<std::string>());
  program.inputShapes = answer->value("input_shapes", std::vector<std::vector<int64_t>>());
  program.flops = answer->value("flops", 0.0);
  program.transcendentals = answer->value("transcendentals", 0.0);
  program.inputBytes = answer->value("input_bytes", 0.0);
  program.weightBytes = answer->value("weight_bytes", 0.0);
  program.resultBytes = answer->value("result_bytes", 0.0);
  program.isNarrow = answer->value("narrow", false);
  program.hasExpected = answer->value("expected", false);
  program.importSeconds = answer->value("import_seconds", 0.0);
  // What peers are told.
  json facts = {{"file", fs::absolute(file).string()},
                {"form", program.form},
                {"folder", folder},
                {"inputs", program.inputs},
                {"input_names", program.inputNames},
                {"expected", program.hasExpected ? folder + "/expected.safetensors"
                                                 : folder + "/results.safetensors"},
                {"threads", options.threads}};
  return writeOutput(folder + "/facts.json", facts.dump());
}

//===----------------------------------------------------------------------===//
// Contestants
//===----------------------------------------------------------------------===//

/// The environment in which all are measured: glibc keeps what is freed, so that nobody is timed on
/// the page faults of fresh memory by chance, and libraries know how many threads there are.
static std::vector<std::string> fairEnvironment(uint32_t threads) {
  return {"MALLOC_MMAP_THRESHOLD_=33554432", "MALLOC_TRIM_THRESHOLD_=4294967296",
          fmt::format("OMP_NUM_THREADS={}", threads), fmt::format("MKL_NUM_THREADS={}", threads),
          "TF_CPP_MIN_LOG_LEVEL=2"};
}

void BenchSession::lose(Running &running, const Error &error) {
  running.result.failure = error.message;
  running.process.kill();
}

/// Whether a device is told to multiply in less than f32.
static bool isNarrow(const std::string &device) {
  Result<compare::DevicePrecision> declared = runtime::declaredPrecision(device, "");
  return declared && declared->products.step > compare::DevicePrecision().products.step;
}

BenchSession::Running BenchSession::startDevice(const std::string &name,
                                                const BenchProgram &program) {
  Running running;
  running.result.name = name;
  runtime::DeviceName device =
      runtime::DeviceName::parse(name == "reference" ? "cupel?backend=reference" : runtime::withoutPrecision(name));
  bool isOurs = device.plugin == "cupel";
  if (isOurs) {
    device.plugin =
        (fs::path(executableFolder()).parent_path() / "lib/pjrt_plugin_cupel.so").string();
    if (device.option("num_threads").empty())
      device.options.push_back(fmt::format("num_threads={}", options.threads));
    // Weights are a mapped file, which nobody writes to.
    if (device.option("host_memory").empty())
      device.options.push_back("host_memory=borrowed");
  }
  std::vector<std::string> command = {executableFolder() + "/cupel-device", "measure",
                                      device.plugin};
  for (const std::string &option : device.options)
    command.insert(command.end(), {"--option", option});
  command.insert(command.end(), {"--timeout", fmt::format("{}", options.timeout), program.folder});
  size_t number = static_cast<size_t>(
      std::ranges::find(options.devices, name) - options.devices.begin());
  std::string place = fmt::format("{}-device{}", program.folder, number);
  std::vector<std::string> environment = fairEnvironment(options.threads);
  // Nothing that ran before is remembered: the first compilation is the first.
  environment.push_back("CUPEL_CACHE_DIR=" + place + "-cache");
  std::vector<std::string> once = command;
  once.push_back("--compile-only");
  LineProcess first;
  Status started = first.start(once, environment, place + ".txt");
  Result<json> compiled =
      started ? parsed(first.readLine(options.timeout, stop)) : Result<json>(started.error());
  if (!compiled) {
    first.kill();
    lose(running, compiled.error());
    return running;
  }
  first.end();
  running.result.compileSeconds = compiled->value("compile_seconds", 0.0);
  if (Status again = running.process.start(command, environment, place + ".txt"); !again)
    lose(running, again.error());
  else
    awaitReady(running, program);
  if (running.process.isRunning() && running.result.latency.first.empty())
    lose(running, Error{"it made no run"});
  return running;
}

BenchSession::Running BenchSession::startPeer(const std::string &name,
                                              const BenchProgram &program) {
  Running running;
  running.result.name = name;
  running.result.isPeer = true;
  std::vector<std::string> environment = fairEnvironment(options.threads);
  environment.insert(environment.end(), {"PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu",
                                         "HF_HUB_OFFLINE=1"});
  if (Status started = running.process.start(
          {options.python, "-u", options.peerScript, name, program.folder + "/facts.json"},
          environment, fmt::format("{}-{}.txt", program.folder, name));
      !started)
    lose(running, started.error());
  else
    awaitReady(running, program);
  return running;
}

void BenchSession::awaitReady(Running &running, const BenchProgram &program) {
  Result<json> answer = parsed(running.process.readLine(options.timeout, stop));
  if (!answer)
    return lose(running, answer.error());
  Contestant &result = running.result;
  double compile = answer->value("compile_seconds", 0.0);
  (result.isPeer ? result.compileSeconds : result.recompileSeconds) = compile;
  result.latency.first = answer->value("first", std::vector<double>());
  result.version = answer->value("version", "");
  result.note = answer->value("note", "");
  result.sram = answer->value("sram", "");
  if (answer->contains("base_bytes"))
    result.baseBytes = answer->value("base_bytes", 0.0);
  if (!answer->contains("difference"))
    return;
  // A number that JSON has no word for is null: infinitely far.
  const json &difference = (*answer)["difference"];
  result.difference = difference.is_number() ? difference.get<double>() : INFINITY;
  result.isWrong = !(*result.difference <= compare::measuredDistance(
      program.isNarrow || (result.isPeer ? isNarrowPeer(result.name) : isNarrow(result.name))));
}

void BenchSession::runRound(Running &running, double seconds) {
  if (Status asked = running.process.write(json{{"seconds", seconds}}.dump()); !asked)
    return lose(running, asked.error());
  Result<json> answer = parsed(running.process.readLine(options.timeout, stop));
  if (!answer)
    return lose(running, answer.error());
  for (double time : answer->value("times", std::vector<double>()))
    running.result.latency.steady.push_back(time);
}

void BenchSession::finish(Running &running) {
  if (!running.process.isRunning())
    return;
  if (running.process.write(json{{"end", true}}.dump()))
    if (Result<json> answer = parsed(running.process.readLine(options.timeout, stop)); answer)
      running.result.peakBytes = answer->value("peak_bytes", 0.0);
  running.process.end();
}

void BenchSession::measureLimits(Measurement &measurement) {
  if (!limits.isRunning())
    if (!limits.start({executableFolder() + "/cupel-worker", "bench-limits",
                       std::to_string(options.threads)},
                      fairEnvironment(options.threads), options.scratch + "/limits.txt"))
      return;
  if (!limits.write("{}"))
    return;
  Result<json> answer = parsed(limits.readLine(options.timeout, stop));
  if (!answer)
    return;
  MachineLimits best = measurement.limits.value_or(MachineLimits());
  best.flopsPerSecond = std::max(best.flopsPerSecond, answer->value("flops_per_second", 0.0));
  best.bytesPerSecond = std::max(best.bytesPerSecond, answer->value("bytes_per_second", 0.0));
  measurement.limits = best;
}

//===----------------------------------------------------------------------===//
// The session
//===----------------------------------------------------------------------===//

Result<BenchProgram> BenchSession::describe(const std::string &file) {
  BenchProgram program;
  ++models;
  const bool checks = std::exchange(options.checks, false);
  Status ready = prepare(file, program);
  options.checks = checks;
  if (!ready)
    return ready.error();
  std::error_code ignored;
  fs::remove_all(program.folder, ignored);
  return program;
}

Measurement BenchSession::measure(const std::string &file) {
  Measurement measurement;
  measurement.threads = options.threads;
  measurement.program.file = file;
  ++models;
  tell("read", 0);
  if (Status ready = prepare(file, measurement.program); !ready) {
    measurement.failure = ready.message();
    measurement.isInterrupted = stop;
    return measurement;
  }
  // Getting ready is counted as the first fifth of the work.
  std::vector<Running> running;
  size_t count = options.devices.size() + options.peers.size();
  auto enter = [&](const std::string &name) {
    tell(name + ": compile", 0.2 * static_cast<double>(running.size()) / static_cast<double>(count));
  };
  for (const std::string &name : options.devices)
    if (!stop) {
      enter(name);
      running.push_back(startDevice(name, measurement.program));
    }
  for (const std::string &name : options.peers)
    if (!stop) {
      enter(name);
      running.push_back(startPeer(name, measurement.program));
    }
  double seconds = options.seconds / options.rounds;
  for (uint32_t round = 0; round < options.rounds && !stop; ++round) {
    if (round == 0 || round == options.rounds / 2 || round + 1 == options.rounds)
      measureLimits(measurement);
    for (Running &one : running)
      if (one.process.isRunning() && !stop) {
        tell(fmt::format("{}: round {} of {}", one.result.name, round + 1, options.rounds),
             0.2 + 0.8 * round / options.rounds);
        runRound(one, seconds);
      }
  }
  for (Running &one : running) {
    if (!stop)
      finish(one);
    else
      one.process.kill();
    // Nobody is told that he failed because somebody pressed a key.
    if (stop && one.result.ran())
      one.result.failure.clear();
    measurement.contestants.push_back(std::move(one.result));
  }
  measurement.isInterrupted = stop;
  std::error_code ignored; // Weights are large.
  fs::remove_all(measurement.program.folder, ignored);
  return measurement;
}

} // namespace cupel::testbench::bench
