// What a processor says that it has and the operating system saves, and which instruction sets follow from it. A value, so
// that tests can make processors that they do not run on. Used by Isa.cpp and Panels.cpp.

#pragma once

#include "cupel/kernels/Isa.h"

#include <cstdint>

namespace cupel::kernels {

struct Processor {
  /// Of one leaf of CPUID; zeros where there is none.
  struct Leaf {
    uint32_t a = 0, b = 0, c = 0, d = 0;
  };

  Leaf maker;                        // 0: its name
  Leaf basic;                        // 1
  Leaf extended, more;               // 7, parts 0 and 1
  Leaf tilePalettes, firstPalette;   // 0x1D, parts 0 and 1
  Leaf amd;                          // 0x80000001
  uint32_t saved = 0;                // XCR0: the registers that are saved when threads are switched.

  static Processor ofThisMachine();

  /// Without asking the operating system for anything: for AMX it has to be asked.
  bool runs(Isa isa) const;

  /// It is known to compute its widest vectors at once: half of one takes as long.
  bool hasWholeUnits() const;
};

/// Of the cache that a core has for itself besides the nearest one; a common size where the system does not say it.
int64_t coreCacheBytes();

/// Asks for AMX's registers, for the whole process and for good. False where the operating system refuses or does not
/// know the question.
bool requestMatrixRegisters();

} // namespace cupel::kernels
