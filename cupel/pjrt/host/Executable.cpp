// Compilation and execution.
#include "cupel/pjrt/host/Checked.h"
#include "cupel/pjrt/host/Client.h"

#include <algorithm>
#include <utility>

using namespace cupel;
using namespace cupel::pjrt;

Executable::Executable(Executable &&other) noexcept
    : client(std::move(other.client)), handle(std::exchange(other.handle, nullptr)),
      information(std::move(other.information)), deviceHandles(std::move(other.deviceHandles)) {}

Executable::~Executable() {
  if (!handle || client->library->isGivenUp())
    return;
  auto args = client->library->arguments<PJRT_LoadedExecutable_Destroy_Args>();
  args->executable = handle;
  if (Status done = client->library->call(&PJRT_Api::PJRT_LoadedExecutable_Destroy, args); !done)
    client->library->complain(done.message());
}

Result<Executable> Client::compile(std::string_view code, const CompileOptions &options) {
  std::string bytes(code); // The interface wants a pointer it could write through.
  CompileOptions whole = options;
  for (const auto &flag : compileFlags)
    if (std::ranges::find(options.flags, flag.first, [](const auto &one) { return one.first; }) ==
        options.flags.end())
      whole.flags.push_back(flag);
  std::string serialized = serialize(whole);
  Arguments<PJRT_Program> program = library->arguments<PJRT_Program>();
  program->code = bytes.data();
  program->code_size = bytes.size();
  constexpr std::string_view kFormat = "mlir";
  program->format = kFormat.data();
  program->format_size = kFormat.size();
  auto args = library->arguments<PJRT_Client_Compile_Args>();
  args->client = handle;
  args->program = &program.args;
  args->compile_options = serialized.data();
  args->compile_options_size = serialized.size();
  if (Status done = library->call(&PJRT_Api::PJRT_Client_Compile, args); !done)
    return done.error();
  if (!args->executable)
    return Plugin::badAnswer("PJRT_Client_Compile", "reported success and returned no executable");
  Executable executable(shared_from_this(), args->executable);
  if (Status done = executable.examine(); !done)
    return done.error();
  size_t expected = static_cast<size_t>(options.replicas * options.partitions);
  if (executable.devices().size() > expected || executable.devices().empty())
    return Plugin::badAnswer("PJRT_LoadedExecutable_AddressableDevices",
                             fmt::format("lists {} devices for {} replicas of {} partitions",
                                         executable.devices().size(), options.replicas,
                                         options.partitions));
  return executable;
}

Status Executable::examine() {
  const auto &library = client->library;
  auto get = library->arguments<PJRT_LoadedExecutable_GetExecutable_Args>();
  get->loaded_executable = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_LoadedExecutable_GetExecutable, get); !done)
    return done;
  PJRT_Executable *executable = get->executable;
  if (!executable)
    return Plugin::badAnswer("PJRT_LoadedExecutable_GetExecutable", "returned no executable");
  // Ours to free, whatever happens below.
  struct Owner {
    Plugin &library;
    PJRT_Executable *executable;
    ~Owner() {
      auto args = library.arguments<PJRT_Executable_Destroy_Args>();
      args->executable = executable;
      (void)library.call(&PJRT_Api::PJRT_Executable_Destroy, args);
    }
  } owner{*library, executable};

  auto outputs = library->arguments<PJRT_Executable_NumOutputs_Args>();
  outputs->executable = executable;
  if (Status done = library->call(&PJRT_Api::PJRT_Executable_NumOutputs, outputs); !done)
    return done;
  if (outputs->num_outputs > kMostHandles)
    return Plugin::badAnswer(
        "PJRT_Executable_NumOutputs",
        fmt::format("answered {} results, which cannot be", outputs->num_outputs));
  information.outputs = outputs->num_outputs;

  auto name = library->arguments<PJRT_Executable_Name_Args>();
  name->executable = executable;
  if (library->call(&PJRT_Api::PJRT_Executable_Name, name))
    if (auto text = checkedString("PJRT_Executable_Name", name->executable_name,
                                  name->executable_name_size))
      information.name = *text;
  auto fingerprint = library->arguments<PJRT_Executable_Fingerprint_Args>();
  fingerprint->executable = executable;
  if (library->call(&PJRT_Api::PJRT_Executable_Fingerprint, fingerprint))
    if (auto text =
            checkedString("PJRT_Executable_Fingerprint", fingerprint->executable_fingerprint,
                          fingerprint->executable_fingerprint_size))
      information.fingerprint = *text;
  auto replicas = library->arguments<PJRT_Executable_NumReplicas_Args>();
  replicas->executable = executable;
  if (library->call(&PJRT_Api::PJRT_Executable_NumReplicas, replicas))
    information.replicas = replicas->num_replicas;
  auto partitions = library->arguments<PJRT_Executable_NumPartitions_Args>();
  partitions->executable = executable;
  if (library->call(&PJRT_Api::PJRT_Executable_NumPartitions, partitions))
    information.partitions = partitions->num_partitions;
  auto code = library->arguments<PJRT_Executable_SizeOfGeneratedCodeInBytes_Args>();
  code->executable = executable;
  if (library->call(&PJRT_Api::PJRT_Executable_SizeOfGeneratedCodeInBytes, code) &&
      code->size_in_bytes >= 0)
    information.codeBytes = code->size_in_bytes;
  // Others compute something for it; ours has it at hand.
  auto cost = library->arguments<PJRT_Executable_GetCostAnalysis_Args>();
  cost->executable = executable;
  if (client->platformName() == "cupel" &&
      library->call(&PJRT_Api::PJRT_Executable_GetCostAnalysis, cost))
    for (size_t i = 0; i < std::min<size_t>(cost->num_properties, kMostHandles); ++i)
      if (const PJRT_NamedValue &one = cost->properties[i]; one.type == PJRT_NamedValue_kString) {
        auto key = checkedString("PJRT_Executable_GetCostAnalysis", one.name, one.name_size);
        auto value =
            checkedString("PJRT_Executable_GetCostAnalysis", one.string_value, one.value_size);
        if (key && value)
          information.notes[*key] = *value;
      }

  auto devices = library->arguments<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices->executable = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_LoadedExecutable_AddressableDevices, devices);
      !done)
    return done;
  auto handles =
      checkedHandles("PJRT_LoadedExecutable_AddressableDevices", devices->addressable_devices,
                     devices->num_addressable_devices, "devices");
  if (!handles)
    return handles.error();
  deviceHandles.assign(handles->begin(), handles->end());
  return {};
}

Result<std::vector<std::vector<Buffer>>>
Executable::execute(std::span<const std::vector<const Buffer *>> arguments, Deadline deadline) {
  constexpr std::string_view kCall = "PJRT_LoadedExecutable_Execute";
  const auto &library = client->library;
  size_t numDevices = deviceHandles.size(), numOutputs = information.outputs;
  size_t numArgs = arguments.empty() ? 0 : arguments.front().size();
  if (arguments.size() != numDevices)
    return Error{ErrorCode::Host, fmt::format("arguments for {} devices, but the program runs on {}",
                               arguments.size(), numDevices)};

  std::vector<std::vector<PJRT_Buffer *>> argumentHandles(numDevices);
  std::vector<PJRT_Buffer *const *> argumentLists(numDevices);
  // Room behind the results shows whether the plugin writes more than it announced.
  constexpr size_t kGuard = 64;
  std::vector<std::vector<PJRT_Buffer *>> outputs(
      numDevices, std::vector<PJRT_Buffer *>(numOutputs + kGuard, nullptr));
  std::vector<PJRT_Buffer **> outputLists(numDevices);
  std::vector<PJRT_Event *> events(numDevices, nullptr);
  for (size_t d = 0; d < numDevices; ++d) {
    if (arguments[d].size() != numArgs)
      return Error{ErrorCode::Host, "devices with different numbers of arguments"};
    for (const Buffer *buffer : arguments[d])
      argumentHandles[d].push_back(buffer->get());
    argumentLists[d] = argumentHandles[d].data();
    outputLists[d] = outputs[d].data();
  }
  std::vector<int64_t> kept(numArgs); // Nothing is donated: arguments are used again.
  for (size_t i = 0; i < numArgs; ++i)
    kept[i] = static_cast<int64_t>(i);

  Arguments<PJRT_ExecuteOptions> options = library->arguments<PJRT_ExecuteOptions>();
  options->non_donatable_input_indices = kept.data();
  options->num_non_donatable_input_indices = kept.size();
  auto args = library->arguments<PJRT_LoadedExecutable_Execute_Args>();
  args->executable = handle;
  args->options = &options.args;
  args->argument_lists = argumentLists.data();
  args->num_devices = numDevices;
  args->num_args = numArgs;
  args->output_lists = outputLists.data();
  args->device_complete_events = events.data();
  Status called = library->call(&PJRT_Api::PJRT_LoadedExecutable_Execute, args);

  // From here on everything that was handed out is ours to free, whatever else went wrong.
  std::vector<std::vector<Buffer>> results(numDevices);
  std::vector<Event> complete;
  std::optional<Error> failure;
  if (!called)
    failure = called.error();
  for (size_t d = 0; d < numDevices; ++d) {
    complete.emplace_back(library, events[d], std::string(kCall));
    for (size_t i = 0; i < outputs[d].size(); ++i) {
      PJRT_Buffer *buffer = outputs[d][i];
      if (i >= numOutputs) {
        if (buffer && !failure)
          failure = Plugin::badAnswer(
              kCall, fmt::format("wrote result {} although the program has {}", i, numOutputs));
      } else if (buffer) {
        results[d].emplace_back(client, buffer);
      } else if (!failure) {
        failure = Plugin::badAnswer(kCall, fmt::format("result {} on device {} is null", i, d));
      }
    }
  }
  // A result is what we wait for. Many hosts leave a callback with the event of every run, so that
  // a plugin which looks whether it is waited for cannot learn it from that. What went wrong is
  // told by the event.
  if (called && !failure && numOutputs > 0)
    if (Status ready = results[0][0].waitUntilReady(deadline);
        !ready && ready.error().code == ErrorCode::NoAnswer)
      return ready.error();
  // An event that is null says that the plugin waited itself.
  for (size_t d = 0; d < numDevices && (!failure || called); ++d)
    if (Status done = complete[d].wait(deadline); !done && !failure)
      failure = done.error();
  if (failure)
    return *failure;
  return results;
}
