#include "cupel/kernels/Isa.h"

#include "cupel/kernels/Processor.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace cupel::kernels {
namespace {

const Processor &thisProcessor() {
  static const Processor processor = Processor::ofThisMachine();
  return processor;
}

bool findAmx() {
#if defined(__x86_64__)
  return thisProcessor().runs(Isa::Amx) && requestMatrixRegisters() && tryBlocksAmx();
#else
  return false;
#endif
}

/// The best that there is up to `limit`.
Isa bestUpTo(Isa limit) {
  Isa best = Isa::Baseline;
  for (Isa isa : kAllIsas)
    if (isa <= limit && hasIsa(isa))
      best = isa;
  return best;
}

Isa findAllowed() {
  const char *limit = std::getenv("CUPEL_KERNELS");
  if (!limit)
    return bestIsa();
  std::string names;
  for (Isa isa : kAllIsas) {
    if (isaName(isa) == limit)
      return bestUpTo(isa);
    names += (names.empty() ? "" : ", ") + std::string(isaName(isa));
  }
  // Whoever believes that instructions are masked must hear that they are not.
  std::fprintf(stderr, "warning: CUPEL_KERNELS=%s masks nothing; there are: %s\n", limit, names.c_str());
  return bestIsa();
}

std::atomic<Isa> &current() {
  static std::atomic<Isa> isa = findAllowed();
  return isa;
}

/// Of a test, in place of the current one's.
std::atomic<const KernelTable *> given = nullptr;

#if defined(__x86_64__)
/// Copied here: the files compiled for them hold no code that other processors could run.
const KernelTable &kernelsV3Vnni() {
  static const KernelTable table = [] {
    KernelTable made = kernelsV3();
    const KernelTable &integers = integersV3Vnni();
    made.name = integers.name;
    std::memcpy(made.integerTiles, integers.integerTiles, sizeof made.integerTiles);
    std::memcpy(made.byteTiles, integers.byteTiles, sizeof made.byteTiles);
    std::memcpy(made.depthwiseBytes, integers.depthwiseBytes, sizeof made.depthwiseBytes);
    return made;
  }();
  return table;
}

/// Without what this processor gains nothing from.
template <const KernelTable &(*compiled)()> const KernelTable &fitted() {
  static const KernelTable table = [] {
    KernelTable made = compiled();
    if (thisProcessor().hasWholeUnits())
      std::memset(made.halfTiles, 0, sizeof made.halfTiles);
    return made;
  }();
  return table;
}

const KernelTable &kernelsAmx() {
  static const KernelTable table = [] {
    KernelTable made = kernelsBf16();
    made.name = "amx";
    made.blocks = &blocksAmx();
    return made;
  }();
  return table;
}
#endif

} // namespace

std::string_view isaName(Isa isa) {
  switch (isa) {
  case Isa::Baseline:
    return "baseline";
  case Isa::V3:
    return "v3";
  case Isa::V3Vnni:
    return "v3vnni";
  case Isa::V4:
    return "v4";
  case Isa::Bf16:
    return "bf16";
  case Isa::Amx:
    return "amx";
  }
  return "";
}

bool hasIsa(Isa isa) {
  if (isa != Isa::Amx)
    return thisProcessor().runs(isa);
  // Asked for when it is needed: it makes the process's signal frames larger.
  static const bool has = findAmx();
  return has;
}

Isa bestIsa() {
  static const Isa best = bestUpTo(Isa::Amx);
  return best;
}

Isa currentIsa() { return current(); }

const KernelTable &currentKernels() {
  const KernelTable *table = given;
  return table ? *table : kernelsOf(currentIsa());
}

const KernelTable &kernelsOf(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
  case Isa::Baseline:
    break;
  case Isa::V3:
    return kernelsV3();
  case Isa::V3Vnni:
    return kernelsV3Vnni();
  case Isa::V4:
    return fitted<kernelsV4>();
  case Isa::Bf16:
    return fitted<kernelsBf16>();
  case Isa::Amx:
    return fitted<kernelsAmx>();
  }
#endif
  return kernelsBaseline();
}

IsaScope::IsaScope(Isa isa) : outer(current().exchange(isa)), outerTable(given.exchange(nullptr)) {}

IsaScope::IsaScope(const KernelTable &table) : outer(current()), outerTable(given.exchange(&table)) {}

IsaScope::~IsaScope() {
  current() = outer;
  given = outerTable;
}

} // namespace cupel::kernels
