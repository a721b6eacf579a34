#include "cupel/ir/vhlo/OpTable.h"

#include "gtest/gtest.h"

#include <fstream>
#include <set>
#include <sstream>

using namespace cupel::vhlo;

static std::string read(const char *path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The format only grows: a change of a line that is already in the listing is a break of it.
TEST(OpTable, IsThePinnedOne) {
  std::string expected = read(CUPEL_OPS_EXPECTED);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(read(CUPEL_OPS_GENERATED), expected);
}

TEST(OpTable, HoldsAllForms) {
  EXPECT_EQ(allOps().size(), 145u);
  for (const OpInfo &info : allOps()) {
    EXPECT_EQ(findOp(info.name), &info);
    EXPECT_EQ(findRevision(info.base, info.revision), &info);
    EXPECT_TRUE(llvm::is_sorted(info.attributes, [](const auto &lhs, const auto &rhs) {
      return lhs.name < rhs.name;
    })) << info.name.str();
    for (auto [index, slot] : llvm::enumerate(info.attributes))
      EXPECT_EQ(info.attributeIndex(slot.name), int(index));
    EXPECT_EQ(info.attributeIndex("no_such_attribute"), -1);
  }
  EXPECT_EQ(findOp("gather"), nullptr);
  EXPECT_EQ(newestRevision("gather")->name, "gather_v2");
  EXPECT_EQ(newestRevision("nothing"), nullptr);
}

TEST(OpTable, FormsOfAnOperationFollowEachOther) {
  std::set<std::string> bases;
  for (const OpInfo &info : allOps())
    bases.insert(info.base.str());
  for (const std::string &base : bases) {
    const OpInfo *newest = newestRevision(base);
    EXPECT_EQ(newest->until, kCurrentVersion) << base;
    for (unsigned revision = newest->revision; revision > 1; --revision)
      EXPECT_LT(findRevision(base, revision - 1)->until, findRevision(base, revision)->since)
          << base;
  }
}

TEST(Version, IsThreeNumbers) {
  EXPECT_EQ(Version::parse("1.9.0"), (Version{1, 9, 0}));
  for (const char *text : {"", "1", "1.2", "1.2.3.4", "1.-2.3", "a.b.c", "1.2.", "99999999999.0.0",
                           " 1.2.3", "1.2.3 "})
    EXPECT_FALSE(Version::parse(text)) << text;
  EXPECT_LT((Version{0, 20, 0}), (Version{1, 0, 0}));
  EXPECT_LT((Version{1, 9, 0}), (Version{1, 10, 0}));
}

TEST(Version, TargetsOutsideTheFormatAreRefusedWithAReason) {
  std::string error;
  EXPECT_EQ(parseTargetVersion("1.13.7", error), (Version{1, 13, 7}));
  EXPECT_FALSE(parseTargetVersion("", error));
  EXPECT_NE(error.find("No target version specified."), std::string::npos);
  EXPECT_FALSE(parseTargetVersion("100.10.10", error));
  EXPECT_NE(error.find("is greater than current version"), std::string::npos);
  EXPECT_FALSE(parseTargetVersion("0.8.0", error));
  EXPECT_NE(error.find("is less than minimum supported"), std::string::npos);
  EXPECT_FALSE(parseTargetVersion("newest", error));
  EXPECT_NE(error.find("Invalid target version argument 'newest'"), std::string::npos);
}

TEST(Version, SaysTheLevelOfBytecode) {
  EXPECT_EQ(bytecodeLevel({0, 9, 0}), 0);
  EXPECT_EQ(bytecodeLevel({0, 10, 0}), 1);
  EXPECT_EQ(bytecodeLevel({0, 11, 0}), 1);
  EXPECT_EQ(bytecodeLevel({0, 13, 0}), 3);
  EXPECT_EQ(bytecodeLevel({0, 14, 2}), 4);
  EXPECT_EQ(bytecodeLevel({0, 15, 0}), 6);
  EXPECT_EQ(bytecodeLevel({1, 20, 0}), 6);
}
