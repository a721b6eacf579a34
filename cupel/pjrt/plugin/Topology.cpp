#include "cupel/pjrt/plugin/Client.h"
#include "cupel/support/Text.h"

#include <functional>

namespace cupel::pjrt {

Topology::Topology(Layout given) : layout(std::move(given)) {
  for (int64_t i = 0; i < layout.devices; ++i) {
    descriptions.push_back(
        std::make_unique<DeviceDescription>(layout.architecture, static_cast<int>(i)));
    handles.push_back(handle<PJRT_DeviceDescription>(descriptions.back().get()));
  }
  attributes.add("arch", layout.architecture.name);
  attributes.add("mesh", layout.architecture.mesh);
}

namespace {

/// What a topology is saved as: the name or file of its architecture, the number of devices, their
/// memory and how they accumulate.
std::string saved(const Layout &layout) {
  return "cupel topology 6\n" + layout.source + "\n" + std::to_string(layout.devices) + "\n" +
         std::to_string(layout.memoryLimit) + "\n" +
         (layout.numerics.wideAccumulation ? "f64" : "native") + "\n" +
         (layout.numerics.scatterSkipsWindows ? "windows" : "elements") + "\n" +
         (layout.numerics.programTypes ? "program" : "architecture") + "\n" +
         (layout.numerics.computesWhole ? "whole" : "split") + "\n";
}

PJRT_Error *create(PJRT_TopologyDescription_Create_Args *args) {
  Options options(OptionScope::Client);
  std::string_view name(args->topology_name, args->topology_name_size);
  // "n300-llmbox", "cpu:8" or nothing at all.
  if (size_t colon = name.find(':'); colon != std::string_view::npos) {
    if (Status verdict = options.set("num_devices", std::string(name.substr(colon + 1))); !verdict)
      return makeError(verdict.error());
    name = name.substr(0, colon);
  }
  if (!name.empty())
    if (Status verdict = options.set("arch", std::string(name)); !verdict)
      return makeError(verdict.error());
  for (size_t i = 0; i < args->num_options; ++i)
    if (Status verdict = setOption(options, args->create_options[i]); !verdict)
      return makeError(verdict.error());
  if (Status verdict = options.readEnvironment(); !verdict)
    return makeError(verdict.error());
  Result<Layout> layout = layoutOf(options);
  if (!layout)
    return makeError(layout.error());
  args->topology = handle<PJRT_TopologyDescription>(new Topology(std::move(*layout)));
  return nullptr;
}

PJRT_Error *destroy(PJRT_TopologyDescription_Destroy_Args *args) {
  if (args->topology)
    delete &object(args->topology);
  return nullptr;
}

PJRT_Error *platformName(PJRT_TopologyDescription_PlatformName_Args *args) {
  args->platform_name = kPlatformName.data();
  args->platform_name_size = kPlatformName.size();
  return nullptr;
}

PJRT_Error *versionOf(PJRT_TopologyDescription_PlatformVersion_Args *args) {
  args->platform_version = platformVersion().data();
  args->platform_version_size = platformVersion().size();
  return nullptr;
}

PJRT_Error *descriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args *args) {
  const auto &handles = object(args->topology).handles;
  args->descriptions = handles.data();
  args->num_descriptions = handles.size();
  return nullptr;
}

PJRT_Error *attributes(PJRT_TopologyDescription_Attributes_Args *args) {
  const NamedValues &values = object(args->topology).attributes;
  args->attributes = values.data();
  args->num_attributes = values.size();
  return nullptr;
}

PJRT_Error *serialize(PJRT_TopologyDescription_Serialize_Args *args) {
  auto *bytes = new std::string(saved(object(args->topology).layout));
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_topology = reinterpret_cast<PJRT_SerializedTopology *>(bytes);
  args->serialized_topology_deleter = [](PJRT_SerializedTopology *topology) {
    delete reinterpret_cast<std::string *>(topology);
  };
  return nullptr;
}

PJRT_Error *deserialize(PJRT_TopologyDescription_Deserialize_Args *args) {
  std::string_view text(args->serialized_topology, args->serialized_topology_size);
  std::vector<std::string> lines;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.emplace_back(text.substr(0, end));
  if (lines.size() != 8 || lines[0] != "cupel topology 6")
    return invalid("the bytes are no saved topology of cupel");
  Options options(OptionScope::Client);
  for (auto [name, value] : {std::pair{"arch", lines[1]}, std::pair{"num_devices", lines[2]},
                             std::pair{"memory_limit", lines[3]}, std::pair{"accumulate", lines[4]},
                             std::pair{"scatter", lines[5]}, std::pair{"number_formats", lines[6]},
                             std::pair{"partition", lines[7]}})
    if (Status verdict = options.set(name, value); !verdict)
      return makeError(verdict.error());
  if (Status verdict = options.readEnvironment(); !verdict)
    return makeError(verdict.error());
  Result<Layout> layout = layoutOf(options);
  if (!layout)
    return makeError(layout.error());
  args->topology = handle<PJRT_TopologyDescription>(new Topology(std::move(*layout)));
  return nullptr;
}

PJRT_Error *fingerprint(PJRT_TopologyDescription_Fingerprint_Args *args) {
  // Also of what a descriptor's file says today: programs are compiled for these types.
  const Layout &layout = object(args->topology).layout;
  std::string text = saved(layout);
  for (tensor::DType type : layout.architecture.dtypes)
    text += std::string(tensor::info(type).name) + "\n";
  uint64_t hash = 14695981039346656037u; // FNV-1a: the same in every process.
  for (char c : text)
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  args->fingerprint = hash;
  return nullptr;
}

PJRT_Error *kindIds(PJRT_TopologyDescription_GetMemorySpaceKindIds_Args *args) {
  static constexpr int kIds[] = {0, 1, 2};
  args->memory_space_kind_ids = kIds;
  args->num_memory_space_kind_ids = std::size(kIds);
  return nullptr;
}

} // namespace

void bindTopologies(PJRT_Api &api) {
  bind<create>(api.PJRT_TopologyDescription_Create);
  bind<destroy>(api.PJRT_TopologyDescription_Destroy);
  bind<platformName>(api.PJRT_TopologyDescription_PlatformName);
  bind<versionOf>(api.PJRT_TopologyDescription_PlatformVersion);
  bind<descriptions>(api.PJRT_TopologyDescription_GetDeviceDescriptions);
  bind<attributes>(api.PJRT_TopologyDescription_Attributes);
  bind<serialize>(api.PJRT_TopologyDescription_Serialize);
  bind<deserialize>(api.PJRT_TopologyDescription_Deserialize);
  bind<fingerprint>(api.PJRT_TopologyDescription_Fingerprint);
  bind<kindIds>(api.PJRT_TopologyDescription_GetMemorySpaceKindIds);
}

} // namespace cupel::pjrt
