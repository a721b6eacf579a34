#include "cupel/kernels/Processor.h"

#include <algorithm>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cupel::kernels {
namespace {

bool hasAll(uint32_t value, uint32_t bits) { return (value & bits) == bits; }

constexpr uint32_t bit(int which) { return 1u << which; }

constexpr uint32_t kOsxsave = bit(27);
constexpr uint32_t kYmmState = 0x6, kZmmState = 0xe6, kTileState = 0x60000;

bool runsV3(const Processor &on) {
  constexpr uint32_t kFma = bit(12), kMovbe = bit(22), kAvx = bit(28), kF16c = bit(29);
  constexpr uint32_t kBmi1 = bit(3), kAvx2 = bit(5), kBmi2 = bit(8), kLzcnt = bit(5);
  return hasAll(on.basic.c, kFma | kMovbe | kOsxsave | kAvx | kF16c) && hasAll(on.amd.c, kLzcnt) &&
         hasAll(on.extended.b, kBmi1 | kAvx2 | kBmi2) && hasAll(on.saved, kYmmState);
}

bool runsV4(const Processor &on) {
  constexpr uint32_t kAvx512 = bit(16) | bit(17) | bit(28) | bit(30) | bit(31); // F, DQ, CD, BW, VL
  return runsV3(on) && hasAll(on.extended.b, kAvx512) && hasAll(on.saved, kZmmState);
}

bool runsBf16(const Processor &on) {
  constexpr uint32_t kBf16 = bit(5), kVnni = bit(11);
  return runsV4(on) && hasAll(on.more.a, kBf16) && hasAll(on.extended.c, kVnni);
}

/// Some virtual machines show AMX and say nothing about its registers: what those say cannot be trusted.
bool hasWholeTiles(const Processor &on) {
  const Processor::Leaf &sizes = on.firstPalette;
  uint32_t tileBytes = sizes.a >> 16, rowBytes = sizes.b & 0xffff, tiles = sizes.b >> 16, rows = sizes.c & 0xffff;
  return on.tilePalettes.a >= 1 && tileBytes == 1024 && rowBytes == 64 && tiles == 8 && rows == 16;
}

bool runsAmx(const Processor &on) {
  constexpr uint32_t kAmxBf16 = bit(22), kAmxTile = bit(24), kAmxInt8 = bit(25);
  return runsBf16(on) && hasAll(on.extended.d, kAmxBf16 | kAmxTile | kAmxInt8) && hasAll(on.saved, kTileState) &&
         hasWholeTiles(on);
}

} // namespace

bool Processor::runs(Isa isa) const {
  constexpr uint32_t kAvxVnni = bit(4);
  switch (isa) {
  case Isa::Baseline:
    return true;
  case Isa::V3:
    return runsV3(*this);
  case Isa::V3Vnni:
    return runsV3(*this) && hasAll(more.a, kAvxVnni);
  case Isa::V4:
    return runsV4(*this);
  case Isa::Bf16:
    return runsBf16(*this);
  case Isa::Amx:
    return runsAmx(*this);
  }
  return false;
}

bool Processor::hasWholeUnits() const {
  constexpr uint32_t kAuth = 0x68747541, kEnti = 0x69746e65, kCamd = 0x444d4163;
  if (maker.b != kAuth || maker.d != kEnti || maker.c != kCamd)
    return false;
  uint32_t family = (basic.a >> 8 & 0xf) + (basic.a >> 20 & 0xff);
  uint32_t model = (basic.a >> 4 & 0xf) | (basic.a >> 12 & 0xf0);
  // Zen 5 of servers, of desktops and of the largest notebooks; those of others have units of half the width, as Zen 4.
  constexpr uint32_t kZen5 = 0x1a;
  return family == kZen5 && (model < 0x20 || (model >= 0x40 && model < 0x50) || (model >= 0x70 && model < 0x80));
}

int64_t coreCacheBytes() {
  constexpr int64_t kCommon = int64_t{1} << 20, kLeast = int64_t{1} << 18, kMost = int64_t{1} << 22;
#if defined(__linux__) && defined(_SC_LEVEL2_CACHE_SIZE)
  static const int64_t said = sysconf(_SC_LEVEL2_CACHE_SIZE);
#else
  static const int64_t said = 0;
#endif
  return said > 0 ? std::clamp(said, kLeast, kMost) : kCommon;
}

#if defined(__x86_64__)
static Processor::Leaf cpuid(unsigned leaf, unsigned part = 0) {
  Processor::Leaf found;
  if (!__get_cpuid_count(leaf, part, &found.a, &found.b, &found.c, &found.d))
    return {};
  return found;
}

Processor Processor::ofThisMachine() {
  Processor found;
  found.maker = cpuid(0);
  found.basic = cpuid(1);
  found.extended = cpuid(7);
  found.more = cpuid(7, 1);
  found.tilePalettes = cpuid(0x1d);
  found.firstPalette = cpuid(0x1d, 1);
  found.amd = cpuid(0x80000001);
  if (hasAll(found.basic.c, kOsxsave)) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    found.saved = low;
  }
  return found;
}
#else
Processor Processor::ofThisMachine() { return {}; }
#endif

bool requestMatrixRegisters() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM, which headers may lack.
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

} // namespace cupel::kernels
