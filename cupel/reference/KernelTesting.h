// What the kernel tests share: small tensors, element functions made of lambdas, and walks over
// indices for oracles that transcribe the specification element by element.

#pragma once

#include "cupel/reference/ElementFunction.h"
#include "cupel/tensor/Tensor.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace cupel::reference {

using tensor::DType;
using tensor::ElementType;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

/// An element function that calls a lambda for each lane.
class TestFunction : public ElementFunction {
public:
  using Lane = std::function<void(std::span<const void *const>, std::span<void *const>, int64_t)>;
  TestFunction(std::vector<ElementType> arguments, std::vector<ElementType> results,
               std::optional<KnownFunction> known, Lane lane)
      : arguments(std::move(arguments)), results(std::move(results)), knownAs(known),
        lane(std::move(lane)) {}
  std::span<const ElementType> argumentTypes() const override { return arguments; }
  std::span<const ElementType> resultTypes() const override { return results; }
  std::optional<KnownFunction> known() const override { return knownAs; }
  Status run(std::span<const void *const> in, std::span<void *const> out,
             int64_t lanes) const override {
    ++calls;
    if (failing)
      return Error{"the body failed"};
    for (int64_t i = 0; i < lanes; ++i)
      lane(in, out, i);
    return {};
  }
  mutable int64_t calls = 0;
  bool failing = false;

private:
  std::vector<ElementType> arguments, results;
  std::optional<KnownFunction> knownAs;
  Lane lane;
};

/// f(a, b) on one type.
template <DType type, DType result = type, typename F>
TestFunction binary(F f, std::optional<KnownFunction> known = std::nullopt) {
  return TestFunction({type, type}, {result}, known, [f](auto in, auto out, int64_t i) {
    static_cast<Storage<result> *>(out[0])[i] =
        static_cast<Storage<result>>(f(static_cast<const Storage<type> *>(in[0])[i],
                                       static_cast<const Storage<type> *>(in[1])[i]));
  });
}

template <DType type> std::vector<Storage<type>> valuesOf(const Tensor &tensor) {
  EXPECT_EQ(tensor.dtype(), type);
  Result<Tensor> flat = tensor.contiguous();
  const auto *data = flat->dataAs<Storage<type>>();
  return {data, data + flat->size()};
}
template <DType type> std::vector<Storage<type>> valuesOf(Result<Tensor> result) {
  EXPECT_TRUE(static_cast<bool>(result)) << (result ? "" : result.message());
  return result ? valuesOf<type>(*result) : std::vector<Storage<type>>();
}

inline Shape shapeOf(const Tensor &tensor) {
  return Shape(tensor.shape().begin(), tensor.shape().end());
}

/// 0, 1, 2, ... as i32.
inline Tensor counting(Shape shape) {
  std::vector<int32_t> values(static_cast<size_t>(*tensor::elementCount(shape)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(i);
  return Tensor::of<DType::I32>(std::move(shape), values);
}

/// Small random integers as elements of a type (floats are kept as values).
template <DType type>
Tensor randomTensor(std::mt19937 &random, Shape shape, int low = -8, int high = 8) {
  std::uniform_int_distribution<int> pick(low, high);
  std::vector<Storage<type>> values(static_cast<size_t>(*tensor::elementCount(shape)));
  for (auto &value : values)
    value = static_cast<Storage<type>>(pick(random));
  return Tensor::of<type>(std::move(shape), values);
}

/// The same values under other strides: a transposed, reversed or sliced view of a copy.
inline Tensor asView(const Tensor &tensor, int kind) {
  if (tensor.rank() == 0 || tensor.size() == 0 || kind == 0)
    return tensor;
  std::vector<int64_t> order(static_cast<size_t>(tensor.rank()));
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = kind == 1 ? static_cast<int64_t>(order.size() - 1 - i) : static_cast<int64_t>(i);
  if (kind == 1)
    return tensor.transposed(order).contiguous()->transposed(order);
  return tensor.reversed(order).contiguous()->reversed(order);
}

/// Calls f(index) for all positions in row-major order.
template <typename F> void forEachIndex(std::span<const int64_t> shape, F f) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t size : shape)
    if (size == 0)
      return;
  while (true) {
    f(std::as_const(index));
    size_t d = shape.size();
    while (d-- > 0) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

inline int64_t flatIndex(std::span<const int64_t> shape, std::span<const int64_t> index) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    flat = flat * shape[d] + index[d];
  return flat;
}

} // namespace cupel::reference
