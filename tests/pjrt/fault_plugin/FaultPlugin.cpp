// A PJRT plugin that misbehaves on demand. Without a fault it is a small correct plugin whose
// programs return their arguments; the environment variable CUPEL_FAULT (or the client option
// `fault`) names what to do wrong. Tests of the host and of cupel-device load it.

#include "cupel/pjrt/Structs.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cupel::pjrt;

namespace {

std::string clientFault; ///< From the client's options; wins over the environment.

/// `later-FAULT`: only after the program by which Cupel tells a healthy device.
constexpr std::string_view kLater = "later-";

std::string_view askedFault() {
  if (!clientFault.empty())
    return clientFault;
  const char *asked = std::getenv("CUPEL_FAULT");
  return asked ? asked : "";
}

/// Whether this is the fault that was asked for.
bool faulty(std::string_view name) {
  std::string_view asked = askedFault();
  if (asked.starts_with(kLater))
    asked.remove_prefix(kLater.size());
  return asked == name;
}

/// By the signal also where a sanitizer would rather tell about it.
__attribute__((no_sanitize("undefined", "address"))) void crash() {
  std::signal(SIGSEGV, SIG_DFL);
  *static_cast<volatile int *>(nullptr) = 1;
}

struct FakeError {
  PJRT_Error base{};
  PJRT_Error_Code code = PJRT_Error_Code_INTERNAL;
  std::string message;
};
PJRT_Error *makeError(PJRT_Error_Code code, std::string message) {
  return reinterpret_cast<PJRT_Error *>(new FakeError{{}, code, std::move(message)});
}
PJRT_Error *unimplemented(const char *name) {
  return makeError(PJRT_Error_Code_UNIMPLEMENTED, std::string(name) + " is not implemented");
}
const FakeError *errorOf(const PJRT_Error *error) {
  return reinterpret_cast<const FakeError *>(error);
}

struct FakeEvent {
  std::string error; ///< Empty: success.
  bool never = false, twice = false;
  int delayMs = 0;
};
PJRT_Event *makeEvent(FakeEvent event = {}) {
  return reinterpret_cast<PJRT_Event *>(new FakeEvent(std::move(event)));
}
FakeEvent *eventOf(PJRT_Event *event) { return reinterpret_cast<FakeEvent *>(event); }
PJRT_Error *errorOfEvent(const FakeEvent &event) {
  return event.error.empty() ? nullptr : makeError(PJRT_Error_Code_INTERNAL, event.error);
}

struct FakeDevice {
  void *reserved = nullptr;
  int id = 0;
};
struct FakeMemory {
  PJRT_Memory base{};
  int id = 0;
};
struct FakeClient {
  FakeDevice devices[2] = {{nullptr, 0}, {nullptr, 1}};
  FakeDevice stranger{nullptr, 77};
  FakeMemory memories[2] = {{{}, 0}, {{}, 1}};
  PJRT_Device *deviceList[2], *strangerList[1];
  PJRT_Memory *memoryList[2];
  FakeClient() {
    for (int i = 0; i < 2; ++i) {
      deviceList[i] = reinterpret_cast<PJRT_Device *>(&devices[i]);
      memoryList[i] = &memories[i].base;
    }
    strangerList[0] = reinterpret_cast<PJRT_Device *>(&stranger);
  }
};
FakeClient *clientOf(PJRT_Client *client) { return reinterpret_cast<FakeClient *>(client); }
// Devices do not know their client; there is one at a time.
FakeClient *currentClient = nullptr;

struct FakeBuffer {
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
  int references = 0; ///< Of hosts that read it in place.
};
FakeBuffer *bufferOf(PJRT_Buffer *buffer) { return reinterpret_cast<FakeBuffer *>(buffer); }

size_t elementBytes(PJRT_Buffer_Type type) {
  switch (type) {
  case PJRT_Buffer_Type_S16:
  case PJRT_Buffer_Type_U16:
  case PJRT_Buffer_Type_F16:
  case PJRT_Buffer_Type_BF16:
    return 2;
  case PJRT_Buffer_Type_S32:
  case PJRT_Buffer_Type_U32:
  case PJRT_Buffer_Type_F32:
    return 4;
  case PJRT_Buffer_Type_S64:
  case PJRT_Buffer_Type_U64:
  case PJRT_Buffer_Type_F64:
  case PJRT_Buffer_Type_C64:
    return 8;
  case PJRT_Buffer_Type_C128:
    return 16;
  default:
    return 1;
  }
}

/// The program "echo N" (N results, one each from the arguments); anything else has one result.
struct FakeExecutable {
  size_t outputs = 1, devices = 1;
};
FakeExecutable *executableOf(PJRT_LoadedExecutable *executable) {
  return reinterpret_cast<FakeExecutable *>(executable);
}

// --- Errors, events, the plugin ------------------------------------------------------------------

void destroyError(PJRT_Error_Destroy_Args *args) { delete errorOf(args->error); }
void errorMessage(PJRT_Error_Message_Args *args) {
  if (faulty("error-without-message")) {
    args->message = nullptr;
    args->message_size = 12;
    return;
  }
  args->message = errorOf(args->error)->message.c_str();
  args->message_size = errorOf(args->error)->message.size();
}
PJRT_Error *errorCode(PJRT_Error_GetCode_Args *args) {
  if (faulty("error-without-code"))
    return unimplemented("PJRT_Error_GetCode");
  args->code = errorOf(args->error)->code;
  if (faulty("error-code-unknown")) {
    int code = 4711;
    std::memcpy(&args->code, &code, sizeof(code));
  }
  return nullptr;
}

PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *) {
  if (faulty("noise"))
    std::puts("a plugin that prints where it likes");
  if (faulty("initialize-error"))
    return makeError(PJRT_Error_Code_FAILED_PRECONDITION, "no driver");
  return nullptr;
}
PJRT_Error *pluginAttributes(PJRT_Plugin_Attributes_Args *args) {
  static int64_t version[] = {1, 13, 0};
  static PJRT_NamedValue value = [] {
    auto named = makeStruct<PJRT_NamedValue>();
    named.name = "stablehlo_current_version";
    named.name_size = 25;
    named.type = PJRT_NamedValue_kInt64List;
    named.int64_array_value = version;
    named.value_size = 3;
    return named;
  }();
  args->attributes = faulty("attributes-null") ? nullptr : &value;
  args->num_attributes = 1;
  if (faulty("attribute-type")) {
    static PJRT_NamedValue bad = value;
    int type = 99;
    std::memcpy(&bad.type, &type, sizeof(type));
    args->attributes = &bad;
  }
  return nullptr;
}

PJRT_Error *destroyEvent(PJRT_Event_Destroy_Args *args) {
  delete eventOf(args->event);
  return nullptr;
}
PJRT_Error *isReady(PJRT_Event_IsReady_Args *args) {
  args->is_ready = !eventOf(args->event)->never;
  return nullptr;
}
PJRT_Error *eventError(PJRT_Event_Error_Args *args) { return errorOfEvent(*eventOf(args->event)); }
PJRT_Error *await(PJRT_Event_Await_Args *args) {
  while (eventOf(args->event)->never)
    ::sleep(1);
  return errorOfEvent(*eventOf(args->event));
}
PJRT_Error *onReady(PJRT_Event_OnReady_Args *args) {
  FakeEvent event = *eventOf(args->event);
  if (event.never)
    return nullptr;
  auto fire = [event, callback = args->callback, argument = args->user_arg] {
    std::this_thread::sleep_for(std::chrono::milliseconds(event.delayMs));
    callback(errorOfEvent(event), argument);
    if (event.twice)
      callback(nullptr, argument);
  };
  if (event.delayMs)
    std::thread(fire).detach();
  else
    fire();
  return nullptr;
}

// --- Client and devices -----------------------------------------------------------------------

PJRT_Error *createClient(PJRT_Client_Create_Args *args) {
  clientFault.clear();
  for (size_t i = 0; i < args->num_options; ++i) {
    const PJRT_NamedValue &value = args->create_options[i];
    if (std::string_view(value.name, value.name_size) != "fault")
      return makeError(PJRT_Error_Code_INVALID_ARGUMENT,
                       "unknown option " + std::string(value.name, value.name_size));
    clientFault.assign(value.string_value, value.value_size);
  }
  if (faulty("client-error"))
    return makeError(PJRT_Error_Code_UNAVAILABLE, "the device is\nin use by process 1");
  if (faulty("client-null"))
    return nullptr;
  if (faulty("client-crash"))
    crash();
  currentClient = new FakeClient;
  args->client = reinterpret_cast<PJRT_Client *>(currentClient);
  return nullptr;
}
PJRT_Error *destroyClient(PJRT_Client_Destroy_Args *args) {
  if (faulty("destroy-crash"))
    std::abort();
  delete clientOf(args->client);
  return nullptr;
}
PJRT_Error *platformName(PJRT_Client_PlatformName_Args *args) {
  args->platform_name = faulty("platform-null") ? nullptr : "fault";
  args->platform_name_size = 5;
  return nullptr;
}
PJRT_Error *platformVersion(PJRT_Client_PlatformVersion_Args *args) {
  args->platform_version = "1";
  args->platform_version_size = 1;
  return nullptr;
}
PJRT_Error *devices(PJRT_Client_Devices_Args *args) {
  args->devices = clientOf(args->client)->deviceList;
  args->num_devices = 2;
  if (faulty("no-devices"))
    args->num_devices = 0;
  if (faulty("devices-null"))
    args->devices = nullptr;
  if (faulty("devices-too-many"))
    args->num_devices = SIZE_MAX / 16;
  if (faulty("device-null"))
    clientOf(args->client)->deviceList[1] = nullptr;
  if (faulty("device-ids-equal"))
    clientOf(args->client)->devices[1].id = 0;
  return nullptr;
}
PJRT_Error *addressableDevices(PJRT_Client_AddressableDevices_Args *args) {
  args->addressable_devices = clientOf(args->client)->deviceList;
  args->num_addressable_devices = faulty("no-devices") ? 0 : 2;
  if (faulty("device-stranger")) {
    args->addressable_devices = clientOf(args->client)->strangerList;
    args->num_addressable_devices = 1;
  }
  return nullptr;
}
PJRT_Error *clientMemories(PJRT_Client_AddressableMemories_Args *args) {
  args->addressable_memories = clientOf(args->client)->memoryList;
  args->num_addressable_memories = 2;
  return nullptr;
}
PJRT_Error *description(PJRT_Device_GetDescription_Args *args) {
  if (!faulty("description-null"))
    args->device_description = reinterpret_cast<PJRT_DeviceDescription *>(args->device);
  return nullptr;
}
PJRT_Error *deviceId(PJRT_DeviceDescription_Id_Args *args) {
  args->id = reinterpret_cast<FakeDevice *>(args->device_description)->id;
  return nullptr;
}
PJRT_Error *deviceKind(PJRT_DeviceDescription_Kind_Args *args) {
  args->device_kind = "fault device";
  args->device_kind_size = 12;
  return nullptr;
}
PJRT_Error *deviceMemories(PJRT_Device_AddressableMemories_Args *args) {
  args->memories = &currentClient->memoryList[reinterpret_cast<FakeDevice *>(args->device)->id];
  args->num_memories = 1;
  return nullptr;
}
PJRT_Error *defaultMemory(PJRT_Device_DefaultMemory_Args *args) {
  args->memory = currentClient->memoryList[reinterpret_cast<FakeDevice *>(args->device)->id];
  return nullptr;
}
PJRT_Error *memoryId(PJRT_Memory_Id_Args *args) {
  args->id = reinterpret_cast<FakeMemory *>(args->memory)->id;
  return nullptr;
}
PJRT_Error *memoryKind(PJRT_Memory_Kind_Args *args) {
  args->kind = "device";
  args->kind_size = 6;
  return nullptr;
}

// --- Compilation and execution ----------------------------------------------------------------

PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  if (faulty("compile-error"))
    return makeError(PJRT_Error_Code_INVALID_ARGUMENT, "op 'x.y' is not supported");
  if (faulty("error-without-message") || faulty("error-without-code") ||
      faulty("error-code-unknown"))
    return makeError(PJRT_Error_Code_RESOURCE_EXHAUSTED, "too large");
  if (faulty("compile-null"))
    return nullptr;
  if (faulty("compile-crash"))
    crash();
  if (faulty("compile-abort")) {
    std::fputs("assertion failed: the compiler is broken\n", stderr);
    std::abort();
  }
  if (faulty("compile-exit"))
    std::exit(3);
  while (faulty("compile-hang"))
    ::sleep(1);
  if (faulty("compile-grow")) {
    std::vector<std::unique_ptr<char[]>> kept;
    while (kept.size() < 4096) {
      kept.push_back(std::make_unique<char[]>(1 << 20));
      std::memset(kept.back().get(), 1, 1 << 20);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  auto *executable = new FakeExecutable;
  std::string code(args->program->code, args->program->code_size);
  std::sscanf(code.c_str(), "echo %zu on %zu", &executable->outputs, &executable->devices);
  args->executable = reinterpret_cast<PJRT_LoadedExecutable *>(executable);
  return nullptr;
}
PJRT_Error *destroyLoaded(PJRT_LoadedExecutable_Destroy_Args *args) {
  delete executableOf(args->executable);
  return nullptr;
}
PJRT_Error *getExecutable(PJRT_LoadedExecutable_GetExecutable_Args *args) {
  if (!faulty("executable-null"))
    args->executable = reinterpret_cast<PJRT_Executable *>(
        new FakeExecutable(*executableOf(args->loaded_executable)));
  return nullptr;
}
PJRT_Error *destroyExecutable(PJRT_Executable_Destroy_Args *args) {
  delete reinterpret_cast<FakeExecutable *>(args->executable);
  return nullptr;
}
PJRT_Error *numOutputs(PJRT_Executable_NumOutputs_Args *args) {
  args->num_outputs = reinterpret_cast<FakeExecutable *>(args->executable)->outputs;
  if (faulty("outputs-too-many"))
    args->num_outputs = SIZE_MAX / 8;
  if (faulty("outputs-more"))
    args->num_outputs += 1;
  return nullptr;
}
PJRT_Error *executableDevices(PJRT_LoadedExecutable_AddressableDevices_Args *args) {
  args->addressable_devices = currentClient->deviceList;
  args->num_addressable_devices = executableOf(args->executable)->devices;
  if (faulty("executable-no-devices"))
    args->num_addressable_devices = 0;
  return nullptr;
}
/// Where the arguments are those of Cupel's known-good program, a * b + b, its result.
FakeBuffer *resultOfHealthCheck(const PJRT_LoadedExecutable_Execute_Args *args) {
  static constexpr float kFirst[] = {1, 2, -3, 0}, kSecond[] = {0.5f, 4, 2, 7};
  static constexpr float kResult[] = {1, 12, -4, 7};
  if (args->num_args != 2 || args->num_devices != 1)
    return nullptr;
  const float *wanted[] = {kFirst, kSecond};
  for (size_t i = 0; i < 2; ++i) {
    const FakeBuffer &given = *bufferOf(args->argument_lists[0][i]);
    if (given.bytes.size() != sizeof(kFirst) ||
        std::memcmp(given.bytes.data(), wanted[i], sizeof(kFirst)) != 0)
      return nullptr;
  }
  auto *result = new FakeBuffer(*bufferOf(args->argument_lists[0][0]));
  std::memcpy(result->bytes.data(), kResult, sizeof(kResult));
  return result;
}

PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  if (askedFault().starts_with(kLater))
    if (FakeBuffer *healthy = resultOfHealthCheck(args)) {
      args->output_lists[0][0] = reinterpret_cast<PJRT_Buffer *>(healthy);
      if (args->device_complete_events)
        args->device_complete_events[0] = makeEvent();
      return nullptr;
    }
  if (faulty("execute-error"))
    return makeError(PJRT_Error_Code_RESOURCE_EXHAUSTED, "out of device memory: 1 GiB asked");
  if (faulty("execute-crash"))
    crash();
  while (faulty("execute-hang"))
    ::sleep(1);
  FakeExecutable &executable = *executableOf(args->executable);
  for (size_t d = 0; d < args->num_devices; ++d) {
    for (size_t i = 0; i < executable.outputs; ++i) {
      FakeBuffer result{PJRT_Buffer_Type_F32, {}, std::vector<char>(4)};
      if (i < args->num_args)
        result = *bufferOf(args->argument_lists[d][i]);
      if (faulty("result-wrong") && !result.bytes.empty())
        result.bytes[elementBytes(result.type) - 1] ^= 0x40;
      args->output_lists[d][i] = reinterpret_cast<PJRT_Buffer *>(new FakeBuffer(result));
    }
    if (faulty("result-null"))
      args->output_lists[d][0] = nullptr;
    if (faulty("results-overrun"))
      args->output_lists[d][executable.outputs + 1] =
          reinterpret_cast<PJRT_Buffer *>(new FakeBuffer);
    if (args->device_complete_events) {
      FakeEvent event;
      event.never = faulty("event-never");
      event.twice = faulty("event-twice");
      event.delayMs = faulty("event-late") ? 50 : 0;
      if (faulty("event-error"))
        event.error = "the kernel failed";
      args->device_complete_events[d] = faulty("event-null") ? nullptr : makeEvent(event);
    }
  }
  return nullptr;
}

// --- Buffers ----------------------------------------------------------------------------------

PJRT_Error *fromHost(PJRT_Client_BufferFromHostBuffer_Args *args) {
  if (faulty("transfer-error"))
    return makeError(PJRT_Error_Code_RESOURCE_EXHAUSTED, "no room on the device");
  auto *buffer = new FakeBuffer{args->type, {args->dims, args->dims + args->num_dims}, {}};
  size_t count = elementBytes(args->type);
  for (int64_t size : buffer->dims)
    count *= static_cast<size_t>(size);
  const char *data = static_cast<const char *>(args->data);
  // Writes to what it may only read, and may read for long.
  if (faulty("spoils-lent") && count && args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy)
    *static_cast<char *>(const_cast<void *>(args->data)) ^= 1;
  buffer->bytes.assign(data, data + count);
  if (faulty("spare-bits") &&
      (args->type == PJRT_Buffer_Type_S4 || args->type == PJRT_Buffer_Type_U4))
    for (char &byte : buffer->bytes)
      byte = static_cast<char>((byte & 0x0f) | 0x50);
  args->buffer =
      faulty("buffer-null") ? (delete buffer, nullptr) : reinterpret_cast<PJRT_Buffer *>(buffer);
  args->done_with_host_buffer = makeEvent();
  return nullptr;
}
/// Whether hosts may read buffers where they are: no fault, but what a foreign plugin may have.
bool isLending() {
  return faulty("lends") || faulty("lends-columns") || faulty("lends-nothing") ||
         faulty("lends-no-address");
}
PJRT_Error *isOnCpu(PJRT_Buffer_IsOnCpu_Args *args) {
  args->is_on_cpu = isLending();
  return nullptr;
}
PJRT_Error *increase(PJRT_Buffer_IncreaseExternalReferenceCount_Args *args) {
  if (faulty("lends-nothing"))
    return unimplemented("PJRT_Buffer_IncreaseExternalReferenceCount");
  ++bufferOf(args->buffer)->references;
  return nullptr;
}
PJRT_Error *decrease(PJRT_Buffer_DecreaseExternalReferenceCount_Args *args) {
  if (--bufferOf(args->buffer)->references < 0)
    crash();
  return nullptr;
}
PJRT_Error *address(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *args) {
  if (!bufferOf(args->buffer)->references)
    return makeError(PJRT_Error_Code_FAILED_PRECONDITION, "nobody holds the buffer");
  args->device_memory_ptr =
      faulty("lends-no-address") ? nullptr : bufferOf(args->buffer)->bytes.data();
  return nullptr;
}
PJRT_Error *memoryLayout(PJRT_Buffer_GetMemoryLayout_Args *args) {
  static const int64_t kColumns[] = {0, 1};
  if (!faulty("lends-columns"))
    return unimplemented("PJRT_Buffer_GetMemoryLayout");
  args->layout = makeStruct<PJRT_Buffer_MemoryLayout>();
  args->layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args->layout.tiled = makeStruct<PJRT_Buffer_MemoryLayout_Tiled>();
  args->layout.tiled.minor_to_major = kColumns;
  args->layout.tiled.minor_to_major_size = 2;
  return nullptr;
}
PJRT_Error *destroyBuffer(PJRT_Buffer_Destroy_Args *args) {
  if (bufferOf(args->buffer)->references)
    crash(); // Somebody still reads it.
  delete bufferOf(args->buffer);
  return nullptr;
}
PJRT_Error *elementType(PJRT_Buffer_ElementType_Args *args) {
  args->type = bufferOf(args->buffer)->type;
  int type = faulty("dtype-wrong")     ? PJRT_Buffer_Type_S32
             : faulty("dtype-garbage") ? 123
             : faulty("dtype-s1")      ? PJRT_Buffer_Type_S1
                                       : args->type;
  std::memcpy(&args->type, &type, sizeof(type));
  return nullptr;
}
PJRT_Error *dimensions(PJRT_Buffer_Dimensions_Args *args) {
  static constexpr int64_t kNegative[] = {-3}, kHuge[] = {int64_t(1) << 40, int64_t(1) << 40};
  args->dims = bufferOf(args->buffer)->dims.data();
  args->num_dims = bufferOf(args->buffer)->dims.size();
  if (faulty("dims-negative")) {
    args->dims = kNegative;
    args->num_dims = 1;
  }
  if (faulty("dims-huge")) {
    args->dims = kHuge;
    args->num_dims = 2;
  }
  if (faulty("dims-null")) {
    args->dims = nullptr;
    args->num_dims = 2;
  }
  if (faulty("rank-huge"))
    args->num_dims = SIZE_MAX / 8;
  return nullptr;
}
PJRT_Error *readyEvent(PJRT_Buffer_ReadyEvent_Args *args) {
  FakeEvent event;
  if (faulty("ready-error"))
    event.error = "the result was never computed";
  args->event = faulty("ready-null") ? nullptr : makeEvent(event);
  return nullptr;
}
PJRT_Error *toHost(PJRT_Buffer_ToHostBuffer_Args *args) {
  FakeBuffer &buffer = *bufferOf(args->src);
  size_t size = buffer.bytes.size();
  if (!args->dst) {
    args->dst_size = faulty("size-wrong") ? size + 8 : size;
    return nullptr;
  }
  if (faulty("copy-error"))
    return makeError(PJRT_Error_Code_DATA_LOSS, "parity");
  if (faulty("lends")) // Nobody who can read it where it lies needs a copy.
    return unimplemented("PJRT_Buffer_ToHostBuffer");
  size_t copied = faulty("copy-short") ? size / 2 : size;
  if (copied) // An empty buffer has no bytes to point at.
    std::memcpy(args->dst, buffer.bytes.data(), copied);
  if (faulty("copy-overrun"))
    static_cast<char *>(args->dst)[size + 3] ^= 0x55;
  FakeEvent event;
  event.never = faulty("copy-never");
  args->event = faulty("copy-event-null") ? nullptr : makeEvent(event);
  return nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  static PJRT_Api api;
  api = makeStruct<PJRT_Api>();
  api.pjrt_api_version = makeStruct<PJRT_Api_Version>();
  api.pjrt_api_version.minor_version = 100;
  bindStubs<unimplemented>(api);
  api.PJRT_Error_Destroy = destroyError;
  api.PJRT_Error_Message = errorMessage;
  api.PJRT_Error_GetCode = errorCode;
  api.PJRT_Plugin_Initialize = initialize;
  api.PJRT_Plugin_Attributes = pluginAttributes;
  api.PJRT_Event_Destroy = destroyEvent;
  api.PJRT_Event_IsReady = isReady;
  api.PJRT_Event_Error = eventError;
  api.PJRT_Event_Await = await;
  api.PJRT_Event_OnReady = onReady;
  api.PJRT_Client_Create = createClient;
  api.PJRT_Client_Destroy = destroyClient;
  api.PJRT_Client_PlatformName = platformName;
  api.PJRT_Client_PlatformVersion = platformVersion;
  api.PJRT_Client_Devices = devices;
  api.PJRT_Client_AddressableDevices = addressableDevices;
  api.PJRT_Client_AddressableMemories = clientMemories;
  api.PJRT_Device_GetDescription = description;
  api.PJRT_DeviceDescription_Id = deviceId;
  api.PJRT_DeviceDescription_Kind = deviceKind;
  api.PJRT_Device_AddressableMemories = deviceMemories;
  api.PJRT_Device_DefaultMemory = defaultMemory;
  api.PJRT_Memory_Id = memoryId;
  api.PJRT_Memory_Kind = memoryKind;
  api.PJRT_Client_Compile = compile;
  api.PJRT_LoadedExecutable_Destroy = destroyLoaded;
  api.PJRT_LoadedExecutable_GetExecutable = getExecutable;
  api.PJRT_Executable_Destroy = destroyExecutable;
  api.PJRT_Executable_NumOutputs = numOutputs;
  api.PJRT_LoadedExecutable_AddressableDevices = executableDevices;
  api.PJRT_LoadedExecutable_Execute = execute;
  api.PJRT_Client_BufferFromHostBuffer = fromHost;
  api.PJRT_Buffer_Destroy = destroyBuffer;
  api.PJRT_Buffer_IsOnCpu = isOnCpu;
  api.PJRT_Buffer_IncreaseExternalReferenceCount = increase;
  api.PJRT_Buffer_DecreaseExternalReferenceCount = decrease;
  api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer = address;
  api.PJRT_Buffer_GetMemoryLayout = memoryLayout;
  api.PJRT_Buffer_ElementType = elementType;
  api.PJRT_Buffer_Dimensions = dimensions;
  api.PJRT_Buffer_ReadyEvent = readyEvent;
  api.PJRT_Buffer_ToHostBuffer = toHost;

  static PJRT_Extension_Base extension;
  extension = makeStruct<PJRT_Extension_Base>();
  extension.type = PJRT_Extension_Type_Example;
  api.extension_start = &extension;

  if (faulty("table-null"))
    return nullptr;
  if (faulty("table-tiny"))
    api.struct_size = 16;
  if (faulty("table-huge"))
    api.struct_size = SIZE_MAX;
  if (faulty("table-short"))
    api.struct_size = offsetof(PJRT_Api, PJRT_Client_Compile);
  if (faulty("major-wrong"))
    api.pjrt_api_version.major_version = 7;
  if (faulty("minor-old"))
    api.pjrt_api_version.minor_version = 40;
  if (faulty("minor-new"))
    api.pjrt_api_version.minor_version = 150;
  if (faulty("api-0.57")) { // Its table ends after PJRT_Buffer_CopyRawToHost.
    api.pjrt_api_version.minor_version = 57;
    api.struct_size = 848;
  }
  if (faulty("extension-loop"))
    extension.next = &extension;
  if (faulty("compile-missing"))
    api.PJRT_Client_Compile = nullptr;
  if (faulty("callbacks-missing"))
    api.PJRT_Event_OnReady = nullptr;
  if (faulty("only-await")) {
    api.PJRT_Event_OnReady = nullptr;
    api.PJRT_Event_IsReady = nullptr;
  }
  return &api;
}
