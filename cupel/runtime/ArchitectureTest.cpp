#include "cupel/runtime/Architecture.h"

#include <gtest/gtest.h>

namespace cupel::runtime {
namespace {

TEST(ArchitectureTest, BuiltInOnesAreWhole) {
  EXPECT_EQ(architectureNames(), (std::vector<std::string>{"cpu", "galaxy-wh-6u", "n150", "n300",
                                                           "n300-llmbox", "p150"}));
  for (const std::string &name : architectureNames()) {
    Result<Architecture> found = findArchitecture(name);
    ASSERT_TRUE(found) << found.message();
    EXPECT_EQ(found->name, name);
    EXPECT_FALSE(found->dtypes.empty());
    EXPECT_EQ(found->tile.size(), 2u);
    EXPECT_EQ(found->dramBytes == 0, name == "cpu");
  }
  Result<Architecture> galaxy = findArchitecture("galaxy-wh-6u");
  EXPECT_EQ(galaxy->chips, 32);
  EXPECT_EQ(galaxy->coordinates(0), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(galaxy->coordinates(31), (std::vector<int64_t>{7, 3}));
}

TEST(ArchitectureTest, SaysWhereYamlIsBroken) {
  auto complaint = [](const char *yaml) { return parseArchitecture(yaml, "a.yaml").message(); };
  EXPECT_EQ(complaint("name: a\nchips: 1\nname: b\n"), "a.yaml:3:1: duplicate key");
  EXPECT_EQ(complaint("name: a\nchips: [1\n"),
            "a.yaml:3:1: flow sequence without a closing bracket");
  EXPECT_TRUE(complaint("").starts_with("a.yaml: is empty")) << complaint("");
}

TEST(ArchitectureTest, SaysWhereADescriptorIsWrong) {
  auto complaint = [](const char *yaml) {
    Result<Architecture> read = parseArchitecture(yaml, "mine.yaml");
    return read ? "fine" : read.message();
  };
  EXPECT_EQ(complaint("name: a\nchips: 2\n"), "fine");
  EXPECT_EQ(complaint("name: a\nchips: two\n"),
            "mine.yaml:2:8: 'two' is no number of zero or more");
  EXPECT_EQ(complaint("name: a\nchips: 2\nmesh: [2, 2]\n"),
            "mine.yaml: the mesh has 4 places for 2 chips");
  EXPECT_EQ(complaint("chips: 2\n"), "mine.yaml: name is missing");
  EXPECT_NE(complaint("name: a\nchip: 2\n").find("mine.yaml:2:1: 'chip' is not known"),
            std::string::npos);
  EXPECT_NE(complaint("name: a\nchips: 1\ndtypes: [f33]\n").find("3:10: 'f33'"), std::string::npos);
  EXPECT_EQ(complaint("name: a\nchips: 1\nprecision: bf16/f32\n"), "fine");
  EXPECT_NE(complaint("name: a\nchips: 1\nprecision: f31\n")
                .find("mine.yaml:3:12: 'f31' is no precision that devices compute in; there are f64"),
            std::string::npos);
  EXPECT_NE(complaint("name: [a\n").find("mine.yaml:"), std::string::npos);
  EXPECT_NE(complaint("- 1\n").find("mapping"), std::string::npos);
  Result<Architecture> none = findArchitecture("n151");
  ASSERT_FALSE(none);
  EXPECT_NE(none.message().find("n150"), std::string::npos);
}

} // namespace
} // namespace cupel::runtime
