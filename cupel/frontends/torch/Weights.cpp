#include "cupel/frontends/torch/Weights.h"

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Strided.h"

#include <cstring>

namespace cupel::frontends::torch_import {

using tensor::Shape;
using tensor::SharedBytes;
using tensor::Tensor;

namespace {

bool isDense(const Shape &sizes, const Shape &strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected)
      return false;
    expected *= sizes[i];
  }
  return true;
}

} // namespace

Result<Tensor> tensorOnStorage(tensor::DType type, Shape sizes, const Shape &strides,
                               int64_t offset, const SharedBytes &storage, uint64_t &budget) {
  std::optional<int64_t> bytes = tensor::byteCount(type, sizes);
  if (!bytes)
    return Error{"has an impossible size"};
  if (strides.size() != sizes.size())
    return Error{"has " + std::to_string(strides.size()) + " strides and " +
                 std::to_string(sizes.size()) + " sizes"};
  int64_t width = tensor::info(type).bytes;
  if (*bytes == 0)
    return Tensor::zeros(type, std::move(sizes));
  auto mayCopy = [&](uint64_t size) {
    bool fits = size <= budget;
    budget -= fits ? size : 0;
    return fits;
  };
  if (storage.bytes.empty()) {
    if (!mayCopy(*bytes))
      return Error{"claims " + std::to_string(*bytes) + " bytes without storing any"};
    return Tensor::zeros(type, std::move(sizes));
  }
  // Positions of the first and last element, in elements; no product may overflow.
  int64_t available = static_cast<int64_t>(storage.bytes.size()) / width, last = offset;
  if (offset < 0 || offset >= available)
    return Error{"starts outside its storage"};
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t reach = 0;
    if (strides[i] < 0 || __builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last) || last >= available)
      return Error{"reaches outside its storage of " + std::to_string(available) + " elements"};
  }
  const std::byte *first = storage.bytes.data() + offset * width;
  bool booleans = type == tensor::DType::I1;
  if (booleans)
    for (std::byte value : storage.bytes)
      if (value > std::byte{1})
        return Error{"is boolean and holds a byte that is neither 0 nor 1"};
  if (isDense(sizes, strides) && Tensor::isAligned(type, first))
    return Tensor::borrow(type, std::move(sizes), {first, static_cast<size_t>(*bytes)},
                          storage.owner);
  if (!mayCopy(*bytes))
    return Error{"would take " + std::to_string(*bytes) + " bytes, of which only " +
                 std::to_string(storage.bytes.size()) + " are stored"};
  Result<Tensor> copy = Tensor::uninitialized(type, sizes);
  if (!copy)
    return copy;
  Shape steps;
  for (int64_t stride : strides)
    steps.push_back(stride * width);
  if (Tensor::isAligned(type, first)) {
    tensor::copyStrided(copy->mutableData(), first, sizes, steps, static_cast<int>(width));
    return copy;
  }
  // Nested archives need not align their records: move the storage first.
  if (!mayCopy(available * width))
    return Error{"is not aligned and too large to move"};
  Result<Tensor> moved = Tensor::uninitialized(type, {available});
  if (!moved)
    return moved;
  std::memcpy(moved->mutableData(), storage.bytes.data(), available * width);
  tensor::copyStrided(copy->mutableData(), moved->data() + offset * width, sizes, steps,
                      static_cast<int>(width));
  return copy;
}

Result<Tensor> complexHalfOnStorage(Shape sizes, Shape strides, int64_t offset,
                                    const SharedBytes &storage, uint64_t &budget) {
  Shape parts = sizes;
  parts.push_back(2);
  strides.push_back(1);
  for (size_t i = 0; i + 1 < strides.size(); ++i)
    if (__builtin_mul_overflow(strides[i], 2, &strides[i]))
      return Error{"reaches outside its storage"};
  if (__builtin_mul_overflow(offset, 2, &offset))
    return Error{"starts outside its storage"};
  Result<Tensor> halves =
      tensorOnStorage(tensor::DType::F16, parts, strides, offset, storage, budget);
  if (!halves)
    return halves;
  Result<Tensor> wide = tensor::convert(*halves, tensor::DType::F32);
  Result<Tensor> made = Tensor::uninitialized(tensor::DType::C64, std::move(sizes));
  if (wide && made)
    std::memcpy(made->mutableData(), wide->data(), made->byteSize());
  return wide ? std::move(made) : std::move(wide);
}

} // namespace cupel::frontends::torch_import
