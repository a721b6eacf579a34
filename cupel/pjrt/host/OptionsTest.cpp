#include "cupel/pjrt/host/CompileOptions.h"
#include "cupel/pjrt/host/NamedValues.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::pjrt;

namespace {

TEST(CompileOptions, OneDevice) {
  // 3 { 1: -1, 4: 1, 5: 1, 9: { 1: 1, 2: 1, 3: { 1: [0] } } }, 5: -1, worked out by hand.
  std::string minusOne = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  std::string assignment("\x08\x01\x10\x01\x1a\x03\x0a\x01\x00", 9);
  std::string build = "\x08" + minusOne + "\x20\x01\x28\x01" + "\x4a\x09" + assignment;
  std::string expected =
      "\x1a" + std::string(1, static_cast<char>(build.size())) + build + "\x28" + minusOne;
  EXPECT_EQ(serialize(CompileOptions()), expected);
}

TEST(CompileOptions, DevicesAreListedByPartition) {
  CompileOptions options;
  options.replicas = 2;
  options.partitions = 2;
  options.deviceIds = {5, 6, 7, 300};
  std::string text = serialize(options);
  // Partition 0 holds devices 5 and 7, partition 1 devices 6 and 300 (two bytes).
  EXPECT_NE(text.find(std::string("\x1a\x04\x0a\x02\x05\x07\x1a\x05\x0a\x03\x06\xac\x02", 13)),
            std::string::npos);
}

TEST(CompileOptions, Flags) {
  CompileOptions options;
  options.flags = {{"s", "text"}, {"b", false}, {"i", int64_t(3)}, {"d", 1.0}};
  std::string text = serialize(options);
  EXPECT_NE(text.find(std::string("\x3a\x0b\x0a\x01s\x12\x06\x0a\x04text", 13)), std::string::npos);
  EXPECT_NE(text.find(std::string("\x3a\x07\x0a\x01"
                                  "b\x12\x02\x10\x00",
                                  9)),
            std::string::npos);
  EXPECT_NE(text.find(std::string("\x3a\x07\x0a\x01i\x12\x02\x18\x03", 9)), std::string::npos);
  EXPECT_NE(text.find(std::string("\x0a\x01"
                                  "d\x12\x09\x21\0\0\0\0\0\0\xf0\x3f",
                                  14)),
            std::string::npos);
}

TEST(NamedValues, AreParsed) {
  auto parse = [](std::string_view text) { return std::move(*parseNamedValue(text)); };
  EXPECT_EQ(parse("a=text"), (NamedValue{"a", std::string("text")}));
  EXPECT_EQ(parse("a=12"), (NamedValue{"a", int64_t(12)}));
  EXPECT_EQ(parse("a=-1"), (NamedValue{"a", int64_t(-1)}));
  EXPECT_EQ(parse("a=0.5"), (NamedValue{"a", 0.5f}));
  EXPECT_EQ(parse("a=true"), (NamedValue{"a", true}));
  EXPECT_EQ(parse("a=1,2,3"), (NamedValue{"a", std::vector<int64_t>{1, 2, 3}}));
  EXPECT_EQ(parse("a=[4]"), (NamedValue{"a", std::vector<int64_t>{4}}));
  EXPECT_EQ(parse("a=\"12\""), (NamedValue{"a", std::string("12")}));
  EXPECT_EQ(parse("a="), (NamedValue{"a", std::string()}));
  EXPECT_EQ(parse("a=x=y"), (NamedValue{"a", std::string("x=y")}));
  EXPECT_FALSE(parseNamedValue("a"));
  EXPECT_FALSE(parseNamedValue("=3"));
}

TEST(NamedValues, SurviveTheTrip) {
  std::vector<NamedValue> values = {
      {"s", std::string("x\0y", 3)}, {"i", int64_t(-5)}, {"l", std::vector<int64_t>{1, 2}},
      {"e", std::vector<int64_t>{}}, {"f", 1.5f},        {"b", true}};
  std::vector<PJRT_NamedValue> raw = toPjrt(values);
  Result<std::vector<NamedValue>> back = fromPjrt(raw.data(), raw.size(), "call");
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(*back, values);
  EXPECT_EQ(values[2].str(), "[1,2]");
  EXPECT_EQ(values[5].str(), "true");
}

TEST(NamedValues, GarbageIsRefused) {
  std::vector<NamedValue> values = {{"s", std::string("text")}}; // What toPjrt points into.
  std::vector<PJRT_NamedValue> raw = toPjrt(values);
  raw[0].string_value = nullptr;
  EXPECT_FALSE(fromPjrt(raw.data(), 1, "call"));
  raw = toPjrt(values);
  raw[0].name = nullptr;
  EXPECT_FALSE(fromPjrt(raw.data(), 1, "call"));
  EXPECT_FALSE(fromPjrt(nullptr, 2, "call"));
  EXPECT_TRUE(fromPjrt(nullptr, 0, "call"));
  EXPECT_FALSE(fromPjrt(raw.data(), SIZE_MAX, "call"));
}

} // namespace
