#include "cupel/kernels/Scratch.h"

#include <cstdint>
#include <gtest/gtest.h>

namespace cupel::kernels {
namespace {

TEST(ScratchTest, FramesGiveBackWhatTheyTook) {
  ScratchFrame outer;
  auto *first = outer.take<float>(5), *second = outer.take<float>(3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 64, 0u);
  first[4] = 1, second[2] = 2;
  {
    ScratchFrame inner;
    auto *third = inner.take<float>(1 << 20);
    third[(1 << 20) - 1] = 3;
  }
  EXPECT_EQ(first[4], 1);
  EXPECT_EQ(second[2], 2);
}

#if __has_feature(address_sanitizer)
TEST(ScratchTest, WhoGoesBeyondIsFound) {
  auto goBeyond = [] {
    ScratchFrame frame;
    volatile float *taken = frame.take<float>(5);
    frame.take<float>(5);
    taken[5] = 1;
  };
  EXPECT_DEATH(goBeyond(), "heap-buffer-overflow");
}
#endif

} // namespace
} // namespace cupel::kernels
