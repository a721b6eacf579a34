// The kernels compiled for AVX2 and FMA.

#include "cupel/kernels/IsaKernels.h"

namespace cupel::kernels {

const KernelTable &kernelsV3() {
  static constexpr KernelTable table = makeTable("v3");
  return table;
}

} // namespace cupel::kernels
