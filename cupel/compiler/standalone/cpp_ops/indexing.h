// Gathers, scatters and sorts.
#pragma once

#include "movement.h"

namespace ops {

/// Functions of elements give one element, or a tuple of them.
template <class T> inline std::tuple<T> as_tuple(const T &value) { return std::tuple<T>(value); }
template <class... T> inline std::tuple<T...> as_tuple(const std::tuple<T...> &value) { return value; }
template <class T> inline T first_of(const T &value) { return value; }
template <class T> inline T first_of(const std::tuple<T> &value) { return std::get<0>(value); }

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

inline bool contains(const Dims &list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Where each window begins, one row of `rank` numbers for each index vector.
template <class I>
inline std::vector<int64_t> window_starts(const Tensor<I> &indices, size_t rank, const Dims &index_map,
                                          int64_t index_vector_dim, const Dims &batching,
                                          const Dims &indices_batching, Dims &batch_shape) {
  Dims strides = strides_of(indices.shape);
  int64_t vector_step = 0;
  Dims batch_steps;
  batch_shape.clear();
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d == index_vector_dim) {
      vector_step = strides[size_t(d)];
      continue;
    }
    batch_shape.push_back(indices.shape[size_t(d)]);
    batch_steps.push_back(strides[size_t(d)]);
  }
  std::vector<int64_t> starts;
  for_each_index(batch_shape, [&](const Dims &index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * batch_steps[d];
    size_t row = starts.size();
    starts.resize(row + rank, 0);
    for (size_t k = 0; k < index_map.size(); ++k)
      starts[row + size_t(index_map[k])] = int64_t(indices[at + int64_t(k) * vector_step]);
    for (size_t k = 0; k < batching.size(); ++k) {
      int64_t d = indices_batching[k];
      starts[row + size_t(batching[k])] = index[size_t(d > index_vector_dim ? d - 1 : d)];
    }
  });
  return starts;
}

template <class T, class I>
inline Tensor<T> gather(const Tensor<T> &x, const Tensor<I> &indices, const Dims &offset_dims,
                        const Dims &collapsed, const Dims &batching, const Dims &indices_batching,
                        const Dims &index_map, int64_t index_vector_dim, const Dims &sizes) {
  Dims batch_shape, strides = strides_of(x.shape), window, window_steps;
  size_t rank = x.shape.size();
  std::vector<int64_t> starts =
      window_starts(indices, rank, index_map, index_vector_dim, batching, indices_batching, batch_shape);
  for (size_t d = 0; d < rank; ++d)
    if (!contains(collapsed, int64_t(d)) && !contains(batching, int64_t(d))) {
      window.push_back(sizes[d]);
      window_steps.push_back(strides[d]);
    }
  // Windows one after another, then the dimensions put where they belong.
  Dims joined = batch_shape;
  joined.insert(joined.end(), window.begin(), window.end());
  Tensor<T> rows(joined);
  int64_t each = count_of(window), windows = count_of(batch_shape), place = 0;
  std::vector<int64_t> offsets;
  for_each_index(window, [&](const Dims &index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * window_steps[d];
    offsets.push_back(at);
  });
  bool is_run = each > 0 && offsets.back() == each - 1;
  for (int64_t w = 0; w < windows; ++w) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) {
      int64_t start = starts[size_t(w) * rank + d];
      if (contains(index_map, int64_t(d)))
        start = std::min(std::max<int64_t>(start, 0), x.shape[d] - sizes[d]);
      at += start * strides[d];
    }
    if (is_run)
      std::copy_n(x.data() + at, each, rows.data() + place);
    else
      for (int64_t i = 0; i < each; ++i)
        rows[place + i] = x[at + offsets[size_t(i)]];
    place += each;
  }
  Dims permutation(joined.size());
  size_t batch = 0, offset = 0;
  for (size_t d = 0; d < joined.size(); ++d)
    permutation[d] = contains(offset_dims, int64_t(d)) ? int64_t(batch_shape.size() + offset++) : int64_t(batch++);
  return std::is_sorted(permutation.begin(), permutation.end()) ? rows : transpose(rows, permutation);
}
template <class T, class I, class S>
inline Tensor<T> dynamic_gather(const Tensor<T> &x, const Tensor<I> &indices, const Tensor<S> &sizes,
                                const Dims &offset_dims, const Dims &collapsed, const Dims &batching,
                                const Dims &indices_batching, const Dims &index_map, int64_t index_vector_dim) {
  return gather(x, indices, offset_dims, collapsed, batching, indices_batching, index_map, index_vector_dim,
                sizes_of(sizes));
}
template <class T, class I>
inline Tensor<T> torch_index_select(const Tensor<T> &x, const Tensor<I> &index, int64_t dim, int64_t batch_dims) {
  Dims shape(x.shape.begin(), x.shape.begin() + dim);
  shape.insert(shape.end(), index.shape.begin() + batch_dims, index.shape.end());
  shape.insert(shape.end(), x.shape.begin() + dim + 1, x.shape.end());
  Tensor<T> result(shape);
  int64_t batches = 1, outer = 1, inner = 1;
  for (int64_t d = 0; d < x.rank(); ++d)
    (d < batch_dims ? batches : d < dim ? outer : inner) *= d == dim ? 1 : x.shape[size_t(d)];
  int64_t picks = batches ? index.size() / batches : 0, size = x.shape[size_t(dim)];
  for (int64_t b = 0; b < batches; ++b)
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t p = 0; p < picks; ++p)
        std::copy_n(x.data() + ((b * outer + o) * size + int64_t(index[b * picks + p])) * inner, inner,
                    result.data() + ((b * outer + o) * picks + p) * inner);
  return result;
}

/// Calls f(place in the operand, place in the updates) in the order of the updates, for those inside.
template <class I, class F>
inline void for_each_update(const Dims &shape, const Tensor<I> &indices, const Dims &update_shape,
                            const Dims &window_dims, const Dims &inserted, const Dims &batching,
                            const Dims &indices_batching, const Dims &index_map, int64_t index_vector_dim,
                            bool whole_windows, const F &f) {
  size_t rank = shape.size();
  Dims batch_shape, strides = strides_of(shape), window_to, batch_axes;
  std::vector<int64_t> starts =
      window_starts(indices, rank, index_map, index_vector_dim, batching, indices_batching, batch_shape);
  for (size_t d = 0; d < rank; ++d)
    if (!contains(inserted, int64_t(d)) && !contains(batching, int64_t(d)))
      window_to.push_back(int64_t(d));
  for (size_t d = 0; d < update_shape.size(); ++d)
    if (!contains(window_dims, int64_t(d)))
      batch_axes.push_back(int64_t(d));
  int64_t number = 0;
  for_each_index(update_shape, [&](const Dims &index) {
    int64_t row = 0;
    for (size_t i = 0; i < batch_axes.size(); ++i)
      row = row * batch_shape[i] + index[size_t(batch_axes[i])];
    const int64_t *start = starts.data() + size_t(row) * rank;
    int64_t at = 0, update = number++;
    for (size_t d = 0; d < rank; ++d) {
      int64_t place = start[d], size = 1;
      for (size_t k = 0; k < window_to.size(); ++k)
        if (window_to[k] == int64_t(d)) {
          place += index[size_t(window_dims[k])];
          size = update_shape[size_t(window_dims[k])];
        }
      if (place < 0 || place >= shape[d] || (whole_windows && (start[d] < 0 || start[d] + size > shape[d])))
        return;
      at += place * strides[d];
    }
    f(at, update);
  });
}

template <class T> inline Tensor<T> copy_of(const Tensor<T> &x) {
  Tensor<T> result(x.shape);
  std::copy_n(x.data(), x.size(), result.data());
  return result;
}

/// Each update is combined with what is there by `body`, which takes old values, then new ones.
template <class I, class F, class... T, size_t... k>
inline std::tuple<Tensor<T>...> scatter_all(std::tuple<Tensor<T>...> inputs, const Tensor<I> &indices,
                                            std::tuple<Tensor<T>...> updates, const F &body, const Dims &window_dims,
                                            const Dims &inserted, const Dims &batching, const Dims &indices_batching,
                                            const Dims &index_map, int64_t index_vector_dim, bool whole_windows,
                                            std::index_sequence<k...>) {
  std::tuple<Tensor<T>...> results(copy_of(std::get<k>(inputs))...);
  for_each_update(std::get<0>(inputs).shape, indices, std::get<0>(updates).shape, window_dims, inserted, batching,
                  indices_batching, index_map, index_vector_dim, whole_windows, [&](int64_t at, int64_t from) {
                    std::tuple<T...> made = as_tuple(body(std::get<k>(results)[at]..., std::get<k>(updates)[from]...));
                    ((std::get<k>(results)[at] = std::get<k>(made)), ...);
                  });
  return results;
}
template <class I, class F, class... T>
inline std::tuple<Tensor<T>...> scatter(std::tuple<Tensor<T>...> inputs, const Tensor<I> &indices,
                                        std::tuple<Tensor<T>...> updates, const F &body, const Dims &window_dims,
                                        const Dims &inserted, const Dims &batching, const Dims &indices_batching,
                                        const Dims &index_map, int64_t index_vector_dim, bool whole_windows) {
  return scatter_all(inputs, indices, updates, body, window_dims, inserted, batching, indices_batching, index_map,
                     index_vector_dim, whole_windows, std::index_sequence_for<T...>());
}
template <class I, class F, class T>
inline Tensor<T> scatter(const Tensor<T> &input, const Tensor<I> &indices, const Tensor<T> &updates, const F &body,
                         const Dims &window_dims, const Dims &inserted, const Dims &batching,
                         const Dims &indices_batching, const Dims &index_map, int64_t index_vector_dim,
                         bool whole_windows) {
  return std::get<0>(scatter(std::make_tuple(input), indices, std::make_tuple(updates), body, window_dims, inserted,
                             batching, indices_batching, index_map, index_vector_dim, whole_windows));
}

//===----------------------------------------------------------------------===//
// Sort
//===----------------------------------------------------------------------===//

/// Stable, and safe with a comparator that is no order.
template <class Less> inline void merge_sort(std::vector<int64_t> &list, const Less &less) {
  std::vector<int64_t> merged(list.size());
  for (size_t width = 1; width < list.size(); width *= 2, list.swap(merged))
    for (size_t begin = 0; begin < list.size(); begin += 2 * width) {
      size_t middle = std::min(begin + width, list.size()), end = std::min(begin + 2 * width, list.size());
      for (size_t to = begin, a = begin, b = middle; to < end; ++to)
        merged[to] = b == end || (a < middle && !less(list[b], list[a])) ? list[a++] : list[b++];
    }
}

template <class F, class... T, size_t... k>
inline std::tuple<Tensor<T>...> sort_all(std::tuple<Tensor<T>...> operands, int64_t dimension, const F &comparator,
                                         std::index_sequence<k...>) {
  const Dims &shape = std::get<0>(operands).shape;
  std::tuple<Tensor<T>...> results(Tensor<T>(std::get<k>(operands).shape)...);
  int64_t outer = 1, inner = 1, length = shape.empty() ? 1 : shape[size_t(dimension)];
  for (size_t d = 0; d < shape.size(); ++d)
    if (int64_t(d) != dimension)
      (int64_t(d) < dimension ? outer : inner) *= shape[d];
  std::vector<int64_t> order(static_cast<size_t>(length));
  for (int64_t line = 0; line < outer * inner; ++line) {
    int64_t first = line / inner * length * inner + line % inner;
    std::iota(order.begin(), order.end(), int64_t(0));
    merge_sort(order, [&](int64_t a, int64_t b) {
      return std::apply(comparator,
                        std::tuple_cat(std::make_tuple(std::get<k>(operands)[first + a * inner],
                                                       std::get<k>(operands)[first + b * inner])...));
    });
    for (int64_t i = 0; i < length; ++i)
      ((std::get<k>(results)[first + i * inner] = std::get<k>(operands)[first + order[size_t(i)] * inner]), ...);
  }
  return results;
}
/// Stable; the comparator takes pairs of elements of each operand.
template <class F, class... T>
inline std::tuple<Tensor<T>...> sort(std::tuple<Tensor<T>...> operands, const F &comparator, int64_t dimension) {
  return sort_all(operands, dimension, comparator, std::index_sequence_for<T...>());
}
template <class F, class T> inline Tensor<T> sort(const Tensor<T> &x, const F &comparator, int64_t dimension) {
  return std::get<0>(sort(std::make_tuple(x), comparator, dimension));
}

} // namespace ops
