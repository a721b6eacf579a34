// The plugin as a host sees it, through its table alone.

#include "cupel/pjrt/Structs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

extern "C" const PJRT_Api *GetPjrtApi();

namespace cupel::pjrt {
namespace {

const PJRT_Api *api() { return GetPjrtApi(); }

struct Problem {
  int code = 0;
  std::string text;
};

Problem take(PJRT_Error *error) {
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

void expectFine(PJRT_Error *error) {
  Problem problem = take(error);
  EXPECT_EQ(problem.code, 0) << problem.text;
}

Problem await(PJRT_Event *event) {
  auto args = makeStruct<PJRT_Event_Await_Args>();
  args.event = event;
  Problem problem = take(api()->PJRT_Event_Await(&args));
  auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  expectFine(api()->PJRT_Event_Destroy(&destroy));
  return problem;
}

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

constexpr const char *kAdd =
    "func.func @main(%a: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<3xf32>) -> "
    "tensor<3xf32> {\n  %0 = stablehlo.add %a, %b : tensor<3xf32>\n  return %0 : tensor<3xf32>\n}";

//===----------------------------------------------------------------------===//
// The table and the sizes of structs
//===----------------------------------------------------------------------===//

TEST_F(PluginTest, TableIsFull) {
  EXPECT_EQ(api()->struct_size, size_t{PJRT_Api_STRUCT_SIZE});
  EXPECT_EQ(api()->pjrt_api_version.major_version, 0);
  EXPECT_EQ(api()->pjrt_api_version.minor_version, kReportedMinor);
  for (const Entry &entry : entries())
    EXPECT_EQ(hasEntry(api(), entry.offset),
              entry.name != "PJRT_TopologyDescription_MakeCanonicalShapeForMemorySpace")
        << entry.name;
}

TEST_F(PluginTest, MissingCallsSayTheirName) {
  auto args = makeStruct<PJRT_Buffer_DonateWithControlDependency_Args>();
  Problem problem = take(api()->PJRT_Buffer_DonateWithControlDependency(&args));
  EXPECT_EQ(problem.code, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_NE(problem.text.find("PJRT_Buffer_DonateWithControlDependency"), std::string::npos);
}

TEST_F(PluginTest, SmallStructsAreRefusedAndLargeOnesTaken) {
  auto args = makeStruct<PJRT_Client_PlatformName_Args>();
  args.client = client;
  args.struct_size = 24;
  Problem problem = take(api()->PJRT_Client_PlatformName(&args));
  EXPECT_EQ(problem.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(problem.text.find("24 bytes"), std::string::npos) << problem.text;
  args.struct_size = 4096; // A caller from the future.
  expectFine(api()->PJRT_Client_PlatformName(&args));
  EXPECT_EQ(std::string_view(args.platform_name, args.platform_name_size), "cupel");
  EXPECT_EQ(take(api()->PJRT_Client_PlatformName(nullptr)).code, PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(PluginTest, EveryCallRefusesAStructWithoutItsFields) {
  size_t asked = 0;
  for (const Entry &entry : entries()) {
    // Two give nothing back, and one takes nothing.
    if (!hasEntry(api(), entry.offset) || entry.name == "PJRT_Error_Destroy" ||
        entry.name == "PJRT_Error_Message" || entry.name == "PJRT_Plugin_Initialize")
      continue;
    struct Header {
      size_t size = sizeof(Header);
      PJRT_Extension_Base *extension = nullptr;
      char behind[496];
    } header;
    std::memset(header.behind, 0x5a, sizeof header.behind);
    header.size = 16;
    auto call = *reinterpret_cast<PJRT_Error *(*const *)(Header *)>(
        reinterpret_cast<const char *>(api()) + entry.offset);
    EXPECT_NE(take(call(&header)).code, 0) << entry.name;
    for (char byte : header.behind)
      ASSERT_EQ(byte, 0x5a) << entry.name;
    ++asked;
  }
  EXPECT_GT(asked, 100u);
}

/// A struct of an older caller: what lies behind it must stay as it is.
template <typename Args> struct Old {
  Old(size_t size) : size(size) {
    std::memset(&args, 0x5a, sizeof args);
    args.struct_size = size;
    args.extension_start = nullptr;
  }
  bool isUntouched() const {
    const char *bytes = reinterpret_cast<const char *>(&args);
    for (size_t i = size; i < sizeof args; ++i)
      if (bytes[i] != 0x5a)
        return false;
    return true;
  }
  Args args;
  size_t size;
};

TEST_F(PluginTest, OlderCallersGetNoMoreThanTheyKnow) {
  for (size_t size : {offsetof(PJRT_Device_MemoryStats_Args, peak_allocated_bytes),
                      offsetof(PJRT_Device_MemoryStats_Args, bytes_limit)}) {
    Old<PJRT_Device_MemoryStats_Args> stats(size);
    stats.args.device = device();
    expectFine(api()->PJRT_Device_MemoryStats(&stats.args));
    EXPECT_TRUE(stats.isUntouched());
    EXPECT_EQ(stats.args.bytes_in_use, 0);
    EXPECT_TRUE(stats.args.peak_bytes_in_use_is_set);
  }
  PJRT_LoadedExecutable *add = compiled(kAdd);
  auto get = makeStruct<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = add;
  expectFine(api()->PJRT_LoadedExecutable_GetExecutable(&get));
  for (size_t size :
       {offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, peak_memory_in_bytes),
        offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, total_size_in_bytes),
        offsetof(PJRT_Executable_GetCompiledMemoryStats_Args, total_allocation_bytes)}) {
    Old<PJRT_Executable_GetCompiledMemoryStats_Args> stats(size);
    stats.args.executable = get.executable;
    expectFine(api()->PJRT_Executable_GetCompiledMemoryStats(&stats.args));
    EXPECT_TRUE(stats.isUntouched());
    EXPECT_EQ(stats.args.argument_size_in_bytes, 24);
    EXPECT_EQ(stats.args.alias_size_in_bytes, 12);
  }
  auto drop = makeStruct<PJRT_Executable_Destroy_Args>();
  drop.executable = get.executable;
  expectFine(api()->PJRT_Executable_Destroy(&drop));
  destroy(add);
  Old<PJRT_Client_Create_Args> create(offsetof(PJRT_Client_Create_Args, kv_try_get_callback));
  create.args.create_options = nullptr;
  create.args.num_options = 0;
  expectFine(api()->PJRT_Client_Create(&create.args));
  EXPECT_TRUE(create.isUntouched());
  destroyClient(create.args.client);
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

TEST_F(PluginTest, StridesOfEveryKind) {
  const float data[] = {0, 1, 2, 3, 4, 5};
  struct Case {
    std::vector<int64_t> dims, strides;
    int first;
    std::vector<float> expected;
  };
  for (const Case &c :
       {Case{{2, 3}, {}, 0, {0, 1, 2, 3, 4, 5}}, Case{{3, 2}, {4, 12}, 0, {0, 3, 1, 4, 2, 5}},
        Case{{2, 3}, {-12, -4}, 5, {5, 4, 3, 2, 1, 0}}, Case{{2, 2}, {0, 4}, 1, {1, 2, 1, 2}},
        Case{{}, {}, 4, {4}}, Case{{0, 3}, {12, 4}, 0, {}}, Case{{3}, {8}, 0, {0, 2, 4}}}) {
    PJRT_Buffer *buffer = put(data + c.first, c.dims, c.strides);
    std::vector<float> values;
    EXPECT_EQ(get(buffer, values).code, 0);
    EXPECT_EQ(values, c.expected);
    destroy(buffer);
  }
}

TEST_F(PluginTest, EverySemanticsOfTheHostsMemory) {
  for (int semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
       semantics <= PJRT_HostBufferSemantics_kMutableZeroCopy; ++semantics) {
    std::vector<float> data = {1, 2, 3, 4};
    int64_t dims[] = {4}, backwards[] = {-4};
    auto args = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client;
    args.data = data.data() + 3;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims;
    args.num_dims = 1;
    args.byte_strides = backwards;
    args.num_byte_strides = 1;
    args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(semantics);
    args.memory = memory();
    expectFine(api()->PJRT_Client_BufferFromHostBuffer(&args));
    EXPECT_EQ(await(args.done_with_host_buffer).code, 0);
    // From now on the memory is the host's again, whatever was agreed.
    data.assign(4, -1);
    std::vector<float> values;
    EXPECT_EQ(get(args.buffer, values).code, 0);
    EXPECT_EQ(values, (std::vector<float>{4, 3, 2, 1}));
    destroy(args.buffer);
  }
}

TEST_F(PluginTest, HostLayouts) {
  const float data[] = {0, 1, 2, 3, 4, 5};
  PJRT_Buffer *buffer = put(data, {2, 3});
  std::vector<float> values;
  EXPECT_EQ(get(buffer, values, {1, 0}).code, 0);
  EXPECT_EQ(values, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(get(buffer, values, {0, 1}).code, 0);
  EXPECT_EQ(values, (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(get(buffer, values, {0, 0}).code, PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

TEST_F(PluginTest, ExternalReferencesKeepMemory) {
  const float data[] = {7, 8};
  PJRT_Buffer *buffer = put(data, {2});
  auto increase = makeStruct<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  increase.buffer = buffer;
  expectFine(api()->PJRT_Buffer_IncreaseExternalReferenceCount(&increase));
  auto pointer = makeStruct<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  pointer.buffer = buffer;
  expectFine(api()->PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&pointer));
  auto drop = makeStruct<PJRT_Buffer_Delete_Args>();
  drop.buffer = buffer;
  expectFine(api()->PJRT_Buffer_Delete(&drop));
  EXPECT_TRUE(isDeleted(buffer));
  EXPECT_EQ(static_cast<float *>(pointer.device_memory_ptr)[1], 8);
  auto decrease = makeStruct<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  decrease.buffer = buffer;
  expectFine(api()->PJRT_Buffer_DecreaseExternalReferenceCount(&decrease));
  EXPECT_EQ(take(api()->PJRT_Buffer_DecreaseExternalReferenceCount(&decrease)).code,
            PJRT_Error_Code_FAILED_PRECONDITION);
  std::vector<float> values;
  EXPECT_EQ(get(buffer, values).code, PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

//===----------------------------------------------------------------------===//
// Compiling and running
//===----------------------------------------------------------------------===//

TEST_F(PluginTest, CompileErrors) {
  PJRT_LoadedExecutable *executable = nullptr;
  EXPECT_EQ(compile("nonsense", executable).code, PJRT_Error_Code_INVALID_ARGUMENT);
  Problem hlo = compile(kAdd, executable, options(), "hlo");
  EXPECT_EQ(hlo.code, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_NE(hlo.text.find("XLA_STABLEHLO_COMPILE"), std::string::npos);
  EXPECT_EQ(compile(kAdd, executable, "\xff\xff").code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(compile(kAdd, executable, options(1, 9)).code, PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(PluginTest, RunsAndDonates) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  const float ones[] = {1, 1, 1}, twos[] = {2, 2, 2};
  PJRT_Buffer *a = put(ones, {3}), *b = put(twos, {3});
  std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
  EXPECT_EQ(execute(add, {{a, b}}, results, {0}).code, 0);
  EXPECT_FALSE(isDeleted(a)); // Told to keep it.
  destroy(results[0][0]);
  EXPECT_EQ(execute(add, {{a, b}}, results).code, 0);
  EXPECT_TRUE(isDeleted(a));
  EXPECT_FALSE(isDeleted(b));
  std::vector<float> values;
  EXPECT_EQ(get(results[0][0], values).code, 0);
  EXPECT_EQ(values, (std::vector<float>{3, 3, 3}));
  destroy(results[0][0]);
  EXPECT_EQ(execute(add, {{a, b}}, results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(add, {{b, b}}, results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(add, {{b}}, results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  PJRT_Buffer *elsewhere = put(ones, {3}, {}, 2);
  Problem wrong = execute(add, {{elsewhere, b}}, results);
  EXPECT_NE(wrong.text.find("CupelDevice(id=2)"), std::string::npos) << wrong.text;
  for (PJRT_Buffer *buffer : {a, b, elsewhere})
    destroy(buffer);
  destroy(add);
}

TEST_F(PluginTest, WaitsForArgumentsThatAreStillToCome) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  int64_t dims[] = {3};
  auto spec = makeStruct<PJRT_ShapeSpec>();
  spec.dims = dims;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  auto create = makeStruct<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  create.client = client;
  create.shape_specs = &spec;
  create.num_shape_specs = 1;
  create.memory = memory();
  expectFine(api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
  auto retrieve = makeStruct<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
  retrieve.transfer_manager = create.transfer_manager;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));

  const float data[] = {1, 2, 3};
  PJRT_Buffer *b = put(data, {3});
  std::vector<PJRT_Buffer *> inputs = {retrieve.buffer_out, b}, outputs(1);
  PJRT_Buffer *const *inputList = inputs.data();
  PJRT_Buffer **outputList = outputs.data();
  PJRT_Event *event = nullptr;
  auto settings = makeStruct<PJRT_ExecuteOptions>();
  auto run = makeStruct<PJRT_LoadedExecutable_Execute_Args>();
  run.executable = add;
  run.options = &settings;
  run.argument_lists = &inputList;
  run.num_devices = 1;
  run.num_args = 2;
  run.output_lists = &outputList;
  run.device_complete_events = &event;
  expectFine(api()->PJRT_LoadedExecutable_Execute(&run));
  auto ready = makeStruct<PJRT_Event_IsReady_Args>();
  ready.event = event;
  expectFine(api()->PJRT_Event_IsReady(&ready));
  EXPECT_FALSE(ready.is_ready);
  // The host may drop its handles at once.
  destroy(retrieve.buffer_out);
  destroy(b);

  auto transfer = makeStruct<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
  transfer.transfer_manager = create.transfer_manager;
  transfer.data = data;
  transfer.transfer_size = 8;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
  EXPECT_EQ(await(transfer.done_with_h2d_transfer).code, 0);
  transfer.data = data + 2;
  transfer.offset = 8;
  transfer.transfer_size = 8;
  EXPECT_EQ(take(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer)).code,
            PJRT_Error_Code_INVALID_ARGUMENT);
  transfer.transfer_size = 4;
  transfer.is_last_transfer = true;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
  EXPECT_EQ(await(transfer.done_with_h2d_transfer).code, 0);
  EXPECT_EQ(await(event).code, 0);
  std::vector<float> values;
  EXPECT_EQ(get(outputs[0], values).code, 0);
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6}));
  destroy(outputs[0]);
  auto drop = makeStruct<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
  drop.transfer_manager = create.transfer_manager;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_Destroy(&drop));
  destroy(add);
}

TEST_F(PluginTest, FailuresTravelAlong) {
  auto make = makeStruct<PJRT_Client_CreateErrorBuffer_Args>();
  int64_t dims[] = {3};
  make.client = client;
  make.error_code = PJRT_Error_Code_DATA_LOSS;
  make.error_message = "spilt";
  make.error_message_size = 5;
  make.shape_dims = dims;
  make.shape_num_dims = 1;
  make.shape_element_type = PJRT_Buffer_Type_F32;
  make.memory = memory();
  expectFine(api()->PJRT_Client_CreateErrorBuffer(&make));
  PJRT_LoadedExecutable *add = compiled(kAdd);
  const float ones[] = {1, 1, 1};
  PJRT_Buffer *b = put(ones, {3});
  std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
  Problem problem = execute(add, {{make.buffer, b}}, results);
  EXPECT_EQ(problem.code, PJRT_Error_Code_DATA_LOSS);
  EXPECT_EQ(problem.text, "spilt");
  std::vector<float> values;
  EXPECT_EQ(get(results[0][0], values).code, PJRT_Error_Code_DATA_LOSS);
  for (PJRT_Buffer *buffer : {make.buffer, b, results[0][0]})
    destroy(buffer);
  destroy(add);
}

TEST_F(PluginTest, AFailingDeviceReleasesTheOthers) {
  PJRT_LoadedExecutable *program =
      compiled("func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
               "  %c = stablehlo.constant dense<1.0> : tensor<1xf32>\n"
               "  stablehlo.custom_call @check.expect_eq(%x, %c) {has_side_effect = true} : "
               "(tensor<1xf32>, tensor<1xf32>) -> ()\n"
               "  %0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
               "tensor<1x4xi64>}> ({\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %s = stablehlo.add %a, %b : tensor<f32>\n"
               "    stablehlo.return %s : tensor<f32>\n"
               "  }) : (tensor<1xf32>) -> tensor<1xf32>\n"
               "  return %0 : tensor<1xf32>\n}",
               options(4, 1));
  const float one = 1, two = 2;
  for (bool fails : {true, false}) {
    std::vector<std::vector<PJRT_Buffer *>> arguments, results;
    for (int i = 0; i < 4; ++i) {
      arguments.push_back({put(fails && i == 2 ? &two : &one, {1}, {}, i)});
      results.push_back({nullptr});
    }
    Problem problem = execute(program, arguments, results);
    for (int i = 0; i < 4; ++i) {
      std::vector<float> values;
      Problem read = get(results[i][0], values);
      if (fails) {
        EXPECT_EQ(read.code, PJRT_Error_Code_INTERNAL);
        EXPECT_NE(read.text.find("check.expect_eq"), std::string::npos) << read.text;
      } else {
        EXPECT_EQ(values, std::vector<float>{4});
      }
      destroy(arguments[i][0]);
      destroy(results[i][0]);
    }
    EXPECT_EQ(problem.code, fails ? PJRT_Error_Code_INTERNAL : 0);
  }
  destroy(program);
}

TEST_F(PluginTest, CallbacksOutliveTheirEvents) {
  auto create = makeStruct<PJRT_Event_Create_Args>();
  expectFine(api()->PJRT_Event_Create(&create));
  std::atomic<int> calls = 0;
  auto on = makeStruct<PJRT_Event_OnReady_Args>();
  on.event = create.event;
  on.user_arg = &calls;
  on.callback = [](PJRT_Error *error, void *user) {
    take(error);
    ++*static_cast<std::atomic<int> *>(user);
  };
  expectFine(api()->PJRT_Event_OnReady(&on));
  expectFine(api()->PJRT_Event_OnReady(&on));
  EXPECT_EQ(calls, 0);
  auto set = makeStruct<PJRT_Event_Set_Args>();
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "x";
  set.error_message_size = 1;
  expectFine(api()->PJRT_Event_Set(&set));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(take(api()->PJRT_Event_Set(&set)).code, PJRT_Error_Code_FAILED_PRECONDITION);
  expectFine(api()->PJRT_Event_OnReady(&on)); // At once.
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(await(create.event).code, PJRT_Error_Code_ABORTED);
}

TEST_F(PluginTest, ACallbackMayDestroyTheEventThatIsBeingSet) {
  auto create = makeStruct<PJRT_Event_Create_Args>();
  expectFine(api()->PJRT_Event_Create(&create));
  struct Told {
    PJRT_Event *event;
    std::vector<std::string> texts;
  } told{create.event, {}};
  auto on = makeStruct<PJRT_Event_OnReady_Args>();
  on.event = create.event;
  on.user_arg = &told;
  on.callback = [](PJRT_Error *error, void *user) {
    Told &told = *static_cast<Told *>(user);
    told.texts.push_back(take(error).text);
    auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
    destroy.event = std::exchange(told.event, nullptr);
    expectFine(api()->PJRT_Event_Destroy(&destroy));
  };
  for (int i = 0; i < 3; ++i)
    expectFine(api()->PJRT_Event_OnReady(&on));
  const std::string text = "long enough that it needs memory of its own";
  auto set = makeStruct<PJRT_Event_Set_Args>();
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = text.data();
  set.error_message_size = text.size();
  expectFine(api()->PJRT_Event_Set(&set));
  EXPECT_EQ(told.texts, std::vector<std::string>(3, text));
}

TEST_F(PluginTest, EmptyBuffersComeBack) {
  PJRT_Buffer *empty = put(nullptr, {2, 0});
  std::vector<float> values = {1};
  EXPECT_EQ(get(empty, values).code, 0);
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(get(empty, values, {0, 1}).code, 0);
  destroy(empty);
}

TEST_F(PluginTest, MemoryIsLimited) {
  destroyClient(client);
  client = makeClient(1, 100);
  const float data[20] = {};
  PJRT_Buffer *first = put(data, {15});
  auto args = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
  int64_t dims[] = {20};
  args.client = client;
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 1;
  args.memory = memory();
  Problem problem = take(api()->PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_EQ(problem.code, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_NE(problem.text.find("a tensor<20xf32> needs 80 bytes; 40 of 100 are free"),
            std::string::npos)
      << problem.text;
  EXPECT_NE(problem.text.find("60 bytes tensor<15xf32> (from the host)"), std::string::npos);
  destroy(first);
  expectFine(api()->PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_EQ(await(args.done_with_host_buffer).code, 0);
  destroy(args.buffer);
}

TEST_F(PluginTest, SavesAndLoads) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  auto get = makeStruct<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = add;
  expectFine(api()->PJRT_LoadedExecutable_GetExecutable(&get));
  auto save = makeStruct<PJRT_Executable_Serialize_Args>();
  save.executable = get.executable;
  expectFine(api()->PJRT_Executable_Serialize(&save));
  std::string bytes(save.serialized_bytes, save.serialized_bytes_size);
  save.serialized_executable_deleter(save.serialized_executable);
  auto drop = makeStruct<PJRT_Executable_Destroy_Args>();
  drop.executable = get.executable;
  expectFine(api()->PJRT_Executable_Destroy(&drop));
  destroy(add);
  auto load = makeStruct<PJRT_Executable_DeserializeAndLoad_Args>();
  load.struct_size =
      offsetof(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options);
  load.client = client;
  load.serialized_executable = bytes.data();
  load.serialized_executable_size = bytes.size();
  expectFine(api()->PJRT_Executable_DeserializeAndLoad(&load));
  destroy(load.loaded_executable);
  for (size_t size : {size_t{0}, size_t{1}, bytes.size() / 2}) {
    load.serialized_executable_size = size;
    EXPECT_NE(take(api()->PJRT_Executable_DeserializeAndLoad(&load)).code, 0);
  }
}

TEST_F(PluginTest, TopologiesAreSavedAndCompiledFor) {
  // One of the architectures that ship, and a descriptor of the user's own.
  std::string file = testing::TempDir() + "cupel-own-arch.yaml";
  std::ofstream(file) << "name: own\nchips: 4\nmesh: [2, 2]\ndram_bytes: 1_000_000\n";
  for (std::string name : {std::string("n300"), file, std::string("cpu:3")}) {
    auto create = makeStruct<PJRT_TopologyDescription_Create_Args>();
    create.topology_name = name.data();
    create.topology_name_size = name.size();
    expectFine(api()->PJRT_TopologyDescription_Create(&create));
    ASSERT_TRUE(create.topology) << name;
    auto save = makeStruct<PJRT_TopologyDescription_Serialize_Args>();
    save.topology = create.topology;
    expectFine(api()->PJRT_TopologyDescription_Serialize(&save));
    auto load = makeStruct<PJRT_TopologyDescription_Deserialize_Args>();
    load.serialized_topology = save.serialized_bytes;
    load.serialized_topology_size = save.serialized_bytes_size;
    expectFine(api()->PJRT_TopologyDescription_Deserialize(&load));
    ASSERT_TRUE(load.topology) << name;
    save.serialized_topology_deleter(save.serialized_topology);
    uint64_t fingerprints[2];
    size_t devices[2];
    PJRT_TopologyDescription *both[] = {create.topology, load.topology};
    for (int i = 0; i < 2; ++i) {
      auto print = makeStruct<PJRT_TopologyDescription_Fingerprint_Args>();
      print.topology = both[i];
      expectFine(api()->PJRT_TopologyDescription_Fingerprint(&print));
      fingerprints[i] = print.fingerprint;
      auto list = makeStruct<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
      list.topology = both[i];
      expectFine(api()->PJRT_TopologyDescription_GetDeviceDescriptions(&list));
      devices[i] = list.num_descriptions;
    }
    EXPECT_EQ(fingerprints[0], fingerprints[1]);
    EXPECT_EQ(devices[0], devices[1]);
    EXPECT_EQ(devices[0], name == "n300" ? 2u : name == "cpu:3" ? 3u : 4u);

    std::string text = kAdd, settings = options(), format = "mlir";
    auto program = makeStruct<PJRT_Program>();
    program.code = text.data();
    program.code_size = text.size();
    program.format = format.data();
    program.format_size = format.size();
    auto compile = makeStruct<PJRT_Compile_Args>();
    compile.topology = load.topology;
    compile.program = &program;
    compile.compile_options = settings.data();
    compile.compile_options_size = settings.size();
    expectFine(api()->PJRT_Compile(&compile));
    auto drop = makeStruct<PJRT_Executable_Destroy_Args>();
    drop.executable = compile.executable;
    expectFine(api()->PJRT_Executable_Destroy(&drop));
    for (PJRT_TopologyDescription *topology : both) {
      auto end = makeStruct<PJRT_TopologyDescription_Destroy_Args>();
      end.topology = topology;
      expectFine(api()->PJRT_TopologyDescription_Destroy(&end));
    }
  }
}

TEST_F(PluginTest, ManyThreads) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const float a[] = {float(t), float(i), 0}, b[] = {1, 1, 1};
        PJRT_Buffer *x = put(a, {3}), *y = put(b, {3});
        std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
        EXPECT_EQ(execute(add, {{x, y}}, results).code, 0);
        std::vector<float> values;
        EXPECT_EQ(get(results[0][0], values).code, 0);
        EXPECT_EQ(values, (std::vector<float>{float(t) + 1, float(i) + 1, 1}));
        for (PJRT_Buffer *buffer : {x, y, results[0][0]})
          destroy(buffer);
        if (i % 10 == 0)
          destroy(compiled(kAdd));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  destroy(add);
}

/// Takes long enough to be done by the device's thread; of its own size, so that memory is used
/// again.
constexpr const char *kLong =
    "func.func @main(%a: tensor<64x512xf32> {jax.buffer_donor = true}) -> tensor<64x512xf32> {\n"
    "  %0 = stablehlo.sine %a : tensor<64x512xf32>\n"
    "  %1 = stablehlo.add %0, %a : tensor<64x512xf32>\n"
    "  %2 = stablehlo.cosine %1 : tensor<64x512xf32>\n"
    "  return %2 : tensor<64x512xf32>\n}";

/// A call that says when it is over; the host need not wait.
struct Launch {
  Launch(PJRT_LoadedExecutable *executable, PJRT_Buffer *argument, bool keeps = true) {
    int64_t none[] = {0};
    auto settings = makeStruct<PJRT_ExecuteOptions>();
    settings.non_donatable_input_indices = none;
    settings.num_non_donatable_input_indices = keeps ? 1 : 0;
    PJRT_Buffer *const *inputs = &argument;
    PJRT_Buffer **outputs = &result;
    auto args = makeStruct<PJRT_LoadedExecutable_Execute_Args>();
    args.executable = executable;
    args.options = &settings;
    args.argument_lists = &inputs;
    args.num_devices = 1;
    args.num_args = 1;
    args.output_lists = &outputs;
    args.device_complete_events = &event;
    expectFine(api()->PJRT_LoadedExecutable_Execute(&args));
  }
  PJRT_Buffer *result = nullptr;
  PJRT_Event *event = nullptr;
};

void onReady(PJRT_Event *event, std::function<void()> what) {
  auto args = makeStruct<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = new std::function<void()>(std::move(what));
  args.callback = [](PJRT_Error *error, void *argument) {
    take(error);
    auto *function = static_cast<std::function<void()> *>(argument);
    (*function)();
    delete function;
  };
  expectFine(api()->PJRT_Event_OnReady(&args));
  auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  expectFine(api()->PJRT_Event_Destroy(&destroy));
}

TEST_F(PluginTest, ThreadsDoDifferentThingsAtOnce) {
  PJRT_LoadedExecutable *program = compiled(kLong);
  std::vector<float> data(64 * 512, 0.5f);
  std::atomic<int> callbacks = 0;
  std::vector<std::thread> threads;
  constexpr int kThreads = 8, kRounds = 12;
  auto once = [](double a) { return std::cos(std::sin(a) + a); };
  const double expected = once(once(0.5));
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        PJRT_Buffer *start = put(data.data(), {64, 512});
        // A chain of runs of which only the end is waited for; what is between is dropped at once.
        Launch first(program, start, /*keeps=*/i % 2 == 0);
        onReady(first.event, [&] { ++callbacks; });
        destroy(start);
        Launch second(program, first.result, /*keeps=*/t % 2 == 0);
        destroy(first.result);
        auto stats = makeStruct<PJRT_Device_MemoryStats_Args>();
        stats.device = device();
        expectFine(api()->PJRT_Device_MemoryStats(&stats));
        if (i % 3 == 0) { // Nobody reads it.
          onReady(second.event, [&] { ++callbacks; });
          destroy(second.result);
          continue;
        }
        if (i % 3 == 1) {
          auto copy = makeStruct<PJRT_Buffer_CopyToDevice_Args>();
          copy.buffer = second.result;
          copy.dst_device = device(1 + t % 3);
          expectFine(api()->PJRT_Buffer_CopyToDevice(&copy));
          destroy(second.result);
          second.result = copy.dst_buffer;
        }
        std::vector<float> values;
        EXPECT_EQ(get(second.result, values).code, 0);
        EXPECT_NEAR(values.at(100), expected, 1e-5);
        EXPECT_EQ(await(second.event).code, 0);
        destroy(second.result);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  // Nothing is left on any device once everything is over.
  for (int i = 0; i < 1000 && callbacks < kThreads * (kRounds + kRounds / 3); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(callbacks, kThreads * (kRounds + kRounds / 3));
  destroy(program);
}

TEST_F(PluginTest, ABufferIsAskedAndCopiedAtOnce) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 20; ++i) {
    PJRT_Buffer *buffer = put(data, {2, 3});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        if (t % 2) {
          auto layout = makeStruct<PJRT_Buffer_GetMemoryLayout_Args>();
          layout.buffer = buffer;
          expectFine(api()->PJRT_Buffer_GetMemoryLayout(&layout));
          ASSERT_EQ(layout.layout.tiled.minor_to_major_size, 2u);
          EXPECT_EQ(layout.layout.tiled.minor_to_major[0], 1);
          return;
        }
        auto copy = makeStruct<PJRT_Buffer_CopyToDevice_Args>();
        copy.buffer = buffer;
        copy.dst_device = device(t);
        expectFine(api()->PJRT_Buffer_CopyToDevice(&copy));
        destroy(copy.dst_buffer);
      });
    for (std::thread &thread : threads)
      thread.join();
    destroy(buffer);
  }
}

TEST_F(PluginTest, OneOfManyThreadsFillsABuffer) {
  int64_t dims[] = {256};
  auto spec = makeStruct<PJRT_ShapeSpec>();
  spec.dims = dims;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  for (int i = 0; i < 20; ++i) {
    auto create = makeStruct<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    create.client = client;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    create.memory = memory();
    expectFine(api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
    std::atomic<int> winner = -1;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::vector<float> data(256, static_cast<float>(t));
        Problem problem;
        PJRT_Event *done = nullptr;
        if (t % 2) {
          auto args = makeStruct<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
          args.transfer_manager = create.transfer_manager;
          args.data = data.data();
          args.shape_dims = dims;
          args.shape_num_dims = 1;
          args.shape_element_type = PJRT_Buffer_Type_F32;
          problem = take(api()->PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&args));
          done = args.done_with_h2d_transfer;
        } else {
          auto args = makeStruct<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
          args.transfer_manager = create.transfer_manager;
          args.data = data.data();
          args.transfer_size = 1024;
          args.is_last_transfer = true;
          problem = take(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&args));
          done = args.done_with_h2d_transfer;
        }
        if (problem.code) {
          EXPECT_EQ(problem.code, PJRT_Error_Code_FAILED_PRECONDITION) << problem.text;
          return;
        }
        EXPECT_EQ(await(done).code, 0);
        EXPECT_EQ(winner.exchange(t), -1);
      });
    for (std::thread &thread : threads)
      thread.join();
    auto retrieve = makeStruct<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    retrieve.transfer_manager = create.transfer_manager;
    expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));
    std::vector<float> values;
    EXPECT_EQ(get(retrieve.buffer_out, values).code, 0);
    EXPECT_EQ(values, std::vector<float>(256, static_cast<float>(winner)));
    destroy(retrieve.buffer_out);
    auto drop = makeStruct<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    drop.transfer_manager = create.transfer_manager;
    expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_Destroy(&drop));
  }
}

TEST_F(PluginTest, AClientMayGoWhileItsDevicesWork) {
  for (bool fromCallback : {false, true})
    for (int i = 0; i < 10; ++i) {
      PJRT_Client *other = makeClient(2);
      std::swap(client, other);
      PJRT_LoadedExecutable *program = compiled(kLong);
      std::vector<float> data(64 * 512, 0.5f);
      PJRT_Buffer *start = put(data.data(), {64, 512});
      Launch first(program, start), second(program, first.result);
      for (PJRT_Buffer *buffer : {start, first.result, second.result})
        destroy(buffer);
      destroy(program);
      std::swap(client, other);
      std::atomic<bool> gone = false, told = false;
      onReady(second.event, [&] { told = true; });
      if (fromCallback)
        onReady(first.event, [&] {
          destroyClient(other);
          gone = true;
        });
      else {
        await(first.event);
        destroyClient(other);
        gone = true;
      }
      for (int wait = 0; wait < 1000 && !(gone && told); ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ASSERT_TRUE(gone && told);
    }
}

} // namespace
} // namespace cupel::pjrt
