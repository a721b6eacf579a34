// A PJRT plugin that wraps another one and plants faults: programs are replaced before the plugin
// inside sees them, or results are changed behind it. check_planter.py drives it and counts what
// Cupel catches. Everything else is the inner plugin's: CUPEL_PLANTER_INNER names its file, else it
// is our own beside this one. Options of the client:
//   dump=FOLDER     writes every program that is compiled to FOLDER/KEY.mlirbc
//   programs=FOLDER a program of which FOLDER/KEY.mlir is there is compiled as that instead
//                   where FOLDER/KEY.does is there, what it says happens: compile-fails,
//                   compile-crashes, compile-hangs, execute-fails, execute-crashes, execute-hangs
//   fault=KIND      what to do with results (the table in Faults.cpp)
//   log=FILE        a line `KEY observable` or `KEY hidden` for each execution with a fault: whether
//                   it moved an element by more than a thousandth of the output's largest magnitude
//                   (2^-7 in bf16, 2^-9 in f16), made it NaN, or made another integer of it
// KEY is a hash of the program's bytes. The program by which Cupel tells a healthy device is known
// by its inputs and always computed as it should be.

#include "tests/planter/InnerPlugin.h"
#include "Faults.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

using namespace cupel::pjrt;
using namespace planter;

namespace {

const PJRT_Api *inner = nullptr;
std::string fault, dumpFolder, programFolder, logFile;
std::mutex mutex; ///< Of everything below.

//===----------------------------------------------------------------------===//
// The wrapped entries
//===----------------------------------------------------------------------===//

PJRT_Client *client = nullptr;
/// By executable: the key of its program, and the right one where it was replaced.
std::map<PJRT_LoadedExecutable *, std::string> keys;
std::map<PJRT_LoadedExecutable *, PJRT_LoadedExecutable *> originals;
std::map<PJRT_LoadedExecutable *, History> histories;
/// `aliased`: which output of which executable a buffer is, and which buffer is its newest.
std::map<PJRT_Buffer *, std::pair<PJRT_LoadedExecutable *, size_t>> places;
std::map<std::pair<PJRT_LoadedExecutable *, size_t>, PJRT_Buffer *> newest;

std::string keyOf(const char *code, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ uint8_t(code[i])) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

PJRT_Error *createClient(PJRT_Client_Create_Args *args) {
  std::vector<PJRT_NamedValue> rest;
  for (size_t i = 0; i < args->num_options; ++i) {
    const PJRT_NamedValue &option = args->create_options[i];
    std::string name(option.name, option.name_size);
    std::string *own = name == "fault"      ? &fault
                       : name == "dump"     ? &dumpFolder
                       : name == "log"      ? &logFile
                       : name == "programs" ? &programFolder
                                            : nullptr;
    if (own && option.type == PJRT_NamedValue_kString)
      own->assign(option.string_value, option.value_size);
    else
      rest.push_back(option);
  }
  PJRT_Client_Create_Args given = *args;
  given.create_options = rest.data();
  given.num_options = rest.size();
  PJRT_Error *error = inner->PJRT_Client_Create(&given);
  args->client = client = given.client;
  return error;
}

PJRT_Error *platformName(PJRT_Client_PlatformName_Args *args) {
  args->platform_name = "planter";
  args->platform_name_size = 7;
  return nullptr;
}

/// What FOLDER/KEY.does says that happens here; an error where it is one.
PJRT_Error *actOn(const std::string &key, const std::string &when) {
  std::string what;
  if (programFolder.empty() || !(std::ifstream(programFolder + "/" + key + ".does") >> what))
    return nullptr;
  if (what == when + "-crashes")
    std::abort();
  if (what == when + "-hangs")
    for (;;)
      pause();
  if (what != when + "-fails")
    return nullptr;
  // A program that no compiler takes makes the inner plugin's own error.
  static std::string broken = "func.func @main() { this is no program }";
  static std::string format = "mlir";
  auto program = makeStruct<PJRT_Program>();
  program.code = broken.data();
  program.code_size = broken.size();
  program.format = format.data();
  program.format_size = format.size();
  auto given = makeStruct<PJRT_Client_Compile_Args>();
  given.client = client;
  given.program = &program;
  return inner->PJRT_Client_Compile(&given);
}

PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  std::string key = keyOf(args->program->code, args->program->code_size);
  if (PJRT_Error *error = actOn(key, "compile"))
    return error;
  if (!dumpFolder.empty())
    std::ofstream(dumpFolder + "/" + key + ".mlirbc", std::ios::binary)
        .write(args->program->code, std::streamsize(args->program->code_size));
  std::ifstream file(programFolder + "/" + key + ".mlir", std::ios::binary);
  PJRT_Error *original = inner->PJRT_Client_Compile(args);
  if (original)
    return original;
  std::lock_guard lock(mutex);
  keys[args->executable] = key;
  if (programFolder.empty() || !file)
    return nullptr;
  std::ostringstream text;
  text << file.rdbuf();
  std::string planted = text.str();
  PJRT_Program program = *args->program;
  program.code = planted.data();
  program.code_size = planted.size();
  PJRT_Client_Compile_Args given = *args;
  given.program = &program;
  if (PJRT_Error *error = inner->PJRT_Client_Compile(&given))
    return error;
  originals[given.executable] = args->executable;
  keys[given.executable] = key;
  args->executable = given.executable;
  return nullptr;
}

void tell(PJRT_LoadedExecutable *executable, bool isSeen) {
  if (logFile.empty())
    return;
  std::ofstream(logFile, std::ios::app) << keys[executable] + (isSeen ? " observable\n" : " hidden\n");
}

PJRT_Error *await(PJRT_Event *event) {
  if (!event)
    return nullptr;
  auto wait = makeStruct<PJRT_Event_Await_Args>();
  wait.event = event;
  PJRT_Error *error = inner->PJRT_Event_Await(&wait);
  auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  inner->PJRT_Event_Destroy(&destroy);
  return error;
}

PJRT_Error *read(PJRT_Buffer *buffer, Output &output) {
  auto type = makeStruct<PJRT_Buffer_ElementType_Args>();
  type.buffer = buffer;
  if (PJRT_Error *error = inner->PJRT_Buffer_ElementType(&type))
    return error;
  auto dims = makeStruct<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer;
  if (PJRT_Error *error = inner->PJRT_Buffer_Dimensions(&dims))
    return error;
  output.type = type.type;
  output.dims.assign(dims.dims, dims.dims + dims.num_dims);
  auto copy = makeStruct<PJRT_Buffer_ToHostBuffer_Args>();
  copy.src = buffer;
  if (PJRT_Error *error = inner->PJRT_Buffer_ToHostBuffer(&copy))
    return error;
  output.bytes.resize(copy.dst_size);
  copy.dst = output.bytes.data();
  if (PJRT_Error *error = inner->PJRT_Buffer_ToHostBuffer(&copy))
    return error;
  return await(copy.event);
}

/// Puts a changed output in the place of the buffer.
PJRT_Error *write(PJRT_Buffer *&buffer, const Output &output) {
  auto device = makeStruct<PJRT_Buffer_Device_Args>();
  device.buffer = buffer;
  if (PJRT_Error *error = inner->PJRT_Buffer_Device(&device))
    return error;
  auto make = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
  make.client = client;
  make.data = output.bytes.data();
  make.type = output.type;
  make.dims = output.dims.data();
  make.num_dims = output.dims.size();
  make.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  make.device = device.device;
  if (PJRT_Error *error = inner->PJRT_Client_BufferFromHostBuffer(&make))
    return error;
  if (PJRT_Error *error = await(make.done_with_host_buffer))
    return error;
  auto destroy = makeStruct<PJRT_Buffer_Destroy_Args>();
  destroy.buffer = buffer;
  inner->PJRT_Buffer_Destroy(&destroy);
  buffer = make.buffer;
  return nullptr;
}

/// Whether the arguments are those of Cupel's known-good program.
bool isHealthCheck(const PJRT_LoadedExecutable_Execute_Args *args) {
  static constexpr float kFirst[] = {1, 2, -3, 0};
  if (args->num_args != 2 || args->num_devices != 1)
    return false;
  Output given;
  return !read(args->argument_lists[0][0], given) && given.bytes.size() == sizeof kFirst &&
         std::memcmp(given.bytes.data(), kFirst, sizeof kFirst) == 0;
}

size_t outputCount(PJRT_LoadedExecutable *loaded) {
  auto get = makeStruct<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = loaded;
  if (inner->PJRT_LoadedExecutable_GetExecutable(&get))
    return 0;
  auto count = makeStruct<PJRT_Executable_NumOutputs_Args>();
  count.executable = get.executable;
  if (inner->PJRT_Executable_NumOutputs(&count))
    return 0;
  auto destroy = makeStruct<PJRT_Executable_Destroy_Args>();
  destroy.executable = get.executable;
  inner->PJRT_Executable_Destroy(&destroy);
  return count.num_outputs;
}

/// Runs the right program beside the planted one and tells whether they differ.
PJRT_Error *compareWithOriginal(const PJRT_LoadedExecutable_Execute_Args *args, size_t count) {
  std::vector<std::vector<PJRT_Buffer *>> lists(args->num_devices,
                                                std::vector<PJRT_Buffer *>(count));
  std::vector<PJRT_Buffer **> pointers;
  for (std::vector<PJRT_Buffer *> &list : lists)
    pointers.push_back(list.data());
  PJRT_LoadedExecutable_Execute_Args given = *args;
  given.executable = originals[args->executable];
  given.output_lists = pointers.data();
  given.device_complete_events = nullptr;
  if (PJRT_Error *error = inner->PJRT_LoadedExecutable_Execute(&given))
    return error;
  bool isSeen = false;
  for (size_t d = 0; d < args->num_devices; ++d)
    for (size_t i = 0; i < count; ++i) {
      Output right, planted;
      if (PJRT_Error *error = read(lists[d][i], right))
        return error;
      if (PJRT_Error *error = read(args->output_lists[d][i], planted))
        return error;
      isSeen |= isObservable(right, planted);
      auto destroy = makeStruct<PJRT_Buffer_Destroy_Args>();
      destroy.buffer = lists[d][i];
      inner->PJRT_Buffer_Destroy(&destroy);
    }
  tell(args->executable, isSeen);
  return nullptr;
}

PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  if (auto key = keys.find(args->executable); key != keys.end())
    if (PJRT_Error *error = actOn(key->second, "execute"))
      return error;
  PJRT_Error *error = inner->PJRT_LoadedExecutable_Execute(args);
  if (error || (fault.empty() && programFolder.empty()) || isHealthCheck(args))
    return error;
  std::lock_guard lock(mutex);
  size_t count = outputCount(args->executable);
  if (originals.contains(args->executable))
    return compareWithOriginal(args, count);
  if (fault.empty())
    return nullptr;
  if (fault == "aliased") {
    for (size_t d = 0; d < args->num_devices; ++d)
      for (size_t i = 0; i < count; ++i) {
        auto place = std::pair(args->executable, d * count + i);
        places[args->output_lists[d][i]] = place;
        newest[place] = args->output_lists[d][i];
      }
    tell(args->executable, true);
    return nullptr;
  }
  History &history = histories[args->executable];
  ++history.executions;
  std::vector<Outputs> all(args->num_devices);
  bool isSeen = false;
  for (size_t d = 0; d < args->num_devices; ++d) {
    all[d].resize(count);
    for (size_t i = 0; i < count; ++i)
      if (PJRT_Error *failed = read(args->output_lists[d][i], all[d][i]))
        return failed;
    Outputs changed = all[d];
    Planted planted{changed, history.first.empty() ? nullptr : &history.first[d],
                    history.last.empty() ? nullptr : &history.last[d],
                    d == 0 ? nullptr : &all[d - 1], history};
    if (Fault plant = findFault(fault))
      plant(planted);
    for (size_t i = 0; i < count; ++i)
      if (isSeen |= isObservable(all[d][i], changed[i]); changed[i].bytes != all[d][i].bytes)
        if (PJRT_Error *failed = write(args->output_lists[d][i], changed[i]))
          return failed;
  }
  tell(args->executable, isSeen);
  if (history.first.empty())
    history.first = all;
  history.last = std::move(all);
  return nullptr;
}

/// `aliased`: whoever reads an old output gets what lies in its memory now.
PJRT_Error *toHost(PJRT_Buffer_ToHostBuffer_Args *args) {
  std::lock_guard lock(mutex);
  auto place = places.find(args->src);
  if (place == places.end())
    return inner->PJRT_Buffer_ToHostBuffer(args);
  PJRT_Buffer *asked = args->src;
  args->src = newest[place->second];
  PJRT_Error *error = inner->PJRT_Buffer_ToHostBuffer(args);
  args->src = asked;
  return error;
}

PJRT_Error *destroyBuffer(PJRT_Buffer_Destroy_Args *args) {
  std::lock_guard lock(mutex);
  auto place = places.find(args->buffer);
  if (place != places.end()) {
    if (newest[place->second] == args->buffer)
      newest.erase(place->second);
    places.erase(place);
  }
  return inner->PJRT_Buffer_Destroy(args);
}

PJRT_Error *destroyExecutable(PJRT_LoadedExecutable_Destroy_Args *args) {
  std::lock_guard lock(mutex);
  histories.erase(args->executable);
  keys.erase(args->executable);
  if (auto original = originals.extract(args->executable)) {
    auto destroy = makeStruct<PJRT_LoadedExecutable_Destroy_Args>();
    destroy.executable = original.mapped();
    inner->PJRT_LoadedExecutable_Destroy(&destroy);
  }
  return inner->PJRT_LoadedExecutable_Destroy(args);
}

} // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api *GetPjrtApi() {
  static PJRT_Api api;
  inner = cupel::planter::loadInner(api);
  if (!inner)
    return nullptr;
  api.PJRT_Client_Create = createClient;
  api.PJRT_Client_PlatformName = platformName;
  api.PJRT_Client_Compile = compile;
  api.PJRT_LoadedExecutable_Execute = execute;
  api.PJRT_LoadedExecutable_Destroy = destroyExecutable;
  api.PJRT_Buffer_ToHostBuffer = toHost;
  api.PJRT_Buffer_Destroy = destroyBuffer;
  return &api;
}
