// What the unit tests of the linear kernels share: tensors made from a formula, and their values as vectors.
// For tests only.

#pragma once

#include "cupel/tensor/Float.h"
#include "cupel/tensor/Tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::reference::testing {

template <tensor::DType type>
std::vector<tensor::Storage<type>> valuesOf(Result<tensor::Tensor> tensor) {
  EXPECT_TRUE(tensor) << tensor.message();
  if (!tensor)
    return {};
  EXPECT_EQ(tensor->dtype(), type);
  Result<tensor::Tensor> dense = tensor->contiguous();
  auto *data = dense->template dataAs<tensor::Storage<type>>();
  return {data, data + dense->size()};
}

/// Element i of the row-major values is f(i).
template <tensor::DType type, typename F> tensor::Tensor generate(tensor::Shape shape, F &&f) {
  std::vector<tensor::Storage<type>> values(*tensor::elementCount(shape));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<tensor::Storage<type>>(f(static_cast<int64_t>(i)));
  return tensor::Tensor::of<type>(std::move(shape), std::span<const tensor::Storage<type>>(values));
}

/// Numbers in [-1, 1] that NumPy makes as ((i * 37 + seed) % 101) / 50 - 1.
inline double wave(int64_t i, int64_t seed) {
  return static_cast<double>((i * 37 + seed) % 101) / 50 - 1;
}

} // namespace cupel::reference::testing
