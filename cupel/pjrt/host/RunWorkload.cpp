#include "cupel/pjrt/host/RunWorkload.h"

#include "cupel/tensor/MappedPages.h"
#include "cupel/workload/Judge.h"

#include <fmt/format.h>
#include <utility>

using namespace cupel;
using namespace cupel::pjrt;

Result<std::vector<const Device *>> cupel::pjrt::devicesFor(const Client &client,
                                                            const Workload &workload) {
  size_t needed = workload.options.deviceCount();
  std::vector<const Device *> all = client.addressableDevices(), result;
  if (all.size() < needed)
    return Error{
        ErrorCode::NeedsMoreDevices,
        fmt::format("the program runs on {} devices, the plugin has {}", needed, all.size())};
  if (!workload.hasDeviceIds)
    return std::vector<const Device *>(all.begin(), all.begin() + static_cast<ptrdiff_t>(needed));
  for (int64_t id : workload.options.deviceIds) {
    const Device *device = client.findDevice(id);
    if (!device || !device->isAddressable)
      return Error{ErrorCode::Host, fmt::format("the plugin has no device {} that can be used", id)};
    result.push_back(device);
  }
  return result;
}

/// What is wrong with the number of results shows before anything runs.
static Status checkResultCount(const Workload &workload, size_t outputs) {
  if (workload.expected.empty())
    return {};
  size_t expected = workload.expected.front().size();
  if (std::string wrong = workload::describeWrongCount(workload, outputs, expected); !wrong.empty())
    return Plugin::badAnswer("PJRT_Executable_NumOutputs", "answered " + wrong);
  return {};
}

Result<LoadedWorkload> LoadedWorkload::compile(Client &client, const Workload &workload) {
  Result<std::vector<const Device *>> devices = devicesFor(client, workload);
  if (!devices)
    return devices.error();
  Result<const workload::ProgramBytes *> program =
      workload.programFor(client.plugin()->stablehloVersion());
  if (!program)
    return program.error().as(ErrorCode::Host);
  CompileOptions options = workload.options;
  options.deviceIds.clear();
  for (const Device *device : *devices)
    options.deviceIds.push_back(device->id);
  Result<Executable> executable = client.compile((*program)->bytes, options);
  if (!executable)
    return executable.error();
  if (Status fits = checkResultCount(workload, executable->info().outputs); !fits)
    return fits.error();
  return LoadedWorkload(client, std::move(*executable), std::move(*devices), (*program)->version);
}

Result<BufferLists> LoadedWorkload::transfer(const TensorLists &inputs, Deadline deadline) const {
  BufferLists buffers(devices.size());
  for (size_t d = 0; d < devices.size(); ++d)
    for (const tensor::Tensor &input : inputs.size() > 1 ? inputs.at(d) : inputs.at(0)) {
      Result<Buffer> buffer = client->toDevice(input, *devices[d], deadline);
      if (!buffer)
        return buffer.error();
      buffers[d].push_back(std::move(*buffer));
    }
  return buffers;
}

Result<BufferLists> LoadedWorkload::give(TensorLists inputs) const {
  BufferLists buffers(devices.size());
  for (size_t d = 0; d < devices.size(); ++d)
    for (const tensor::Tensor &input : inputs.size() > 1 ? inputs.at(d) : inputs.at(0)) {
      Result<Buffer> buffer = client->give(input, *devices[d]);
      if (!buffer)
        return buffer.error();
      buffers[d].push_back(std::move(*buffer));
    }
  return buffers;
}

Result<BufferLists> LoadedWorkload::handOver(TensorLists inputs, bool lends, Deadline deadline) const {
  BufferLists buffers(devices.size());
  for (size_t d = 0; d < devices.size(); ++d) {
    const bool isLast = inputs.size() > 1 || d + 1 == devices.size();
    for (tensor::Tensor &one : inputs.size() > 1 ? inputs.at(d) : inputs.at(0)) {
      tensor::Tensor input = isLast ? std::exchange(one, {}) : one;
      const std::span<const std::byte> bytes = tensor::contiguousBytes(input);
      const bool isLent = lends && (input.mutableData() || (!bytes.empty() && tensor::areMapped(bytes)));
      Result<Buffer> buffer = isLent ? client->give(std::move(input), *devices[d])
                                     : client->toDevice(input, *devices[d], deadline);
      if (!buffer)
        return buffer.error();
      if (!isLent) // Weights of a file need not lie here while the device computes with its own copy of them.
        tensor::giveBackPages(bytes);
      buffers[d].push_back(std::move(*buffer));
    }
  }
  return buffers;
}

Result<BufferLists> LoadedWorkload::execute(const BufferLists &arguments, Deadline deadline) {
  std::vector<std::vector<const Buffer *>> given(arguments.size());
  for (size_t d = 0; d < arguments.size(); ++d)
    for (const Buffer &buffer : arguments[d])
      given[d].push_back(&buffer);
  Result<BufferLists> outputs = executable.execute(given, deadline);
  if (!outputs)
    return outputs.error();
  for (const std::vector<Buffer> &list : *outputs)
    for (const Buffer &buffer : list)
      if (Status ready = buffer.waitUntilReady(deadline); !ready)
        return ready.error();
  return outputs;
}

Result<TensorLists> LoadedWorkload::readBack(const BufferLists &results, Deadline deadline) {
  TensorLists lists;
  for (const std::vector<Buffer> &buffers : results) {
    std::vector<tensor::Tensor> &list = lists.emplace_back();
    for (const Buffer &buffer : buffers) {
      Result<tensor::Tensor> tensor = buffer.toHost(deadline);
      if (!tensor)
        return tensor.error();
      list.push_back(std::move(*tensor));
    }
  }
  return lists;
}

namespace {

using Clock = std::chrono::steady_clock;

class Run {
public:
  Run(Client &client, const Workload &workload, const RunSettings &settings,
      const std::function<void(std::string_view)> &announce)
      : client(client), workload(workload), settings(settings), announce(announce),
        deadline(deadlineIn(settings.timeout)) {}

  RunReport run() {
    if (Status done = runStages(); !done)
      report.failure = done.error();
    finishStage();
    return std::move(report);
  }

private:
  void enter(const char *stage) {
    finishStage();
    report.stages.push_back({stage, 0});
    announce(stage);
    entered = Clock::now();
  }
  void finishStage() {
    if (!report.stages.empty())
      report.stages.back().seconds = since(entered);
    entered = Clock::now();
  }
  static double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  Status runStages() {
    enter("compile");
    Result<LoadedWorkload> loaded = LoadedWorkload::compile(client, workload);
    if (!loaded)
      return loaded.error();
    report.programVersion = loaded->programVersion();
    report.executable = loaded->info();
    if (settings.compilesOnly)
      return {};

    enter("transfer");
    Result<BufferLists> arguments = loaded->transfer(workload.inputs, deadline);
    if (!arguments)
      return arguments.error();

    enter("execute");
    BufferLists results;
    for (uint32_t i = 0; i < std::max(settings.repetitions, 1u); ++i) {
      Clock::time_point start = Clock::now();
      Result<BufferLists> outputs = loaded->execute(*arguments, deadline);
      if (!outputs)
        return outputs.error();
      report.executeSeconds.push_back(since(start));
      results = std::move(*outputs);
    }

    enter("read back");
    Result<TensorLists> tensors = LoadedWorkload::readBack(results, deadline);
    if (!tensors)
      return tensors.error();
    report.results = std::move(*tensors);
    return {};
  }

  Client &client;
  const Workload &workload;
  const RunSettings &settings;
  const std::function<void(std::string_view)> &announce;
  Deadline deadline;
  Clock::time_point entered = Clock::now();
  RunReport report;
};

} // namespace

RunReport cupel::pjrt::runWorkload(Client &client, const Workload &workload,
                                   const RunSettings &settings,
                                   const std::function<void(std::string_view)> &announce) {
  return Run(client, workload, settings, announce).run();
}
