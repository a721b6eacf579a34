#include "cupel/kernels/Isa.h"

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
    EXPECT_EQ(table.width, isa == Isa::Baseline ? 4 : isa == Isa::V3 ? 8 : 16);
#endif
    EXPECT_GT(table.tileRows[0], 0);
    for (int v = 0; v < kMostTileVectors; ++v)
      for (int r = 0; r < kMostTileRows; ++r)
        EXPECT_EQ(table.tiles[v][r] != nullptr, r < table.tileRows[v]);
  }
}

TEST(IsaTest, AScopeChangesTheTable) {
  {
    IsaScope scope(Isa::Baseline);
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
  EXPECT_EXIT(exitWith("baseline"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exitWith("v3"), testing::ExitedWithCode(std::min(1, static_cast<int>(bestIsa()))), "");
  EXPECT_EXIT(exitWith("nonsense"), testing::ExitedWithCode(static_cast<int>(bestIsa())), "");
}

} // namespace
} // namespace cupel::kernels
