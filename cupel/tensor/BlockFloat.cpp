#include "cupel/tensor/BlockFloat.h"

#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cupel::tensor {
namespace {

constexpr int kFaceSide = 16;

/// One face of a tile: sixteen rows, each of them a block.
struct Face {
  int64_t row, column;
};
constexpr Face kFaces[] = {{0, 0}, {0, 16}, {16, 0}, {16, 16}};

uint8_t encodeElement(int magnitude, float value, uint32_t shared) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t exponent = (bits >> 23) & 0xff;
  if (exponent == 0) // Zero, and what is below the normal numbers.
    return 0;
  constexpr int kSignificand = 24;
  uint32_t distance = std::min<uint32_t>(shared - exponent, 31);
  uint32_t significand = ((bits & 0x7fffff) | 0x800000) >> distance;
  int drop = kSignificand - magnitude;
  uint32_t kept = significand >> drop, rest = significand & ((1u << drop) - 1);
  uint32_t half = 1u << (drop - 1);
  kept += rest > half || (rest == half && (kept & 1));
  kept = std::min(kept, (1u << magnitude) - 1);
  return static_cast<uint8_t>(kept == 0 ? 0 : (bits >> 31) << magnitude | kept);
}

/// Calls `onBlock(row, column)` for the blocks of the tile at (row, column) in the order of their bytes.
template <typename OnBlock> void eachBlock(int64_t row, int64_t column, OnBlock onBlock) {
  for (const Face &face : kFaces)
    for (int64_t i = 0; i < kFaceSide; ++i)
      onBlock(row + face.row + i, column + face.column);
}

int64_t tilesOf(int64_t size) { return (size + kTileSide - 1) / kTileSide; }

} // namespace

std::optional<BlockFormat> parseBlockFormat(std::string_view name) {
  if (name == "bfp8" || name == "bfp_bf8")
    return BlockFormat::Bfp8;
  if (name == "bfp4" || name == "bfp_bf4")
    return BlockFormat::Bfp4;
  return std::nullopt;
}

std::string_view nameOf(BlockFormat format) {
  return format == BlockFormat::Bfp8 ? "bfp_bf8" : "bfp_bf4";
}

Block encodeBlock(BlockFormat format, std::span<const float, kBlockElements> values) {
  Block block;
  uint32_t shared = 0;
  for (float value : values)
    shared = std::max(shared, (std::bit_cast<uint32_t>(value) >> 23) & 0xff);
  block.exponent = static_cast<uint8_t>(shared);
  for (int i = 0; i < kBlockElements; ++i)
    block.elements[i] = encodeElement(magnitudeBits(format), values[i], shared);
  return block;
}

void decodeBlock(BlockFormat format, const Block &block, std::span<float, kBlockElements> values) {
  int magnitude = magnitudeBits(format);
  for (int i = 0; i < kBlockElements; ++i) {
    int bits = block.elements[i] & ((1 << magnitude) - 1);
    float value = std::ldexp(static_cast<float>(bits), block.exponent - 127 - (magnitude - 1));
    values[i] = block.elements[i] >> magnitude & 1 ? -value : value;
  }
}

std::vector<uint8_t> packTiles(BlockFormat format, std::span<const float> matrix, int64_t rows,
                               int64_t columns) {
  std::vector<uint8_t> bytes;
  bytes.reserve(static_cast<size_t>(tilesOf(rows) * tilesOf(columns) * tileBytes(format)));
  auto blockAt = [&](int64_t row, int64_t column) {
    std::array<float, kBlockElements> values{};
    if (row < rows && column < columns) {
      int64_t count = std::min<int64_t>(kBlockElements, columns - column);
      std::copy_n(matrix.begin() + row * columns + column, count, values.begin());
    }
    return encodeBlock(format, values);
  };
  for (int64_t row = 0; row < rows; row += kTileSide)
    for (int64_t column = 0; column < columns; column += kTileSide) {
      std::vector<uint8_t> elements;
      eachBlock(row, column, [&](int64_t i, int64_t j) {
        Block block = blockAt(i, j);
        bytes.push_back(block.exponent);
        for (int k = 0; k < kBlockElements; ++k)
          if (format == BlockFormat::Bfp8)
            elements.push_back(block.elements[k]);
          else if (k % 2 == 0)
            elements.push_back(
                static_cast<uint8_t>(block.elements[k] | block.elements[k + 1] << 4));
      });
      bytes.insert(bytes.end(), elements.begin(), elements.end());
    }
  return bytes;
}

std::optional<std::vector<float>> unpackTiles(BlockFormat format, std::span<const uint8_t> tiles,
                                              int64_t rows, int64_t columns) {
  if (static_cast<int64_t>(tiles.size()) != tilesOf(rows) * tilesOf(columns) * tileBytes(format))
    return std::nullopt;
  std::vector<float> matrix(static_cast<size_t>(rows * columns));
  const uint8_t *tile = tiles.data();
  int64_t bytesOfBlock = format == BlockFormat::Bfp8 ? kBlockElements : kBlockElements / 2;
  for (int64_t row = 0; row < rows; row += kTileSide)
    for (int64_t column = 0; column < columns; column += kTileSide, tile += tileBytes(format)) {
      int64_t number = 0;
      eachBlock(row, column, [&](int64_t i, int64_t j) {
        const uint8_t *elements = tile + 64 + number * bytesOfBlock;
        Block block{tile[number++], {}};
        for (int k = 0; k < kBlockElements; ++k)
          block.elements[k] = format == BlockFormat::Bfp8
                                  ? elements[k]
                                  : static_cast<uint8_t>(elements[k / 2] >> k % 2 * 4 & 15);
        std::array<float, kBlockElements> values;
        decodeBlock(format, block, values);
        if (i < rows && j < columns)
          std::copy_n(values.begin(), std::min<int64_t>(kBlockElements, columns - j),
                      matrix.begin() + i * columns + j);
      });
    }
  return matrix;
}

Result<Tensor> roundToBlocks(const Tensor &tensor, BlockFormat format) {
  DType type = tensor.dtype();
  if (tensor.elementType().quantization ||
      (type != DType::F32 && type != DType::BF16 && type != DType::F16))
    return Error{ErrorCode::Unsupported,
                 describe(tensor.elementType(), tensor.shape()) +
                     " cannot be held in blocks: only f32, f16 and bf16 can"};
  Result<Tensor> wide = convert(tensor, DType::F32);
  if (!wide)
    return wide;
  Result<Tensor> rounded =
      Tensor::uninitialized(DType::F32, Shape(tensor.shape().begin(), tensor.shape().end()));
  if (!rounded)
    return rounded;
  int64_t columns = tensor.rank() ? tensor.dim(tensor.rank() - 1) : 1;
  const float *from = wide->dataAs<float>();
  auto *to = rounded->mutableAs<float>();
  for (int64_t row = 0; columns && row < tensor.size(); row += columns)
    for (int64_t column = 0; column < columns; column += kBlockElements) {
      int64_t count = std::min<int64_t>(kBlockElements, columns - column);
      std::array<float, kBlockElements> values{};
      std::copy_n(from + row + column, count, values.begin());
      decodeBlock(format, encodeBlock(format, values), values);
      std::copy_n(values.begin(), count, to + row + column);
    }
  return convert(*rounded, type);
}

} // namespace cupel::tensor
