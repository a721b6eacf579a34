#include "cupel/support/Error.h"

#include <gtest/gtest.h>
#include <set>

namespace cupel {
namespace {

TEST(ErrorTest, EveryCodeHasAnUnmistakableName) {
  std::set<std::string_view> names;
  for (const ErrorCodeInfo &row : errorCodes()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&info(row.code), &row);
    EXPECT_EQ(name(row.code), row.name);
    EXPECT_EQ(parseErrorCode(row.name), row.code);
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_EQ(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos);
  }
  EXPECT_EQ(parseErrorCode("no such name"), ErrorCode::Unknown);
}

TEST(ErrorTest, CanonicalNumbersComeAndGo) {
  for (int number = 1; number <= 16; ++number)
    EXPECT_EQ(int(info(errorCodeOf(number)).canonical), number);
  for (int number : {-1, 0, 17, 4711})
    EXPECT_EQ(errorCodeOf(number), ErrorCode::Unknown);
  // Every code is told to hosts as one of these.
  for (const ErrorCodeInfo &row : errorCodes())
    EXPECT_EQ(info(errorCodeOf(int(row.canonical))).canonicalName, row.canonicalName);
}

TEST(ErrorTest, ForwardingKeepsCodeAndPlace) {
  Result<int> inner = Error{ErrorCode::OutOfMemory, "no room", {.operation = "stablehlo.add"}};
  auto middle = [&]() -> Status { return inner.error().within("argument 3"); };
  auto outer = [&]() -> Result<std::string> { return middle().error(); };
  Result<std::string> end = outer();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.message(), "argument 3: no room");
  EXPECT_EQ(end.error().code, ErrorCode::OutOfMemory);
  EXPECT_EQ(end.error().place, (Place{.operation = "stablehlo.add"}));
  EXPECT_EQ(end.error().as(ErrorCode::Host).code, ErrorCode::Host);
  EXPECT_EQ(end.error().as(ErrorCode::Host).message, end.message());
}

TEST(ErrorTest, WhatIsGivenWrongIsTheUsersTurn) {
  EXPECT_EQ(kindOf(Error{"the file has no end"}.code), ErrorKind::Invalid);
  EXPECT_EQ(name(kindOf(ErrorCode::DataDependent)), "never");
  EXPECT_EQ(name(kindOf(ErrorCode::NotYet)), "not yet");
}

} // namespace
} // namespace cupel
