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
  Tensor other = bytes(kMany); // A part of the block, whose rest stays for others.
  EXPECT_GE(keptBytes(), size_t(2 * kMany) - 4096);
  EXPECT_LE(keptBytes(), size_t(2 * kMany) + 4096);
  other = Tensor();
  EXPECT_GE(keptBytes(), size_t(3 * kMany));
  EXPECT_LE(keptBytes(), size_t(3 * kMany) + 4096);
  releaseKeptBlocks();
  EXPECT_EQ(keptBytes(), 0u);
}

TEST(KeptBlocksTest, WhatALargeOneLeavesServesManyAndTheirsALargeOne) {
  BlockKeeper keeper;
  const std::byte *large = bytes(4 * kMany + (1 << 20)).data();
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<Tensor> small;
    for (int i = 0; i < 4; ++i) {
      small.push_back(bytes(kMany));
      EXPECT_GE(small.back().data(), large);
      EXPECT_LE(small.back().data() + kMany, large + 4 * kMany + (1 << 20) + 4096);
      std::fill_n(small.back().mutableAs<int8_t>(), kMany, int8_t(i));
    }
    for (int i = 0; i < 4; ++i) // No two of them lie on each other.
      EXPECT_EQ(std::count(small[i].dataAs<int8_t>(), small[i].dataAs<int8_t>() + kMany, int8_t(i)),
                kMany);
    std::swap(small[0], small[2]); // They end in any order.
    small.clear();
    EXPECT_EQ(bytes(4 * kMany + (1 << 20)).data(), large);
  }
}

TEST(KeptBlocksTest, OneThatASmallBlockIsCutOffIsStretched) {
  BlockKeeper keeper;
  bytes(16 * kMany);
  Tensor small = bytes(1 << 20);
  std::fill_n(small.mutableAs<int8_t>(), small.size(), int8_t(5));
  Tensor large = *Tensor::zeros(DType::I8, {16 * kMany});
  EXPECT_EQ(keptBytes(), 0u);
  EXPECT_EQ(std::count(large.dataAs<int8_t>(), large.dataAs<int8_t>() + large.size(), int8_t(0)), large.size());
  std::fill_n(large.mutableAs<int8_t>(), large.size(), int8_t(6));
  EXPECT_EQ(std::count(small.dataAs<int8_t>(), small.dataAs<int8_t>() + small.size(), int8_t(5)), small.size());
}

TEST(KeptBlocksTest, ManySizesInAnyOrderStayApartAndWithinWhatWasUsed) {
  BlockKeeper keeper;
  std::vector<Tensor> held(12);
  size_t live = 0, most = 0;
  uint32_t state = 1;
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525 + 1013904223;
    Tensor &place = held[(state >> 8) % held.size()];
    live -= size_t(place.size());
    place = Tensor();
    place = bytes((1 << 20) + int64_t(state >> 9) % (6 << 20));
    live += size_t(place.size());
    most = std::max(most, live);
    int8_t *values = place.mutableAs<int8_t>();
    values[0] = values[place.size() - 1] = int8_t(i);
    for (Tensor &other : held)
      if (other.size())
        EXPECT_EQ(other.dataAs<int8_t>()[0], other.dataAs<int8_t>()[other.size() - 1]);
    // Pages for alignment, and what is too little to be of use to others.
    EXPECT_LE(live + keptBytes(), most + held.size() * ((256 << 10) + 3 * 4096));
  }
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
