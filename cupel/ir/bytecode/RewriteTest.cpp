#include "cupel/ir/bytecode/Rewrite.h"
#include "cupel/ir/bytecode/Prepare.h"
#include "cupel/ir/bytecode/Tables.h"
#include "cupel/ir/bytecode/TestFile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cupel::bytecode;
using testing::HasSubstr;

namespace {
std::string_view asText(const Data &data) {
  return {reinterpret_cast<const char *>(data.data()), data.size()};
}
Bytes asBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

/// The data of an attribute or type of `file`.
Data entry(Bytes file, bool isType, size_t index, bool &custom) {
  Container container;
  Tables tables;
  Problem problem;
  EXPECT_TRUE(readContainer(file, Limits(), container, problem)) << problem.str();
  EXPECT_TRUE(readTables(file, container, Limits(), tables, problem)) << problem.str();
  const Entry &found = (isType ? tables.types : tables.attributes)[index];
  custom = found.custom;
  return Data(file.begin() + found.begin, file.begin() + found.end);
}
} // namespace

TEST(Rewrite, LeavesOldFilesAlone) {
  Data file = TestFile().bytes();
  Prepared prepared = prepareForMlir(asText(file));
  EXPECT_TRUE(prepared.ok());
  EXPECT_TRUE(prepared.isBytecode());
  EXPECT_FALSE(prepared.isCopy());
  EXPECT_EQ(prepared.text().data(), asText(file).data());
}

TEST(Rewrite, TurnsRangesIntoPoints) {
  struct {
    Data range;
    Data point;
  } cases[] = {
      {numbers({0}), numbers({0, 0})},
      {numbers({1, 300}), numbers({300, 0})},
      {numbers({2, 300, 7}), numbers({300, 7})},
      {numbers({3, 300, 7, 9}), numbers({300, 7})},
      {numbers({4, 300, 7, 301, 2}), numbers({300, 7})},
  };
  for (const auto &[range, point] : cases) {
    TestFile file;
    uint64_t name = file.attribute(numbers({2, 2}));
    uint64_t location = file.attribute(numbers({22, name}) + range);
    uint64_t after = file.attribute(numbers({14, name, location}));
    Data bytes = file.bytes();
    Prepared prepared = prepareForMlir(asText(bytes));
    ASSERT_TRUE(prepared.ok()) << prepared.error();
    EXPECT_TRUE(prepared.isCopy());
    bool custom;
    Bytes rewritten = asBytes(prepared.text());
    EXPECT_EQ(entry(rewritten, false, location, custom), numbers({11, name}) + point);
    EXPECT_TRUE(custom);
    EXPECT_EQ(entry(rewritten, false, after, custom), numbers({14, name, location}));
    EXPECT_EQ(entry(rewritten, false, 0, custom), numbers({15}));
    EXPECT_EQ(prepared.text().data()[prepared.text().size()], 0)
        << "a copy is followed by a zero byte";
  }
}

TEST(Rewrite, SpellsNewFloatCodes) {
  TestFile file;
  uint64_t type = file.type(numbers({24}));
  uint64_t tensor = file.type(numbers({13, 1, zigzag(4), type}));
  file.attribute(numbers({18, tensor, 4, 1, 1, 1, 1}));
  Data bytes = file.bytes();
  Prepared prepared = prepareForMlir(asText(bytes));
  ASSERT_TRUE(prepared.ok()) << prepared.error();
  bool custom;
  EXPECT_EQ(entry(asBytes(prepared.text()), true, type, custom), text("f8E4M3FN"));
  EXPECT_FALSE(custom);
}

TEST(Rewrite, KeepsSectionsAligned) {
  TestFile file;
  uint64_t name = file.attribute(numbers({2, 2}));
  file.attribute(numbers({22, name, 4, 1, 2, 3, 4}));
  file.attribute(numbers({22, name, 4, 1, 2, 3, 4}));
  // One resource of eight bytes, aligned to 64 in its section.
  Data blob = numbers({64, 8});
  Data offsets = numbers({0, 0, 1, 4, 64 + 8});
  offsets.push_back(0);
  Data content = blob + Data(64 - blob.size(), kPaddingByte) + Data(8, 0x55);
  // Sections before it are as long as they are, so find the padding that this file needs.
  for (size_t padding = 0; padding < 64; ++padding) {
    file.extra = section(SectionId::ResourceOffset, offsets) + Data{5 | 0x80} +
                 numbers({content.size(), 64}) + Data(padding, kPaddingByte) + content;
    Data bytes = file.bytes();
    if (!check(bytes).ok())
      continue;
    Prepared prepared = prepareForMlir(asText(bytes));
    ASSERT_TRUE(prepared.ok()) << prepared.error();
    Container container;
    Problem problem;
    ASSERT_TRUE(readContainer(asBytes(prepared.text()), Limits(), container, problem))
        << problem.str();
    const Section *resources = container.find(SectionId::Resource);
    EXPECT_EQ(resources->begin % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(prepared.text().data() + resources->begin) % 64, 0u);
    EXPECT_EQ(prepared.text()[resources->begin + 64], 0x55);
    return;
  }
  FAIL() << "no padding made a sound file";
}

TEST(Rewrite, CopiesWhatLiesUnaligned) {
  TestFile file;
  file.extra = section(SectionId::ResourceOffset, numbers({0}));
  for (size_t padding = 0; padding < 64; ++padding) {
    TestFile padded = file;
    padded.extra = file.extra + Data{5 | 0x80} + numbers({0, 64}) + Data(padding, kPaddingByte);
    Data bytes = padded.bytes();
    if (!check(bytes).ok())
      continue;
    alignas(64) static char memory[4096];
    std::copy(bytes.begin(), bytes.end(), memory + 1);
    Prepared prepared = prepareForMlir({memory + 1, bytes.size()});
    EXPECT_TRUE(prepared.ok()) << prepared.error();
    EXPECT_TRUE(prepared.isCopy());
    std::copy(bytes.begin(), bytes.end(), memory);
    EXPECT_FALSE(prepareForMlir({memory, bytes.size()}).isCopy());
    return;
  }
  FAIL() << "no padding made a sound file";
}

TEST(Prepare, SaysWhereBytecodeIsWrong) {
  TestFile file;
  file.type(numbers({33}));
  Data bytes = file.bytes();
  Prepared prepared = prepareForMlir(asText(bytes));
  EXPECT_FALSE(prepared.ok());
  EXPECT_THAT(prepared.error(), HasSubstr("unreadable bytecode at byte "));
  EXPECT_THAT(prepared.error(), HasSubstr("type code 33 is newer"));
}
