// Blocks are used again while somebody keeps them, and memory never grows by it.

#include "cupel/tensor/KeptBlocks.h"
#include "cupel/tensor/Tensor.h"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <sys/mman.h>
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

TEST(KeptBlocksTest, TellsHowMuchWasTakenAtOnce) {
  Tensor before = bytes(kMany);
  BlockKeeper keeper;
  EXPECT_EQ(keeper.taken(), 0u);
  for (int i = 0; i < 3; ++i)
    bytes(kMany);
  EXPECT_NEAR(double(keeper.taken()), double(kMany), 4096); // Whole pages.
  Tensor first = bytes(kMany), second = bytes(kMany);
  EXPECT_NEAR(double(keeper.taken()), double(2 * kMany), 2 * 4096);
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

#if defined(__linux__)
/// Which share of a tensor's pages is not there yet: the system clears them when they are touched.
double newShareOf(Tensor &tensor) {
  int8_t *values = tensor.mutableAs<int8_t>();
  std::vector<unsigned char> isThere(size_t(tensor.size()) / 4096);
  auto page = reinterpret_cast<uintptr_t>(values) / 4096 * 4096;
  mincore(reinterpret_cast<void *>(page), isThere.size() * 4096, isThere.data());
  auto there = std::ranges::count_if(isThere, [](unsigned char x) { return (x & 1) != 0; });
  return 1 - double(there) / double(isThere.size());
}

// Small ones that live on cut what a large one left into parts, none of which the next fits into.
TEST(KeptBlocksTest, ALargeOneIsPutTogetherOfParts) {
  BlockKeeper keeper;
  constexpr int64_t kLarge = 12 * kMany;
  {
    std::vector<Tensor> lasting, others;
    for (int i = 0; i < 4; ++i) {
      others.push_back(bytes(kLarge / 4));
      std::fill_n(others.back().mutableAs<int8_t>(), kLarge / 4, int8_t(1));
      lasting.push_back(bytes(3 << 20));
      std::fill_n(lasting.back().mutableAs<int8_t>(), 3 << 20, int8_t(i));
    }
    others.clear();
    Tensor large = bytes(kLarge);
    EXPECT_LT(newShareOf(large), 0.2);
    std::fill_n(large.mutableAs<int8_t>(), kLarge, int8_t(9));
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(std::count(lasting[i].dataAs<int8_t>(), lasting[i].dataAs<int8_t>() + (3 << 20),
                           int8_t(i)),
                3 << 20);
    EXPECT_EQ(std::count(large.dataAs<int8_t>(), large.dataAs<int8_t>() + kLarge, int8_t(9)),
              kLarge);
  }
  // And once more of what it is made of, cleared.
  Tensor zeros = *Tensor::zeros(DType::I8, {kLarge});
  EXPECT_EQ(std::count(zeros.dataAs<int8_t>(), zeros.dataAs<int8_t>() + kLarge, int8_t(0)), kLarge);
}

#endif

/// Tensors of all sizes up to `largest` come and go in any order; each keeps what it holds, and of each at
/// most `unused` bytes are kept beyond what was used at once.
void expectApartAndWithin(size_t count, int rounds, int64_t largest, size_t unused) {
  BlockKeeper keeper;
  std::vector<Tensor> held(count);
  size_t live = 0, most = 0;
  uint32_t state = 7;
  // The first byte of each mebibyte, and the last of all.
  auto eachPart = [](const Tensor &of, auto &&visit) {
    for (int64_t at = 0; at < of.size(); at += 1 << 20)
      visit(at);
    if (of.size())
      visit(of.size() - 1);
  };
  for (int i = 0; i < rounds; ++i) {
    state = state * 1664525 + 1013904223;
    const size_t number = (state >> 8) % count;
    Tensor &place = held[number];
    live -= size_t(place.size());
    place = Tensor();
    place = bytes((1 << 20) + int64_t(state >> 9) % largest);
    live += size_t(place.size());
    most = std::max(most, live);
    eachPart(place, [values = place.mutableAs<int8_t>(), number](int64_t at) { values[at] = int8_t(number); });
    for (size_t h = 0; h < count; ++h)
      eachPart(held[h], [&](int64_t at) { EXPECT_EQ(held[h].dataAs<int8_t>()[at], int8_t(h)) << i; });
    // And pages for alignment.
    EXPECT_LE(live + keptBytes(), most + count * (unused + 3 * 4096));
  }
}

// Of a small one what is too little for others is not used, of a large one up to a large page.
TEST(KeptBlocksTest, ManySizesInAnyOrderStayApartAndWithinWhatWasUsed) {
  expectApartAndWithin(12, 400, 6 << 20, 256 << 10);
}
TEST(KeptBlocksTest, LargeOnesInAnyOrderStayApartAndWithinWhatWasUsed) {
  expectApartAndWithin(6, 200, 80 << 20, 2 << 20);
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
