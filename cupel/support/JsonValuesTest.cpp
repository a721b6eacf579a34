#include "cupel/support/JsonValues.h"

#include <gtest/gtest.h>

namespace {

using namespace cupel::json_values;
using nlohmann::json;

template <typename T> bool fits(const char *text) {
  T value{};
  return take(json::parse(text), value);
}

TEST(JsonValues, TakesWhatATypeHolds) {
  uint32_t small = 0;
  int64_t number = 0;
  double real = 0;
  bool truth = false;
  std::string text;
  std::vector<std::vector<int64_t>> lists;
  EXPECT_TRUE(take(json(4294967295u), small) && small == 4294967295u);
  EXPECT_TRUE(take(json(-3), number) && number == -3);
  EXPECT_TRUE(take(json(2.5), real) && real == 2.5);
  EXPECT_TRUE(take(json(-2), real) && real == -2);
  EXPECT_TRUE(take(json(true), truth) && truth);
  EXPECT_TRUE(take(json("a"), text) && text == "a");
  EXPECT_TRUE(take(json::parse("[[1, 2], []]"), lists) && lists.size() == 2 && lists[0][1] == 2);
}

TEST(JsonValues, RefusesOtherKindsAndWhatDoesNotFit) {
  for (const char *text :
       {"-1", "4294967296", "1.5", "1e300", "true", "\"1\"", "null", "[1]", "{}"})
    EXPECT_FALSE(fits<uint32_t>(text)) << text;
  EXPECT_FALSE(fits<int64_t>("18446744073709551615"));
  EXPECT_FALSE(fits<double>("\"1\""));
  EXPECT_FALSE(fits<double>("true"));
  EXPECT_FALSE(fits<bool>("1"));
  EXPECT_FALSE(fits<std::string>("1"));
  EXPECT_FALSE(fits<std::vector<std::string>>("[\"a\", 1]"));
  EXPECT_FALSE(fits<std::vector<std::string>>("{\"a\": \"b\"}"));
  EXPECT_FALSE(fits<std::vector<int64_t>>("7"));
  using Texts = std::map<std::string, std::string>;
  EXPECT_TRUE(fits<Texts>("{\"a\": \"b\"}"));
  EXPECT_FALSE(fits<Texts>("{\"a\": \"b\", \"c\": 1}"));
  EXPECT_FALSE(fits<Texts>("[\"a\"]"));
}

TEST(JsonValues, MembersOfWhatIsNoObjectAreNone) {
  uint32_t value = 0;
  for (const char *text : {"[1]", "7", "null", "\"a\"", "{}", "{\"b\": 1}"})
    EXPECT_FALSE(take(json::parse(text), "a", value)) << text;
  EXPECT_TRUE(take(json::parse("{\"a\": 1}"), "a", value) && value == 1);
  EXPECT_EQ(list(json::parse("{\"a\": {}}"), "a"), nullptr);
}

} // namespace
