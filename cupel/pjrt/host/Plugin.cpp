#include "cupel/pjrt/host/Plugin.h"

#include "cupel/support/MissingLibrary.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>

using namespace cupel;
using namespace cupel::pjrt;

static Error loadError(const std::string &path, const std::string &message) {
  return Error(ErrorCode::PluginNotLoadable, path + ": " + message);
}

Result<std::shared_ptr<Plugin>> Plugin::load(const std::string &path) {
  Result<std::shared_ptr<Plugin>> plugin = open(path);
  if (plugin)
    if (Status initialized = (*plugin)->initialize(); !initialized)
      return initialized.error();
  return plugin;
}

Result<std::shared_ptr<Plugin>> Plugin::open(const std::string &path) {
  // One table a library and process: initialising twice is an error in some plugins.
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Plugin>> loaded;
  std::lock_guard lock(mutex);

  std::error_code error;
  std::string absolute = std::filesystem::weakly_canonical(path, error).string();
  if (error || absolute.empty())
    absolute = path;
  if (auto found = loaded.find(absolute); found != loaded.end())
    return found->second;
  if (!std::filesystem::exists(absolute, error))
    return loadError(path, "no such file");
  if (std::filesystem::is_directory(absolute, error))
    return loadError(path, "is a folder; name the plugin's .so file");

  // RTLD_LOCAL keeps its LLVM and protobuf apart from everybody else's; RTLD_NOW finds missing
  // symbols here and not in the middle of a test.
  void *library = dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *given = dlerror();
    std::string reason = given ? given : "no reason given", hint = missingPackage(reason);
    if (hint.empty() && reason.find("cannot open shared object file") != std::string::npos)
      hint = " (is LD_LIBRARY_PATH set for the libraries it needs?)";
    return loadError(path, fmt::format("cannot be loaded: {}{}", reason, hint));
  }
  dlerror();
  void *symbol = dlsym(library, "GetPjrtApi");
  if (!symbol)
    return loadError(path, "exports no GetPjrtApi, so it is not a PJRT plugin");

  std::shared_ptr<Plugin> plugin(new Plugin());
  plugin->file = absolute;
  plugin->table = reinterpret_cast<PJRT_GetApiFunction>(symbol)();
  if (Status read = plugin->readTable(); !read)
    return read.error();
  loaded[absolute] = plugin;
  return plugin;
}

Status Plugin::readTable() {
  if (!table)
    return loadError(file, "GetPjrtApi returned null");
  // Everything up to the version must be there before the version can be read.
  size_t smallest = offsetof(PJRT_Api, PJRT_Error_Destroy);
  if (table->struct_size < smallest)
    return loadError(file, fmt::format("its table says it is {} bytes long; even the version "
                                         "ends at {}",
                                         table->struct_size, smallest));
  if (table->struct_size > (1 << 20))
    return loadError(file, fmt::format("its table says it is {} bytes long, which cannot be",
                                         table->struct_size));
  major = table->pjrt_api_version.major_version;
  minor = table->pjrt_api_version.minor_version;
  if (major != PJRT_API_MAJOR)
    return loadError(file, fmt::format("it speaks PJRT {}.{}; Cupel speaks {}.{} to {}.x", major,
                                         minor, PJRT_API_MAJOR, kOldestMinor, PJRT_API_MAJOR));
  if (minor < kOldestMinor)
    return loadError(file, fmt::format("it speaks PJRT {}.{}, whose functions stand in another "
                                         "order; Cupel needs {}.{} or newer",
                                         major, minor, PJRT_API_MAJOR, kOldestMinor));
  size_t needed = offsetof(PJRT_Api, PJRT_Buffer_ToHostBuffer) + sizeof(void *);
  if (table->struct_size < needed)
    return loadError(file, fmt::format("its table ends at byte {}, before functions that every "
                                         "host needs (the last of them ends at {})",
                                         table->struct_size, needed));

  // A list that bites its tail must not hang us.
  constexpr size_t kMostExtensions = 256;
  for (const PJRT_Extension_Base *extension = table->extension_start; extension;
       extension = extension->next) {
    if (extensionList.size() == kMostExtensions) {
      complain(fmt::format("its list of extensions has more than {} members", kMostExtensions));
      break;
    }
    int type = 0;
    std::memcpy(&type, &extension->type, sizeof(type));
    extensionList.push_back({type, extension->struct_size, std::string(extensionTypeName(type))});
  }
  return {};
}

Status Plugin::initialize() {
  std::lock_guard lock(initializing);
  if (isInitialized)
    return {};
  if (has(&PJRT_Api::PJRT_Plugin_Initialize)) {
    auto args = arguments<PJRT_Plugin_Initialize_Args>();
    if (Status done = call(&PJRT_Api::PJRT_Plugin_Initialize, args); !done)
      return done.error();
  }
  isInitialized = true;
  if (!has(&PJRT_Api::PJRT_Plugin_Attributes))
    return {};
  auto args = arguments<PJRT_Plugin_Attributes_Args>();
  if (Status done = call(&PJRT_Api::PJRT_Plugin_Attributes, args); !done) {
    if (done.error().code == ErrorCode::Unsupported)
      return {};
    return done.error();
  }
  Result<std::vector<NamedValue>> values =
      fromPjrt(args->attributes, args->num_attributes, "PJRT_Plugin_Attributes");
  if (!values)
    return values.error();
  attributeList = std::move(*values);
  return {};
}

std::optional<std::vector<int64_t>> Plugin::stablehloVersion() const {
  for (const NamedValue &value : attributeList)
    if (value.name == "stablehlo_current_version")
      if (auto *list = std::get_if<std::vector<int64_t>>(&value.value); list && list->size() == 3)
        return *list;
  return std::nullopt;
}

Error Plugin::takeError(PJRT_Error *error, std::string_view callName) const {
  int code = PJRT_Error_Code_UNKNOWN;
  std::string text;
  // These three are called directly: an error while reading an error must not recurse.
  if (auto *getCode = findFunction(table, &PJRT_Api::PJRT_Error_GetCode)) {
    auto args = arguments<PJRT_Error_GetCode_Args>();
    args->error = error;
    if (PJRT_Error *second = getCode(&args.args)) {
      if (auto *destroy = findFunction(table, &PJRT_Api::PJRT_Error_Destroy);
          destroy && second != error) {
        auto destroyArgs = arguments<PJRT_Error_Destroy_Args>();
        destroyArgs->error = second;
        destroy(&destroyArgs.args);
      }
    } else {
      std::memcpy(&code, &args->code, sizeof(code));
    }
  }
  if (auto *message = findFunction(table, &PJRT_Api::PJRT_Error_Message)) {
    auto args = arguments<PJRT_Error_Message_Args>();
    args->error = error;
    message(&args.args);
    constexpr size_t kLongestMessage = 1 << 20;
    if (args->message && args->message_size > 0)
      text.assign(args->message, std::min(args->message_size, kLongestMessage));
  }
  if (text.empty())
    text = "(the plugin gave no message)";
  if (code <= PJRT_Error_Code_OK || code > PJRT_Error_Code_UNAUTHENTICATED)
    text += fmt::format(" (error code {} does not exist)", code);
  if (auto *destroy = findFunction(table, &PJRT_Api::PJRT_Error_Destroy)) {
    auto args = arguments<PJRT_Error_Destroy_Args>();
    args->error = error;
    destroy(&args.args);
  }
  return callError(errorCodeOf(code), callName, text);
}

Error Plugin::missing(std::string_view callName) const {
  return callError(
      ErrorCode::FunctionMissing, callName,
      fmt::format("the plugin (PJRT {}.{}, table of {} bytes) does not have this function", major,
                  minor, tableSize()));
}

std::span<const std::string_view> Plugin::usedFunctions() {
  static constexpr std::string_view kUsed[] = {
      "PJRT_Error_Destroy",
      "PJRT_Error_Message",
      "PJRT_Error_GetCode",
      "PJRT_Plugin_Initialize",
      "PJRT_Plugin_Attributes",
      "PJRT_Event_Destroy",
      "PJRT_Event_IsReady",
      "PJRT_Event_Error",
      "PJRT_Event_Await",
      "PJRT_Event_OnReady",
      "PJRT_Client_Create",
      "PJRT_Client_Destroy",
      "PJRT_Client_PlatformName",
      "PJRT_Client_PlatformVersion",
      "PJRT_Client_Devices",
      "PJRT_Client_AddressableDevices",
      "PJRT_Client_AddressableMemories",
      "PJRT_Client_Compile",
      "PJRT_Client_BufferFromHostBuffer",
      "PJRT_DeviceDescription_Id",
      "PJRT_DeviceDescription_ProcessIndex",
      "PJRT_DeviceDescription_Attributes",
      "PJRT_DeviceDescription_Kind",
      "PJRT_DeviceDescription_DebugString",
      "PJRT_Device_GetDescription",
      "PJRT_Device_LocalHardwareId",
      "PJRT_Device_AddressableMemories",
      "PJRT_Device_DefaultMemory",
      "PJRT_Memory_Id",
      "PJRT_Memory_Kind",
      "PJRT_Memory_DebugString",
      "PJRT_Executable_Destroy",
      "PJRT_Executable_Name",
      "PJRT_Executable_NumReplicas",
      "PJRT_Executable_NumPartitions",
      "PJRT_Executable_NumOutputs",
      "PJRT_Executable_SizeOfGeneratedCodeInBytes",
      "PJRT_LoadedExecutable_Destroy",
      "PJRT_LoadedExecutable_GetExecutable",
      "PJRT_LoadedExecutable_AddressableDevices",
      "PJRT_LoadedExecutable_Execute",
      "PJRT_Buffer_Destroy",
      "PJRT_Buffer_ElementType",
      "PJRT_Buffer_Dimensions",
      "PJRT_Buffer_GetMemoryLayout",
      "PJRT_Buffer_ToHostBuffer",
      "PJRT_Buffer_IsOnCpu",
      "PJRT_Buffer_ReadyEvent",
      "PJRT_Buffer_IncreaseExternalReferenceCount",
      "PJRT_Buffer_DecreaseExternalReferenceCount",
      "PJRT_Buffer_OpaqueDeviceMemoryDataPointer",
      "PJRT_Executable_Fingerprint",
      "PJRT_Executable_GetCostAnalysis",
  };
  return kUsed;
}

std::vector<std::string> Plugin::missingFunctions() const {
  std::vector<std::string> result;
  for (const Entry &entry : entries())
    if (std::ranges::find(usedFunctions(), entry.name) != usedFunctions().end() &&
        !hasEntry(table, entry.offset))
      result.emplace_back(entry.name);
  return result;
}

void Plugin::complain(std::string text) {
  std::lock_guard lock(mutex);
  if (complaintList.size() < 100)
    complaintList.push_back(std::move(text));
}

std::vector<std::string> Plugin::complaints() const {
  std::lock_guard lock(mutex);
  return complaintList;
}
