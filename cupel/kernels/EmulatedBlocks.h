// Matrix registers in memory, for tests where the processor has none: each instruction does what AMX's is documented to,
// in the same order and with the same rounding, and ends the process where AMX's would fault. Only for tests.

#pragma once

#include "cupel/kernels/KernelTable.h"

namespace cupel::kernels {

/// The tables of the best instruction set but AMX, with emulated blocks.
const KernelTable &kernelsWithEmulatedBlocks();
/// Blocks for vectors of 16 floats, as the processor's are.
const BlockTable &emulatedBlocks();
/// Whether this thread has registers that it did not release.
bool hasEmulatedRegisters();

} // namespace cupel::kernels
