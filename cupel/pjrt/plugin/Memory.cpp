#include "cupel/pjrt/plugin/Device.h"

namespace cupel::pjrt {

std::optional<MemoryKind> parseMemoryKind(std::string_view name) {
  if (name.empty())
    return MemoryKind::Device;
  for (size_t i = 0; i < kMemoryKinds.size(); ++i)
    if (kMemoryKinds[i] == name)
      return static_cast<MemoryKind>(i);
  return std::nullopt;
}

MemorySpace::MemorySpace(Device &device, MemoryKind kind, int id)
    : PJRT_Memory{nullptr}, device(device), deviceHandle(handle<PJRT_Device>(&device)), kind(kind),
      id(id), text(std::string(kMemoryKinds[static_cast<int>(kind)]) +
                   " memory of cupel:" + std::to_string(device.description.id)),
      debugText("MemorySpace " + std::to_string(id) + ": " + text) {}

namespace {

PJRT_Error *id(PJRT_Memory_Id_Args *args) {
  args->id = object(args->memory).id;
  return nullptr;
}

PJRT_Error *kind(PJRT_Memory_Kind_Args *args) {
  std::string_view name = kMemoryKinds[static_cast<int>(object(args->memory).kind)];
  args->kind = name.data();
  args->kind_size = name.size();
  return nullptr;
}

PJRT_Error *kindId(PJRT_Memory_Kind_Id_Args *args) {
  args->kind_id = static_cast<int>(object(args->memory).kind);
  return nullptr;
}

PJRT_Error *debugString(PJRT_Memory_DebugString_Args *args) {
  const std::string &text = object(args->memory).debugText;
  args->debug_string = text.data();
  args->debug_string_size = text.size();
  return nullptr;
}

PJRT_Error *toString(PJRT_Memory_ToString_Args *args) {
  const std::string &text = object(args->memory).text;
  args->to_string = text.data();
  args->to_string_size = text.size();
  return nullptr;
}

PJRT_Error *addressableByDevices(PJRT_Memory_AddressableByDevices_Args *args) {
  args->devices = &object(args->memory).deviceHandle;
  args->num_devices = 1;
  return nullptr;
}

} // namespace

void bindMemories(PJRT_Api &api) {
  bind<id>(api.PJRT_Memory_Id);
  bind<kind>(api.PJRT_Memory_Kind);
  bind<kindId>(api.PJRT_Memory_Kind_Id);
  bind<debugString>(api.PJRT_Memory_DebugString);
  bind<toString>(api.PJRT_Memory_ToString);
  bind<addressableByDevices>(api.PJRT_Memory_AddressableByDevices);
}

} // namespace cupel::pjrt
