#include "cupel/testbench/worker/PjrtDevice.h"

#include "cupel/pjrt/host/Client.h"
#include "cupel/runtime/Architecture.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/workload/Judge.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace cupel::testbench::worker {

namespace {

using tensor::Tensor;

/// How long an operation may take where nobody set a limit.
constexpr double kLongSeconds = 24 * 3600;

pjrt::Deadline deadlineOf(const Budget &budget) {
  double left = budget.secondsLeft();
  return pjrt::deadlineIn(left > 0 ? left : kLongSeconds);
}

enum class During { Compile, Run };

/// What a plugin's error means for the program that it was given.
Error toProgramError(const Error &error, During during) {
  switch (error.code) {
  case ErrorCode::Unsupported:
  case ErrorCode::FunctionMissing:
    return error.as(ErrorCode::Unsupported);
  case ErrorCode::TimedOut:
  case ErrorCode::NoAnswer:
    return error.as(ErrorCode::TimedOut);
  case ErrorCode::PluginNotLoadable:
    return error.as(ErrorCode::DeviceLost);
  case ErrorCode::BadAnswer:
    return error.as(ErrorCode::RuntimeError);
  case ErrorCode::Host:
    return error.as(ErrorCode::InvalidArgument);
  case ErrorCode::OutOfMemory:
  case ErrorCode::NeedsMoreDevices:
    return error;
  default:
    break;
  }
  if (error.code == (during == During::Run ? ErrorCode::InvalidArgument : ErrorCode::Internal))
    return error;
  return error.as(during == During::Run ? ErrorCode::RuntimeError : ErrorCode::InvalidProgram);
}

/// What to ask for instead.
std::string devicesWith(size_t count) {
  std::string names;
  for (const std::string &name : runtime::architectureNames())
    if (Result<runtime::Architecture> one = runtime::findArchitecture(name);
        one && static_cast<size_t>(one->chips) >= count)
      names += name + ", ";
  return "--device " + names + "'cupel?num_devices=" + std::to_string(count) + "' has enough";
}

class PjrtExecutable : public Executable {
public:
  PjrtExecutable(std::shared_ptr<pjrt::Client> client, pjrt::Executable executable,
                 DeviceProgram program, std::vector<ValueType> results,
                 std::vector<const pjrt::Device *> devices)
      : client(std::move(client)), executable(std::move(executable)), program(std::move(program)),
        results(std::move(results)), devices(std::move(devices)) {}

  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs, const Budget &budget) override {
    pjrt::Deadline deadline = deadlineOf(budget);
    std::vector<std::vector<Tensor>> given = program.argumentsFor(inputs);
    std::vector<std::vector<pjrt::Buffer>> buffers(devices.size());
    std::vector<std::vector<const pjrt::Buffer *>> arguments(devices.size());
    for (size_t d = 0; d < devices.size(); ++d) {
      for (const Tensor &input : given.size() > 1 ? given[d] : given[0]) {
        Result<pjrt::Buffer> buffer = client->toDevice(input, *devices[d], deadline);
        if (!buffer)
          return toProgramError(buffer.error(), During::Run);
        buffers[d].push_back(std::move(*buffer));
      }
      for (const pjrt::Buffer &buffer : buffers[d])
        arguments[d].push_back(&buffer);
    }
    auto outputs = executable.execute(arguments, deadline);
    if (!outputs)
      return toProgramError(outputs.error(), During::Run);

    std::vector<std::vector<Tensor>> values;
    for (const std::vector<pjrt::Buffer> &list : *outputs) {
      std::vector<Tensor> &own = values.emplace_back();
      for (const pjrt::Buffer &buffer : list) {
        if (Status ready = buffer.waitUntilReady(deadline); !ready)
          return toProgramError(ready.error(), During::Run);
        Result<Tensor> value = buffer.toHost(deadline);
        if (!value)
          return toProgramError(value.error(), During::Run);
        own.push_back(std::move(*value));
      }
    }
    Result<std::vector<Tensor>> own = program.resultsFrom(values, results);
    if (!own)
      return own.error().as(ErrorCode::RuntimeError);
    for (size_t d = 0; d < values.size(); ++d)
      for (const workload::Judgement &judgement :
           workload::judgeChecks(values[d], d, program.checks, program.constants))
        if (!judgement.passed)
          return Error{ErrorCode::CheckFailed, judgement.what + ": " + judgement.sentence};
    return std::move(*own);
  }

private:
  std::shared_ptr<pjrt::Client> client;
  pjrt::Executable executable;
  DeviceProgram program;
  std::vector<ValueType> results;
  std::vector<const pjrt::Device *> devices;
};

class PjrtDevice : public Device {
public:
  PjrtDevice(std::string name, std::shared_ptr<pjrt::Client> client)
      : label(std::move(name)), client(std::move(client)) {}

  std::string name() const override { return label; }

  Result<std::unique_ptr<Executable>> compile(const Program &program, const Budget &) override {
    if (client->plugin()->isGivenUp())
      return Error{ErrorCode::DeviceLost,
                         label + " did not answer in time before and cannot be used any more"};
    Result<DeviceProgram> prepared = prepareForDevice(program, versions());
    if (!prepared)
      return prepared.error();
    auto needed = size_t(prepared->replicas) * prepared->partitions;
    std::vector<const pjrt::Device *> devices = client->addressableDevices();
    if (devices.size() < needed)
      return Error{ErrorCode::NeedsMoreDevices,
                   "the program needs " + std::to_string(needed) + " devices, " + label + " has " +
                       std::to_string(devices.size()) + "; " + devicesWith(needed)};
    devices.resize(needed);
    workload::CompileOptions options = prepared->compileOptions();
    options.deviceIds.clear();
    for (const pjrt::Device *device : devices)
      options.deviceIds.push_back(device->id);
    Result<pjrt::Executable> executable =
        client->compile(prepared->artifacts.front().bytes, options);
    if (!executable)
      return toProgramError(executable.error(), During::Compile);
    return std::unique_ptr<Executable>(std::make_unique<PjrtExecutable>(
        client, std::move(*executable), std::move(*prepared), program.results, std::move(devices)));
  }

private:
  /// The newest version that both sides know. A plugin that does not say gets 1.0.0, or the newest
  /// where the program needs more than that had.
  std::vector<workload::ProgramVersion> versions() const {
    std::optional<std::vector<int64_t>> theirs = client->plugin()->stablehloVersion();
    if (!theirs)
      return {{1, 0, 0}, newestVersion()};
    workload::ProgramVersion known{(*theirs)[0], (*theirs)[1], (*theirs)[2]};
    return {std::min(known, newestVersion())};
  }

  std::string label;
  std::shared_ptr<pjrt::Client> client;
};

} // namespace

Result<std::unique_ptr<Device>> openPjrtDevice(const runtime::DeviceName &device) {
  std::string name = device.str(), plugin = device.plugin;
  std::vector<pjrt::NamedValue> options;
  for (const std::string &text : device.options) {
    Result<pjrt::NamedValue> option = pjrt::parseNamedValue(text);
    if (!option)
      return Error{"device '" + name + "': " + option.message()};
    options.push_back(std::move(*option));
  }
  if (plugin == "cupel") {
    plugin = (std::filesystem::path(executableFolder()).parent_path() / "lib/pjrt_plugin_cupel.so")
                 .string();
    if (!std::filesystem::exists(plugin))
      return Error{"device 'cupel': " + plugin + " is not there (./run builds it)"};
    // Devices that are made up cost nothing: enough for the programs people write.
    bool isChosen = std::getenv("CUPEL_ARCH") || std::getenv("CUPEL_NUM_DEVICES") ||
                    !device.option("arch").empty() || !device.option("num_devices").empty();
    if (!isChosen)
      if (Result<pjrt::NamedValue> count = pjrt::parseNamedValue("num_devices=8"))
        options.push_back(std::move(*count));
  }
  Result<std::shared_ptr<pjrt::Plugin>> loaded = pjrt::Plugin::load(plugin);
  if (!loaded)
    return Error{"device '" + name + "': " + loaded.message()};
  Result<std::shared_ptr<pjrt::Client>> client = pjrt::Client::create(*loaded, options);
  if (!client)
    return Error{"device '" + name + "': " + client.message()};
  if ((*client)->addressableDevices().empty())
    return Error{"device '" + name + "': the plugin has no device that can be used"};
  return std::unique_ptr<Device>(std::make_unique<PjrtDevice>(name, *client));
}

} // namespace cupel::testbench::worker
