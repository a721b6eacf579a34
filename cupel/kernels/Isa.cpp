#include "cupel/kernels/Isa.h"

#include <atomic>
#include <cstdlib>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace cupel::kernels {
namespace {

#if defined(__x86_64__)
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Registers cpuid(unsigned leaf, unsigned part = 0) {
  Registers found;
  if (!__get_cpuid_count(leaf, part, &found.a, &found.b, &found.c, &found.d))
    return {};
  return found;
}

bool hasAll(unsigned value, unsigned bits) { return (value & bits) == bits; }

/// What the operating system saves when it switches threads.
unsigned savedState() {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

Isa findBest() {
  Registers basic = cpuid(1), extended = cpuid(7), more = cpuid(7, 1), amd = cpuid(0x80000001);
  constexpr unsigned kFma = 1u << 12, kMovbe = 1u << 22, kOsxsave = 1u << 27, kAvx = 1u << 28,
                     kF16c = 1u << 29, kLzcnt = 1u << 5;
  constexpr unsigned kBmi1 = 1u << 3, kAvx2 = 1u << 5, kBmi2 = 1u << 8, kAvx512 =
      1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; // F, DQ, CD, BW, VL
  constexpr unsigned kBf16 = 1u << 5, kVnni = 1u << 11;
  constexpr unsigned kYmmState = 0x6, kZmmState = 0xe6;
  if (!hasAll(basic.c, kFma | kMovbe | kOsxsave | kAvx | kF16c) || !hasAll(amd.c, kLzcnt) ||
      !hasAll(extended.b, kBmi1 | kAvx2 | kBmi2) || !hasAll(savedState(), kYmmState))
    return Isa::Baseline;
  if (!hasAll(extended.b, kAvx512) || !hasAll(savedState(), kZmmState))
    return Isa::V3;
  return hasAll(more.a, kBf16) && hasAll(extended.c, kVnni) ? Isa::Bf16 : Isa::V4;
}
#else
Isa findBest() { return Isa::Baseline; }
#endif

Isa findAllowed() {
  Isa best = bestIsa();
  const char *limit = std::getenv("CUPEL_KERNELS");
  if (!limit)
    return best;
  for (Isa isa : kAllIsas)
    if (isaName(isa) == limit)
      return isa < best ? isa : best;
  return best;
}

std::atomic<Isa> &current() {
  static std::atomic<Isa> isa = findAllowed();
  return isa;
}

} // namespace

std::string_view isaName(Isa isa) {
  switch (isa) {
  case Isa::Baseline:
    return "baseline";
  case Isa::V3:
    return "v3";
  case Isa::V4:
    return "v4";
  case Isa::Bf16:
    return "bf16";
  }
  return "";
}

Isa bestIsa() {
  static const Isa best = findBest();
  return best;
}

Isa currentIsa() { return current(); }

const KernelTable &currentKernels() { return kernelsOf(currentIsa()); }

const KernelTable &kernelsOf(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
  case Isa::Baseline:
    break;
  case Isa::V3:
    return kernelsV3();
  case Isa::V4:
    return kernelsV4();
  case Isa::Bf16:
    return kernelsBf16();
  }
#endif
  return kernelsBaseline();
}

IsaScope::IsaScope(Isa isa) : outer(current().exchange(isa)) {}

IsaScope::~IsaScope() { current() = outer; }

} // namespace cupel::kernels
