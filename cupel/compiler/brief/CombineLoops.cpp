// Reductions of short arrays. Floats are taken in turn into a few partial results, which also keeps
// the error of sums small; the order depends on the number of elements alone.

#include "cupel/compiler/brief/Body.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace cupel::brief {
namespace {

using codegen::Combiner;

constexpr int64_t kPartial = 8;

template <typename T> T combined(T a, T b, Combiner combiner) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (combiner) {
    case Combiner::Add:
      return a + b;
    case Combiner::Multiply:
      return a * b;
    default:
      break;
    }
    if (std::isnan(a) || std::isnan(b))
      return a + b;
    bool isMaximum = combiner == Combiner::Maximum;
    if (a == b) // Zeros differ in their sign.
      return std::signbit(a) == isMaximum ? b : a;
    return (a > b) == isMaximum ? a : b;
  } else {
    using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
    switch (combiner) {
    case Combiner::Add:
      return T(Wide(a) + Wide(b));
    case Combiner::Multiply:
      return T(Wide(a) * Wide(b));
    case Combiner::Maximum:
      return std::max(a, b);
    case Combiner::Minimum:
      return std::min(a, b);
    case Combiner::And:
      return T(a & b);
    case Combiner::Or:
      return T(a | b);
    case Combiner::Xor:
      return T(a ^ b);
    }
    __builtin_unreachable();
  }
}

template <typename T, Combiner combiner>
void combine(const void *elements, int64_t count, void *into) {
  const T *x = static_cast<const T *>(elements);
  T &result = *static_cast<T *>(into);
  int64_t i = 0;
  if (count >= 2 * kPartial) {
    T partial[kPartial];
    std::copy_n(x, kPartial, partial);
    for (i = kPartial; i + kPartial <= count; i += kPartial)
      for (int64_t k = 0; k < kPartial; ++k)
        partial[k] = combined(partial[k], x[i + k], combiner);
    for (int64_t half = kPartial / 2; half > 0; half /= 2)
      for (int64_t k = 0; k < half; ++k)
        partial[k] = combined(partial[k], partial[k + half], combiner);
    result = combined(result, partial[0], combiner);
  }
  for (; i < count; ++i)
    result = combined(result, x[i], combiner);
}

template <typename T> CombineLoop loopOf(Combiner combiner) {
  switch (combiner) {
  case Combiner::Add:
    return combine<T, Combiner::Add>;
  case Combiner::Multiply:
    return combine<T, Combiner::Multiply>;
  case Combiner::Maximum:
    return combine<T, Combiner::Maximum>;
  case Combiner::Minimum:
    return combine<T, Combiner::Minimum>;
  default:
    break;
  }
  if constexpr (!std::is_floating_point_v<T>)
    return combiner == Combiner::And  ? combine<T, Combiner::And>
           : combiner == Combiner::Or ? combine<T, Combiner::Or>
                                      : combine<T, Combiner::Xor>;
  return nullptr;
}

} // namespace

CombineLoop combineLoop(Combiner combiner, DType type) {
  if (type == DType::I1) // 0 or 1.
    return loopOf<uint8_t>(combiner == Combiner::Add        ? Combiner::Or
                           : combiner == Combiner::Multiply ? Combiner::And
                                                            : combiner);
  return tensor::dispatch(computeType(type), [&]<DType known>() -> CombineLoop {
    if constexpr (known == DType::F32 || known == DType::F64 ||
                  (tensor::isInteger(known) && tensor::info(known).bits >= 8))
      return loopOf<tensor::Storage<known>>(combiner);
    else
      return nullptr;
  });
}

} // namespace cupel::brief
