#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Processor.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace cupel::kernels {
namespace {

TEST(IsaTest, TablesAreWholeAndOfTheirWidth) {
  for (Isa isa : kAllIsas) {
    const KernelTable &table = kernelsOf(isa);
    SCOPED_TRACE(table.name);
#if defined(__x86_64__)
    EXPECT_EQ(table.name, isaName(isa));
    EXPECT_EQ(table.width, isa == Isa::Baseline ? 4 : isa < Isa::V4 ? 8 : 16);
    EXPECT_EQ(table.blocks != nullptr, isa == Isa::Amx);
#endif
    EXPECT_GT(table.tileRows[0], 0);
    for (int v = 0; v < kMostTileVectors; ++v)
      for (int r = 0; r < kMostTileRows; ++r)
        for (TileFunction function : {table.tiles[v][r], table.integerTiles[v][r], table.byteTiles[0][v][r], table.byteTiles[1][v][r]})
          EXPECT_EQ(function != nullptr, r < table.tileRows[v]);
    for (int v = 0; v < kMostTileVectors; ++v)
      for (int r = 0; r < kMostTileRows; ++r) {
        for (const auto &ending : table.plainTiles)
          EXPECT_EQ(ending[v][r] != nullptr, r < table.tileRows[v]);
        EXPECT_EQ(table.halfTiles[v][r] != nullptr, table.halfTiles[0][0] && r < table.tileRows[v]);
      }
  }
}

/// Tiles with half vectors are there for those that gain from them.
TEST(IsaTest, TablesAreFittedToTheProcessor) {
#if defined(__x86_64__)
  bool isWhole = Processor::ofThisMachine().hasWholeUnits();
  for (Isa isa : {Isa::V4, Isa::Bf16})
    EXPECT_EQ(kernelsOf(isa).halfTiles[0][0] == nullptr, isWhole);
  EXPECT_NE(kernelsV4().halfTiles[0][0], nullptr);
  EXPECT_NE(kernelsBf16().halfTiles[0][0], nullptr);
#endif
}

TEST(IsaTest, AScopeChangesTheTable) {
  {
    IsaScope scope(Isa::Baseline);
    EXPECT_STREQ(currentKernels().name, "baseline");
  }
  {
    IsaScope scope(kernelsOf(Isa::V3));
    EXPECT_STREQ(currentKernels().name, kernelsOf(Isa::V3).name);
    IsaScope inner(Isa::Baseline);
    EXPECT_STREQ(currentKernels().name, "baseline");
  }
  EXPECT_EQ(&currentKernels(), &kernelsOf(currentIsa()));
}

/// Says which instruction set a process with this environment uses.
TEST(IsaDeathTest, TheEnvironmentMasks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto exitWith = [](const char *limit) {
    setenv("CUPEL_KERNELS", limit, 1);
    std::exit(static_cast<int>(currentIsa()));
  };
  for (Isa isa : kAllIsas) {
    std::string name(isaName(isa));
    Isa expected = Isa::Baseline; // The best up to it.
    for (Isa other : kAllIsas)
      if (other <= isa && hasIsa(other))
        expected = other;
    EXPECT_EXIT(exitWith(name.c_str()), testing::ExitedWithCode(static_cast<int>(expected)), "") << name;
  }
  EXPECT_EXIT(exitWith("avx2"), testing::ExitedWithCode(static_cast<int>(bestIsa())),
              "warning: CUPEL_KERNELS=avx2 masks nothing; there are: baseline, v3");
}

} // namespace
} // namespace cupel::kernels
