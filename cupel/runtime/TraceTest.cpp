#include "cupel/runtime/Trace.h"

#include "cupel/runtime/TraceFile.h"
#include "cupel/support/Sha256.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::runtime {
namespace {

using ::testing::HasSubstr;

TEST(TraceRegionTest, WhatDoesNotFitSaysWhatItNeeds) {
  TraceRegion region(1000);
  Result<uint64_t> taken = region.take(1001, "main");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::OutOfMemory);
  EXPECT_THAT(taken.message(), HasSubstr("main needs 1001 bytes"));
  EXPECT_THAT(taken.message(), HasSubstr("at least 1001"));
  EXPECT_EQ(region.used(), 0);
}

TEST(TraceRegionTest, OneThatFindsNoRoomMakesTheOthersStale) {
  TraceRegion region(1000);
  Result<uint64_t> first = region.take(400, "first"), second = region.take(600, "second");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(*first, *second);
  EXPECT_TRUE(region.holds(*first));
  Result<uint64_t> third = region.take(1, "third");
  ASSERT_TRUE(third);
  EXPECT_FALSE(region.holds(*first));
  EXPECT_TRUE(region.holds(*third));
  EXPECT_EQ(region.used(), 1);
  region.giveBack(400, *first); // Released already.
  EXPECT_EQ(region.used(), 1);
  region.giveBack(1, *third);
  EXPECT_EQ(region.used(), 0);
}

TEST(TraceRegionTest, RoomThatIsGivenBackIsTakenAgain) {
  TraceRegion region(1000);
  uint64_t generation = *region.take(900, "a");
  region.giveBack(900, generation);
  EXPECT_EQ(*region.take(1000, "b"), generation);
}

TraceFile someFile() {
  TraceFile file;
  file.record.program = "main";
  file.record.commandBytes = 96;
  file.record.arenaBytes = 128;
  file.record.slots = {{"argument", 0, 24, "f32[2x3]", 1}, {"result", 0, 24, "f32[2x3]", 1}};
  file.record.commands = {
      {"code", "map", "tir.map", "a.mlir:3:8", {{"argument", 0, 24}}, {{"arena", 64, 24}}},
      {"kernel", "product", "tir.product", "a.mlir:4:8", {{"arena", 64, 24}, {"constant", 1, 36}}, {{"result", 0, 24}}}};
  file.seed = 7;
  file.results = {"0123"};
  file.executable = std::string("bytes\0and more", 14);
  return file;
}

TEST(TraceFileTest, WhatIsWrittenIsRead) {
  TraceFile file = someFile();
  Result<TraceFile> read = parseTraceFile(file.bytes());
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->record, file.record);
  EXPECT_EQ(read->seed, 7u);
  EXPECT_EQ(read->results, file.results);
  EXPECT_EQ(read->executable, file.executable);
}

/// What somebody makes by hand, with a checksum and a length that fit.
std::string planted(const std::string &json) {
  std::string bytes = someFile().bytes();
  std::string mark = bytes.substr(0, bytes.find('\n') + 1);
  std::string body = std::to_string(json.size()) + "\n" + json + "executable";
  return mark + sha256(body) + "\n" + body;
}

TEST(TraceFileTest, OtherKindsOfValuesAreRefusedWhereTheChecksumFits) {
  for (
      const char *json :
      {"[]", "7", "null", "{}", R"({"program": 1})",
       R"({"program": "p", "command_bytes": "1", "arena_bytes": 1, "seed": 1, "results": [], "slots": [], "commands": []})",
       R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": -1, "results": [], "slots": [], "commands": []})",
       R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": 1, "results": [2], "slots": [], "commands": []})",
       R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": 1, "results": [], "slots": [7], "commands": []})",
       R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": 1, "results": [], "slots": {}, "commands": []})",
       R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": 1, "results": [], "slots": [], "commands": [{"call": "code", "kernel": "", "operation": "", "location": "", "reads": {}, "writes": []}]})",
       R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": 1, "results": [], "slots": [], "commands": [{"call": "code", "kernel": "", "operation": "", "location": "", "reads": [{"slot": "arena", "number": 1.5, "bytes": 1}], "writes": []}]})"}) {
    Result<TraceFile> read = parseTraceFile(planted(json));
    ASSERT_FALSE(read) << json;
    EXPECT_NE(read.message().find("the trace is damaged"), std::string::npos) << json;
  }
  EXPECT_TRUE(parseTraceFile(planted(
      R"({"program": "p", "command_bytes": 1, "arena_bytes": 1, "seed": 1, "results": ["r"], "slots": [], "commands": []})")));
}

TEST(TraceFileTest, EveryCutAndEveryChangedByteIsRefused) {
  const std::string bytes = someFile().bytes();
  for (size_t end = 0; end < bytes.size(); ++end)
    EXPECT_FALSE(parseTraceFile(std::string_view(bytes).substr(0, end))) << end;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = char(damaged[i] ^ 1);
    EXPECT_FALSE(parseTraceFile(damaged)) << i;
  }
  Result<TraceFile> wrong = parseTraceFile("func.func @main");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.message(), HasSubstr("no trace"));
}

TEST(TraceFileTest, TheTextNamesEveryCommandAndSlot) {
  std::string text = someFile().text();
  for (const char *part : {"2 commands", "96 bytes", "argument 0", "f32[2x3]", "tir.product", "a.mlir:4:8", "arena+64", "constant 1"})
    EXPECT_THAT(text, HasSubstr(part));
}

} // namespace
} // namespace cupel::runtime
