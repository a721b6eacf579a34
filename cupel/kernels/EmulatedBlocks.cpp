#include "cupel/kernels/EmulatedBlocks.h"

#include "cupel/kernels/BlockKernels.h"
#include "cupel/kernels/Isa.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cupel::kernels {
namespace {

struct RegisterFile {
  bool isSetUp = false;
  RegisterSizes sizes;
  uint8_t bytes[kBlockRegisters][16][64];
};
thread_local RegisterFile file;

void require(bool condition, const char *what) {
  if (condition)
    return;
  std::fprintf(stderr, "matrix registers: %s\n", what);
  std::abort();
}

/// Numbers that are too small for the format are zero, going in and coming out.
float flushed(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }

/// Rounded once: the product of two numbers of bf16 is exact where it is neither too large nor too small.
float multiplyAdd(float a, float b, float sum) {
  float product = a * b;
  return flushed(std::isnormal(product) ? sum + product : std::fma(a, b, sum));
}

float widened(const uint8_t *half) {
  uint16_t bits;
  std::memcpy(&bits, half, sizeof bits);
  return flushed(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
}

class EmulatedRegisters {
public:
  static void configure(const RegisterSizes &sizes) {
    require(sizes.palette == 1 && sizes.startRow == 0, "no such palette");
    for (uint8_t reserved : sizes.reserved)
      require(reserved == 0, "reserved bytes are not zero");
    for (int i = 0; i < 16; ++i) {
      require(i < kBlockRegisters || (sizes.rows[i] == 0 && sizes.rowBytes[i] == 0), "no such register");
      require(sizes.rows[i] <= 16 && sizes.rowBytes[i] <= 64, "a register is too large");
      require((sizes.rows[i] == 0) == (sizes.rowBytes[i] == 0), "a register without rows or columns");
    }
    file.sizes = sizes;
    file.isSetUp = true;
    std::memset(file.bytes, 0, sizeof file.bytes);
  }
  static void release() { file.isSetUp = false; }

  template <int which> static void zero() {
    check(which);
    std::memset(file.bytes[which], 0, sizeof file.bytes[which]);
  }
  template <int which> static void load(const void *from, int64_t stride) {
    zero<which>();
    for (int row = 0; row < file.sizes.rows[which]; ++row)
      std::memcpy(file.bytes[which][row], static_cast<const char *>(from) + row * stride, file.sizes.rowBytes[which]);
  }
  template <int which> static void store(void *to, int64_t stride) {
    check(which);
    for (int row = 0; row < file.sizes.rows[which]; ++row)
      std::memcpy(static_cast<char *>(to) + row * stride, file.bytes[which][row], file.sizes.rowBytes[which]);
  }
  template <BlockKind kind, int sum, int a, int b> static void multiplyAdd() {
    static_assert(sum != a && sum != b && a != b);
    for (int which : {sum, a, b})
      check(which);
    const RegisterSizes &sizes = file.sizes;
    require(sizes.rows[sum] == sizes.rows[a] && sizes.rowBytes[sum] == sizes.rowBytes[b] &&
                sizes.rowBytes[a] == 4 * sizes.rows[b] && sizes.rowBytes[sum] % 4 == 0,
            "sizes of a product do not go together");
    for (int row = 0; row < sizes.rows[sum]; ++row)
      for (int column = 0; column < sizes.rowBytes[sum] / 4; ++column) {
        uint8_t *to = file.bytes[sum][row] + column * 4;
        if constexpr (kind == BlockKind::Pairs)
          addPairs(to, file.bytes[a][row], b, column);
        else
          addBytes(to, file.bytes[a][row], b, column, kind == BlockKind::SignedBytes);
      }
  }

private:
  static void check(int which) {
    require(file.isSetUp, "used before they are set up");
    require(file.sizes.rows[which] > 0, "a register without size is used");
  }

  /// The first and the second of pairs have sums of their own, which are added to each other and then to the result.
  static void addPairs(uint8_t *to, const uint8_t *left, int b, int column) {
    float first = 0, second = 0, sum;
    for (int k = 0; k < file.sizes.rows[b]; ++k) {
      const uint8_t *right = file.bytes[b][k] + column * 4;
      first = kernels::multiplyAdd(widened(left + k * 4), widened(right), first);
      second = kernels::multiplyAdd(widened(left + k * 4 + 2), widened(right + 2), second);
    }
    std::memcpy(&sum, to, sizeof sum);
    sum = flushed(flushed(sum) + flushed(first + second));
    std::memcpy(to, &sum, sizeof sum);
  }

  static void addBytes(uint8_t *to, const uint8_t *left, int b, int column, bool isSigned) {
    uint32_t sum;
    std::memcpy(&sum, to, sizeof sum);
    for (int k = 0; k < file.sizes.rows[b] * 4; ++k) {
      int32_t value = isSigned ? static_cast<int8_t>(left[k]) : left[k];
      sum += static_cast<uint32_t>(value * static_cast<int8_t>(file.bytes[b][k / 4][column * 4 + k % 4]));
    }
    std::memcpy(to, &sum, sizeof sum);
  }
};

template <int width> const BlockTable &blocksOf() {
  static constexpr BlockTable table = makeBlockTable<EmulatedRegisters, width>();
  return table;
}

} // namespace

const BlockTable &emulatedBlocks() { return blocksOf<16>(); }

const KernelTable &kernelsWithEmulatedBlocks() {
  static const KernelTable table = [] {
    KernelTable made = kernelsOf(bestIsa() == Isa::Amx ? Isa::Bf16 : bestIsa());
    made.blocks = &(made.width == 16 ? blocksOf<16>() : made.width == 8 ? blocksOf<8>() : blocksOf<4>());
    return made;
  }();
  return table;
}

bool hasEmulatedRegisters() { return file.isSetUp; }

} // namespace cupel::kernels
