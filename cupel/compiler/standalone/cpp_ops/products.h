// Products of matrices of floats in blocks of vector registers, and dot_general on top of them. The
// width of a vector follows the instruction set that the compiler is told of (-march=native).
#pragma once

#include "reductions.h"

namespace ops {

//===----------------------------------------------------------------------===//
// The tile: what is computed in registers
//===----------------------------------------------------------------------===//

#if defined(__AVX512F__)
constexpr int vector_bytes = 64, most_rows = 12;
#elif defined(__AVX__)
constexpr int vector_bytes = 32, most_rows = 6;
#else
constexpr int vector_bytes = 16, most_rows = 6;
#endif
typedef float Vector __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
constexpr int lanes = vector_bytes / 4, tile_columns = 2 * lanes;
constexpr int64_t block_depth = 256, block_tiles = 64;

// Multiplying and adding is one instruction here, whatever the rest of the program is compiled with.
#if defined(__clang__)
#define OPS_FUSED
#define OPS_FUSED_BLOCK _Pragma("clang fp contract(fast)")
#define OPS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define OPS_FUSED __attribute__((optimize("fp-contract=fast")))
#define OPS_FUSED_BLOCK
#define OPS_UNROLL _Pragma("GCC unroll 16")
#endif

/// c[i][j] = (starts ? 0 : c[i][j]) + sum of a[k][i] * b[k][j]: a is packed by `rows`, b by tile_columns.
template <int rows>
OPS_FUSED inline void multiply_tile(int64_t depth, const float *a, const float *b, float *c, int64_t c_step,
                                    bool starts) {
  OPS_FUSED_BLOCK
  Vector left[rows] = {}, right[rows] = {};
  if (!starts) {
    OPS_UNROLL
    for (int i = 0; i < rows; ++i) {
      left[i] = *reinterpret_cast<const Vector *>(c + i * c_step);
      right[i] = *reinterpret_cast<const Vector *>(c + i * c_step + lanes);
    }
  }
  for (int64_t k = 0; k < depth; ++k, a += rows, b += tile_columns) {
    Vector first = *reinterpret_cast<const Vector *>(b), second = *reinterpret_cast<const Vector *>(b + lanes);
    OPS_UNROLL
    for (int i = 0; i < rows; ++i) {
      left[i] += a[i] * first;
      right[i] += a[i] * second;
    }
  }
  OPS_UNROLL
  for (int i = 0; i < rows; ++i) {
    *reinterpret_cast<Vector *>(c + i * c_step) = left[i];
    *reinterpret_cast<Vector *>(c + i * c_step + lanes) = right[i];
  }
}

using Tile = void (*)(int64_t, const float *, const float *, float *, int64_t, bool);
template <int... rows> inline Tile tile_of(int height, std::integer_sequence<int, rows...>) {
  static constexpr Tile tiles[] = {multiply_tile<rows + 1>...};
  return tiles[height - 1];
}
inline Tile tile_of(int height) { return tile_of(height, std::make_integer_sequence<int, most_rows>()); }

//===----------------------------------------------------------------------===//
// Packed matrices
//===----------------------------------------------------------------------===//

/// Where the elements of a matrix lie.
struct Matrix {
  const float *data;
  int64_t row_step, column_step;
};

/// The left side of a product: tiles of equal height, each by columns.
struct PackedRows {
  int64_t rows = 0, depth = 0, tiles = 0;
  int height = 1;
  std::vector<float> elements;
  PackedRows(int64_t rows, int64_t depth) : rows(rows), depth(depth), tiles((rows + most_rows - 1) / most_rows) {
    height = int((rows + tiles - 1) / tiles);
    tiles = (rows + height - 1) / height;
    elements.resize(size_t(tiles * height * depth + 64));
  }
  float *tile(int64_t t) { return elements.data() + t * height * depth; }
  const float *tile(int64_t t) const { return elements.data() + t * height * depth; }
  void pack(const Matrix &a) {
    parallel_for(tiles, std::max<int64_t>(1, 8192 / (height * depth + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t)
        for (int64_t i = 0; i < height; ++i) {
          bool is_inside = t * height + i < rows;
          const float *from = a.data + (is_inside ? (t * height + i) * a.row_step : 0);
          float *to = tile(t) + i;
          for (int64_t k = 0; k < depth; ++k)
            to[k * height] = is_inside ? from[k * a.column_step] : 0.0f;
        }
    });
  }
};

/// Packs a panel of the right side: `depth` rows of tile_columns, those that are not there as zeros.
inline void pack_panel(const Matrix &b, int64_t first_row, int64_t depth, int64_t first_column, int64_t columns,
                       float *to) {
  int64_t have = std::min<int64_t>(tile_columns, columns - first_column);
  const float *from = b.data + first_row * b.row_step + first_column * b.column_step;
  if (b.column_step == 1 && have == tile_columns) {
    for (int64_t k = 0; k < depth; ++k, from += b.row_step, to += tile_columns)
      std::memcpy(to, from, tile_columns * sizeof(float));
    return;
  }
  for (int64_t j = 0; j < tile_columns; ++j)
    for (int64_t k = 0; k < depth; ++k)
      to[k * tile_columns + j] = j < have ? from[k * b.row_step + j * b.column_step] : 0.0f;
}

/// What is made of weights is made once. A key is where they lie and how they are packed.
template <class Packed> class PackedWeights {
public:
  using Key = std::tuple<const void *, int64_t, int64_t, int64_t, int64_t, int64_t>;
  template <class Make> static std::shared_ptr<const Packed> get(bool is_fixed, const Key &key, const Make &make) {
    if (!is_fixed)
      return make();
    static std::mutex mutex;
    static std::map<Key, std::shared_ptr<const Packed>> known;
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<const Packed> &found = known[key];
    if (!found)
      found = make();
    return found;
  }
};

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

/// c = a * b for some tiles of a and one panel of b, a block of depth after the other. `panel(k0, depth)`
/// gives the packed panel.
template <class Panel>
inline void multiply_panel(const PackedRows &a, int64_t first_tile, int64_t last_tile, int64_t column, int64_t columns,
                           float *c, int64_t c_step, const Panel &panel) {
  float edge[most_rows * tile_columns];
  Tile tile = tile_of(a.height);
  int64_t wide = std::min<int64_t>(tile_columns, columns - column);
  if (a.depth == 0)
    for (int64_t i = first_tile * a.height; i < std::min(a.rows, last_tile * a.height); ++i)
      std::fill_n(c + i * c_step + column, wide, 0.0f);
  for (int64_t k0 = 0; k0 < a.depth; k0 += block_depth) {
    int64_t part = std::min(block_depth, a.depth - k0);
    const float *b = panel(k0, part);
    for (int64_t t = first_tile; t < last_tile; ++t) {
      int64_t have = std::min<int64_t>(a.height, a.rows - t * a.height);
      const float *from = a.tile(t) + k0 * a.height;
      float *to = c + t * a.height * c_step + column;
      if (have == a.height && wide == tile_columns) {
        tile(part, from, b, to, c_step, k0 == 0);
        continue;
      }
      tile(part, from, b, edge, tile_columns, true);
      for (int64_t i = 0; i < have; ++i)
        for (int64_t j = 0; j < wide; ++j)
          to[i * c_step + j] = (k0 == 0 ? 0.0f : to[i * c_step + j]) + edge[i * tile_columns + j];
    }
  }
}

/// Splits a product into jobs that threads can take: panels, and parts of the rows where there are few.
template <class Job> inline void for_each_job(int64_t tiles, int64_t panels, int64_t depth, const Job &job) {
  int64_t wanted = 4 * Workers::get().count();
  int64_t splits = Workers::get().count() == 1 ? 1 : std::max<int64_t>(1, std::min(tiles, wanted / std::max<int64_t>(panels, 1)));
  splits = std::max(splits, (tiles + block_tiles - 1) / block_tiles);
  int64_t work = tiles / std::max<int64_t>(splits, 1) * most_rows * tile_columns * depth;
  parallel_for(splits * panels, std::max<int64_t>(1, 300000 / std::max<int64_t>(work, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t split = i / panels;
      job(tiles * split / splits, tiles * (split + 1) / splits, i % panels);
    }
  });
}

/// c (rows x columns) = a * b. `b_is_fixed` says that b never changes: then it is packed once.
inline void matrix_product(int64_t rows, int64_t columns, int64_t depth, const Matrix &a, const Matrix &b,
                           bool b_is_fixed, float *c) {
  if (rows == 0 || columns == 0)
    return;
  int64_t panels = (columns + tile_columns - 1) / tile_columns;
  PackedRows left(rows, depth);
  left.pack(a);
  if (b_is_fixed) {
    using Panels = std::vector<float>;
    auto packed = PackedWeights<Panels>::get(true, {b.data, b.row_step, b.column_step, depth, columns, 0}, [&] {
      auto made = std::make_shared<Panels>(size_t(panels * tile_columns * depth));
      parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          pack_panel(b, 0, depth, p * tile_columns, columns, made->data() + p * tile_columns * depth);
      });
      return made;
    });
    for_each_job(left.tiles, panels, depth, [&](int64_t first, int64_t last, int64_t p) {
      multiply_panel(left, first, last, p * tile_columns, columns, c, columns, [&](int64_t k0, int64_t) {
        return packed->data() + (p * depth + k0) * tile_columns;
      });
    });
    return;
  }
  for_each_job(left.tiles, panels, depth, [&](int64_t first, int64_t last, int64_t p) {
    float panel[block_depth * tile_columns];
    multiply_panel(left, first, last, p * tile_columns, columns, c, columns, [&](int64_t k0, int64_t part) {
      pack_panel(b, k0, part, p * tile_columns, columns, panel);
      return static_cast<const float *>(panel);
    });
  });
}

//===----------------------------------------------------------------------===//
// dot_general
//===----------------------------------------------------------------------===//

/// Up to this many products sums are formed in double: tests of single operations look at the last bit.
constexpr int64_t few_products = 1 << 13;

/// Types whose products are formed in float.
template <class T> constexpr bool is_float_product_v = std::is_same<T, float>::value || is_small_float<T>::value;

/// Dimensions of a tensor as one: how many places there are, and the step between them if it is the same.
struct Joined {
  int64_t size = 1, step = 0;
  bool is_even = true;
  Joined(const Dims &shape, const Dims &list) {
    Dims steps = strides_of(shape);
    for (int64_t d : list) {
      int64_t n = shape[size_t(d)], s = steps[size_t(d)];
      if (n != 1) {
        is_even = is_even && (size == 1 || step == n * s);
        step = s;
      }
      size *= n;
    }
  }
};

/// Sums of products of any types.
template <class R, class A, class B>
inline R dot_line(int64_t depth, const A *a, int64_t a_step, const B *b, int64_t b_step) {
  using Sum = typename Accumulates<R>::type;
  Sum sum = convert<Sum>(0.0);
  for (int64_t k = 0; k < depth; ++k)
    sum = add(sum, multiply(convert<Sum>(a[k * a_step]), convert<Sum>(b[k * b_step])));
  return convert<R>(sum);
}

inline Dims joined_lists(Dims a, const Dims &b, const Dims &c) {
  a.insert(a.end(), b.begin(), b.end());
  a.insert(a.end(), c.begin(), c.end());
  return a;
}
inline Dims others(int64_t rank, const Dims &a, const Dims &b) {
  Dims rest;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(a, d) && !contains(b, d))
      rest.push_back(d);
  return rest;
}
/// The dimensions first, first + 1, ...
inline Dims range_of(size_t first, size_t count) {
  Dims list(count);
  std::iota(list.begin(), list.end(), int64_t(first));
  return list;
}

template <class R, class A, class B>
inline Tensor<R> dot_general(const Tensor<A> &a, const Tensor<B> &b, const Dims &a_batch, const Dims &b_batch,
                             const Dims &a_contract, const Dims &b_contract) {
  Dims a_rest = others(a.rank(), a_batch, a_contract), b_rest = others(b.rank(), b_batch, b_contract);
  Joined batch(a.shape, a_batch), rows(a.shape, a_rest), a_depth(a.shape, a_contract);
  Joined b_batches(b.shape, b_batch), columns(b.shape, b_rest), b_depth(b.shape, b_contract);
  // Dimensions that do not lie evenly are brought into order first.
  if (!batch.is_even || !rows.is_even || !a_depth.is_even)
    return dot_general<R>(transpose(a, joined_lists(a_batch, a_rest, a_contract)), b, range_of(0, a_batch.size()), b_batch,
                          range_of(a_batch.size() + a_rest.size(), a_contract.size()), b_contract);
  if (!b_batches.is_even || !columns.is_even || !b_depth.is_even)
    return dot_general<R>(a, transpose(b, joined_lists(b_batch, b_contract, b_rest)), a_batch, range_of(0, b_batch.size()),
                          a_contract, range_of(b_batch.size(), b_contract.size()));
  int64_t depth = a_depth.size, each = rows.size * columns.size;
  if constexpr (is_small_float<A>::value && is_float_product_v<B> && is_float_product_v<R>) {
    if (each * depth > few_products)
      return dot_general<R>(convert_elements<float>(a), b, a_batch, b_batch, a_contract, b_contract);
  } else if constexpr (std::is_same<A, float>::value && is_small_float<B>::value && is_float_product_v<R>) {
    if (each * depth > few_products)
      return dot_general<R>(a, convert_elements<float>(b), a_batch, b_batch, a_contract, b_contract);
  } else if constexpr (std::is_same<A, float>::value && std::is_same<B, float>::value && is_small_float<R>::value) {
    if (each * depth > few_products)
      return convert_elements<R>(dot_general<float>(a, b, a_batch, b_batch, a_contract, b_contract));
  }
  Dims shape;
  for (int64_t d : joined_lists(a_batch, a_rest, {}))
    shape.push_back(a.shape[size_t(d)]);
  for (int64_t d : b_rest)
    shape.push_back(b.shape[size_t(d)]);
  Tensor<R> result(shape);
  auto compute = [&](int64_t n) {
    const A *x = a.data() + n * batch.step;
    const B *y = b.data() + n * b_batches.step;
    R *to = result.data() + n * each;
    if constexpr (std::is_same<A, float>::value && std::is_same<B, float>::value && std::is_same<R, float>::value)
      if (each * depth > few_products) {
        matrix_product(rows.size, columns.size, depth, {x, rows.step, a_depth.step}, {y, b_depth.step, columns.step},
                       b.is_fixed, to);
        return;
      }
    parallel_for(each, std::max<int64_t>(1, 65536 / std::max<int64_t>(depth, 1)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        to[i] = dot_line<R>(depth, x + i / columns.size * rows.step, a_depth.step, y + i % columns.size * columns.step,
                            b_depth.step);
    });
  };
  parallel_for(batch.size, batch.size < Workers::get().count() ? batch.size : 1, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin; n < end; ++n)
      compute(n);
  });
  return result;
}
template <class R, class A, class B> inline Tensor<R> dot(const Tensor<A> &a, const Tensor<B> &b) {
  return dot_general<R>(a, b, {}, {}, {a.rank() - 1}, {0});
}

//===----------------------------------------------------------------------===//
// Einstein sums
//===----------------------------------------------------------------------===//

/// Letters for the dimensions of an operand; what "..." stands for gets capital letters.
inline std::string spelled_out(const std::string &term, int64_t rank) {
  size_t at = term.find("...");
  if (at == std::string::npos)
    return term;
  int64_t missing = rank - int64_t(term.size() - 3);
  std::string capitals;
  for (int64_t i = 0; i < missing; ++i)
    capitals += char('Z' - (missing - 1 - i));
  return term.substr(0, at) + capitals + term.substr(at + 3);
}
template <class R, class... T> inline Tensor<R> einstein_sum(const std::string &given, const Tensor<T> &...operands) {
  using Sum = typename Accumulates<R>::type;
  std::string config;
  for (char c : given)
    if (c != ' ')
      config += c;
  size_t arrow = config.find("->");
  std::string left = config.substr(0, arrow), target = arrow == std::string::npos ? "" : config.substr(arrow + 2);
  std::vector<std::string> terms;
  std::map<char, int64_t> sizes;
  auto add_term = [&](const Dims &shape) {
    size_t comma = left.find(',');
    terms.push_back(spelled_out(left.substr(0, comma), int64_t(shape.size())));
    left = comma == std::string::npos ? "" : left.substr(comma + 1);
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t &size = sizes[terms.back()[d]];
      size = std::max(size, shape[d]);
    }
  };
  (add_term(operands.shape), ...);
  if (target.find("...") != std::string::npos) {
    std::string capitals;
    for (auto &[letter, size] : sizes)
      if (letter >= 'A' && letter <= 'Z')
        capitals += letter;
    target = target.substr(0, target.find("...")) + capitals + target.substr(target.find("...") + 3);
  }
  std::string summed;
  for (auto &[letter, size] : sizes)
    if (target.find(letter) == std::string::npos)
      summed += letter;
  Dims shape, inner;
  for (char letter : target)
    shape.push_back(sizes[letter]);
  for (char letter : summed)
    inner.push_back(sizes[letter]);
  Tensor<R> result(shape);
  int64_t place = 0;
  std::map<char, int64_t> now;
  auto element = [&](const auto &x, const std::string &term) {
    Dims steps = strides_of(x.shape);
    int64_t at = 0;
    for (size_t d = 0; d < term.size(); ++d)
      at += x.shape[d] == 1 ? 0 : now[term[d]] * steps[d];
    return convert<Sum>(x[at]);
  };
  for_each_index(shape, [&](const Dims &outer) {
    for (size_t d = 0; d < outer.size(); ++d)
      now[target[d]] = outer[d];
    Sum sum = convert<Sum>(0.0);
    for_each_index(inner, [&](const Dims &index) {
      for (size_t d = 0; d < index.size(); ++d)
        now[summed[d]] = index[d];
      Sum product = convert<Sum>(1.0);
      size_t number = 0;
      ((product = multiply(product, element(operands, terms[number++]))), ...);
      sum = add(sum, product);
    });
    result[place++] = convert<R>(sum);
  });
  return result;
}
template <class R, class A, class B>
inline Tensor<R> einsum(const Tensor<A> &a, const Tensor<B> &b, const std::string &config) {
  return einstein_sum<R>(config, a, b);
}
template <class R, class A> inline Tensor<R> unary_einsum(const Tensor<A> &a, const std::string &config) {
  return einstein_sum<R>(config, a);
}

} // namespace ops
