// Operations that move elements and compute nothing.
#pragma once

#include "tensor.h"

namespace ops {

template <class T> inline Tensor<T> reshape(const Tensor<T> &x, Dims shape) {
  int64_t known = 1;
  for (int64_t size : shape)
    known *= size < 0 ? 1 : size;
  for (int64_t &size : shape)
    if (size < 0)
      size = x.size() / std::max<int64_t>(known, 1);
  return x.reshaped(std::move(shape));
}
template <class T> inline Dims sizes_of(const Tensor<T> &x) {
  Dims sizes;
  for (int64_t i = 0; i < x.size(); ++i)
    sizes.push_back(int64_t(x[i]));
  return sizes;
}
template <class T, class I> inline Tensor<T> dynamic_reshape(const Tensor<T> &x, const Tensor<I> &shape) {
  return x.reshaped(sizes_of(shape));
}
template <class T> inline Tensor<T> transpose(const Tensor<T> &x, const Dims &permutation) {
  Dims strides = strides_of(x.shape), shape, steps;
  for (int64_t d : permutation) {
    shape.push_back(x.shape[size_t(d)]);
    steps.push_back(strides[size_t(d)]);
  }
  return copy_strided(x.data(), shape, steps);
}
template <class T>
inline Tensor<T> broadcast_in_dim(const Tensor<T> &x, const Dims &broadcast_dimensions, Dims shape) {
  Dims strides = strides_of(x.shape), steps(shape.size(), 0);
  for (size_t i = 0; i < broadcast_dimensions.size(); ++i) {
    size_t d = size_t(broadcast_dimensions[i]);
    if (shape[d] < 0)
      shape[d] = x.shape[i];
    steps[d] = x.shape[i] == 1 ? 0 : strides[i];
  }
  return copy_strided(x.data(), shape, steps);
}
template <class T, class I>
inline Tensor<T> dynamic_broadcast_in_dim(const Tensor<T> &x, const Tensor<I> &shape, const Dims &dimensions) {
  return broadcast_in_dim(x, dimensions, sizes_of(shape));
}
template <class T> inline Tensor<T> broadcast(const Tensor<T> &x, const Dims &sizes) {
  Dims shape = sizes, dimensions;
  for (int64_t size : x.shape) {
    dimensions.push_back(int64_t(shape.size()));
    shape.push_back(size);
  }
  return broadcast_in_dim(x, dimensions, shape);
}
template <class T> inline Tensor<T> reverse(const Tensor<T> &x, const Dims &dimensions) {
  Dims steps = strides_of(x.shape);
  const T *from = x.data();
  if (x.size() == 0)
    return x;
  for (int64_t d : dimensions) {
    from += (x.shape[size_t(d)] - 1) * steps[size_t(d)];
    steps[size_t(d)] = -steps[size_t(d)];
  }
  return copy_strided(from, x.shape, steps);
}
template <class T>
inline Tensor<T> strided_slice(const Tensor<T> &x, const Dims &start, const Dims &limit, const Dims &stride) {
  Dims steps = strides_of(x.shape), shape;
  const T *from = x.data();
  for (size_t d = 0; d < start.size(); ++d) {
    shape.push_back(std::max<int64_t>(0, (limit[d] - start[d] + stride[d] - 1) / stride[d]));
    from += start[d] * steps[d];
    steps[d] *= stride[d];
  }
  return copy_strided(count_of(shape) ? from : x.data(), shape, steps);
}
template <class T, class I>
inline Tensor<T> real_dynamic_slice(const Tensor<T> &x, const Tensor<I> &start, const Tensor<I> &limit,
                                    const Tensor<I> &stride) {
  return strided_slice(x, sizes_of(start), sizes_of(limit), sizes_of(stride));
}
/// Starts are moved so that the slice lies inside.
inline Dims clamped(Dims starts, const Dims &sizes, const Dims &shape) {
  for (size_t d = 0; d < starts.size(); ++d)
    starts[d] = std::min(std::max<int64_t>(starts[d], 0), shape[d] - sizes[d]);
  return starts;
}
template <class T> inline Tensor<T> dynamic_slice(const Tensor<T> &x, const Dims &starts, const Dims &sizes) {
  Dims start = clamped(starts, sizes, x.shape), limit = start;
  for (size_t d = 0; d < limit.size(); ++d)
    limit[d] += sizes[d];
  return strided_slice(x, start, limit, Dims(start.size(), 1));
}
/// Writes `part` into `whole` from `start` on, `step` elements apart; what lies outside is left out.
template <class T>
inline void write_part(Tensor<T> &whole, const Tensor<T> &part, const Dims &start, const Dims &step) {
  Dims strides = strides_of(whole.shape);
  int64_t inner = part.rank() ? part.shape.back() : 1;
  if (part.size() == 0)
    return;
  Dims outer(part.shape.begin(), part.shape.end() - (part.rank() ? 1 : 0));
  const T *from = part.data();
  for_each_index(outer, [&](const Dims &index) {
    int64_t at = 0;
    bool is_inside = true;
    for (size_t d = 0; d < index.size(); ++d) {
      int64_t place = start[d] + index[d] * step[d];
      is_inside = is_inside && place >= 0 && place < whole.shape[d];
      at += place * strides[d];
    }
    if (is_inside && part.rank() == 0)
      whole[0] = *from;
    for (int64_t i = 0; is_inside && part.rank() && i < inner; ++i) {
      int64_t place = start.back() + i * step.back();
      if (place >= 0 && place < whole.shape.back())
        whole[at + place] = from[i];
    }
    from += inner;
  });
}
template <class T>
inline Tensor<T> dynamic_update_slice(const Tensor<T> &x, const Tensor<T> &update, const Dims &starts) {
  Tensor<T> result(x.shape);
  std::copy_n(x.data(), x.size(), result.data());
  write_part(result, update, clamped(starts, update.shape, x.shape), Dims(x.shape.size(), 1));
  return result;
}
template <class T> inline Tensor<T> concatenate(const std::vector<Tensor<T>> &operands, int64_t dimension) {
  Dims shape = operands[0].shape;
  shape[size_t(dimension)] = 0;
  for (const Tensor<T> &x : operands)
    shape[size_t(dimension)] += x.shape[size_t(dimension)];
  Tensor<T> result(shape);
  int64_t outer = 1, inner = 1, at = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    (int64_t(d) < dimension ? outer : inner) *= shape[d];
  for (const Tensor<T> &x : operands) {
    int64_t length = outer ? x.size() / outer : 0;
    for (int64_t i = 0; i < outer; ++i)
      std::copy_n(x.data() + i * length, length, result.data() + i * inner + at);
    at += length;
  }
  return result;
}
template <class T>
inline Tensor<T> pad(const Tensor<T> &x, const Tensor<T> &value, const Dims &low, const Dims &high,
                     const Dims &interior) {
  Dims shape, step;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    int64_t n = x.shape[d];
    shape.push_back(std::max<int64_t>(low[d] + n + std::max<int64_t>(n - 1, 0) * interior[d] + high[d], 0));
    step.push_back(interior[d] + 1);
  }
  Tensor<T> result = full<T>(shape, value.item());
  write_part(result, x, low, step);
  return result;
}
template <class T, class I>
inline Tensor<T> dynamic_pad(const Tensor<T> &x, const Tensor<T> &value, const Tensor<I> &low,
                             const Tensor<I> &high, const Tensor<I> &interior) {
  return pad(x, value, sizes_of(low), sizes_of(high), sizes_of(interior));
}
template <class T> inline Tensor<T> iota(int64_t dimension, const Dims &shape) {
  Tensor<T> line(Dims{shape[size_t(dimension)]});
  for (int64_t i = 0; i < line.size(); ++i)
    line[i] = convert<T>(i);
  return broadcast_in_dim(line, {dimension}, shape);
}
template <class T, class I> inline Tensor<T> dynamic_iota(const Tensor<I> &shape, int64_t dimension) {
  return iota<T>(dimension, sizes_of(shape));
}
template <class T> inline Tensor<int32_t> get_dimension_size(const Tensor<T> &x, int64_t dimension) {
  return Tensor<int32_t>(int32_t(x.shape[size_t(dimension)]));
}
template <class T, class I>
inline Tensor<T> set_dimension_size(const Tensor<T> &x, const Tensor<I> &size, int64_t dimension) {
  Dims limit = x.shape;
  limit[size_t(dimension)] = int64_t(size.item());
  return strided_slice(x, Dims(limit.size(), 0), limit, Dims(limit.size(), 1));
}

template <class T> struct BitCount { static constexpr int value = int(sizeof(T)) * 8; };
template <> struct BitCount<bool> { static constexpr int value = 1; };
template <int b, bool s> struct BitCount<SmallInt<b, s>> { static constexpr int value = b; };

/// The same bits as another type; a dimension of parts comes or goes.
template <class From, class To> inline Tensor<To> bitcast_convert(const Tensor<From> &x) {
  constexpr int from = BitCount<From>::value, to = BitCount<To>::value;
  Dims shape = x.shape;
  if (from > to)
    shape.push_back(from / to);
  else if (from < to && !shape.empty())
    shape.pop_back();
  Tensor<To> result(shape);
  if constexpr (from >= 8 && to >= 8) {
    std::memcpy(static_cast<void *>(result.data()), x.data(), size_t(x.size()) * sizeof(From));
  } else {
    constexpr int parts_in = from < to ? to / from : 1, parts_out = from > to ? from / to : 1;
    for (int64_t i = 0; i < x.size() / parts_in; ++i) {
      uint64_t word = 0;
      for (int k = 0; k < parts_in; ++k) {
        uint64_t part = 0;
        std::memcpy(&part, static_cast<const void *>(&x[i * parts_in + k]), sizeof(From));
        word |= (from == 64 ? part : part & ((uint64_t(1) << (from & 63)) - 1)) << ((k * from) & 63);
      }
      for (int k = 0; k < parts_out; ++k) {
        uint64_t part = word >> ((k * to) & 63);
        if constexpr (is_small_int<To>::value || is_bool_v<To>)
          result[i * parts_out + k] = To(part & ((uint64_t(1) << (to & 63)) - 1));
        else
          std::memcpy(static_cast<void *>(&result[i * parts_out + k]), &part, sizeof(To));
      }
    }
  }
  return result;
}

} // namespace ops
