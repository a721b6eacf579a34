#include "cupel/pjrt/host/Client.h"

#include "cupel/pjrt/host/Checked.h"

#include <algorithm>
#include <set>

using namespace cupel;
using namespace cupel::pjrt;

Result<std::shared_ptr<Client>> Client::create(std::shared_ptr<Plugin> plugin,
                                               const std::vector<NamedValue> &options) {
  std::vector<NamedValue> own; // Of the client; the others are its compiler's.
  CompileOptions flags;
  for (NamedValue option : options) {
    if (!option.name.starts_with(kCompilePrefix)) {
      own.push_back(std::move(option));
      continue;
    }
    option.name.erase(0, kCompilePrefix.size());
    if (Status added = addFlag(flags, option); !added)
      return added.error();
  }
  std::vector<PJRT_NamedValue> values = toPjrt(own);
  auto args = plugin->arguments<PJRT_Client_Create_Args>();
  args->create_options = values.empty() ? nullptr : values.data();
  args->num_options = values.size();
  if (Status created = plugin->call(&PJRT_Api::PJRT_Client_Create, args); !created)
    return created.error();
  if (!args->client)
    return Plugin::badAnswer("PJRT_Client_Create", "reported success and returned no client");
  std::shared_ptr<Client> client(new Client());
  client->library = std::move(plugin);
  client->handle = args->client;
  client->compileFlags = std::move(flags.flags);
  if (Status examined = client->examine(); !examined)
    return examined.error();
  return client;
}

Client::~Client() {
  if (!handle || library->isGivenUp())
    return;
  auto args = library->arguments<PJRT_Client_Destroy_Args>();
  args->client = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Client_Destroy, args); !done)
    library->complain(done.message());
}

Status Client::examine() {
  {
    auto args = library->arguments<PJRT_Client_PlatformName_Args>();
    args->client = handle;
    if (Status done = library->call(&PJRT_Api::PJRT_Client_PlatformName, args); !done)
      return done;
    auto text =
        checkedString("PJRT_Client_PlatformName", args->platform_name, args->platform_name_size);
    if (!text)
      return text.error();
    platform = *text;
  }
  {
    auto args = library->arguments<PJRT_Client_PlatformVersion_Args>();
    args->client = handle;
    Status done = library->call(&PJRT_Api::PJRT_Client_PlatformVersion, args);
    if (!done && !isUnimplemented(done.error()))
      return done;
    auto text = checkedString("PJRT_Client_PlatformVersion", args->platform_version,
                              args->platform_version_size);
    if (!text)
      return text.error();
    version = *text;
  }
  if (Status done = examineMemories(); !done)
    return done;

  auto all = library->arguments<PJRT_Client_Devices_Args>();
  all->client = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Client_Devices, all); !done)
    return done;
  auto handles = checkedHandles("PJRT_Client_Devices", all->devices, all->num_devices, "devices");
  if (!handles)
    return handles.error();
  auto usable = library->arguments<PJRT_Client_AddressableDevices_Args>();
  usable->client = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Client_AddressableDevices, usable); !done)
    return done;
  auto usableHandles = checkedHandles("PJRT_Client_AddressableDevices", usable->addressable_devices,
                                      usable->num_addressable_devices, "devices");
  if (!usableHandles)
    return usableHandles.error();

  std::set<PJRT_Device *> addressable(usableHandles->begin(), usableHandles->end());
  std::set<int> ids;
  for (PJRT_Device *device : *handles) {
    Result<Device> examined = examineDevice(device);
    if (!examined)
      return examined.error();
    examined->isAddressable = addressable.erase(device) > 0;
    if (!ids.insert(examined->id).second)
      return Plugin::badAnswer("PJRT_DeviceDescription_Id",
                               fmt::format("two devices have the id {}", examined->id));
    deviceList.push_back(std::move(*examined));
  }
  if (!addressable.empty())
    return Plugin::badAnswer("PJRT_Client_AddressableDevices",
                             fmt::format("{} of its {} devices are not among PJRT_Client_Devices",
                                         addressable.size(), usableHandles->size()));
  return {};
}

Status Client::examineMemories() {
  auto args = library->arguments<PJRT_Client_AddressableMemories_Args>();
  args->client = handle;
  if (Status done = library->call(&PJRT_Api::PJRT_Client_AddressableMemories, args); !done) {
    if (isUnimplemented(done.error()))
      return {};
    return done;
  }
  auto handles = checkedHandles("PJRT_Client_AddressableMemories", args->addressable_memories,
                                args->num_addressable_memories, "memories");
  if (!handles)
    return handles.error();
  for (PJRT_Memory *memory : *handles) {
    MemorySpace space{memory, 0, "", ""};
    auto id = library->arguments<PJRT_Memory_Id_Args>();
    id->memory = memory;
    if (Status done = library->call(&PJRT_Api::PJRT_Memory_Id, id); !done)
      return done;
    space.id = id->id;
    auto kind = library->arguments<PJRT_Memory_Kind_Args>();
    kind->memory = memory;
    if (Status done = library->call(&PJRT_Api::PJRT_Memory_Kind, kind); !done)
      return done;
    auto kindText = checkedString("PJRT_Memory_Kind", kind->kind, kind->kind_size);
    if (!kindText)
      return kindText.error();
    space.kind = *kindText;
    auto text = library->arguments<PJRT_Memory_DebugString_Args>();
    text->memory = memory;
    if (library->call(&PJRT_Api::PJRT_Memory_DebugString, text))
      if (auto checked =
              checkedString("PJRT_Memory_DebugString", text->debug_string, text->debug_string_size))
        space.description = *checked;
    memoryList.push_back(std::move(space));
  }
  return {};
}

Result<Device> Client::examineDevice(PJRT_Device *device) const {
  Device result;
  result.handle = device;
  auto description = library->arguments<PJRT_Device_GetDescription_Args>();
  description->device = device;
  if (Status done = library->call(&PJRT_Api::PJRT_Device_GetDescription, description); !done)
    return done.error();
  PJRT_DeviceDescription *described = description->device_description;
  if (!described)
    return Plugin::badAnswer("PJRT_Device_GetDescription", "returned no description");

  auto id = library->arguments<PJRT_DeviceDescription_Id_Args>();
  id->device_description = described;
  if (Status done = library->call(&PJRT_Api::PJRT_DeviceDescription_Id, id); !done)
    return done.error();
  result.id = id->id;

  auto kind = library->arguments<PJRT_DeviceDescription_Kind_Args>();
  kind->device_description = described;
  if (Status done = library->call(&PJRT_Api::PJRT_DeviceDescription_Kind, kind); !done)
    return done.error();
  auto kindText =
      checkedString("PJRT_DeviceDescription_Kind", kind->device_kind, kind->device_kind_size);
  if (!kindText)
    return kindText.error();
  result.kind = *kindText;

  // What follows is good to know; a plugin without it can be worked with.
  auto text = library->arguments<PJRT_DeviceDescription_DebugString_Args>();
  text->device_description = described;
  if (library->call(&PJRT_Api::PJRT_DeviceDescription_DebugString, text))
    if (auto checked = checkedString("PJRT_DeviceDescription_DebugString", text->debug_string,
                                     text->debug_string_size))
      result.description = *checked;
  auto process = library->arguments<PJRT_DeviceDescription_ProcessIndex_Args>();
  process->device_description = described;
  if (library->call(&PJRT_Api::PJRT_DeviceDescription_ProcessIndex, process))
    result.processIndex = process->process_index;
  auto hardware = library->arguments<PJRT_Device_LocalHardwareId_Args>();
  hardware->device = device;
  if (library->call(&PJRT_Api::PJRT_Device_LocalHardwareId, hardware))
    result.localHardwareId = hardware->local_hardware_id;

  auto attributes = library->arguments<PJRT_DeviceDescription_Attributes_Args>();
  attributes->device_description = described;
  if (library->call(&PJRT_Api::PJRT_DeviceDescription_Attributes, attributes)) {
    auto values = fromPjrt(attributes->attributes, attributes->num_attributes,
                           "PJRT_DeviceDescription_Attributes");
    if (!values)
      return values.error();
    result.attributes = std::move(*values);
  }

  if (memoryList.empty())
    return result;
  auto findMemory = [&](PJRT_Memory *memory) {
    return std::ranges::find(memoryList, memory, &MemorySpace::handle);
  };
  auto memories = library->arguments<PJRT_Device_AddressableMemories_Args>();
  memories->device = device;
  if (library->call(&PJRT_Api::PJRT_Device_AddressableMemories, memories)) {
    auto handles = checkedHandles("PJRT_Device_AddressableMemories", memories->memories,
                                  memories->num_memories, "memories");
    if (!handles)
      return handles.error();
    for (PJRT_Memory *memory : *handles)
      if (auto found = findMemory(memory); found != memoryList.end())
        result.memoryIds.push_back(found->id);
  }
  auto preferred = library->arguments<PJRT_Device_DefaultMemory_Args>();
  preferred->device = device;
  if (library->call(&PJRT_Api::PJRT_Device_DefaultMemory, preferred) &&
      findMemory(preferred->memory) != memoryList.end())
    result.defaultMemory = preferred->memory;
  return result;
}

std::vector<const Device *> Client::addressableDevices() const {
  std::vector<const Device *> result;
  for (const Device &device : deviceList)
    if (device.isAddressable)
      result.push_back(&device);
  return result;
}

const Device *Client::findDevice(int64_t id) const {
  auto found = std::ranges::find(deviceList, id, [](const Device &d) { return int64_t(d.id); });
  return found == deviceList.end() ? nullptr : &*found;
}
