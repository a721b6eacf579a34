// The objects behind the plugin's PJRT handles, and the way between a handle and its object. Every
// object begins with a word that stays null: newer hosts read the first word of some handles.

#pragma once

#include "cupel/pjrt/Structs.h"
#include "cupel/support/Error.h"

#include <memory>
#include <new>
#include <string>

namespace cupel::pjrt {

class Buffer;
class Client;
class Device;
class DeviceDescription;
class Event;
class ExecutableHandle;
class LoadedExecutable;
class MemorySpace;
class Topology;
class TransferManager;

template <typename Handle> struct ObjectOf;
template <> struct ObjectOf<PJRT_Buffer> {
  using type = Buffer;
};
template <> struct ObjectOf<PJRT_Client> {
  using type = Client;
};
template <> struct ObjectOf<PJRT_Device> {
  using type = Device;
};
template <> struct ObjectOf<PJRT_DeviceDescription> {
  using type = DeviceDescription;
};
template <> struct ObjectOf<PJRT_Event> {
  using type = Event;
};
template <> struct ObjectOf<PJRT_Executable> {
  using type = ExecutableHandle;
};
template <> struct ObjectOf<PJRT_LoadedExecutable> {
  using type = LoadedExecutable;
};
template <> struct ObjectOf<PJRT_Memory> {
  using type = MemorySpace;
};
template <> struct ObjectOf<PJRT_TopologyDescription> {
  using type = Topology;
};
template <> struct ObjectOf<PJRT_AsyncHostToDeviceTransferManager> {
  using type = TransferManager;
};

template <typename Handle> using Object = typename ObjectOf<std::remove_const_t<Handle>>::type;

/// The object of a handle, which must not be null.
template <typename Handle> Object<Handle> &object(Handle *handle) {
  return *reinterpret_cast<Object<Handle> *>(const_cast<std::remove_const_t<Handle> *>(handle));
}
template <typename Handle> Handle *handle(Object<Handle> *object) {
  return reinterpret_cast<Handle *>(object);
}

/// Base of all objects that hosts hold handles of.
struct HandleBase {
  void *reserved = nullptr;
};

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// A new error that the host destroys.
PJRT_Error *makeError(ErrorCode code, std::string message);
inline PJRT_Error *makeError(const Error &error) { return makeError(error.code, error.message); }
inline PJRT_Error *invalid(std::string message) {
  return makeError(ErrorCode::InvalidArgument, std::move(message));
}
/// The answer of what is not there.
PJRT_Error *missing(const char *name);
PJRT_Error *tooSmall(size_t given, size_t least);

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

/// Puts a function into its slot, behind a check that the caller's struct has all that the function
/// reads and writes without asking: as much as ours, or `least` bytes where the struct has grown
/// and the function looks at the newer fields with care. Nothing thrown gets out.
template <auto function, size_t least = 0, typename Args> void bind(PJRT_Error *(*&slot)(Args *)) {
  slot = [](Args *args) -> PJRT_Error * {
    constexpr size_t needed = least ? least : structSize<Args>;
    if (!args || args->struct_size < needed)
      return tooSmall(args ? args->struct_size : 0, needed);
    try {
      return function(args);
    } catch (const std::bad_alloc &) {
      return makeError(ErrorCode::OutOfMemory, "the host is out of memory");
    }
  };
}

// Each object binds its own entries.
void bindErrors(PJRT_Api &api);
void bindEvents(PJRT_Api &api);
void bindClient(PJRT_Api &api);
void bindDevices(PJRT_Api &api);
void bindMemories(PJRT_Api &api);
void bindBuffers(PJRT_Api &api);
void bindBufferTransfers(PJRT_Api &api);
void bindTransfers(PJRT_Api &api);
void bindExecutables(PJRT_Api &api);
void bindTopologies(PJRT_Api &api);

} // namespace cupel::pjrt
