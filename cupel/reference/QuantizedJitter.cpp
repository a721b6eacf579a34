#include "cupel/reference/QuantizedJitter.h"

#include "cupel/reference/Jitter.h"
#include "cupel/tensor/Float.h"
#include "cupel/tensor/Quantize.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cupel::reference {

using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

namespace {

struct Moving {
  double epsilon, doubles;
  uint64_t key;
  bool isOdd;
};

thread_local std::optional<Moving> moving;

template <DType type> void move(const Tensor &from, Tensor &to, const Moving &how) {
  using Element = tensor::Storage<type>;
  const Element *source = from.dataAs<Element>();
  Element *target = to.mutableAs<Element>();
  // Never less than the type itself can tell.
  const double step = type == DType::F64 ? std::max(how.doubles, 0x1p-52)
                                         : std::max(how.epsilon, type == DType::F32    ? 0x1p-23
                                                                 : type == DType::F16 ? 0x1p-10
                                                                                      : 0x1p-7);
  uint64_t state = how.key;
  for (int64_t i = 0, n = from.size(); i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // From 32 bits that tell nothing of each other: how far, and which way.
    double size = 1 + double(uint32_t(state >> 32)) * 0x1p-32;
    bool isUp = (((state >> 24) & 1) != 0) != how.isOdd;
    double value = tensor::toDouble<type>(source[i]);
    double moved = value * (1 + (isUp ? size : -size) * step);
    Element rounded = tensor::fromDouble<type>(moved);
    target[i] = std::isfinite(tensor::toDouble<type>(rounded)) ? rounded : source[i];
  }
}

Result<Tensor> movedBeforeRounding(const Tensor &real) {
  Result<Tensor> source = real.contiguous();
  if (!source)
    return source;
  Result<Tensor> moved = Tensor::uninitialized(
      real.elementType(), tensor::Shape(real.shape().begin(), real.shape().end()));
  if (!moved)
    return moved;
  Moving how = *moving;
  // Values that are quantized one after another within a step move each in its own way.
  moving->key = how.key * 0xd1342543de82ef95u + 1;
  bool isReal = false;
  tensor::dispatch(real.dtype(), [&]<DType type>() {
    if constexpr (tensor::isFloat(type)) {
      move<type>(*source, *moved, how);
      isReal = true;
    }
  });
  return isReal ? moved : Result<Tensor>(real);
}

} // namespace

MovesQuantized::MovesQuantized(double epsilon, double doubles, uint64_t key, bool isOdd) {
  moving = Moving{epsilon, doubles, key, isOdd};
}

MovesQuantized::~MovesQuantized() { moving.reset(); }

bool MovesQuantized::isOn() { return moving.has_value(); }

Result<Tensor> quantizedMoving(const Tensor &real, const ElementType &type) {
  if (!moving)
    return tensor::quantize(real, type);
  Result<Tensor> moved = movedBeforeRounding(real);
  return moved ? tensor::quantize(*moved, type) : moved;
}

Result<Tensor> requantizedMoving(const Tensor &stored, const ElementType &type) {
  if (!moving)
    return tensor::requantize(stored, type);
  Result<Tensor> real = tensor::dequantize(stored);
  return real ? quantizedMoving(*real, type) : real;
}

} // namespace cupel::reference
