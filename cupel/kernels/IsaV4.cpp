// The kernels compiled for AVX-512.

#include "cupel/kernels/IsaKernels.h"

namespace cupel::kernels {

const KernelTable &kernelsV4() {
  static constexpr KernelTable table = makeTable("v4");
  return table;
}

} // namespace cupel::kernels
