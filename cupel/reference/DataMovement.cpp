#include "cupel/reference/DataMovement.h"

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Indexing.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace cupel::reference {

using tensor::DType;
using tensor::ElementType;
using tensor::info;
using tensor::Kind;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

namespace {

std::string listed(std::span<const int64_t> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string described(const Tensor &value) {
  return tensor::describe(value.elementType(), value.shape());
}

Error rankError(std::string_view op, std::string_view what, size_t given, int64_t rank) {
  return Error{std::string(op) + ": " + std::string(what) + " has " + std::to_string(given) +
               " entries for " + std::to_string(rank) + " dimensions"};
}

Shape shapeOf(const Tensor &value) { return Shape(value.shape().begin(), value.shape().end()); }

/// A contiguous copy of a view.
Result<Tensor> copied(const Tensor &view) {
  Result<Tensor> result = Tensor::uninitialized(view.elementType(), shapeOf(view));
  if (result && result->size() > 0)
    copyTo(result->mutableData(), view);
  return result;
}

bool eachOnce(std::span<const int64_t> dimensions, int64_t rank) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t d : dimensions) {
    if (d < 0 || d >= rank || seen[static_cast<size_t>(d)])
      return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return true;
}

} // namespace

Result<Tensor> broadcastInDim(const Tensor &operand, Shape shape,
                              std::span<const int64_t> dimensions, bool mayLie) {
  auto rank = static_cast<int64_t>(shape.size());
  if (static_cast<int64_t>(dimensions.size()) != operand.rank())
    return rankError("broadcast_in_dim", "broadcast_dimensions", dimensions.size(), operand.rank());
  if (!eachOnce(dimensions, rank))
    return Error{"broadcast_in_dim: dimensions " + listed(dimensions) +
                 " do not each name a dimension of " + listed(shape)};
  for (int64_t d = 0; d < operand.rank(); ++d)
    if (operand.dim(d) != 1 && operand.dim(d) != shape[static_cast<size_t>(dimensions[d])])
      return Error{"broadcast_in_dim: dimension " + std::to_string(d) + " of " +
                   described(operand) + " does not fit the result shape " + listed(shape)};
  if (!tensor::elementCount(shape))
    return Error{"broadcast_in_dim: impossible result shape " + listed(shape)};
  if (mayLie && operand.size() > 0 && !operand.deferred())
    if (Tensor view = operand.broadcastTo(shape, dimensions); readsRows(view))
      return view;
  Result<Tensor> result = Tensor::uninitialized(operand.elementType(), shape);
  if (!result || result->size() == 0)
    return result;
  std::vector<int64_t> source(shape.size(), 0);
  for (int64_t d = 0; d < operand.rank(); ++d)
    if (operand.dim(d) != 1)
      source[static_cast<size_t>(dimensions[d])] = operand.strides()[d];
  StridedCopy(shape, result->strides(), source, info(operand.dtype()).bytes)
      .run(result->mutableData(), operand.data());
  return result;
}

Result<Tensor> concatenate(std::span<const Tensor> inputs, int64_t dimension) {
  if (inputs.empty())
    return Error{"concatenate: no inputs"};
  if (dimension < 0 || dimension >= inputs[0].rank())
    return Error{"concatenate: dimension " + std::to_string(dimension) + " is none of " +
                 described(inputs[0])};
  Shape shape = shapeOf(inputs[0]);
  auto along = static_cast<size_t>(dimension);
  shape[along] = 0;
  for (const Tensor &input : inputs) {
    bool fits = input.rank() == inputs[0].rank() && input.dtype() == inputs[0].dtype();
    for (int64_t d = 0; fits && d < input.rank(); ++d)
      fits = d == dimension || input.dim(d) == inputs[0].dim(d);
    if (!fits)
      return Error{"concatenate: " + described(input) + " does not go with " +
                   described(inputs[0])};
    if (__builtin_add_overflow(shape[along], input.dim(dimension), &shape[along]))
      return Error{"concatenate: the result is too large"};
  }
  Result<Tensor> result = Tensor::uninitialized(inputs[0].elementType(), shape);
  if (!result || result->size() == 0)
    return result;
  std::byte *target = result->mutableData();
  for (const Tensor &input : inputs) {
    if (input.size() > 0)
      StridedCopy(input.shape(), result->strides(), input.strides(), info(input.dtype()).bytes)
          .run(target, input.data());
    target += result->strides()[along] * input.dim(dimension);
  }
  return result;
}

Result<Tensor> reshape(const Tensor &operand, Shape shape) {
  if (tensor::elementCount(shape) != operand.size())
    return Error{"reshape: " + described(operand) + " has " + std::to_string(operand.size()) +
                 " elements, which shape " + listed(shape) + " does not hold"};
  Result<Tensor> flat = operand.contiguous();
  if (!flat)
    return flat;
  return flat->reshaped(std::move(shape));
}

Result<Tensor> reverse(const Tensor &operand, std::span<const int64_t> dimensions) {
  if (!eachOnce(dimensions, operand.rank()))
    return Error{"reverse: dimensions " + listed(dimensions) + " do not fit " + described(operand)};
  if (operand.size() == 0)
    return copied(operand);
  return copied(operand.reversed(dimensions));
}

Result<Tensor> transpose(const Tensor &operand, std::span<const int64_t> permutation) {
  if (static_cast<int64_t>(permutation.size()) != operand.rank() ||
      !eachOnce(permutation, operand.rank()))
    return Error{"transpose: " + listed(permutation) + " is no permutation of the dimensions of " +
                 described(operand)};
  return copied(operand.transposed(permutation));
}

Result<Tensor> slice(const Tensor &operand, std::span<const int64_t> start,
                     std::span<const int64_t> limit, std::span<const int64_t> stride) {
  auto rank = static_cast<size_t>(operand.rank());
  for (auto [name, list] : {std::pair("start_indices", start), std::pair("limit_indices", limit),
                            std::pair("strides", stride)})
    if (list.size() != rank)
      return rankError("slice", name, list.size(), operand.rank());
  Shape shape(rank);
  int64_t offset = 0;
  std::vector<int64_t> source(rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = operand.shape()[d];
    if (start[d] < 0 || start[d] > limit[d] || limit[d] > size || stride[d] <= 0)
      return Error{"slice: " + std::to_string(start[d]) + ":" + std::to_string(limit[d]) + ":" +
                   std::to_string(stride[d]) + " is not within dimension " + std::to_string(d) +
                   " of " + described(operand)};
    int64_t length = limit[d] - start[d];
    shape[d] = length / stride[d] + (length % stride[d] != 0);
    offset += start[d] * operand.strides()[d];
    source[d] = shape[d] > 1 ? stride[d] * operand.strides()[d] : 0;
  }
  Result<Tensor> result = Tensor::uninitialized(operand.elementType(), shape);
  if (!result || result->size() == 0)
    return result;
  StridedCopy(shape, result->strides(), source, info(operand.dtype()).bytes)
      .run(result->mutableData(), operand.data() + offset);
  return result;
}

Result<Tensor> pad(const Tensor &operand, const Tensor &value, std::span<const int64_t> low,
                   std::span<const int64_t> high, std::span<const int64_t> interior) {
  auto rank = static_cast<size_t>(operand.rank());
  for (auto [name, list] :
       {std::pair("edge_padding_low", low), std::pair("edge_padding_high", high),
        std::pair("interior_padding", interior)})
    if (list.size() != rank)
      return rankError("pad", name, list.size(), operand.rank());
  if (value.size() != 1 || value.dtype() != operand.dtype())
    return Error{"pad: " + described(value) + " is no padding value for " + described(operand)};

  // Per dimension, element i of the operand lands at low + i * (interior + 1); only those that
  // land inside are copied.
  Shape shape(rank), part(rank);
  std::vector<int64_t> first(rank), step(rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = operand.shape()[d];
    if (interior[d] < 0)
      return Error{"pad: negative interior padding " + std::to_string(interior[d])};
    int64_t inner = 0;
    bool overflow = __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), interior[d], &inner);
    overflow |= __builtin_add_overflow(inner, size, &inner);
    overflow |= __builtin_add_overflow(inner, low[d], &shape[d]);
    overflow |= __builtin_add_overflow(shape[d], high[d], &shape[d]);
    overflow |= __builtin_add_overflow(interior[d], int64_t{1}, &step[d]);
    if (overflow || low[d] == std::numeric_limits<int64_t>::min())
      return Error{"pad: the result of padding " + described(operand) + " is too large"};
    if (shape[d] < 0)
      return Error{"pad: dimension " + std::to_string(d) + " of " + described(operand) +
                   " would get a negative size"};
    first[d] = low[d] >= 0 ? 0 : -low[d] / step[d] + (-low[d] % step[d] != 0);
    // The last that lands below shape: low + i * step <= shape - 1.
    int64_t room = shape[d] - 1 - low[d];
    int64_t last = room < 0 ? -1 : std::min(room / step[d], size - 1);
    part[d] = std::max<int64_t>(last - first[d] + 1, 0);
  }
  Result<Tensor> result = Tensor::uninitialized(operand.elementType(), shape);
  if (!result || result->size() == 0)
    return result;
  int64_t bytes = info(operand.dtype()).bytes;
  bool covered = std::equal(part.begin(), part.end(), shape.begin());
  std::byte *data = result->mutableData();
  if (!covered)
    fillElements(data, value.data(), bytes, result->size());
  int64_t targetOffset = 0, sourceOffset = 0;
  std::vector<int64_t> target(rank);
  for (size_t d = 0; d < rank; ++d) {
    if (part[d] == 0)
      return result;
    targetOffset += (low[d] + first[d] * step[d]) * result->strides()[d];
    sourceOffset += first[d] * operand.strides()[d];
    target[d] = part[d] > 1 ? result->strides()[d] * step[d] : 0;
  }
  StridedCopy(part, target, operand.strides(), bytes)
      .run(data + targetOffset, operand.data() + sourceOffset);
  return result;
}

namespace {

template <DType type> Storage<type> counted(int64_t i) {
  using S = Storage<type>;
  constexpr tensor::DTypeInfo about = info(type);
  if constexpr (about.kind == Kind::Boolean) {
    return static_cast<S>(i != 0);
  } else if constexpr (about.kind == Kind::Complex) {
    return S(static_cast<typename S::value_type>(i), 0);
  } else if constexpr (about.kind == Kind::Float) {
    return tensor::fromSigned<type>(i);
  } else if constexpr (about.bits < 8) {
    auto low = static_cast<uint8_t>(static_cast<uint64_t>(i) << (8 - about.bits));
    if constexpr (about.kind == Kind::Signed)
      return static_cast<S>(static_cast<int8_t>(low) >> (8 - about.bits));
    else
      return static_cast<S>(low >> (8 - about.bits));
  } else {
    return static_cast<S>(i);
  }
}

} // namespace

Result<Tensor> iota(ElementType type, Shape shape, int64_t dimension) {
  if (dimension < 0 || dimension >= static_cast<int64_t>(shape.size()))
    return Error{"iota: dimension " + std::to_string(dimension) + " is none of shape " +
                 listed(shape)};
  if (type.quantization)
    return Error{"iota: quantized types are made from the expressed type"};
  auto along = static_cast<size_t>(dimension);
  Result<Tensor> counts = Tensor::uninitialized(type, {shape[along]});
  if (!counts)
    return counts;
  tensor::dispatch(type.storage, [&]<DType dtype>() {
    auto *values = counts->mutableAs<Storage<dtype>>();
    forBlocks(counts->size(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        values[i] = counted<dtype>(i);
    });
  });
  if (shape.size() == 1)
    return counts;
  return broadcastInDim(*counts, std::move(shape), std::span(&dimension, 1));
}

Result<Tensor> bitcastConvert(const Tensor &operand, ElementType type, Shape shape) {
  const tensor::DTypeInfo &from = info(operand.dtype()), &to = info(type.storage);
  std::optional<int64_t> count = tensor::elementCount(shape);
  // Counts are below 2^63 / bytes; bits are compared as ratios so that nothing overflows.
  int64_t ratio = std::max(from.bits, to.bits) / std::min(from.bits, to.bits);
  bool fits = count && std::max(from.bits, to.bits) % std::min(from.bits, to.bits) == 0 &&
              (std::max(from.bits, to.bits) <= 64 || std::min(from.bits, to.bits) >= 8);
  if (fits)
    fits = from.bits > to.bits ? *count / ratio == operand.size() && *count % ratio == 0
                               : operand.size() / ratio == *count && operand.size() % ratio == 0;
  if (!fits)
    return Error{"bitcast_convert: " + described(operand) + " and " +
                 tensor::describe(type, shape) + " do not have the same number of bits"};
  Result<Tensor> source = operand.contiguous();
  if (!source)
    return source;
  bool wholeBytes = from.bits % 8 == 0 && to.bits % 8 == 0;
  if (from.bits == to.bits && wholeBytes)
    return source->withElementType(type).reshaped(std::move(shape));
  Result<Tensor> result = Tensor::uninitialized(type, std::move(shape));
  if (!result || result->size() == 0)
    return result;
  std::byte *target = result->mutableData();
  if (wholeBytes) {
    forBlocks(source->byteSize(), 0.12, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source->data() + begin, static_cast<size_t>(end - begin));
    });
    return result;
  }

  // At least one side is below a byte, so nothing is wider than 64 bits.
  auto masked = [](uint64_t bits, int width) {
    return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
  };
  auto read = [&](int64_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, source->data() + i * from.bytes, from.bytes);
    return masked(bits, from.bits);
  };
  auto write = [&](int64_t i, uint64_t bits) {
    bits = masked(bits, to.bits);
    if (to.kind == Kind::Signed && to.bits < 8 && (bits >> (to.bits - 1)) != 0)
      bits |= ~uint64_t{0} << to.bits;
    std::memcpy(target + i * to.bytes, &bits, to.bytes);
  };
  if (from.bits >= to.bits) {
    forBlocks(source->size(), 2 * static_cast<double>(ratio), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t bits = read(i);
        for (int64_t k = 0; k < ratio; ++k)
          write(i * ratio + k, bits >> (k * to.bits));
      }
    });
  } else {
    forBlocks(result->size(), 2 * static_cast<double>(ratio), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        uint64_t bits = 0;
        for (int64_t k = 0; k < ratio; ++k)
          bits |= read(i * ratio + k) << (k * from.bits);
        write(i, bits);
      }
    });
  }
  return result;
}

Result<Tensor> getDimensionSize(const Tensor &operand, int64_t dimension) {
  if (dimension < 0 || dimension >= operand.rank())
    return Error{"get_dimension_size: dimension " + std::to_string(dimension) + " is none of " +
                 described(operand)};
  int64_t size = operand.dim(dimension);
  if (size > std::numeric_limits<int32_t>::max())
    return Error{"get_dimension_size: size " + std::to_string(size) + " does not fit i32"};
  return Tensor::of<DType::I32>({}, {static_cast<int32_t>(size)});
}

Result<Tensor> setDimensionSize(const Tensor &operand, const Tensor &size, int64_t dimension,
                                int64_t bound) {
  if (dimension < 0 || dimension >= operand.rank())
    return Error{"set_dimension_size: dimension " + std::to_string(dimension) + " is none of " +
                 described(operand)};
  Result<std::vector<int64_t>> value = readScalars(std::span(&size, 1));
  if (!value)
    return value.error();
  int64_t wanted = value->front();
  int64_t most = bound < 0 ? operand.dim(dimension) : bound;
  if (wanted < 0 || wanted > most)
    return Error{"set_dimension_size: size " + std::to_string(wanted) + " is not between 0 and " +
                 std::to_string(most)};
  std::vector<int64_t> none(static_cast<size_t>(operand.rank()), 0), high = none;
  high[static_cast<size_t>(dimension)] = wanted - operand.dim(dimension);
  Result<Tensor> zero = Tensor::zeros(operand.elementType(), {});
  if (!zero)
    return zero;
  return pad(operand, *zero, none, high, none);
}

} // namespace cupel::reference
