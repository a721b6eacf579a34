#include "cupel/pjrt/plugin/Client.h"

#include "cupel/compiler/Compile.h"
#include "cupel/support/Version.h"

namespace cupel::pjrt {

const std::string &platformVersion() {
  static const std::string &text = *new std::string("cupel " + std::string(version()));
  return text;
}

Client::Client(Layout given) : layout(std::move(given)), topology(layout) {
  for (int64_t i = 0; i < layout.devices; ++i) {
    devices.push_back(std::make_unique<Device>(*this, layout.architecture, static_cast<int>(i),
                                               layout.memoryLimit));
    deviceHandles.push_back(handle<PJRT_Device>(devices.back().get()));
    for (PJRT_Memory *memory : devices.back()->memoryHandles)
      memoryHandles.push_back(memory);
  }
}

Device *Client::find(int64_t id) {
  return id >= 0 && id < static_cast<int64_t>(devices.size()) ? devices[id].get() : nullptr;
}

Status setOption(Options &options, const PJRT_NamedValue &value) {
  std::string_view name(value.name, value.name_size);
  switch (value.type) {
  case PJRT_NamedValue_kString:
    return options.set(name, std::string(value.string_value, value.value_size));
  case PJRT_NamedValue_kInt64:
    return options.set(name, value.int64_value);
  case PJRT_NamedValue_kBool:
    return options.set(name, value.bool_value);
  case PJRT_NamedValue_kFloat:
    return options.set(name, static_cast<double>(value.float_value));
  default:
    return Error{ErrorCode::InvalidArgument,
                 "the option '" + std::string(name) + "' is a list, which no option takes"};
  }
}

Result<Layout> layoutOf(const Options &options) {
  constexpr int64_t kMostDevices = 4096;
  Layout layout;
  layout.source = options.string("arch").value_or("cpu");
  Result<runtime::Architecture> architecture = runtime::findArchitecture(layout.source);
  if (!architecture)
    return architecture.error().as(ErrorCode::InvalidArgument);
  layout.architecture = std::move(*architecture);
  layout.devices = layout.architecture.chips;
  layout.memoryLimit = layout.architecture.dramBytes;
  if (std::optional<int64_t> count = options.integer("num_devices")) {
    int64_t most = layout.architecture.name == "cpu" ? kMostDevices : layout.architecture.chips;
    if (*count < 1 || *count > most)
      return Error{ErrorCode::InvalidArgument, "num_devices is " + std::to_string(*count) + "; " +
                                                   layout.architecture.name + " has 1 to " +
                                                   std::to_string(most)};
    layout.devices = *count;
    if (layout.architecture.name == "cpu") {
      layout.architecture.chips = layout.devices;
      layout.architecture.mesh = {layout.devices};
    }
  }
  layout.memoryLimit = options.integer("memory_limit").value_or(layout.memoryLimit);
  chooseNumerics(options, layout.numerics);
  layout.threads = options.integer("num_threads");
  chooseRewrites(options, layout.rewrites);
  layout.isCopied = choosesCopies(options);
  layout.borrows = options.string("host_memory") == "borrowed";
  layout.exportsTensors = options.boolean("export_tensors").value_or(true);
  layout.exportPath = options.string("export_path").value_or("");
  layout.weightFormats = options.string("experimental_weight_dtype").value_or("");
  layout.backend = options.string("backend").value_or(layout.backend);
  layout.isStrict = options.boolean("strict").value_or(false);
  layout.fusionFiles = options.string("fusion_patterns").value_or("");
  layout.withoutFusions = options.string("without_fusion_patterns").value_or("");
  layout.enablesTrace = options.boolean("enable_trace").value_or(false);
  layout.traceRegion = std::make_shared<runtime::TraceRegion>(
      options.integer("trace_region_size").value_or(runtime::TraceRegion::kDefaultBytes));
  return layout;
}

namespace {

PJRT_Error *create(PJRT_Client_Create_Args *args) {
  Options options(OptionScope::Client);
  for (size_t i = 0; i < args->num_options; ++i) {
    // What jax.distributed adds has no meaning within one process.
    std::string_view name(args->create_options[i].name, args->create_options[i].name_size);
    if (name == "node_id" || name == "num_nodes" || name == "partition_index")
      continue;
    if (Status verdict = setOption(options, args->create_options[i]); !verdict)
      return makeError(verdict.error());
  }
  if (Status verdict = options.readEnvironment(); !verdict)
    return makeError(verdict.error());
  Result<Layout> layout = layoutOf(options);
  if (!layout)
    return makeError(layout.error());
  if (layout->threads)
    compiler::useThreads(static_cast<int>(*layout->threads));
  if (std::optional<std::string> arenas = options.string("arenas"))
    compiler::shareArenas(*arenas == "shared");
  args->client = handle<PJRT_Client>(new Client(std::move(*layout)));
  return nullptr;
}

PJRT_Error *destroy(PJRT_Client_Destroy_Args *args) {
  if (args->client)
    delete &object(args->client);
  return nullptr;
}

PJRT_Error *platformName(PJRT_Client_PlatformName_Args *args) {
  args->platform_name = kPlatformName.data();
  args->platform_name_size = kPlatformName.size();
  return nullptr;
}

PJRT_Error *processIndex(PJRT_Client_ProcessIndex_Args *args) {
  args->process_index = 0;
  return nullptr;
}

PJRT_Error *versionOf(PJRT_Client_PlatformVersion_Args *args) {
  args->platform_version = platformVersion().data();
  args->platform_version_size = platformVersion().size();
  return nullptr;
}

PJRT_Error *devices(PJRT_Client_Devices_Args *args) {
  const auto &handles = object(args->client).deviceHandles;
  args->devices = handles.data();
  args->num_devices = handles.size();
  return nullptr;
}

PJRT_Error *addressableDevices(PJRT_Client_AddressableDevices_Args *args) {
  const auto &handles = object(args->client).deviceHandles;
  args->addressable_devices = handles.data();
  args->num_addressable_devices = handles.size();
  return nullptr;
}

PJRT_Error *lookupDevice(PJRT_Client_LookupDevice_Args *args) {
  Device *device = object(args->client).find(args->id);
  if (!device)
    return invalid("there is no device " + std::to_string(args->id));
  args->device = handle<PJRT_Device>(device);
  return nullptr;
}

PJRT_Error *lookupAddressableDevice(PJRT_Client_LookupAddressableDevice_Args *args) {
  Device *device = object(args->client).find(args->local_hardware_id);
  if (!device)
    return invalid("there is no device " + std::to_string(args->local_hardware_id));
  args->addressable_device = handle<PJRT_Device>(device);
  return nullptr;
}

PJRT_Error *addressableMemories(PJRT_Client_AddressableMemories_Args *args) {
  const auto &handles = object(args->client).memoryHandles;
  args->addressable_memories = handles.data();
  args->num_addressable_memories = handles.size();
  return nullptr;
}

PJRT_Error *topology(PJRT_Client_TopologyDescription_Args *args) {
  args->topology = handle<PJRT_TopologyDescription>(&object(args->client).topology);
  return nullptr;
}

PJRT_Error *defaultAssignment(PJRT_Client_DefaultDeviceAssignment_Args *args) {
  int64_t count = int64_t(args->num_replicas) * args->num_partitions;
  if (args->num_replicas < 1 || args->num_partitions < 1 ||
      count > static_cast<int64_t>(object(args->client).devices.size()))
    return invalid("there are " + std::to_string(object(args->client).devices.size()) +
                   " devices, too few for " + std::to_string(args->num_replicas) + " replicas of " +
                   std::to_string(args->num_partitions) + " partitions");
  if (count > static_cast<int64_t>(args->default_assignment_size))
    return invalid("the array for the assignment is too small");
  for (int64_t i = 0; i < count; ++i)
    args->default_assignment[i] = static_cast<int>(i);
  return nullptr;
}

PJRT_Error *nothing(auto *) { return nullptr; }

} // namespace

void bindClient(PJRT_Api &api) {
  bind<create, offsetof(PJRT_Client_Create_Args, kv_try_get_callback)>(api.PJRT_Client_Create);
  bind<destroy>(api.PJRT_Client_Destroy);
  bind<platformName>(api.PJRT_Client_PlatformName);
  bind<processIndex>(api.PJRT_Client_ProcessIndex);
  bind<versionOf>(api.PJRT_Client_PlatformVersion);
  bind<devices>(api.PJRT_Client_Devices);
  bind<addressableDevices>(api.PJRT_Client_AddressableDevices);
  bind<lookupDevice>(api.PJRT_Client_LookupDevice);
  bind<lookupAddressableDevice>(api.PJRT_Client_LookupAddressableDevice);
  bind<addressableMemories>(api.PJRT_Client_AddressableMemories);
  bind<topology>(api.PJRT_Client_TopologyDescription);
  bind<defaultAssignment>(api.PJRT_Client_DefaultDeviceAssignment);
  // Host memory needs no mapping here, and there is one process only.
  bind<nothing<PJRT_Client_DmaMap_Args>>(api.PJRT_Client_DmaMap);
  bind<nothing<PJRT_Client_DmaUnmap_Args>>(api.PJRT_Client_DmaUnmap);
  bind<nothing<PJRT_Client_UpdateGlobalProcessInfo_Args>>(api.PJRT_Client_UpdateGlobalProcessInfo);
}

} // namespace cupel::pjrt
