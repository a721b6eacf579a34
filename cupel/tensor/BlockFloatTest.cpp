#include "cupel/tensor/BlockFloat.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::tensor;

namespace {

std::array<float, kBlockElements> block(std::vector<float> values) {
  std::array<float, kBlockElements> result{};
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

void expectBlock(std::vector<float> values, int exponent, std::vector<int> codes,
                 std::vector<float> decoded, BlockFormat format = BlockFormat::Bfp8) {
  Block encoded = encodeBlock(format, block(values));
  EXPECT_EQ(encoded.exponent, exponent);
  std::array<float, kBlockElements> back;
  decodeBlock(format, encoded, back);
  for (size_t i = 0; i < codes.size(); ++i) {
    EXPECT_EQ(encoded.elements[i], codes[i]) << "element " << i;
    EXPECT_EQ(back[i], decoded[i]) << "element " << i;
    EXPECT_EQ(std::signbit(back[i]), std::signbit(decoded[i])) << "element " << i;
  }
}

TEST(BlockFloat, EncodesAsTheHardwareDoes) {
  expectBlock({1, -1, 0.5, 0}, 127, {0x40, 0xC0, 0x20, 0x00}, {1, -1, 0.5, 0});
  expectBlock({1, 1 + 1.0f / 128, 1 + 3.0f / 128, 1.9999f}, 127, {0x40, 0x40, 0x42, 0x7F},
              {1, 1, 1.03125, 1.984375});
  expectBlock({3, 0.1f, -0.1f, 1.0f / 64}, 128, {0x60, 0x03, 0x83, 0x00},
              {3, 0.09375, -0.09375, 0});
}

TEST(BlockFloat, HasNoSignOfZeroNoSubnormalsAndNoInfinity) {
  expectBlock({-0.0f, 0x1p-130f, 0x1p-126f}, 1, {0, 0, 0x40}, {0, 0, 0x1p-126f});
  expectBlock({1, -0x1p-20f}, 127, {0x40, 0}, {1, 0});
  // An infinity takes the largest exponent, and everything smaller vanishes.
  expectBlock({HUGE_VALF, 1, -1e30f}, 255, {0x40, 0, 0}, {HUGE_VALF, 0, 0});
  // Bits that are shifted out are cut off before rounding: 0.5 + 2^-20 is no tie any more in
  // infinite precision, but is one here.
  expectBlock({64, 0.5f + 0x1p-20f}, 133, {0x40, 0}, {64, 0});
}

TEST(BlockFloat, FourBitsHaveThreeOfMagnitude) {
  expectBlock({1, -1, 0.5, 1.75f, 1.9f, 0.125f, -0.375f}, 127, {4, 12, 2, 7, 7, 0, 10},
              {1, -1, 0.5, 1.75f, 1.75f, 0, -0.5f}, BlockFormat::Bfp4);
}

TEST(BlockFloat, TilesHaveExponentsBeforeFaces) {
  EXPECT_EQ(tileBytes(BlockFormat::Bfp8), 1088);
  EXPECT_EQ(tileBytes(BlockFormat::Bfp4), 576);
  // A number in each face, at its second row and third column.
  std::vector<float> matrix(32 * 32);
  matrix[1 * 32 + 2] = 1;
  matrix[1 * 32 + 18] = 2;
  matrix[17 * 32 + 2] = 4;
  matrix[17 * 32 + 18] = -8;
  std::vector<uint8_t> bytes = packTiles(BlockFormat::Bfp8, matrix, 32, 32);
  ASSERT_EQ(bytes.size(), 1088u);
  for (int face = 0; face < 4; ++face) {
    EXPECT_EQ(bytes[face * 16 + 1], 127 + face);
    EXPECT_EQ(bytes[64 + face * 256 + 1 * 16 + 2], face == 3 ? 0xC0 : 0x40);
  }
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), 1088 - 8);
  std::vector<uint8_t> small = packTiles(BlockFormat::Bfp4, matrix, 32, 32);
  ASSERT_EQ(small.size(), 576u);
  EXPECT_EQ(small[64 + 3 * 128 + 8 + 1], 0x0C); // The third element: the lower half of the second byte.
}

TEST(BlockFloat, TilesOfAnyMatrixComeBackRounded) {
  for (BlockFormat format : {BlockFormat::Bfp8, BlockFormat::Bfp4})
    for (auto [rows, columns] : {std::pair(1, 1), std::pair(33, 70), std::pair(64, 32)}) {
      std::vector<float> matrix;
      uint32_t state = 1;
      for (int i = 0; i < rows * columns; ++i) {
        state = state * 1664525 + 1013904223;
        matrix.push_back(static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f);
      }
      std::vector<uint8_t> bytes = packTiles(format, matrix, rows, columns);
      auto back = unpackTiles(format, bytes, rows, columns);
      ASSERT_TRUE(back);
      Tensor whole = Tensor::of<DType::F32>({rows, columns}, matrix);
      Result<Tensor> rounded = roundToBlocks(whole, format);
      ASSERT_TRUE(rounded) << rounded.message();
      EXPECT_EQ(std::memcmp(rounded->data(), back->data(), back->size() * 4), 0);
      EXPECT_FALSE(unpackTiles(format, std::span(bytes).first(bytes.size() - 1), rows, columns));
    }
}

/// 20,000 blocks that testdata/block_floats.py drew and encoded, written by another hand.
TEST(BlockFloat, TwentyThousandBlocksAreThoseOfThePythonVersion) {
  std::ifstream file(CUPEL_TENSOR_TESTDATA "/block_floats.bin", std::ios::binary);
  ASSERT_TRUE(file);
  // Of each block only a sum over its bytes is kept; its numbers are drawn again.
  uint64_t state = 20240601;
  auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  };
  for (int i = 0; i < 20000; ++i) {
    std::array<float, kBlockElements> values;
    for (float &value : values) {
      // Exponents near each other, any sign and fraction; now and then anything at all.
      uint32_t bits = draw();
      uint32_t exponent = draw() % 64 == 0 ? bits >> 23 & 0xff : 118 + draw() % 12;
      value = std::bit_cast<float>((bits & 0x807fffff) | exponent << 23);
    }
    for (BlockFormat format : {BlockFormat::Bfp8, BlockFormat::Bfp4}) {
      Block encoded = encodeBlock(format, values);
      uint32_t sum = encoded.exponent;
      for (uint8_t element : encoded.elements)
        sum = sum * 31 + element;
      uint32_t expected = 0;
      file.read(reinterpret_cast<char *>(&expected), 4);
      ASSERT_TRUE(file) << "block " << i;
      ASSERT_EQ(sum, expected) << "block " << i << " as " << nameOf(format);
    }
  }
}

TEST(BlockFloat, RoundsTensorsOfOtherFloatsAndRefusesTheRest) {
  Tensor half = Tensor::of<DType::BF16>({2}, {0x3f80, 0x3f81}); // 1 and 1 + 1/128
  Result<Tensor> rounded = roundToBlocks(half, BlockFormat::Bfp8);
  ASSERT_TRUE(rounded) << rounded.message();
  EXPECT_EQ(rounded->dtype(), DType::BF16);
  EXPECT_EQ(rounded->dataAs<uint16_t>()[1], 0x3f80);
  EXPECT_TRUE(roundToBlocks(Tensor::of<DType::F32>({0, 4}, {}), BlockFormat::Bfp8));
  EXPECT_FALSE(roundToBlocks(Tensor::of<DType::I32>({1}, {1}), BlockFormat::Bfp8));
  EXPECT_EQ(parseBlockFormat("bfp_bf4"), BlockFormat::Bfp4);
  EXPECT_EQ(parseBlockFormat("bfp8"), BlockFormat::Bfp8);
  EXPECT_EQ(parseBlockFormat("bf16"), std::nullopt);
}

} // namespace
