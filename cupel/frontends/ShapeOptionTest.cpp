#include "cupel/frontends/ShapeOption.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::frontends;

TEST(ShapeOption, IsNameAndSizes) {
  auto parsed = parseShapes({"x=2x3", "a=b=", "long name=7", "z=0x1"});
  ASSERT_TRUE(parsed) << parsed.message();
  std::map<std::string, std::vector<int64_t>> expected = {
      {"x", {2, 3}}, {"a=b", {}}, {"long name", {7}}, {"z", {0, 1}}};
  EXPECT_EQ(*parsed, expected);
  for (const char *bad :
       {"x", "=2", "x=2x", "x=x2", "x=2y3", "x=-1", "x=2 3", "x=99999999999999999999"}) {
    auto wrong = parseShapes({bad});
    ASSERT_FALSE(wrong) << bad;
    EXPECT_EQ(wrong.message().rfind("--shape " + std::string(bad), 0), 0u) << wrong.message();
  }
  EXPECT_NE(parseShapes({"x=1", "x=2"}).message().find("a shape already"), std::string::npos);
}
