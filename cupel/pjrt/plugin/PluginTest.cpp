// The plugin as a host sees it, through its table alone: the sizes of structs, and transfers.

#include "cupel/pjrt/plugin/PluginTesting.h"

#include <cstring>

namespace cupel::pjrt {
namespace {

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

} // namespace
} // namespace cupel::pjrt
