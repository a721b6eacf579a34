#include "cupel/testbench/worker/Probe.h"

#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/support/Sha256.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/testbench/worker/TestNoise.h"
#include "cupel/testbench/worker/Trials.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <thread>

namespace cupel::testbench::worker {

using Json = nlohmann::json;
using tensor::Tensor;
using Clock = std::chrono::steady_clock;

namespace {

/// No probe gets less: a process may have to be started for it.
constexpr double kLeastSeconds = 3;
/// How many deadlines a probe may take that has not come to its program, or not to where the test hangs.
constexpr double kPatienceAtStart = 8, kPatienceOnTheWay = 2;

/// The stages of a run of cupel-device, in their order; 0 where it died before the first.
size_t stageNumber(std::string_view stage) {
  constexpr std::string_view kStages[] = {"",         "load",    "initialize", "client", "read",   "compile",
                                          "transfer", "execute", "read back",  "write",  "compare"};
  return size_t(std::ranges::find(kStages, stage) - std::begin(kStages));
}

Clock::duration inSeconds(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// By what the cache knows a device: its name and the plugin as it is now. Of one elsewhere nobody
/// knows how it is now.
std::string identityOf(const std::string &name) {
  size_t at = name.find('@');
  if (at == std::string::npos || !name.ends_with("/cupel-device"))
    return {};
  std::string plugin = name.substr(0, std::min(at, name.find('?')));
  struct stat status = {};
  if (stat(plugin.c_str(), &status) != 0)
    return {};
  return fmt::format("{} {} {}.{}", name.substr(0, at), status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

Json toJson(const TriedPiece &tried) {
  Json json = {{"passed", tried.passed}, {"sentence", tried.sentence}, {"output", tried.output},
               {"picture", tried.picture}, {"class", tried.errorClass}};
  if (tried.failure)
    json["failure"] = {tried.failure->outcome, tried.failure->stage, tried.failure->kind};
  auto add = [&](const char *key, const std::optional<double> &value) {
    if (value)
      json[key] = fmt::format("{}", *value); // NaN has no form in JSON.
  };
  add("pcc", tried.pcc);
  add("max_absolute", tried.maxAbsolute);
  add("relative_l2", tried.relativeL2);
  return json;
}

std::optional<TriedPiece> triedFromJson(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return {};
  TriedPiece tried;
  tried.passed = json.value("passed", false);
  tried.sentence = json.value("sentence", "");
  tried.output = json.value("output", size_t(0));
  tried.picture = json.value("picture", "");
  tried.errorClass = json.value("class", "");
  if (auto failure = json.find("failure"); failure != json.end() && failure->size() == 3)
    tried.failure = RemoteFailure{(*failure)[0], (*failure)[1], (*failure)[2]};
  auto read = [&](const char *key, std::optional<double> &value) {
    if (auto found = json.find(key); found != json.end() && found->is_string())
      value = std::strtod(found->get<std::string>().c_str(), nullptr);
  };
  read("pcc", tried.pcc);
  read("max_absolute", tried.maxAbsolute);
  read("relative_l2", tried.relativeL2);
  return tried;
}

} // namespace

std::string describeDevices(const Program &program) {
  std::string text = program.spreadOver > 1 ? fmt::format(" over {}", program.spreadOver) : "";
  for (const auto &[name, value] : program.flags)
    text += std::visit([&](const auto &is) { return fmt::format(" {}={}", name, is); }, value);
  return text;
}

std::string shapeOfMessage(const std::string &message) {
  std::string shape;
  char quote = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    char c = message[i];
    if (quote) {
      quote = c == quote ? 0 : quote;
      continue;
    }
    bool opens = (c == '"' || c == '`' || c == '\'') && (i == 0 || !std::isalnum(message[i - 1]));
    if (opens && message.find(c, i + 1) != std::string::npos) {
      quote = c;
      continue;
    }
    // Words with digits are names, sizes and places.
    bool isWord = std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    shape += isWord ? c : ' ';
  }
  return shape;
}

bool TriedPiece::failsLike(const TriedPiece &other) const {
  if (passed || other.passed || failure.has_value() != other.failure.has_value())
    return false;
  if (!failure)
    return errorClass == other.errorClass;
  if (failure->outcome != other.failure->outcome || failure->stage != other.failure->stage)
    return false;
  if (failure->outcome != "failed")
    return true; // How it died says enough.
  if (failure->kind != other.failure->kind)
    return false;
  // Half of what one says the other says too: what is named may differ.
  auto wordsOf = [](const std::string &message) {
    std::istringstream stream(shapeOfMessage(message));
    std::set<std::string> words;
    for (std::string word; stream >> word;)
      words.insert(word);
    return words;
  };
  std::set<std::string> a = wordsOf(sentence), b = wordsOf(other.sentence);
  size_t common = size_t(std::ranges::count_if(a, [&](auto &word) { return b.contains(word); }));
  return 2 * common >= std::min(a.size(), b.size());
}

Prober::Prober(const Request &request, Device &reference, std::string device, unsigned jobs)
    : request(request), reference(reference), deviceName(std::move(device)),
      deviceIdentity(identityOf(deviceName)), devices(std::max(1u, jobs)),
      cache(deviceIdentity.empty() ? "" : cacheFolder("probes"), cacheLimit("probes")) {}

double Prober::secondsAllowed() const {
  if (patience <= 0 || slowest <= 0)
    return probeSeconds;
  return std::clamp(patience * slowest, kLeastSeconds, std::max(kLeastSeconds, probeSeconds));
}

Result<TensorLists> Prober::evaluate(const Prepared &program) {
  auto executable = reference.compile(program.program(), program.budget);
  if (!executable)
    return executable.error();
  Result<std::vector<Tensor>> outputs =
      (*executable)->run(program.workload.inputs, program.budget);
  return outputs ? Result<TensorLists>(TensorLists{std::move(*outputs)})
                 : Result<TensorLists>(outputs.error());
}

TestNoise Prober::noiseOf(const Prepared &program, bool isReferences) {
  Result<compare::DevicePrecision> precision =
      request.precision.empty() ? runtime::declaredPrecision(request.device, request.arch)
                                : compare::DevicePrecision::parse(request.precision);
  NoiseSources sources;
  sources.isExpectedFromReference = isReferences;
  sources.reference = [this, &program](const Budget &budget) -> Result<TensorLists> {
    auto executable = reference.compile(program.program(), budget);
    if (!executable)
      return executable.error();
    Result<std::vector<Tensor>> outputs = (*executable)->run(program.workload.inputs, budget);
    return outputs ? Result<TensorLists>(TensorLists{std::move(*outputs)})
                   : Result<TensorLists>(outputs.error());
  };
  return TestNoise(program, precision ? *precision : compare::DevicePrecision(),
                   request.noise.value_or(kNoiseSamples), std::move(sources));
}

Result<std::string> Prober::describeDifference(const Prepared &program,
                                               const TensorLists &expected,
                                               const TensorLists &actual) {
  TestNoise noise = noiseOf(program, /*isReferences=*/false);
  for (size_t d = 0; d < std::min(expected.size(), actual.size()); ++d)
    for (size_t i = 0; i < std::min(expected[d].size(), actual[d].size()); ++i) {
      if (actual[d][i].dtype() != expected[d][i].dtype())
        return fmt::format("output {} has another type", i);
      results::ComparisonRecord comparison;
      Status judged = judgeStrictly(d, i, actual[d][i], expected[d][i], noise, comparison);
      if (!judged)
        return judged.error();
      if (!comparison.strictPassed.value_or(false))
        return fmt::format("output {}: {}", i, comparison.strictSentence);
    }
  return std::string();
}

TriedPiece Prober::judge(const Prepared &program, const std::vector<Tensor> &actual) {
  const std::vector<Tensor> &expected = program.workload.expected.front();
  auto wrong = [](std::string why) { return TriedPiece{.passed = false, .sentence = std::move(why)}; };
  // Devices that hold different copies of results give them twice.
  const bool differ = program.program().spreadOver > 1 && actual.size() == 2 * expected.size();
  if (actual.size() != expected.size() && !differ)
    return wrong(fmt::format("there are {} outputs, and {} are expected", actual.size(),
                             expected.size()));
  TestNoise noise = noiseOf(program);
  TriedPiece tried{.passed = true, .sentence = "within the noise"};
  for (size_t k = 0; k < actual.size(); ++k) {
    const size_t i = k % expected.size();
    if (actual[k].dtype() != expected[i].dtype())
      return wrong(fmt::format("output {} is {}, and {} is expected", i,
                               describe(actual[k].elementType(), actual[k].shape()),
                               describe(expected[i].elementType(), expected[i].shape())));
    results::ComparisonRecord comparison;
    std::string picture;
    if (Status judged = judgeStrictly(0, i, actual[k], expected[i], noise, comparison, &picture);
        !judged)
      return wrong(fmt::format("output {} cannot be compared: {}", i, judged.message()));
    auto worse = [](std::optional<double> &kept, std::optional<double> seen, bool isLess) {
      if (seen && (!kept || (isLess ? *seen < *kept : *seen > *kept)))
        kept = seen;
    };
    if (comparison.strictPassed.value_or(false)) {
      worse(tried.pcc, comparison.pcc, true);
      worse(tried.relativeL2, comparison.relativeL2, false);
      worse(tried.maxAbsolute, comparison.maxAbsolute, false);
      continue;
    }
    tried = wrong(expected.size() == 1 ? comparison.strictSentence
                                       : fmt::format("output {}: {}", i, comparison.strictSentence));
    if (k >= expected.size())
      tried.sentence += " (as one of the devices has it; others have another copy)";
    tried.output = i;
    tried.picture = std::move(picture);
    tried.pcc = comparison.pcc;
    tried.maxAbsolute = comparison.maxAbsolute;
    tried.relativeL2 = comparison.relativeL2;
    break;
  }
  return tried;
}

bool Prober::isUndecided(const TriedPiece &tried) const {
  return tried.failure && tried.failure->outcome == "timed out" &&
         stageNumber(tried.failure->stage) < stageNumber(awaited == kNoStage ? "end" : awaited);
}

Result<TriedPiece> Prober::runUntilDecided(Device &device, Prepared &program) {
  double seconds = secondsAllowed();
  Result<TriedPiece> tried = run(device, program, seconds);
  if (!tried) // A connection that is lost is made again, once: the machine may have stood still.
    tried = run(device, program, seconds);
  while (tried && isUndecided(*tried)) {
    const bool hasBegun = stageNumber(tried->failure->stage) >= stageNumber("compile");
    const double most = probeSeconds * (hasBegun ? kPatienceOnTheWay : kPatienceAtStart);
    if (seconds >= most && !hasBegun)
      return Error{ErrorCode::DeviceLost, fmt::format("the device does not start within {:.0f} s: {}",
                                                      seconds, tried->sentence)};
    if (seconds >= most)
      break;
    seconds = std::min(most, std::max(2 * seconds, probeSeconds));
    tried = run(device, program, seconds);
  }
  return tried;
}

Result<TriedPiece> Prober::run(Device &device, Prepared &program, double seconds) {
  Budget budget = program.budget;
  budget.deadline = std::min(budget.deadline, Clock::now() + inSeconds(seconds));
  Clock::time_point began = Clock::now();
  // What the device is asked for is made here; waiting for its answer is all that goes on side by side.
  auto executable = [&] {
    std::lock_guard lock(mutex);
    return device.compile(program.program(), budget);
  }();
  Result<std::vector<Tensor>> outputs = executable
                                            ? (*executable)->run(program.workload.inputs, budget)
                                            : Result<std::vector<Tensor>>(executable.error());
  if (outputs) {
    double taken = std::chrono::duration<double>(Clock::now() - began).count();
    std::lock_guard lock(mutex);
    slowest = std::max(slowest, taken);
    return judge(program, *outputs);
  }
  std::optional<RemoteFailure> failure = lastFailure(device);
  // One that is no process of its own says less.
  if (!failure)
    failure = RemoteFailure{"failed", executable ? "execute" : "compile",
                            std::string(name(outputs.error().code))};
  if (failure->outcome == "lost")
    return outputs.error();
  return TriedPiece{.passed = false,
                    .sentence = outputs.message(),
                    .failure = std::move(failure),
                    .errorClass = std::string(name(outputs.error().code))};
}

Status Prober::open(Slot &slot) {
  if (slot.device)
    return {};
  Result<std::unique_ptr<Device>> opened = openDevice(deviceName);
  if (!opened)
    return opened.error();
  slot.device = std::move(*opened);
  return {};
}

Result<std::vector<Tensor>> Prober::execute(const Prepared &program) {
  if (Status opened = open(devices.front()); !opened)
    return opened.error();
  Budget budget = program.budget;
  budget.deadline = std::min(budget.deadline, Clock::now() + inSeconds(probeSeconds));
  auto executable = devices.front().device->compile(program.program(), budget);
  if (!executable)
    return executable.error();
  return (*executable)->run(program.workload.inputs, budget);
}

std::map<std::string, std::string> Prober::notes() const {
  return devices.front().device ? lastNotes(*devices.front().device)
                                : std::map<std::string, std::string>();
}

Result<TriedPiece> Prober::probeOn(Slot &slot, Prepared &program, uint32_t attempt) {
  ++asked;
  program.workload.provenance.expectation = kReferencesWord;
  std::string key;
  if (!deviceIdentity.empty()) {
    std::lock_guard lock(mutex);
    key = golden.keyOf(program, fmt::format("probe {} {} {} {} {}{}", deviceIdentity,
                                            request.precision, request.arch,
                                            request.noise.value_or(kNoiseSamples), attempt,
                                            describeDevices(program.program())));
  }
  if (!key.empty())
    if (auto kept = cache.find(key))
      if (std::optional<TriedPiece> tried = triedFromJson(kept->bytes())) {
        ++found;
        return std::move(*tried);
      }
  if (Status opened = open(slot); !opened)
    return opened.error();
  Result<TriedPiece> tried = runUntilDecided(*slot.device, program);
  if (tried && !key.empty() && !isUndecided(*tried))
    cache.keep(key, {{toJson(*tried).dump(-1, ' ', false, Json::error_handler_t::replace)}});
  return tried;
}

Result<TriedPiece> Prober::probe(Prepared &program, uint32_t attempt) {
  return probeOn(devices.front(), program, attempt);
}

std::vector<Result<TriedPiece>> Prober::probeAll(std::span<Prepared *> programs) {
  std::vector<Result<TriedPiece>> all(programs.size(), Result<TriedPiece>(Error{"not run"}));
  std::atomic<size_t> next = 0;
  auto work = [&](Slot &slot) {
    for (size_t i; (i = next++) < programs.size();)
      all[i] = probeOn(slot, *programs[i], 0);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(devices.size(), programs.size()); ++i)
    threads.emplace_back(work, std::ref(devices[i]));
  work(devices.front());
  for (std::thread &thread : threads)
    thread.join();
  return all;
}

} // namespace cupel::testbench::worker
