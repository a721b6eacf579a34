// The blocks of products compiled for AMX's registers.

#include "cupel/kernels/BlockKernels.h"
#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Simd.h"

namespace cupel::kernels {
namespace {

struct AmxRegisters {
  static void configure(const RegisterSizes &sizes) { __builtin_ia32_tile_loadconfig(&sizes); }
  static void release() { __builtin_ia32_tilerelease(); }

  template <int which> [[gnu::always_inline]] static void zero() { __builtin_ia32_tilezero(which); }
  template <int which> [[gnu::always_inline]] static void load(const void *from, int64_t stride) {
    __builtin_ia32_tileloadd64(which, from, static_cast<unsigned long>(stride));
  }
  template <int which> [[gnu::always_inline]] static void store(void *to, int64_t stride) {
    __builtin_ia32_tilestored64(which, to, static_cast<unsigned long>(stride));
  }
  template <BlockKind kind, int sum, int a, int b> [[gnu::always_inline]] static void multiplyAdd() {
    if constexpr (kind == BlockKind::Pairs)
      __builtin_ia32_tdpbf16ps(sum, a, b);
    else if constexpr (kind == BlockKind::Bytes)
      __builtin_ia32_tdpbusd(sum, a, b);
    else
      __builtin_ia32_tdpbssd(sum, a, b);
  }
};

} // namespace

const BlockTable &blocksAmx() {
  static constexpr BlockTable table = makeBlockTable<AmxRegisters, kWidth>();
  return table;
}

bool tryBlocksAmx() {
  // One and two in turn, as pairs of bf16 and as bytes: each sum is known.
  constexpr int64_t kSteps = 17, kRows = 5;
  uint32_t bytes[kSteps * kWidth], pairs[kSteps * kWidth];
  for (uint32_t &four : bytes)
    four = 0x02010201;
  for (uint32_t &pair : pairs)
    pair = 0x40003f80;
  float sums[kRows * kWidth];
  const float *rows[kRows];
  auto isRight = [&](const uint32_t *side, BlockFunction function, uint32_t expected) {
    for (const float *&row : rows)
      row = reinterpret_cast<const float *>(side);
    Tile tile = {};
    tile.rows = rows;
    tile.taps = 1;
    tile.depth = kSteps;
    tile.b = reinterpret_cast<const float *>(side);
    tile.bStride = tile.ldc = kWidth;
    tile.c = sums;
    BlockSetup setup;
    function(tile, kRows, 1, setup);
    AmxRegisters::release();
    for (float sum : sums)
      if (__builtin_bit_cast(uint32_t, sum) != expected)
        return false;
    return true;
  };
  return isRight(pairs, blocksAmx().pairs, __builtin_bit_cast(uint32_t, 5.0f * kSteps)) &&
         isRight(bytes, blocksAmx().bytes[0], 10 * kSteps) && isRight(bytes, blocksAmx().bytes[1], 10 * kSteps);
}

} // namespace cupel::kernels
