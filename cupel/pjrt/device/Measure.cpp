#include "cupel/pjrt/device/Measure.h"

#include "cupel/compare/Compare.h"
#include "cupel/pjrt/host/RunWorkload.h"
#include "cupel/tensor/MappedPages.h"
#include "cupel/workload/Folder.h"
#include "cupel/workload/Tensors.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace cupel;
using namespace cupel::pjrt;
using namespace cupel::workload;
using nlohmann::ordered_json;

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A value of /proc/self/status in bytes, such as the peak of resident memory; 0 where there is
/// none.
double memoryOf(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key))
      return std::strtod(line.c_str() + key.size(), nullptr) * 1024;
  return 0;
}

class Measuring {
public:
  Measuring(const device::MeasureSettings &settings, std::FILE *answers)
      : settings(settings), answers(answers) {}

  Status run() {
    Result<Workload> read = readWorkload(settings.folder);
    if (!read)
      return read.error();
    workload = std::move(*read);
    Result<std::shared_ptr<Client>> opened = open();
    if (!opened)
      return opened.error();
    client = *opened;
    ordered_json ready = {{"base_bytes", memoryOf("VmRSS:")}};
    Clock::time_point start = Clock::now();
    Result<LoadedWorkload> compiled = LoadedWorkload::compile(*client, workload);
    if (!compiled)
      return compiled.error();
    ready["compile_seconds"] = since(start);
    if (settings.compilesOnly) {
      answer(ready);
      return {};
    }
    loaded.emplace(std::move(*compiled));
    if (auto sram = loaded->info().notes.find("sram"); sram != loaded->info().notes.end())
      ready["sram"] = sram->second;
    if (Status first = runFirst(ready); !first)
      return first;
    answer(ready);
    return serve();
  }

private:
  void answer(const ordered_json &json) {
    // Numbers that JSON has no word for become null.
    std::string line = json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    std::fwrite(line.data(), 1, line.size(), answers);
    std::fflush(answers);
  }

  Result<std::shared_ptr<Client>> open() {
    std::vector<NamedValue> options;
    for (const std::string &text : settings.clientOptions) {
      Result<NamedValue> value = parseNamedValue(text);
      if (!value)
        return value.error();
      options.push_back(std::move(*value));
    }
    Result<std::shared_ptr<Plugin>> plugin = Plugin::load(settings.plugin);
    if (!plugin)
      return plugin.error();
    return Client::create(*plugin, options);
  }

  Result<double> runOnce(BufferLists *kept = nullptr) {
    Clock::time_point start = Clock::now();
    Result<BufferLists> results = loaded->execute(arguments, deadlineIn(settings.timeout));
    double seconds = since(start);
    if (!results)
      return results.error();
    if (kept)
      *kept = std::move(*results);
    return seconds;
  }

  /// The arguments, the first three runs, and how far their results are from what is expected.
  Status runFirst(ordered_json &ready) {
    std::vector<std::span<const std::byte>> weights;
    for (const std::vector<tensor::Tensor> &list : workload.inputs)
      for (const tensor::Tensor &input : list)
        weights.push_back(tensor::contiguousBytes(input));
    // The device has them, and their memory goes when it needs it no more.
    Result<BufferLists> given = loaded->give(std::move(workload.inputs));
    workload.inputs.clear();
    if (!given)
      return given.error();
    arguments = std::move(*given);
    BufferLists results;
    ready["first"] = ordered_json::array();
    for (int i = 0; i < 3; ++i) {
      results.clear();
      Result<double> seconds = runOnce(&results);
      if (!seconds)
        return seconds.error();
      // What the first run made forms of its own from is seldom read again: rows of a table that is
      // a product's weight as well, say. What is read comes from the file, before anything is
      // timed.
      if (i == 0)
        for (std::span<const std::byte> bytes : weights)
          tensor::giveBackPages(bytes);
      ready["first"].push_back(*seconds);
    }
    Result<TensorLists> values =
        LoadedWorkload::readBack(results, deadlineIn(settings.timeout));
    if (!values)
      return values.error();
    if (workload.expected.empty())
      return writeTensors(settings.folder + "/results.safetensors", *values);
    double worst = 0;
    for (size_t d = 0; d < workload.expected.size(); ++d)
      for (size_t i = 0; i < workload.expected[d].size(); ++i) {
        Result<compare::Statistics> compared =
            compare::compare((*values)[d][i], workload.expected[d][i], compare::Tolerance());
        if (!compared)
          return compared.error();
        bool isFar = !compared->sameShape() || compared->nonFiniteMismatches > 0;
        worst = std::max(worst, isFar ? std::numeric_limits<double>::infinity()
                                      : compared->relativeL2);
      }
    ready["difference"] = worst;
    return {};
  }

  Status serve() {
    for (std::string line; std::getline(std::cin, line);) {
      ordered_json request = ordered_json::parse(line, nullptr, false);
      if (!request.is_object() || request.contains("end"))
        break;
      // Others had the caches since.
      if (Result<double> warm = runOnce(); !warm)
        return warm.error();
      ordered_json times = ordered_json::array();
      Clock::time_point start = Clock::now();
      do {
        Result<double> seconds = runOnce();
        if (!seconds)
          return seconds.error();
        times.push_back(*seconds);
      } while (since(start) < request.value("seconds", 0.1));
      answer({{"times", times}});
    }
    answer({{"peak_bytes", memoryOf("VmHWM:")}});
    return {};
  }

  const device::MeasureSettings &settings;
  std::FILE *answers;
  Workload workload;
  std::shared_ptr<Client> client;
  std::optional<LoadedWorkload> loaded;
  BufferLists arguments;
};

} // namespace

int cupel::device::measure(const MeasureSettings &settings) {
  // Plugins print where they like.
  std::FILE *answers = ::fdopen(::dup(STDOUT_FILENO), "w");
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (Status done = Measuring(settings, answers).run(); !done) {
    std::string line = ordered_json{{"failure", done.message()}}.dump(
                           -1, ' ', false, ordered_json::error_handler_t::replace) +
                       "\n";
    std::fwrite(line.data(), 1, line.size(), answers);
    std::fflush(answers);
    return kExitFailure;
  }
  return kExitSuccess;
}
