#include "cupel/pjrt/Structs.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

using namespace cupel::pjrt;

namespace {

TEST(Structs, SizeIsTheEndOfTheLastFieldNotSizeof) {
  EXPECT_EQ(structSize<PJRT_Event_IsReady_Args>, 25u);
  EXPECT_EQ(sizeof(PJRT_Event_IsReady_Args), 32u);
  EXPECT_EQ(structSize<PJRT_Api>, 1144u);
  EXPECT_EQ(structSize<PJRT_Layouts_Extension>, 80u);
}

TEST(Structs, AnOlderCallerLacksTheFieldsAppendedSince) {
  auto args = makeStruct<PJRT_Executable_DeserializeAndLoad_Args>();
  EXPECT_TRUE(hasField(&args, &PJRT_Executable_DeserializeAndLoad_Args::load_options));
  args.struct_size = 48; // A caller of 0.70: it ends after loaded_executable.
  EXPECT_TRUE(hasField(&args, &PJRT_Executable_DeserializeAndLoad_Args::loaded_executable));
  EXPECT_FALSE(hasField(
      &args, &PJRT_Executable_DeserializeAndLoad_Args::overridden_serialized_compile_options));
  args.overridden_serialized_compile_options_size = 77; // Whatever lies there is not ours to read.
  EXPECT_EQ(
      getField(&args,
               &PJRT_Executable_DeserializeAndLoad_Args::overridden_serialized_compile_options_size,
               size_t(3)),
      3u);
}

TEST(Structs, AFieldThatIsOnlyPartlyInsideIsAbsent) {
  auto args = makeStruct<PJRT_Event_IsReady_Args>();
  args.struct_size = 24;
  EXPECT_FALSE(hasField(&args, &PJRT_Event_IsReady_Args::is_ready));
  args.struct_size = 23;
  EXPECT_FALSE(hasField(&args, &PJRT_Event_IsReady_Args::event));
}

TEST(Structs, OutputsBeyondTheCallersStructAreNotWritten) {
  auto args = makeStruct<PJRT_Device_MemoryStats_Args>();
  args.struct_size = 185; // Before 0.113.
  setField(&args, &PJRT_Device_MemoryStats_Args::peak_pool_bytes, 5);
  setField(&args, &PJRT_Device_MemoryStats_Args::peak_allocated_bytes, 7);
  setField(&args, &PJRT_Device_MemoryStats_Args::peak_allocated_bytes_is_set, true);
  EXPECT_EQ(args.peak_pool_bytes, 5);
  EXPECT_EQ(args.peak_allocated_bytes, 0);
  EXPECT_FALSE(args.peak_allocated_bytes_is_set);
}

TEST(Structs, ANewerCallerIsServedWithWhatWeKnow) {
  struct {
    PJRT_Client_PlatformName_Args args;
    char later[64];
  } newer = {};
  newer.args.struct_size = sizeof(newer);
  setField(&newer.args, &PJRT_Client_PlatformName_Args::platform_name, "x");
  EXPECT_STREQ(newer.args.platform_name, "x");
}

TEST(Structs, FunctionsPastTheEndOfAShorterTableAreAbsent) {
  auto api = makeStruct<PJRT_Api>();
  api.PJRT_Client_Create = [](PJRT_Client_Create_Args *) -> PJRT_Error * { return nullptr; };
  api.PJRT_Client_Load = [](PJRT_Client_Load_Args *) -> PJRT_Error * { return nullptr; };
  EXPECT_NE(findFunction(&api, &PJRT_Api::PJRT_Client_Load), nullptr);
  EXPECT_TRUE(hasEntry(&api, offsetof(PJRT_Api, PJRT_Client_Load)));
  api.struct_size = 984; // 0.79
  EXPECT_EQ(findFunction(&api, &PJRT_Api::PJRT_Client_Load), nullptr);
  EXPECT_FALSE(hasEntry(&api, offsetof(PJRT_Api, PJRT_Client_Load)));
  EXPECT_NE(findFunction(&api, &PJRT_Api::PJRT_Client_Create), nullptr);
  EXPECT_EQ(findFunction(&api, &PJRT_Api::PJRT_Client_Destroy), nullptr);
}

std::string lastMissing;
PJRT_Error *recordMissing(const char *name) {
  lastMissing = name;
  return reinterpret_cast<PJRT_Error *>(&lastMissing);
}

TEST(Structs, EveryStubSaysWhichCallItIs) {
  auto api = makeStruct<PJRT_Api>();
  bindStubs<recordMissing>(api);
  size_t named = 0;
  for (const Entry &entry : entries()) {
    ASSERT_TRUE(hasEntry(&api, entry.offset)) << entry.name;
    if (entry.name == "PJRT_Error_Destroy" || entry.name == "PJRT_Error_Message")
      continue;
    PJRT_Error *(*function)(void *) = nullptr;
    std::memcpy(&function, reinterpret_cast<char *>(&api) + entry.offset, sizeof(function));
    EXPECT_NE(function(nullptr), nullptr);
    EXPECT_EQ(lastMissing, entry.name);
    ++named;
  }
  EXPECT_EQ(entries().size(), 138u);
  EXPECT_EQ(named, 136u);
}

TEST(Structs, EntriesFollowTheTable) {
  size_t expected = 40;
  int since = kOldestMinor;
  for (const Entry &entry : entries()) {
    EXPECT_EQ(entry.offset, expected) << entry.name;
    EXPECT_GE(entry.since, since) << entry.name;
    since = entry.since;
    expected += sizeof(void *);
  }
  EXPECT_EQ(expected, structSize<PJRT_Api>);
}

TEST(Structs, NamesOfNumbers) {
  EXPECT_EQ(errorCodeName(PJRT_Error_Code_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  EXPECT_EQ(errorCodeName(99), "UNKNOWN");
  EXPECT_EQ(errorCodeName(-1), "UNKNOWN");
  EXPECT_EQ(extensionTypeName(PJRT_Extension_Type_Shardings), "Shardings");
  EXPECT_EQ(extensionTypeName(1000), "");
  EXPECT_EQ(bufferTypeName(PJRT_Buffer_Type_F4E2M1FN), "F4E2M1FN");
  EXPECT_EQ(bufferTypeName(PJRT_Buffer_Type_F6E3M2FN), "F6E3M2FN");
}

} // namespace
