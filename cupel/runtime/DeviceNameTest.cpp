#include "cupel/runtime/DeviceName.h"

#include <gtest/gtest.h>

using cupel::runtime::DeviceName;

static std::string whole(std::string_view name, std::string_view arch = {}) {
  return DeviceName::parse(name, arch).str();
}

TEST(DeviceNameTest, OthersStayAsTheyAre) {
  for (std::string_view name :
       {"reference", "cupel", "/a/b.so", "/a/b.so?x=1&y=n300", "cupel?num_devices=2", "foo", ""})
    EXPECT_EQ(whole(name), name);
  EXPECT_TRUE(DeviceName::parse("/a/b.so?x=1").isPlugin());
  EXPECT_TRUE(DeviceName::parse("n150").isPlugin());
  EXPECT_FALSE(DeviceName::parse("reference").isPlugin());
  EXPECT_FALSE(DeviceName::parse("n151").isPlugin());
}

TEST(DeviceNameTest, AnArchitectureIsOurOwnPlugin) {
  EXPECT_EQ(whole("n300"), "cupel?arch=n300");
  EXPECT_EQ(whole("n300?memory_limit=7"), "cupel?arch=n300&memory_limit=7");
  EXPECT_EQ(whole("cpu"), "cupel");
  EXPECT_EQ(whole("cpu?num_devices=3"), "cupel?num_devices=3");
}

TEST(DeviceNameTest, OurOwnPluginPresentsTheArchitectureOfTheRun) {
  EXPECT_EQ(whole("cupel", "n300"), "cupel?arch=n300");
  EXPECT_EQ(whole("cupel?accumulate=f64", "n300"), "cupel?arch=n300&accumulate=f64");
  EXPECT_EQ(whole("cupel?num_devices=2", "n300"), "cupel?num_devices=2");
  EXPECT_EQ(whole("cupel?arch=p150", "n300"), "cupel?arch=p150");
  EXPECT_EQ(whole("p150", "n300"), "cupel?arch=p150");
  EXPECT_EQ(whole("cpu", "n300"), "cupel");
  EXPECT_EQ(whole("cupel", "cpu"), "cupel");
  EXPECT_EQ(whole("/a/b.so", "n300"), "/a/b.so");
  EXPECT_EQ(whole("reference", "n300"), "reference");
  EXPECT_EQ(whole("cupel", "somebodys"), "cupel");
}

TEST(DeviceNameTest, OptionsAreFoundByTheirWholeName) {
  DeviceName name = DeviceName::parse("cupel?num_devices=4&arch=n300&archive=x");
  EXPECT_EQ(name.option("arch"), "n300");
  EXPECT_EQ(name.option("num_devices"), "4");
  EXPECT_EQ(name.option("num"), "");
}
