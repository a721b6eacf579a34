#include "cupel/kernels/EmulatedBlocks.h"

#include "cupel/kernels/Convolution.h"
#include "cupel/kernels/FinishTesting.h"
#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/Product.h"
#include "cupel/kernels/TestBuffers.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace cupel::kernels {
namespace {

constexpr int64_t kWidth = 16;

/// Any bits but those of infinities and NaN, and few of numbers whose products are not in range.
std::vector<float> anyBits(int64_t count, bool arePairs, unsigned seed) {
  std::vector<float> made(static_cast<size_t>(count));
  std::mt19937 random(seed);
  for (float &value : made) {
    auto bits = static_cast<uint32_t>(random());
    if (arePairs) // Exponents around one; every sixteenth number is denormal.
      bits = (bits & 0x87ff87ff) | 0x3c003c00;
    if (arePairs && random() % 16 == 0)
      bits = (bits & 0x807f807f);
    value = std::bit_cast<float>(bits);
  }
  return made;
}

/// A tile whose rows lie regularly, or not.
struct Problem {
  int64_t rows, vectors, depth, taps;
  bool isRegular, accumulates, hasBias;
};

std::vector<float> run(const BlockTable &blocks, BlockFunction function, bool arePairs, const Problem &given) {
  int64_t columns = given.vectors * kWidth, stride = given.depth + 3;
  std::vector<float> a = anyBits((given.rows + 2) * given.taps * stride, arePairs, 1);
  std::vector<float> b = anyBits(given.taps * given.depth * columns, arePairs, 2);
  std::vector<float> c(static_cast<size_t>(given.rows * (columns + 5)), 3.0f), bias(static_cast<size_t>(columns), 0.5f);
  std::vector<const float *> rows;
  for (int64_t tap = 0; tap < given.taps; ++tap)
    for (int64_t row = 0; row < given.rows; ++row)
      rows.push_back(a.data() + ((given.isRegular ? row : row * 7 % given.rows) * given.taps + tap) * stride);
  std::vector<int32_t> taps;
  for (int64_t tap = given.taps; tap-- > 0;)
    taps.push_back(static_cast<int32_t>(tap));
  Tile tile = {};
  tile.rows = rows.data();
  tile.rowsPerTap = given.rows;
  tile.offset = 2;
  tile.taps = given.taps;
  tile.tapIndices = taps.data();
  tile.tapStride = given.depth * columns;
  tile.depth = given.depth;
  tile.b = b.data();
  tile.bStride = columns;
  tile.c = c.data();
  tile.ldc = columns + 5;
  tile.bias = given.hasBias ? bias.data() : nullptr;
  tile.accumulate = given.accumulates;
  BlockSetup setup;
  function(tile, given.rows, given.vectors, setup);
  blocks.release();
  return c;
}

/// What the processor computes is what is written about it, bit by bit, in all shapes.
TEST(BlocksTest, TheProcessorDoesWhatIsEmulated) {
  if (!hasIsa(Isa::Amx))
    GTEST_SKIP() << "this processor has no matrix registers";
  const BlockTable &real = *kernelsOf(Isa::Amx).blocks, &emulated = emulatedBlocks();
  for (int64_t vectors = 1; vectors <= kMostTileVectors; ++vectors)
    for (int64_t rows = 1; rows <= real.rows[vectors - 1]; rows += rows < 15 ? 7 : 1)
      for (int64_t depth : {int64_t{0}, int64_t{1}, int64_t{16}, int64_t{37}, kBlockDepth})
        for (bool isRegular : {true, false}) {
          SCOPED_TRACE(testing::Message() << rows << " rows, " << vectors << " vectors, depth " << depth);
          Problem problem{rows, vectors, depth, depth > 100 ? 1 : 3, isRegular, depth == 37, rows % 2 == 0};
          auto compare = [&](BlockFunction one, BlockFunction other, bool arePairs) {
            std::vector<float> found = run(real, one, arePairs, problem), expected = run(emulated, other, arePairs, problem);
            for (size_t i = 0; i < found.size(); ++i)
              ASSERT_EQ(std::bit_cast<uint32_t>(found[i]), std::bit_cast<uint32_t>(expected[i])) << i << (arePairs ? " of pairs" : " of bytes");
          };
          compare(real.pairs, emulated.pairs, true);
          compare(real.bytes[0], emulated.bytes[0], false);
          compare(real.bytes[1], emulated.bytes[1], false);
        }
}

/// Rows by themselves have the bits that they have among others: the depth is always cut alike.
TEST(BlocksTest, BitsDoNotDependOnOtherRows) {
  IsaScope scope(kernelsWithEmulatedBlocks());
  constexpr int64_t kRows = 45, kColumns = 40, kDepth = 850;
  std::vector<float> a = anyBits(kRows * kDepth / 2, true, 1), b = anyBits(kDepth * kColumns / 2, true, 2);
  Pool pool(1);
  PackedMatrix packed = packMatrix(Bf16View{reinterpret_cast<const uint16_t *>(b.data()), kColumns}, kDepth, kColumns, pool);
  auto run = [&](int64_t row, int64_t rows) {
    std::vector<float> c(static_cast<size_t>(rows * kColumns));
    multiply(rows, Bf16View{reinterpret_cast<const uint16_t *>(a.data()) + row * kDepth, kDepth}, packed, c.data(), kColumns, {}, pool);
    return c;
  };
  std::vector<float> all = run(0, kRows);
  for (int64_t row : {0, 17, 44}) {
    std::vector<float> alone = run(row, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.begin() + row * kColumns)) << row;
  }
  EXPECT_FALSE(hasEmulatedRegisters()); // Nothing is left behind in a thread that goes on.
}

/// Rows of an image that do not lie equally far apart are copied once for all panels, where there are several: channels of the result
/// have the bits that those of one panel have, whose tiles copy for themselves. Of short taps, of more than one part of the depth, and of deep ones.
TEST(BlocksTest, BitsDoNotDependOnOtherPanels) {
  IsaScope scope(kernelsWithEmulatedBlocks());
  Pool pool(1);
  constexpr int64_t kOutputs = 7 * kWidth, kOfOnePanel = 2 * kWidth;
  for (int64_t inputs : {int64_t{21}, int64_t{128}, 2 * kBlockDepth + 50}) {
    ConvolutionShape shape;
    shape.inputChannels = inputs;
    shape.input = {1, 5, 7};
    shape.kernel = {1, inputs > kBlockDepth ? 1 : 3, 3};
    shape.paddingLow = shape.paddingHigh = {0, shape.kernel[1] / 2, 1};
    const int64_t line = inputs * kOutputs;
    std::vector<float> image(static_cast<size_t>(5 * 7 * inputs)), weights(static_cast<size_t>(9 * line));
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (std::vector<float> *all : {&image, &weights})
      for (float &value : *all)
        value = normal(random);
    auto run = [&](int64_t first, int64_t outputs) {
      shape.outputChannels = outputs;
      PackedConvolution packed = packRoundedConvolution(shape, {weights.data() + first, {9 * line, 3 * line, line}, kOutputs, 1}, pool);
      std::vector<float> c(static_cast<size_t>(shape.rows() * outputs));
      convolve(packed, image.data(), c.data(), outputs, {}, pool);
      return c;
    };
    std::vector<float> all = run(0, kOutputs);
    for (int64_t first = 0; first < kOutputs; first += kOfOnePanel) {
      int64_t outputs = std::min(kOfOnePanel, kOutputs - first);
      std::vector<float> alone = run(first, outputs);
      for (int64_t row = 0; row < shape.rows(); ++row)
        ASSERT_TRUE(std::equal(alone.begin() + row * outputs, alone.begin() + (row + 1) * outputs, all.begin() + row * kOutputs + first))
            << inputs << " channels, pixel " << row << ", from channel " << first;
    }
  }
}

/// They do nothing but products: what tiles finish in registers is done behind them, in one part of the depth or in several.
TEST(BlocksTest, SumsAreFinishedBehindThem) {
  IsaScope scope(kernelsWithEmulatedBlocks());
  Pool pool(2, Pool::Sharing::Always);
  for (int64_t depth : {int64_t{6}, 2 * kBlockDepth + 10}) {
    constexpr int64_t kRows = 37, kColumns = 56;
    std::vector<float> a = anyBits(kRows * depth / 2, true, 1), b = anyBits(depth * kColumns / 2, true, 2);
    PackedMatrix packed = packMatrix(Bf16View{reinterpret_cast<const uint16_t *>(b.data()), kColumns}, depth, kColumns, pool);
    FinishOperands operands(kRows, kColumns);
    Finish finish = operands.make(47);
    auto run = [&](const Finish *end) {
      std::vector<float> c(static_cast<size_t>(kRows * kColumns));
      Epilogue epilogue{operands.addends.data()};
      epilogue.finish = end;
      multiply(kRows, Bf16View{reinterpret_cast<const uint16_t *>(a.data()), depth}, packed, c.data(), kColumns, epilogue, pool);
      return c;
    };
    std::vector<float> plain = run(nullptr), finished = run(&finish);
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      float expected = finishedElement(finish, plain[static_cast<size_t>(i)], i / kColumns, i % kColumns);
      ASSERT_EQ(std::bit_cast<uint32_t>(finished[static_cast<size_t>(i)]), std::bit_cast<uint32_t>(expected)) << i << " of depth " << depth;
    }
  }
}

/// The last rows of a result are computed with some before them, once more where the depth is short, and with registers of their own
/// size where it is not: bits do not tell, and no row is finished twice (a residual lies where the result does). Parts of a depth may
/// differ in length: of 54 rows and a depth of 800 one alone would be computed so.
TEST(BlocksTest, LastRowsAreFinishedOnce) {
  IsaScope scope(kernelsWithEmulatedBlocks());
  for (int threads : {1, 3})
    for (int64_t depth : {int64_t{64}, int64_t{800}, int64_t{1600}})
      for (int64_t rows : {33, 49, 54, 95, 196}) {
        Pool pool(threads, Pool::Sharing::Always);
        constexpr int64_t kColumns = 70;
        std::vector<float> a = anyBits(rows * depth / 2, true, 1), b = anyBits(depth * kColumns / 2, true, 2);
        PackedMatrix packed = packMatrix(Bf16View{reinterpret_cast<const uint16_t *>(b.data()), kColumns}, depth, kColumns, pool);
        auto multiplyRow = [&](int64_t row, int64_t count, float *c, const Epilogue &epilogue) {
          multiply(count, Bf16View{reinterpret_cast<const uint16_t *>(a.data()) + row * depth, depth}, packed, c, kColumns, epilogue, pool);
        };
        std::vector<uint16_t> result(static_cast<size_t>(rows * kColumns));
        for (size_t i = 0; i < result.size(); ++i)
          result[i] = static_cast<uint16_t>(0x3f80 + i % 61);
        const std::vector<uint16_t> residual = result;
        Finish finish;
        finish.narrow = result.data();
        finish.narrowRows = result.data();
        finish.narrowStride = finish.rowStride = kColumns;
        Epilogue epilogue;
        epilogue.finish = &finish;
        multiplyRow(0, rows, nullptr, epilogue);
        for (int64_t row = 0; row < rows; ++row) {
          std::vector<uint16_t> alone(kColumns);
          finish.narrow = alone.data();
          finish.narrowRows = residual.data() + row * kColumns;
          multiplyRow(row, 1, nullptr, epilogue);
          ASSERT_TRUE(std::equal(alone.begin(), alone.end(), result.begin() + row * kColumns)) << row << " of " << rows << " rows, depth " << depth;
        }
      }
}

TEST(BlocksDeathTest, WhatFaultsOnAProcessorFaultsHere) {
  Problem problem{1, 1, 1, 1, true, false, false};
  BlockFunction pairs = emulatedBlocks().pairs;
  auto withWrongSetup = [&] {
    BlockSetup setup{1u << 31 | 1 << 16 | 1 << 8 | 1 << 4 | 1}; // As if it were done.
    float a = 0, b[kWidth] = {}, c[kWidth];
    const float *row = &a;
    Tile tile = {};
    tile.rows = &row;
    tile.taps = tile.depth = 1;
    tile.b = b, tile.c = c;
    tile.bStride = tile.ldc = kWidth;
    pairs(tile, 1, 1, setup);
  };
  EXPECT_DEATH(withWrongSetup(), "before they are set up");
  EXPECT_EQ(run(emulatedBlocks(), pairs, true, problem).size(), static_cast<size_t>(kWidth + 5));
}

} // namespace
} // namespace cupel::kernels
