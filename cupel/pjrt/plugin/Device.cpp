#include "cupel/pjrt/plugin/Device.h"

namespace cupel::pjrt {

DeviceDescription::DeviceDescription(const runtime::Architecture &architecture, int id)
    : id(id), kind(architecture.name), text("CupelDevice(id=" + std::to_string(id) + ")"),
      debugText("cupel:" + std::to_string(id) + " (" + architecture.name + ")") {
  attributes.add("arch", architecture.name);
  attributes.add("coords", architecture.coordinates(id % architecture.chips));
  if (architecture.sramBytes)
    attributes.add("sram_bytes", architecture.sramBytes);
  if (architecture.dramBytes)
    attributes.add("dram_bytes", architecture.dramBytes);
  if (!architecture.tile.empty())
    attributes.add("tile", architecture.tile);
}

Device::Device(Client &client, const runtime::Architecture &architecture, int id,
               int64_t memoryLimit)
    : client(client), description(architecture, id) {
  for (size_t i = 0; i < memories.size(); ++i) {
    auto kind = static_cast<MemoryKind>(i);
    memories[i] = std::make_unique<MemorySpace>(
        *this, kind, id * static_cast<int>(memories.size()) + static_cast<int>(i));
    memories[i]->pool =
        std::make_shared<Pool>(memories[i]->text, kind == MemoryKind::Device ? memoryLimit : 0);
    memoryHandles[i] = handle<PJRT_Memory>(memories[i].get());
  }
}

namespace {

PJRT_Error *descriptionId(PJRT_DeviceDescription_Id_Args *args) {
  args->id = object(args->device_description).id;
  return nullptr;
}

PJRT_Error *processIndex(PJRT_DeviceDescription_ProcessIndex_Args *args) {
  args->process_index = 0;
  return nullptr;
}

PJRT_Error *descriptionAttributes(PJRT_DeviceDescription_Attributes_Args *args) {
  const NamedValues &attributes = object(args->device_description).attributes;
  args->attributes = attributes.data();
  args->num_attributes = attributes.size();
  return nullptr;
}

PJRT_Error *kind(PJRT_DeviceDescription_Kind_Args *args) {
  const std::string &text = object(args->device_description).kind;
  args->device_kind = text.data();
  args->device_kind_size = text.size();
  return nullptr;
}

PJRT_Error *debugString(PJRT_DeviceDescription_DebugString_Args *args) {
  const std::string &text = object(args->device_description).debugText;
  args->debug_string = text.data();
  args->debug_string_size = text.size();
  return nullptr;
}

PJRT_Error *toString(PJRT_DeviceDescription_ToString_Args *args) {
  const std::string &text = object(args->device_description).text;
  args->to_string = text.data();
  args->to_string_size = text.size();
  return nullptr;
}

PJRT_Error *getDescription(PJRT_Device_GetDescription_Args *args) {
  args->device_description = handle<PJRT_DeviceDescription>(&object(args->device).description);
  return nullptr;
}

PJRT_Error *isAddressable(PJRT_Device_IsAddressable_Args *args) {
  args->is_addressable = true;
  return nullptr;
}

PJRT_Error *localHardwareId(PJRT_Device_LocalHardwareId_Args *args) {
  args->local_hardware_id = object(args->device).description.id;
  return nullptr;
}

PJRT_Error *addressableMemories(PJRT_Device_AddressableMemories_Args *args) {
  args->memories = object(args->device).memoryHandles.data();
  args->num_memories = kMemoryKinds.size();
  return nullptr;
}

PJRT_Error *defaultMemory(PJRT_Device_DefaultMemory_Args *args) {
  args->memory = object(args->device).memoryHandles[0];
  return nullptr;
}

PJRT_Error *memoryStats(PJRT_Device_MemoryStats_Args *args) {
  using Args = PJRT_Device_MemoryStats_Args;
  PoolStatistics numbers = object(args->device).memory(MemoryKind::Device).pool->statistics();
  auto set = [&](int64_t Args::*value, bool Args::*isSet, int64_t number, bool known = true) {
    setField(args, value, number);
    setField(args, isSet, known);
  };
  args->bytes_in_use = numbers.inUse;
  set(&Args::peak_bytes_in_use, &Args::peak_bytes_in_use_is_set, numbers.peak);
  set(&Args::num_allocs, &Args::num_allocs_is_set, numbers.allocations);
  set(&Args::largest_alloc_size, &Args::largest_alloc_size_is_set, numbers.largest);
  set(&Args::bytes_limit, &Args::bytes_limit_is_set, numbers.limit, numbers.limit != 0);
  set(&Args::bytes_reserved, &Args::bytes_reserved_is_set, 0, false);
  set(&Args::peak_bytes_reserved, &Args::peak_bytes_reserved_is_set, 0, false);
  set(&Args::bytes_reservable_limit, &Args::bytes_reservable_limit_is_set, 0, false);
  set(&Args::largest_free_block_bytes, &Args::largest_free_block_bytes_is_set,
      numbers.limit - numbers.inUse, numbers.limit != 0);
  set(&Args::pool_bytes, &Args::pool_bytes_is_set, 0, false);
  set(&Args::peak_pool_bytes, &Args::peak_pool_bytes_is_set, 0, false);
  set(&Args::peak_allocated_bytes, &Args::peak_allocated_bytes_is_set, numbers.peak);
  return nullptr;
}

PJRT_Error *clearMemoryStats(PJRT_Device_ClearMemoryStats_Args *args) {
  object(args->device).memory(MemoryKind::Device).pool->clearPeak();
  return nullptr;
}

PJRT_Error *getAttributes(PJRT_Device_GetAttributes_Args *args) {
  const NamedValues &attributes = object(args->device).description.attributes;
  args->attributes = attributes.data();
  args->num_attributes = attributes.size();
  args->device_attributes = nullptr;
  args->attributes_deleter = [](PJRT_Device_Attributes *) {};
  return nullptr;
}

} // namespace

void bindDevices(PJRT_Api &api) {
  bind<descriptionId>(api.PJRT_DeviceDescription_Id);
  bind<processIndex>(api.PJRT_DeviceDescription_ProcessIndex);
  bind<descriptionAttributes>(api.PJRT_DeviceDescription_Attributes);
  bind<kind>(api.PJRT_DeviceDescription_Kind);
  bind<debugString>(api.PJRT_DeviceDescription_DebugString);
  bind<toString>(api.PJRT_DeviceDescription_ToString);
  bind<getDescription>(api.PJRT_Device_GetDescription);
  bind<isAddressable>(api.PJRT_Device_IsAddressable);
  bind<localHardwareId>(api.PJRT_Device_LocalHardwareId);
  bind<addressableMemories>(api.PJRT_Device_AddressableMemories);
  bind<defaultMemory>(api.PJRT_Device_DefaultMemory);
  bind<memoryStats, offsetof(PJRT_Device_MemoryStats_Args, peak_bytes_in_use)>(
      api.PJRT_Device_MemoryStats);
  bind<clearMemoryStats>(api.PJRT_Device_ClearMemoryStats);
  bind<getAttributes>(api.PJRT_Device_GetAttributes);
}

} // namespace cupel::pjrt
