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

int64_t linesAtOnce() { return currentKernels().width; }

void firstOfLines(const uint32_t *keys, int64_t count, int64_t first, uint32_t *places) {
  int size = 0;
  while ((int64_t{1} << size) < first)
    ++size;
  currentKernels().firstOfLines[size](keys, count, places);
}

} // namespace cupel::kernels
