// Devices, their descriptions and their memory spaces.

#pragma once

#include "cupel/pjrt/plugin/NamedValues.h"
#include "cupel/pjrt/plugin/Pool.h"
#include "cupel/pjrt/plugin/Worker.h"
#include "cupel/runtime/Architecture.h"

#include <array>

namespace cupel::pjrt {

enum class MemoryKind : int { Device, PinnedHost, UnpinnedHost };
inline constexpr std::array<std::string_view, 3> kMemoryKinds = {"device", "pinned_host",
                                                                 "unpinned_host"};
/// Nothing for a name that is none; an empty name is the device's own memory.
std::optional<MemoryKind> parseMemoryKind(std::string_view name);

class DeviceDescription : public HandleBase {
public:
  DeviceDescription(const runtime::Architecture &architecture, int id);

  const int id;
  std::string kind, text, debugText;
  NamedValues attributes;
};

/// Must begin with the word that PJRT_Memory begins with.
class MemorySpace : public PJRT_Memory {
public:
  MemorySpace(Device &device, MemoryKind kind, int id);

  Device &device;
  PJRT_Device *deviceHandle;
  const MemoryKind kind;
  const int id;
  std::string text, debugText;
  std::shared_ptr<Pool> pool;
};

class Device : public HandleBase {
public:
  Device(Client &client, const runtime::Architecture &architecture, int id, int64_t memoryLimit);

  MemorySpace &memory(MemoryKind kind) { return *memories[static_cast<int>(kind)]; }

  Client &client;
  DeviceDescription description;
  std::array<std::unique_ptr<MemorySpace>, kMemoryKinds.size()> memories;
  std::array<PJRT_Memory *, kMemoryKinds.size()> memoryHandles;
  Worker worker;
};

} // namespace cupel::pjrt
