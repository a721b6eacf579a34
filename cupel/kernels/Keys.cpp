#include "cupel/kernels/Keys.h"

#include "cupel/kernels/Isa.h"

namespace cupel::kernels {

void floatKeys(const uint32_t *bits, int64_t count, const FloatOrder &order, uint32_t *keys) {
  currentKernels().floatKeys(bits, count, order, keys);
}

void keepLeast(const uint32_t *keys, int64_t count, uint32_t place, bool isLast, uint32_t *least, uint32_t *places) {
  currentKernels().keepLeast[isLast](keys, count, place, least, places);
}

bool leastOfColumns(const KeyColumns &of, const FloatOrder &order, bool isLast) {
  if (of.columns < currentKernels().width)
    return false;
  currentKernels().leastOfColumns[isLast](of, order);
  return true;
}

void leastOfLines(const uint32_t *bits, int64_t lines, int64_t count, const FloatOrder &order,
                  bool isLast, LeastKey *found) {
  currentKernels().leastOfLines[isLast](bits, lines, count, order, found);
}

} // namespace cupel::kernels
