// What tests of the plugin share: its calls, made through the table as a host makes them, with four
// devices of one client. For tests only.
#pragma once

#include "cupel/pjrt/Structs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

extern "C" const PJRT_Api *GetPjrtApi();

namespace cupel::pjrt {

inline const PJRT_Api *api() { return GetPjrtApi(); }

struct Problem {
  int code = 0;
  std::string text;
};

inline Problem take(PJRT_Error *error) {
  if (!error)
    return {};
  auto code = makeStruct<PJRT_Error_GetCode_Args>();
  code.error = error;
  EXPECT_EQ(api()->PJRT_Error_GetCode(&code), nullptr);
  auto message = makeStruct<PJRT_Error_Message_Args>();
  message.error = error;
  api()->PJRT_Error_Message(&message);
  Problem problem{code.code, std::string(message.message, message.message_size)};
  auto destroy = makeStruct<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api()->PJRT_Error_Destroy(&destroy);
  return problem;
}

inline void expectFine(PJRT_Error *error) {
  Problem problem = take(error);
  EXPECT_EQ(problem.code, 0) << problem.text;
}

inline Problem await(PJRT_Event *event) {
  auto args = makeStruct<PJRT_Event_Await_Args>();
  args.event = event;
  Problem problem = take(api()->PJRT_Event_Await(&args));
  auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  expectFine(api()->PJRT_Event_Destroy(&destroy));
  return problem;
}

/// A call on one device that says when it is over; the host need not wait. The event is for whoever made it.
struct Launch {
  Launch(PJRT_LoadedExecutable *executable, const std::vector<PJRT_Buffer *> &arguments,
         const std::vector<int64_t> &keep = {}) {
    auto settings = makeStruct<PJRT_ExecuteOptions>();
    settings.non_donatable_input_indices = keep.data();
    settings.num_non_donatable_input_indices = keep.size();
    PJRT_Buffer *const *inputs = arguments.data();
    PJRT_Buffer **outputs = &result;
    auto args = makeStruct<PJRT_LoadedExecutable_Execute_Args>();
    args.executable = executable;
    args.options = &settings;
    args.argument_lists = &inputs;
    args.num_devices = 1;
    args.num_args = arguments.size();
    args.output_lists = &outputs;
    args.device_complete_events = &event;
    expectFine(api()->PJRT_LoadedExecutable_Execute(&args));
  }
  bool isReady() const {
    auto ready = makeStruct<PJRT_Event_IsReady_Args>();
    ready.event = event;
    expectFine(api()->PJRT_Event_IsReady(&ready));
    return ready.is_ready;
  }
  PJRT_Buffer *result = nullptr;
  PJRT_Event *event = nullptr;
};

class PluginTest : public testing::Test {
protected:
  void SetUp() override { client = makeClient(4); }
  void TearDown() override { destroyClient(client); }

  static PJRT_NamedValue option(const char *name, int64_t value) {
    auto option = makeStruct<PJRT_NamedValue>();
    option.name = name;
    option.name_size = std::strlen(name);
    option.type = PJRT_NamedValue_kInt64;
    option.int64_value = value;
    option.value_size = 1;
    return option;
  }

  static PJRT_Client *makeClient(int64_t devices, int64_t limit = 0) {
    PJRT_NamedValue options[] = {option("num_devices", devices), option("memory_limit", limit)};
    auto args = makeStruct<PJRT_Client_Create_Args>();
    args.create_options = options;
    args.num_options = 2;
    expectFine(api()->PJRT_Client_Create(&args));
    return args.client;
  }
  static void destroyClient(PJRT_Client *client) {
    auto args = makeStruct<PJRT_Client_Destroy_Args>();
    args.client = client;
    expectFine(api()->PJRT_Client_Destroy(&args));
  }

  PJRT_Device *device(int id = 0) {
    auto args = makeStruct<PJRT_Client_LookupDevice_Args>();
    args.client = client;
    args.id = id;
    expectFine(api()->PJRT_Client_LookupDevice(&args));
    return args.device;
  }
  PJRT_Memory *memory(int id = 0) {
    auto args = makeStruct<PJRT_Device_DefaultMemory_Args>();
    args.device = device(id);
    expectFine(api()->PJRT_Device_DefaultMemory(&args));
    return args.memory;
  }

  /// CompileOptionsProto with executable_build_options {num_replicas, num_partitions}.
  static std::string options(int replicas = 1, int partitions = 1) {
    std::string build = {'\x20', static_cast<char>(replicas), '\x28',
                         static_cast<char>(partitions)};
    return std::string("\x1a") + static_cast<char>(build.size()) + build;
  }

  Problem compile(std::string text, PJRT_LoadedExecutable *&executable,
                  const std::string &settings = options(), std::string format = "mlir") {
    auto program = makeStruct<PJRT_Program>();
    program.code = text.data();
    program.code_size = text.size();
    program.format = format.data();
    program.format_size = format.size();
    auto args = makeStruct<PJRT_Client_Compile_Args>();
    args.client = client;
    args.program = &program;
    args.compile_options = settings.data();
    args.compile_options_size = settings.size();
    Problem problem = take(api()->PJRT_Client_Compile(&args));
    executable = args.executable;
    return problem;
  }
  PJRT_LoadedExecutable *compiled(std::string text, const std::string &settings = options()) {
    PJRT_LoadedExecutable *executable = nullptr;
    Problem problem = compile(std::move(text), executable, settings);
    EXPECT_EQ(problem.code, 0) << problem.text;
    return executable;
  }
  static void destroy(PJRT_LoadedExecutable *executable) {
    auto args = makeStruct<PJRT_LoadedExecutable_Destroy_Args>();
    args.executable = executable;
    expectFine(api()->PJRT_LoadedExecutable_Destroy(&args));
  }

  PJRT_Buffer *put(const float *data, std::vector<int64_t> dims, std::vector<int64_t> strides = {},
                   int id = 0) {
    auto args = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client;
    args.data = data;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.byte_strides = strides.empty() ? nullptr : strides.data();
    args.num_byte_strides = strides.size();
    args.memory = memory(id);
    expectFine(api()->PJRT_Client_BufferFromHostBuffer(&args));
    EXPECT_EQ(await(args.done_with_host_buffer).code, 0);
    return args.buffer;
  }
  static void destroy(PJRT_Buffer *buffer) {
    auto args = makeStruct<PJRT_Buffer_Destroy_Args>();
    args.buffer = buffer;
    expectFine(api()->PJRT_Buffer_Destroy(&args));
  }
  static Problem get(PJRT_Buffer *buffer, std::vector<float> &values,
                     std::vector<int64_t> minorToMajor = {}) {
    auto layout = makeStruct<PJRT_Buffer_MemoryLayout>();
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled.minor_to_major = minorToMajor.data();
    layout.tiled.minor_to_major_size = minorToMajor.size();
    auto args = makeStruct<PJRT_Buffer_ToHostBuffer_Args>();
    args.src = buffer;
    args.host_layout = minorToMajor.empty() ? nullptr : &layout;
    if (Problem problem = take(api()->PJRT_Buffer_ToHostBuffer(&args)); problem.code)
      return problem; // Asks for the size.
    values.resize(args.dst_size / sizeof(float));
    float none;
    args.dst = values.empty() ? &none : values.data();
    if (Problem problem = take(api()->PJRT_Buffer_ToHostBuffer(&args)); problem.code)
      return problem;
    return await(args.event);
  }
  static bool isDeleted(PJRT_Buffer *buffer) {
    auto args = makeStruct<PJRT_Buffer_IsDeleted_Args>();
    args.buffer = buffer;
    expectFine(api()->PJRT_Buffer_IsDeleted(&args));
    return args.is_deleted;
  }

  /// One list of arguments and results for each device.
  static Problem execute(PJRT_LoadedExecutable *executable,
                         const std::vector<std::vector<PJRT_Buffer *>> &arguments,
                         std::vector<std::vector<PJRT_Buffer *>> &results,
                         std::vector<int64_t> keep = {}) {
    auto settings = makeStruct<PJRT_ExecuteOptions>();
    settings.non_donatable_input_indices = keep.data();
    settings.num_non_donatable_input_indices = keep.size();
    std::vector<PJRT_Buffer *const *> inputs;
    for (const auto &list : arguments)
      inputs.push_back(list.data());
    std::vector<PJRT_Buffer **> outputs;
    for (auto &list : results)
      outputs.push_back(list.data());
    std::vector<PJRT_Event *> events(arguments.size());
    auto args = makeStruct<PJRT_LoadedExecutable_Execute_Args>();
    args.executable = executable;
    args.options = &settings;
    args.argument_lists = inputs.data();
    args.num_devices = arguments.size();
    args.num_args = arguments[0].size();
    args.output_lists = outputs.data();
    args.device_complete_events = events.data();
    Problem problem = take(api()->PJRT_LoadedExecutable_Execute(&args));
    if (!problem.code)
      for (PJRT_Event *event : events)
        if (Problem late = await(event); late.code && !problem.code)
          problem = late;
    return problem;
  }

  PJRT_Client *client = nullptr;
};

/// Adds two vectors of three; the first may be donated.
inline constexpr const char *kAdd =
    "func.func @main(%a: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<3xf32>) -> "
    "tensor<3xf32> {\n  %0 = stablehlo.add %a, %b : tensor<3xf32>\n  return %0 : tensor<3xf32>\n}";

} // namespace cupel::pjrt
