// The kernels compiled for AVX-512 with its instructions on bf16 and on pairs of integers.

#include "cupel/kernels/IsaKernels.h"

namespace cupel::kernels {

const KernelTable &kernelsBf16() {
  static constexpr KernelTable table = makeTable("bf16");
  return table;
}

} // namespace cupel::kernels
