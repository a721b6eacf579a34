#include "cupel/ir/bytecode/Guard.h"
#include "cupel/ir/bytecode/TestFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cupel::bytecode;
using testing::HasSubstr;

TEST(Varint, RoundTripsAtEveryLength) {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    for (uint64_t value : {bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1,
                           bits == 64 ? uint64_t(1) << 63 : uint64_t(1) << bits}) {
      Data encoded = numbers({value});
      EXPECT_LE(encoded.size(), 9u);
      Problem problem;
      Cursor cursor(encoded, 0, encoded.size(), problem);
      uint64_t read;
      ASSERT_TRUE(cursor.varint(read, "a number")) << problem.str();
      EXPECT_EQ(read, value);
      EXPECT_TRUE(cursor.empty());
      for (size_t cut = 0; cut < encoded.size(); ++cut) {
        Problem cutProblem;
        Cursor cutCursor(encoded, 0, cut, cutProblem);
        EXPECT_FALSE(cutCursor.varint(read, "a number"));
        EXPECT_THAT(cutProblem.what, HasSubstr("ends inside a number"));
      }
    }
  }
}

TEST(Varint, SignedOnesAreZigzag) {
  for (int64_t value : {int64_t(0), int64_t(-1), int64_t(1), INT64_MIN, INT64_MAX}) {
    Data encoded = numbers({zigzag(value)});
    Problem problem;
    Cursor cursor(encoded, 0, encoded.size(), problem);
    int64_t read;
    ASSERT_TRUE(cursor.signedVarint(read, "a number"));
    EXPECT_EQ(read, value);
  }
}

TEST(Container, FindsHeaderAndSections) {
  Data file = TestFile().bytes();
  Container container;
  Problem problem;
  ASSERT_TRUE(readContainer(file, Limits(), container, problem)) << problem.str();
  EXPECT_EQ(container.version, 6u);
  EXPECT_EQ(container.producer, "test");
  EXPECT_EQ(container.sections.size(), 6u);
  EXPECT_EQ(container.alignment, 1u);
  ASSERT_NE(container.find(SectionId::IR), nullptr);
  EXPECT_EQ(container.find(SectionId::Resource), nullptr);
}

static std::string problemOf(const Data &file) { return check(file).problem.what; }

TEST(Container, RefusesForeignAndNewFiles) {
  EXPECT_THAT(problemOf({}), HasSubstr("magic"));
  EXPECT_THAT(problemOf({'M', 'L', 'I', 'R'}), HasSubstr("magic"));
  TestFile file;
  file.version = 7;
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("version 7 is newer than 6"));
  EXPECT_THAT(problemOf({'M', 'L', 0xEF, 'R', 13, 'x'}),
              HasSubstr("producer string has no terminating zero"));
}

TEST(Container, RefusesBrokenSections) {
  TestFile file;
  file.extra = {42, 1};
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("no section kind 42"));
  file.extra = section(SectionId::IR, {});
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("a second IR section"));
  file.extra = section(SectionId::Resource, {});
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("resource offset section is missing"));
  file.extra = Data{5} + numbers({uint64_t(1) << 60});
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("takes 1152921504606846976 bytes"));
  file.extra = Data{5 | 0x80} + numbers({0, 3});
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("alignment 3 is not a power of two"));
  file.extra = Data{5 | 0x80} + numbers({0, uint64_t(1) << 32});
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("not a power of two up to 4096"));
  file.extra = Data{5 | 0x80} + numbers({0, 64, 0, 0});
  EXPECT_THAT(problemOf(file.bytes()), HasSubstr("not the byte 0xCB"));
}

TEST(Container, RefusesEveryCut) {
  Data file = TestFile().bytes();
  ASSERT_EQ(problemOf(file), "");
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_NE(problemOf(Data(file.begin(), file.begin() + length)), "") << "at length " << length;
}
