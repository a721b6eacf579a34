#include "cupel/pjrt/host/RunWorkload.h"

#include <fmt/format.h>

using namespace cupel;
using namespace cupel::pjrt;

Result<std::vector<const Device *>> cupel::pjrt::devicesFor(const Client &client,
                                                            const Workload &workload) {
  auto needed = static_cast<size_t>(workload.options.replicas * workload.options.partitions);
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
    Result<std::vector<const Device *>> devices = devicesFor(client, workload);
    if (!devices)
      return devices.error();
    Result<const workload::ProgramBytes *> program =
        workload.programFor(client.plugin()->stablehloVersion());
    if (!program)
      return Error{ErrorCode::Host, program.message()};
    report.programVersion = (*program)->version;
    CompileOptions options = workload.options;
    options.deviceIds.clear();
    for (const Device *device : *devices)
      options.deviceIds.push_back(device->id);
    Result<Executable> executable = client.compile((*program)->bytes, options);
    if (!executable)
      return executable.error();
    report.executable = executable->info();
    if (Status fits = checkResultCount(executable->info().outputs); !fits)
      return fits;

    enter("transfer");
    std::vector<std::vector<Buffer>> buffers(devices->size());
    std::vector<std::vector<const Buffer *>> arguments(devices->size());
    for (size_t d = 0; d < devices->size(); ++d) {
      const auto &inputs = workload.inputs.size() > 1 ? workload.inputs[d] : workload.inputs[0];
      for (const tensor::Tensor &input : inputs) {
        Result<Buffer> buffer = client.toDevice(input, *(*devices)[d], deadline);
        if (!buffer)
          return buffer.error();
        buffers[d].push_back(std::move(*buffer));
      }
      for (const Buffer &buffer : buffers[d])
        arguments[d].push_back(&buffer);
    }

    enter("execute");
    std::vector<std::vector<Buffer>> results;
    for (uint32_t i = 0; i < std::max(settings.repetitions, 1u); ++i) {
      Clock::time_point start = Clock::now();
      auto outputs = executable->execute(arguments, deadline);
      if (!outputs)
        return outputs.error();
      for (const auto &list : *outputs)
        for (const Buffer &buffer : list)
          if (Status ready = buffer.waitUntilReady(deadline); !ready)
            return ready;
      report.executeSeconds.push_back(since(start));
      results = std::move(*outputs);
    }

    enter("read back");
    for (const auto &list : results) {
      report.results.emplace_back();
      for (const Buffer &buffer : list) {
        Result<tensor::Tensor> tensor = buffer.toHost(deadline);
        if (!tensor)
          return tensor.error();
        report.results.back().push_back(std::move(*tensor));
      }
    }
    return {};
  }

  Status checkResultCount(size_t outputs) {
    if (!workload.expected.empty() && workload.expected.front().size() != outputs)
      return Plugin::badAnswer("PJRT_Executable_NumOutputs",
                               fmt::format("answered {} results where {} are expected", outputs,
                                           workload.expected.front().size()));
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
