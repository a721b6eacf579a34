#include "cupel/support/Text.h"

#include <gtest/gtest.h>

using namespace cupel;

TEST(EditDistance, CountsLetters) {
  EXPECT_EQ(editDistance("", ""), 0u);
  EXPECT_EQ(editDistance("opt", "opt"), 0u);
  EXPECT_EQ(editDistance("opt", ""), 3u);
  EXPECT_EQ(editDistance("doctor", "docter"), 1u);
  EXPECT_EQ(editDistance("version", "versions"), 1u);
  EXPECT_EQ(editDistance("otp", "opt"), 1u);
}

TEST(NearestWord, NamesOnlyWhatIsNear) {
  std::vector<std::string_view> verbs = {"opt", "lsp", "doctor", "version"};
  EXPECT_EQ(nearestWord("opts", verbs), "opt");
  EXPECT_EQ(nearestWord("verison", verbs), "version");
  EXPECT_EQ(nearestWord("doktor", verbs), "doctor");
  EXPECT_EQ(nearestWord("frobnicate", verbs), "");
  EXPECT_EQ(nearestWord("opt", {}), "");
}
