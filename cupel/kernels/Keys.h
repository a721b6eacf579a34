// Numbers by which elements are ordered, many lines of them in step. Used by the kernels that pick elements.

#pragma once

#include "cupel/kernels/KernelTable.h"

namespace cupel::kernels {

/// Numbers of 32 bits that are in the order of the floats whose bits are given.
void floatKeys(const uint32_t *bits, int64_t count, const FloatOrder &order, uint32_t *keys);

/// Where keys[i] is less than least[i], or equal and `isLast`: least[i] becomes it and places[i] `place`.
void keepLeast(const uint32_t *keys, int64_t count, uint32_t place, bool isLast, uint32_t *least, uint32_t *places);

/// Of columns of floats. False where they are fewer than a vector has: nothing is done then.
bool leastOfColumns(const KeyColumns &of, const FloatOrder &order, bool isLast);

/// Of each of the lines, which follow one another and have `count` floats (one at least): the first
/// of the least, or the last where `isLast`.
void leastOfLines(const uint32_t *bits, int64_t lines, int64_t count, const FloatOrder &order,
                  bool isLast, LeastKey *found);

/// Lines that `firstOfLines` goes through at once.
int64_t linesAtOnce();
constexpr int64_t kMostLinesAtOnce = 16;
constexpr int64_t kMostFirst = 1 << (kFirstSizes - 1);

/// Of so many lines of `count` keys each, which follow one another: places[k * linesAtOnce() + line] is where the k-th least is, k < `first` <=
/// kMostFirst, `count`. Of equal ones the first is before the others. There is room for kMostFirst.
void firstOfLines(const uint32_t *keys, int64_t count, int64_t first, uint32_t *places);

} // namespace cupel::kernels
