// The kernels on integers compiled for AVX2 with its sums of products of bytes and of pairs (AVX_VNNI).

#include "cupel/kernels/IntegerTable.h"

namespace cupel::kernels {

const KernelTable &integersV3Vnni() {
  static constexpr KernelTable table = [] {
    KernelTable made = {};
    made.name = "v3vnni";
    addIntegerKernels(made);
    return made;
  }();
  return table;
}

} // namespace cupel::kernels
