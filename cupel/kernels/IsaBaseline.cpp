// The kernels compiled for the processors of 2003 and any other.

#include "cupel/kernels/IsaKernels.h"

namespace cupel::kernels {

const KernelTable &kernelsBaseline() {
  static constexpr KernelTable table = makeTable("baseline");
  return table;
}

} // namespace cupel::kernels
