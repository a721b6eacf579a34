// Block floats: sixteen neighbours of a row share one exponent, and each keeps a sign and a short
// magnitude with its leading one. bfp8 has 7 bits of magnitude, bfp4 has 3. Used for weights of
// products: by the compiler, which rounds to what a device would hold, and by whoever stores
// weights in tiles. Rounding is that of the hardware it stands for: bits that the shared exponent
// shifts out are cut off, what is left rounds to nearest even, and overflow saturates; it must
// never raise the exponent instead.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <array>
#include <optional>
#include <string_view>
#include <vector>

namespace cupel::tensor {

enum class BlockFormat : uint8_t { Bfp8, Bfp4 };

/// "bfp8", "bfp_bf8", "bfp4" or "bfp_bf4".
std::optional<BlockFormat> parseBlockFormat(std::string_view name);
/// "bfp_bf8", "bfp_bf4".
std::string_view nameOf(BlockFormat format);
/// Bits of an element's magnitude: 7 or 3. Its sign stands above them.
constexpr int magnitudeBits(BlockFormat format) { return format == BlockFormat::Bfp8 ? 7 : 3; }

inline constexpr int kBlockElements = 16;       // Elements that share an exponent.
inline constexpr int64_t kTileSide = 32; // Of a tile, in elements; four faces of 16 x 16.

struct Block {
  uint8_t exponent = 0; // As in f32: biased by 127.
  std::array<uint8_t, kBlockElements> elements{};
};

Block encodeBlock(BlockFormat format, std::span<const float, kBlockElements> values);
void decodeBlock(BlockFormat format, const Block &block, std::span<float, kBlockElements> values);

/// Bytes of a packed tile: 64 exponents, then its elements (bfp8: 1,088 together; bfp4: 576).
constexpr int64_t tileBytes(BlockFormat format) {
  return 64 + kTileSide * kTileSide / (format == BlockFormat::Bfp8 ? 1 : 2);
}

/// A matrix in tiles, row by row of tiles; what a tile has beyond the matrix is zero. A tile holds
/// the exponents of its faces (0,0), (0,1), (1,0), (1,1), row by row, then their elements in the same
/// order: a byte each in bfp8, two to a byte in bfp4, the first lowest.
std::vector<uint8_t> packTiles(BlockFormat format, std::span<const float> matrix, int64_t rows,
                               int64_t columns);
/// The matrix that `packTiles` packed; nothing if the bytes are too few or too many for its shape.
std::optional<std::vector<float>> unpackTiles(BlockFormat format, std::span<const uint8_t> tiles,
                                              int64_t rows, int64_t columns);

/// A tensor of f32, f16 or bf16 with every element rounded to what its block holds. Blocks lie along
/// the last dimension; one at the end may be shorter. Other types are an error.
Result<Tensor> roundToBlocks(const Tensor &tensor, BlockFormat format);

} // namespace cupel::tensor
