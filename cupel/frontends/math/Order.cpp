#include "cupel/frontends/math/Order.h"

namespace cupel::frontends {

using namespace mlir;
using H = HloBuilder;

std::pair<Value, Value> sorted(HloBuilder &b, Value x, int64_t dimension, bool descending,
                               bool isStable) {
  bool real = H::isFloat(x);
  Value places = b.iota(H::shapeOf(x), dimension, b.i64());
  auto results = b.sort({x, places}, dimension, isStable, [&](ValueRange v) {
    Value first = descending ? b.greater(v[0], v[1]) : b.less(v[0], v[1]);
    if (!real)
      return first;
    Value one = descending ? v[0] : v[1], other = descending ? v[1] : v[0];
    Value nan = b.logicalAnd(b.notEqual(one, one), b.equal(other, other));
    return b.logicalOr(first, nan);
  });
  return {results[0], results[1]};
}

SmallVector<Value> scan(HloBuilder &b, ValueRange values, int64_t dimension,
                        const Combine &combine, ValueRange neutral) {
  // Doubling steps: after the one of width w, each place holds the combination of the last 2w.
  SmallVector<Value> now(values);
  int64_t size = H::shapeOf(values[0])[dimension];
  for (int64_t width = 1; width < size; width *= 2) {
    SmallVector<Value> earlier, later;
    if (!neutral.empty() && dimension + 1 == H::rankOf(now[0])) { // Whole rows that are padding would take long.
      SmallVector<int64_t> low(H::rankOf(now[0]), 0), high(low);
      low[dimension] = width;
      for (auto [value, one] : llvm::zip(now, neutral))
        earlier.push_back(b.pad(b.sliceDim(value, dimension, 0, size - width), one, low, high));
      now = combine(earlier, now);
      continue;
    }
    for (Value value : now) {
      earlier.push_back(b.sliceDim(value, dimension, 0, size - width));
      later.push_back(b.sliceDim(value, dimension, width, size));
    }
    SmallVector<Value> joined = combine(earlier, later);
    for (size_t i = 0; i < now.size(); ++i)
      now[i] = b.concatenate({b.sliceDim(now[i], dimension, 0, width), joined[i]}, dimension);
  }
  return now;
}

Value cumulative(HloBuilder &b, Value x, int64_t dimension, Fold fold) {
  if (H::rankOf(x) == 0 || H::countOf(x) == 0)
    return x;
  int64_t size = H::shapeOf(x)[dimension];
  // A window over everything before is how compilers know a running sum. Those that do not know it pay a square.
  constexpr int64_t kLongest = 8192;
  if (size <= kLongest) {
    HloBuilder::Window window;
    window.sizes.assign(H::rankOf(x), 1);
    window.low.assign(H::rankOf(x), 0);
    window.sizes[dimension] = size;
    window.low[dimension] = size - 1;
    return b.reduceWindow(x, window, fold);
  }
  return scan(b, {x}, dimension, [&](ValueRange earlier, ValueRange later) -> SmallVector<Value> {
    return {b.fold(fold, earlier[0], later[0])};
  })[0];
}

} // namespace cupel::frontends
