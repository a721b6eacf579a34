// The innermost loops of products and convolutions in matrix registers: up to six of them hold sums while the depth goes
// by in groups of 16 steps, of which a register of each side holds one; a step is a pair of bf16 or four bytes. What is
// left of the depth of each tap comes last, for all taps, with registers of that size. The registers are a parameter:
// the processor's (IsaAmx.cpp) or, for tests on processors without them, memory (EmulatedBlocks.h).

#pragma once

#include "cupel/kernels/KernelTable.h"

#include <utility>

namespace cupel::kernels {
namespace {

constexpr int kBlockRegisters = 8;
constexpr int64_t kRegisterRows = kBlockRegisterRows;
/// Of the depth, as many as a row of a register holds: 64 bytes.
constexpr int64_t kRegisterSteps = 16;

/// How large registers are, as LDTILECFG reads it.
struct RegisterSizes {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(RegisterSizes) == 64);

enum class BlockKind { Pairs, Bytes, SignedBytes };

/// body(0), body(1), ..., whose argument is a constant.
template <int count, typename F> [[gnu::always_inline]] inline void unrolled(F &&body) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, i>()), ...);
  }(std::make_integer_sequence<int, count>());
}

/// Rows of A for a register: as they lie, if they are equally far apart, else copied.
struct BlockRows {
  const char *first;
  int64_t stride; // In bytes.
};

inline BlockRows findBlockRows(const float *const *rows, int64_t count, int64_t offset, int64_t steps, char *copy) {
  auto at = [&](int64_t i) { return reinterpret_cast<const char *>(rows[i] + offset); };
  int64_t stride = count > 1 ? at(1) - at(0) : 0;
  bool isRegular = true;
  for (int64_t i = 2; i < count; ++i)
    isRegular &= at(i) - at(i - 1) == stride;
  if (isRegular)
    return {at(0), stride};
  constexpr int64_t kStride = kBlockDepth * 4 + 64; // Not a multiple of what makes lines meet in a cache.
  for (int64_t i = 0; i < count; ++i) {
    const char *from = at(i);
    char *to = copy + i * kStride;
    int64_t bytes = steps * 4, byte = 0;
    for (; byte + 64 <= bytes; byte += 64)
      __builtin_memcpy(to + byte, from + byte, 64);
    for (; byte < bytes; byte += 4)
      __builtin_memcpy(to + byte, from + byte, 4);
  }
  return {copy, kStride};
}

constexpr int64_t kCopiedBytes = kRegisterRows * (kBlockDepth * 4 + 64);

/// So many registers of rows, of which the last may hold fewer than 16, times `vectors` vectors of `width` columns.
template <typename Registers, BlockKind kind, int rowRegisters, int vectors, int width> class Block {
  static constexpr int kSums = rowRegisters * vectors, kOthers = kBlockRegisters - kSums;
  static_assert(kOthers >= 2);
  /// Which side is loaded once for a group: one that fits beside a register of the other.
  static constexpr bool kHoldsB = vectors + 1 <= kOthers, kHoldsA = !kHoldsB && rowRegisters + 1 <= kOthers;

  static constexpr int registerOfB(int v) {
    int others = kHoldsB ? 0 : kHoldsA ? rowRegisters : 1;
    return kSums + others + v % (kOthers - others);
  }
  static constexpr int registerOfA(int r) {
    return kHoldsA ? kSums + r : kHoldsB ? kSums + vectors + r % (kOthers - vectors) : kSums;
  }

public:
  /// Then all rows must be there.
  static constexpr bool kSharesA = rowRegisters > 1 && registerOfA(rowRegisters - 1) == registerOfA(0);

  static void compute(const Tile &given, int64_t rows, BlockSetup &setup) {
    const Tile tile = given; // A copy that stores cannot change.
    int64_t whole = tile.depth / kRegisterSteps * kRegisterSteps, rest = tile.depth - whole;
    if (whole > 0 || rest == 0) {
      use(kRegisterSteps, rows, setup);
      begin(tile);
      addTaps(tile, rows, 0, whole, kRegisterSteps);
      storeSums(tile);
    }
    if (rest > 0) {
      use(rest, rows, setup); // It empties all registers.
      if (whole > 0)
        loadSums(tile);
      else
        begin(tile);
      addTaps(tile, rows, whole, rest, rest);
      storeSums(tile);
    }
  }

private:
  static int64_t rowsOf(int r, int64_t rows) {
    return r + 1 < rowRegisters ? kRegisterRows : rows - kRegisterRows * (rowRegisters - 1);
  }

  /// Sets registers up for groups of so many steps, unless that is what they are.
  static void use(int64_t steps, int64_t rows, BlockSetup &setup) {
    uint32_t key = 1u << 31 | static_cast<uint32_t>(steps << 16 | rows << 8 | rowRegisters << 4 | vectors);
    if (setup.key == key)
      return;
    setup.key = key;
    alignas(64) RegisterSizes sizes;
    auto set = [&](int which, int64_t count, int64_t bytes) {
      sizes.rows[which] = static_cast<uint8_t>(count);
      sizes.rowBytes[which] = static_cast<uint16_t>(bytes);
    };
    for (int r = 0; r < rowRegisters; ++r) {
      for (int v = 0; v < vectors; ++v)
        set(r * vectors + v, rowsOf(r, rows), width * 4);
      set(registerOfA(r), rowsOf(r, rows), steps * 4);
    }
    for (int v = 0; v < vectors; ++v)
      set(registerOfB(v), steps, width * 4);
    Registers::configure(sizes);
  }

  static float *sumAt(const Tile &tile, int sum) {
    return tile.c + sum / vectors * kRegisterRows * tile.ldc + sum % vectors * width;
  }
  static void loadSums(const Tile &tile) {
    unrolled<kSums>([&](auto sum) { Registers::template load<sum>(sumAt(tile, sum), tile.ldc * 4); });
  }
  static void storeSums(const Tile &tile) {
    unrolled<kSums>([&](auto sum) { Registers::template store<sum>(sumAt(tile, sum), tile.ldc * 4); });
  }

  static void begin(const Tile &tile) {
    if (tile.accumulate)
      return loadSums(tile);
    unrolled<kSums>([&](auto sum) {
      if (tile.bias) // The same for all rows.
        Registers::template load<sum>(tile.bias + sum % vectors * width, 0);
      else
        Registers::template zero<sum>();
    });
  }

  /// Steps [first, first + count) of all taps, `perGroup` at a time.
  static void addTaps(const Tile &tile, int64_t rows, int64_t first, int64_t count, int64_t perGroup) {
    alignas(64) char copies[rowRegisters][kCopiedBytes];
    const char *next = tile.next;
    for (int64_t tap = 0; tap < tile.taps; ++tap) {
      BlockRows a[rowRegisters];
      for (int r = 0; r < rowRegisters; ++r)
        a[r] = findBlockRows(tile.rows + tap * tile.rowsPerTap + r * kRegisterRows, rowsOf(r, rows), tile.offset + first,
                             count, copies[r]);
      const float *b = tile.b + (tile.tapIndices ? tile.tapIndices[tap] * tile.tapStride : 0) + first * tile.bStride;
      for (int64_t step = 0; step < count; step += perGroup) {
        addGroup(a, step * 4, b + step * tile.bStride, tile.bStride * 4);
        for (int64_t byte = 0; byte < tile.nextStep * perGroup; byte += 64)
          __builtin_prefetch(next + byte, 0, 2);
        next += tile.nextStep * perGroup;
      }
    }
  }

  [[gnu::always_inline]] static void addGroup(const BlockRows (&a)[rowRegisters], int64_t byte, const float *b, int64_t bStride) {
    auto loadA = [&](auto r) { Registers::template load<registerOfA(r)>(a[r].first + byte, a[r].stride); };
    auto loadB = [&](auto v) { Registers::template load<registerOfB(v)>(b + v * width, bStride); };
    auto add = [&](auto r, auto v) {
      Registers::template multiplyAdd<kind, r * vectors + v, registerOfA(r), registerOfB(v)>();
    };
    if constexpr (kHoldsB) {
      unrolled<vectors>(loadB);
      unrolled<rowRegisters>([&](auto r) {
        loadA(r);
        unrolled<vectors>([&](auto v) { add(r, v); });
      });
    } else if constexpr (kHoldsA) {
      unrolled<rowRegisters>(loadA);
      unrolled<vectors>([&](auto v) {
        loadB(v);
        unrolled<rowRegisters>([&](auto r) { add(r, v); });
      });
    } else {
      unrolled<rowRegisters>([&](auto r) {
        loadA(r);
        unrolled<vectors>([&](auto v) {
          loadB(v);
          add(r, v);
        });
      });
    }
  }
};

constexpr int kBlockRows[kMostTileVectors] = {48, 32, 32, 16};

template <typename Registers, BlockKind kind, int rowRegisters, int vectors, int width>
void computeRegisters(const Tile &tile, int64_t rows, BlockSetup &setup) {
  using Whole = Block<Registers, kind, rowRegisters, vectors, width>;
  if (!Whole::kSharesA || rows == rowRegisters * kRegisterRows)
    return Whole::compute(tile, rows, setup);
  Tile part = tile;
  for (int64_t row = 0; row < rows; row += kRegisterRows) {
    int64_t count = rows - row < kRegisterRows ? rows - row : kRegisterRows;
    Block<Registers, kind, 1, vectors, width>::compute(part, count, setup);
    part.rows += kRegisterRows;
    part.c += kRegisterRows * part.ldc;
    part.nextStep = 0;
  }
}

/// A BlockFunction.
template <typename Registers, BlockKind kind, int width>
void computeBlock(const Tile &tile, int64_t rows, int64_t vectors, BlockSetup &setup) {
  int64_t registers = (rows + kRegisterRows - 1) / kRegisterRows;
  unrolled<kMostTileVectors>([&](auto before) {
    constexpr int kVectors = before + 1;
    if (vectors == kVectors)
      unrolled<kBlockRows[before] / kRegisterRows>([&](auto less) {
        if (registers == less + 1)
          computeRegisters<Registers, kind, less + 1, kVectors, width>(tile, rows, setup);
      });
  });
}

template <typename Registers, int width> constexpr BlockTable makeBlockTable() {
  return {{kBlockRows[0], kBlockRows[1], kBlockRows[2], kBlockRows[3]},
          computeBlock<Registers, BlockKind::Pairs, width>,
          {computeBlock<Registers, BlockKind::Bytes, width>, computeBlock<Registers, BlockKind::SignedBytes, width>},
          Registers::release};
}

} // namespace
} // namespace cupel::kernels
