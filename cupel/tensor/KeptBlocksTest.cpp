// Blocks are used again while somebody keeps them, and memory never grows by it.

#include "cupel/tensor/KeptBlocks.h"
#include "cupel/tensor/Tensor.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace cupel::tensor {
namespace {

constexpr int64_t kMany = int64_t{8} << 20;

Tensor bytes(int64_t count) { return *Tensor::uninitialized(DType::I8, {count}); }

#ifndef CUPEL_SANITIZED // There nothing is kept.
TEST(KeptBlocksTest, WhatEndsIsUsedAgain) {
  BlockKeeper keeper;
  Tensor first = bytes(kMany);
  const std::byte *address = first.data();
  first = Tensor();
  EXPECT_GE(keptBytes(), size_t(kMany));
  EXPECT_EQ(bytes(kMany - 1000).data(), address);
}

TEST(KeptBlocksTest, KeptAndUsedAreNoMoreThanWasUsedAtOnce) {
  BlockKeeper keeper;
  Tensor lasting = bytes(kMany);
  bytes(2 * kMany);
  EXPECT_GE(keptBytes(), size_t(2 * kMany));
  Tensor larger = bytes(3 * kMany); // Both together would be more.
  EXPECT_EQ(keptBytes(), 0u);
  larger = Tensor();
  EXPECT_GE(keptBytes(), size_t(3 * kMany));
  Tensor other = bytes(kMany); // A part of the block, since with all of it more would be taken.
  EXPECT_EQ(keptBytes(), 0u);
  other = Tensor();
  EXPECT_GE(keptBytes(), size_t(kMany));
  releaseKeptBlocks();
  EXPECT_EQ(keptBytes(), 0u);
}

TEST(KeptBlocksTest, ZerosAreZeroInABlockThatWasUsed) {
  BlockKeeper keeper;
  {
    Tensor used = bytes(kMany);
    std::fill_n(used.mutableAs<int8_t>(), kMany, int8_t(7));
  }
  EXPECT_GE(keptBytes(), size_t(kMany));
  Tensor zeros = *Tensor::zeros(DType::I8, {kMany});
  EXPECT_EQ(keptBytes(), 0u);
  const int8_t *values = zeros.dataAs<int8_t>();
  EXPECT_TRUE(std::all_of(values, values + kMany, [](int8_t x) { return x == 0; }));
}
#endif

TEST(KeptBlocksTest, NothingIsKeptForNobody) {
  bytes(kMany);
  EXPECT_EQ(keptBytes(), 0u);
  Tensor outlives;
  {
    BlockKeeper outer;
    {
      BlockKeeper inner;
      outlives = bytes(kMany);
      bytes(kMany);
    }
    bytes(kMany);
  }
  EXPECT_EQ(keptBytes(), 0u);
  outlives = Tensor();
  EXPECT_EQ(keptBytes(), 0u);
}

TEST(KeptBlocksTest, ThreadsShareThem) {
  BlockKeeper keeper;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        Tensor own = bytes(int64_t{2} << 20);
        int8_t *values = own.mutableAs<int8_t>();
        std::fill_n(values, own.size(), int8_t(t));
        wrong[t] += int(own.size() - std::count(values, values + own.size(), int8_t(t)));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

} // namespace
} // namespace cupel::tensor
