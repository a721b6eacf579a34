#include "cupel/kernels/Processor.h"

#include <gtest/gtest.h>

namespace cupel::kernels {
namespace {

/// As a processor of Intel's with AMX says it, in full.
Processor withEverything() {
  Processor one;
  one.basic.c = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;
  one.extended.b = 1u << 3 | 1u << 5 | 1u << 8 | 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  one.extended.c = 1u << 11;
  one.extended.d = 1u << 22 | 1u << 24 | 1u << 25;
  one.more.a = 1u << 4 | 1u << 5;
  one.tilePalettes.a = 1;
  one.firstPalette = {0x04002000, 0x00080040, 16, 0};
  one.amd.c = 1u << 5;
  one.saved = 0x600e7;
  return one;
}

bool runsAll(const Processor &one) {
  for (Isa isa : kAllIsas)
    if (!one.runs(isa))
      return false;
  return true;
}

TEST(ProcessorTest, RunsWhatItHas) {
  EXPECT_TRUE(runsAll(withEverything()));
  EXPECT_TRUE(Processor().runs(Isa::Baseline));
  EXPECT_FALSE(Processor().runs(Isa::V3));
}

/// Virtual machines have been seen that show AMX and end CPUID before the sizes of its registers.
TEST(ProcessorTest, NeedsTheSizesOfMatrixRegisters) {
  Processor one = withEverything();
  one.tilePalettes = one.firstPalette = {};
  EXPECT_FALSE(one.runs(Isa::Amx));
  EXPECT_TRUE(one.runs(Isa::Bf16));
  one = withEverything();
  one.firstPalette.c = 8;
  EXPECT_FALSE(one.runs(Isa::Amx));
}

TEST(ProcessorTest, NeedsWhatTheOperatingSystemSaves) {
  Processor one = withEverything();
  one.saved = 0xe7;
  EXPECT_FALSE(one.runs(Isa::Amx));
  EXPECT_TRUE(one.runs(Isa::Bf16));
  one.saved = 0x60007;
  EXPECT_FALSE(one.runs(Isa::V4));
  EXPECT_TRUE(one.runs(Isa::V3Vnni));
  one.saved = 0x3;
  EXPECT_FALSE(one.runs(Isa::V3));
}

TEST(ProcessorTest, EachPartOfMatrixRegistersIsNeeded) {
  for (int bit : {22, 24, 25}) {
    Processor one = withEverything();
    one.extended.d &= ~(1u << bit);
    EXPECT_FALSE(one.runs(Isa::Amx)) << bit;
  }
}

/// Zen 4 has AVX-512's sums of bytes and not AVX2's.
TEST(ProcessorTest, ALaterOneMayLackAnEarlierOne) {
  Processor one = withEverything();
  one.more.a = 1u << 5;
  EXPECT_FALSE(one.runs(Isa::V3Vnni));
  EXPECT_TRUE(one.runs(Isa::Bf16));
}

/// Processors of AMD's by family and model, as leaf 1 has them.
TEST(ProcessorTest, OnlyKnownProcessorsHaveWholeUnits) {
  auto amd = [](uint32_t family, uint32_t model) {
    Processor one = withEverything();
    one.maker = {0xd, 0x68747541, 0x444d4163, 0x69746e65};
    one.basic.a = 0xf00 | (family - 0xf) << 20 | (model & 0xf) << 4 | (model & 0xf0) << 12;
    return one;
  };
  EXPECT_TRUE(amd(0x1a, 0x02).hasWholeUnits());
  EXPECT_TRUE(amd(0x1a, 0x44).hasWholeUnits());
  EXPECT_FALSE(amd(0x1a, 0x24).hasWholeUnits());
  EXPECT_FALSE(amd(0x19, 0x11).hasWholeUnits());
  Processor other = amd(0x1a, 0x02);
  other.maker.b = 0x756e6547;
  EXPECT_FALSE(other.hasWholeUnits());
  EXPECT_FALSE(withEverything().hasWholeUnits());
}

TEST(ProcessorTest, ACoresCacheIsOfASizeThatCachesHave) {
  EXPECT_GE(coreCacheBytes(), 1 << 18);
  EXPECT_LE(coreCacheBytes(), 1 << 22);
}

} // namespace
} // namespace cupel::kernels
