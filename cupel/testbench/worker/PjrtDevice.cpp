#include "cupel/testbench/worker/PjrtDevice.h"

#include "cupel/pjrt/host/RunWorkload.h"
#include "cupel/runtime/Architecture.h"
#include "cupel/support/Process.h"
#include "cupel/testbench/worker/DeviceProgram.h"
#include "cupel/testbench/worker/Looks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace cupel::testbench::worker {

namespace {

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

class PjrtDevice : public PluginDevice {
public:
  PjrtDevice(std::string name, std::shared_ptr<pjrt::Client> client, bool isReferenceInside)
      : label(std::move(name)), client(std::move(client)), isReferenceInside(isReferenceInside) {}

  std::string name() const override { return label; }
  bool sharesKernels() const override { return isReferenceInside; }
  SharedWork sharedWork() const override {
    return isReferenceInside ? SharedWork{.isAll = true, .what = ""} : lastShared;
  }
  std::map<std::string, std::string> recordNotes() const override { return lastNotes; }
  std::optional<int64_t> arenaBytes() const override { return lastArena; }
  bool isGivenUp() const override { return client->plugin()->isGivenUp(); }

  Result<RunWorkload> load(const workload::Workload &workload, const Program &,
                           const Budget &) override {
    if (isGivenUp())
      return Error{ErrorCode::DeviceLost,
                   label + " did not answer in time before and cannot be used any more"};
    size_t needed = workload.options.deviceCount(), has = client->addressableDevices().size();
    if (has < needed)
      return Error{ErrorCode::NeedsMoreDevices,
                   "the program needs " + std::to_string(needed) + " devices, " + label + " has " +
                       std::to_string(has) + "; " + devicesWith(needed)};
    Result<pjrt::LoadedWorkload> loaded = pjrt::LoadedWorkload::compile(*client, workload);
    if (!loaded)
      return toProgramError(loaded.error(), During::Compile);
    lastShared = sharedWorkOf(loaded->info().notes);
    lastNotes = notesForRecords(loaded->info().notes);
    lastArena = arenaOf(loaded->info().notes);
    auto shared = std::make_shared<pjrt::LoadedWorkload>(std::move(*loaded));
    auto held = std::make_shared<Held>();
    return RunWorkload(
        [client = client, shared, held](TensorLists inputs, const Budget &budget) {
          return run(*client, *shared, std::move(inputs), budget, *held);
        });
  }

private:
  /// What the execution before gave: buffers that nobody may write to any more.
  struct Held {
    pjrt::BufferLists buffers;
    TensorLists values;
  };

  /// The steps of a run, with the plugin's errors as those of the program. Only our own plugin is lent memory; others
  /// get their inputs by the way that asks least of them, a copy.
  static Result<TensorLists> run(const pjrt::Client &client, pjrt::LoadedWorkload &loaded, TensorLists inputs,
                                 const Budget &budget, Held &held) {
    pjrt::Deadline deadline = deadlineOf(budget);
    Result<pjrt::BufferLists> arguments =
        loaded.handOver(std::move(inputs), client.platformName() == "cupel", deadline);
    if (!arguments)
      return toProgramError(arguments.error(), During::Run);
    Result<pjrt::BufferLists> outputs = loaded.execute(*arguments, deadline);
    if (!outputs)
      return toProgramError(outputs.error(), During::Run);
    arguments->clear(); // With them goes what kernels made of weights.
    Result<TensorLists> values = pjrt::LoadedWorkload::readBack(*outputs, deadline);
    if (!values)
      return toProgramError(values.error(), During::Run);
    if (!budget.tellOverwritten)
      return values;
    if (!held.buffers.empty()) {
      Result<TensorLists> now = pjrt::LoadedWorkload::readBack(held.buffers, deadline);
      if (!now)
        budget.tellOverwritten("they cannot be read any more: " + now.message());
      else if (!areSame(*now, held.values))
        budget.tellOverwritten(describeDifference(*now, held.values));
    }
    held = {std::move(*outputs), *values};
    return values;
  }

  std::vector<workload::ProgramVersion> versions() const override {
    std::optional<std::vector<int64_t>> theirs = client->plugin()->stablehloVersion();
    if (!theirs)
      return versionsFor(std::nullopt);
    return versionsFor(workload::ProgramVersion{(*theirs)[0], (*theirs)[1], (*theirs)[2]});
  }

  std::string label;
  std::shared_ptr<pjrt::Client> client;
  bool isReferenceInside;
  SharedWork lastShared;
  std::map<std::string, std::string> lastNotes; // Of what was loaded last, as these are.
  std::optional<int64_t> lastArena;
};

/// Whether our own plugin, so chosen, runs programs on the reference's plan.
bool usesReferenceBackend(const runtime::DeviceName &device) {
  std::string backend(device.option("backend"));
  if (const char *chosen = std::getenv("CUPEL_BACKEND"); backend.empty() && chosen)
    backend = chosen;
  return backend == "reference";
}

} // namespace

void addOwnDefaults(runtime::DeviceName &device) {
  if (device.plugin != "cupel")
    return;
  device.plugin = (std::filesystem::path(executableFolder()).parent_path() /
                   "lib/pjrt_plugin_cupel.so")
                      .string();
  // Devices that are made up cost nothing: enough for the programs people write.
  bool isChosen = std::getenv("CUPEL_ARCH") || std::getenv("CUPEL_NUM_DEVICES") ||
                  !device.option("arch").empty() || !device.option("num_devices").empty();
  if (!isChosen)
    device.options.push_back("num_devices=8");
  // Weights lie in a file that nobody writes to.
  if (!std::getenv("CUPEL_HOST_MEMORY") && device.option("host_memory").empty())
    device.options.push_back("host_memory=borrowed");
  // A test and the pieces of its program run by turns.
  if (!std::getenv("CUPEL_ARENAS") && device.option("arenas").empty())
    device.options.push_back("arenas=shared");
}

Result<std::unique_ptr<Device>> openPjrtDevice(const runtime::DeviceName &given) {
  runtime::DeviceName device = given;
  addOwnDefaults(device);
  const std::string name = given.str(), plugin = device.plugin;
  std::vector<pjrt::NamedValue> options;
  for (const std::string &text : device.options) {
    Result<pjrt::NamedValue> option = pjrt::parseNamedValue(text);
    if (!option)
      return Error{"device '" + name + "': " + option.message()};
    options.push_back(std::move(*option));
  }
  if (given.plugin == "cupel" && !std::filesystem::exists(plugin))
    return Error{"device 'cupel': " + plugin + " is not there (./run builds it)"};
  Result<std::shared_ptr<pjrt::Plugin>> loaded = pjrt::Plugin::load(plugin);
  if (!loaded)
    return Error{"device '" + name + "': " + loaded.message()};
  Result<std::shared_ptr<pjrt::Client>> client = pjrt::Client::create(*loaded, options);
  if (!client)
    return Error{"device '" + name + "': " + client.message()};
  if ((*client)->addressableDevices().empty())
    return Error{"device '" + name + "': the plugin has no device that can be used"};
  bool isReferenceInside = (*client)->platformName() == "cupel" && usesReferenceBackend(device);
  return std::unique_ptr<Device>(std::make_unique<PjrtDevice>(name, *client, isReferenceInside));
}

} // namespace cupel::testbench::worker
