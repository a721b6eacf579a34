#include "cupel/testbench/opcases/Literal.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::testbench::opcases {
namespace {

using testing::HasSubstr;

std::string parsed(std::string_view text) {
  Value value;
  LiteralError problem;
  return parseLiteral(text, value, problem)
             ? value.str()
             : "at " + std::to_string(problem.at) + ": " + problem.message;
}

TEST(Literal, TakesWhatTheRfcLists) {
  EXPECT_EQ(parsed("(Ellipsis, None, slice(None, None, None))"),
            "(Ellipsis, None, slice(None, None, None))");
  EXPECT_EQ(parsed("slice(3)"), "slice(None, 3, None)");
  EXPECT_EQ(parsed("slice(1, -2)"), "slice(1, -2, None)");
  EXPECT_EQ(parsed("[1, 2.5, -3, 1e-3]"), "[1, 2.5, -3, 0.001]");
  EXPECT_EQ(parsed("-inf"), "-inf");
  EXPECT_EQ(parsed("(inf, nan)"), "(inf, nan)");
  EXPECT_EQ(parsed("( 1 )"), "1");
  EXPECT_EQ(parsed("(1,)"), "(1,)");
  EXPECT_EQ(parsed("()"), "()");
  EXPECT_EQ(parsed("1, 2"), "(1, 2)");
  EXPECT_EQ(parsed("..., 0"), "(Ellipsis, 0)");
  EXPECT_EQ(parsed("True"), "True");
  EXPECT_EQ(parsed("'bij,jk->bik'"), "'bij,jk->bik'");
  EXPECT_EQ(parsed("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(parsed("1_000"), "1000");
  EXPECT_EQ(parsed("3."), "3.0");
}

TEST(Literal, RefusesEverythingElseAndSaysWhere) {
  EXPECT_THAT(parsed("__import__('os').system('x')"), HasSubstr("is not allowed"));
  EXPECT_THAT(parsed("(1, open('x'))"), HasSubstr("at 4: the name 'open' is not allowed"));
  EXPECT_THAT(parsed("none"), HasSubstr("did you mean None?"));
  EXPECT_THAT(parsed("None()"), HasSubstr("only slice(...) may be called"));
  EXPECT_THAT(parsed("1 + 2"), HasSubstr("something follows"));
  EXPECT_THAT(parsed("[1, 2"), HasSubstr("at 0: the '[' is never closed"));
  EXPECT_THAT(parsed("[1 2]"), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(parsed("'abc"), HasSubstr("never closed"));
  EXPECT_THAT(parsed("9223372036854775808"), HasSubstr("64 bits"));
  EXPECT_THAT(parsed("slice()"), HasSubstr("one to three"));
  EXPECT_THAT(parsed("slice('a')"), HasSubstr("integers and None"));
  EXPECT_THAT(parsed(""), HasSubstr("a value is missing"));
  EXPECT_THAT(parsed("1..2"), HasSubstr("no number"));
  EXPECT_THAT(parsed("0x10"), HasSubstr("no number"));
  EXPECT_THAT(parsed(std::string(1000, '(')), HasSubstr("nested"));
  EXPECT_THAT(parsed(std::string(100000, '-')), HasSubstr("no number"));
}

} // namespace
} // namespace cupel::testbench::opcases
