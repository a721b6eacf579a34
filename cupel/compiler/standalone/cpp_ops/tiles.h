// Products of matrices of floats in blocks of vector registers. The width of a vector follows the
// instruction set that the compiler is told of (-march=native).
#pragma once

#include "tensor.h"
#ifdef CUPEL_ONEDNN
#include "onednn.h"
#endif

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
/// A panel of block_depth rows stays in the first cache, so many tiles and panels in the second.
constexpr int64_t block_depth = 256, block_tiles = 32, block_panels = 12;
constexpr int64_t first_cache = 24 << 10, second_cache = 256 << 10; ///< Bytes of them that panels and tiles may take.

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

inline Vector load(const float *from) { return *reinterpret_cast<const Vector *>(from); }
inline void store(float *to, const Vector &value) { *reinterpret_cast<Vector *>(to) = value; }

/// c[i][j] = (starts ? 0 : c[i][j]) + sum of a[k][i] * b[k][j]: a is packed by `rows`, b by tile_columns,
/// of which `vectors` are looked at.
template <int rows, int vectors>
OPS_FUSED inline void multiply_tile(int64_t depth, const float *a, const float *b, float *c, int64_t c_step,
                                    bool starts) {
  OPS_FUSED_BLOCK
  Vector sums[rows][vectors] = {};
  if (!starts) {
    OPS_UNROLL
    for (int i = 0; i < rows; ++i)
      OPS_UNROLL
      for (int v = 0; v < vectors; ++v)
        sums[i][v] = *reinterpret_cast<const Vector *>(c + i * c_step + v * lanes);
  }
  for (int64_t k = 0; k < depth; ++k, a += rows, b += tile_columns) {
    Vector line[vectors];
    OPS_UNROLL
    for (int v = 0; v < vectors; ++v)
      line[v] = *reinterpret_cast<const Vector *>(b + v * lanes);
    OPS_UNROLL
    for (int i = 0; i < rows; ++i)
      OPS_UNROLL
      for (int v = 0; v < vectors; ++v)
        sums[i][v] += a[i] * line[v];
  }
  OPS_UNROLL
  for (int i = 0; i < rows; ++i)
    OPS_UNROLL
    for (int v = 0; v < vectors; ++v)
      *reinterpret_cast<Vector *>(c + i * c_step + v * lanes) = sums[i][v];
}

using Tile = void (*)(int64_t, const float *, const float *, float *, int64_t, bool);
template <int vectors, int... rows> inline Tile tile_of(int height, std::integer_sequence<int, rows...>) {
  static constexpr Tile tiles[] = {multiply_tile<rows + 1, vectors>...};
  return tiles[height - 1];
}
/// For so many rows, and for columns that are there.
inline Tile tile_of(int height, int64_t columns) {
  std::make_integer_sequence<int, most_rows> heights;
  return columns > lanes ? tile_of<2>(height, heights) : tile_of<1>(height, heights);
}

//===----------------------------------------------------------------------===//
// Packed matrices
//===----------------------------------------------------------------------===//

/// Where the elements of a matrix lie.
struct Matrix {
  const float *data;
  int64_t row_step, column_step;
};

/// The left side of a product: tiles whose heights differ by a row at most, each by columns.
struct PackedRows {
  int64_t rows, depth, tiles;
  PackedRows(int64_t rows, int64_t depth)
      : rows(rows), depth(depth), tiles((rows + most_rows - 1) / most_rows), elements(Dims{rows * depth}) {}
  int64_t first_row(int64_t t) const { return t * (rows / tiles) + std::min(t, rows % tiles); }
  int height(int64_t t) const { return int(rows / tiles + (t < rows % tiles)); }
  const float *tile(int64_t t) const { return elements.data() + first_row(t) * depth; }
  void pack(const Matrix &a) {
    parallel_for(tiles, std::max<int64_t>(1, 16384 / (most_rows * depth + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        int64_t high = height(t);
        for (int64_t i = 0; i < high; ++i) {
          const float *from = a.data + (first_row(t) + i) * a.row_step;
          float *to = elements.data() + first_row(t) * depth + i;
          for (int64_t k = 0; k < depth; ++k)
            to[k * high] = from[k * a.column_step];
        }
      }
    });
  }

private:
  Tensor<float> elements;
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

/// What is done with results while they are in the cache: elements begin ... end of a row are final.
using Finish = std::function<void(float *to, int64_t begin, int64_t end)>;

/// All of it at once, for results that came from elsewhere.
inline void finish_rows(int64_t rows, int64_t columns, float *c, const Finish &finish, int64_t offset) {
  if (finish)
    parallel_for(rows, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        finish(c - offset, offset + r * columns, offset + (r + 1) * columns);
    });
}

/// A part of a product: some tiles of the left side, some panels of the right side.
struct Part {
  int64_t first_tile, last_tile, first_panel, last_panel;
};

/// Splits c = a * b into parts that threads can take, and finishes each. What is read often should be read few
/// times: a high left side is split by rows, any other by columns. c begins at element `offset` of what
/// `finish` is told of.
template <class Job>
inline void for_each_part(const PackedRows &a, int64_t columns, float *c, const Finish &finish, int64_t offset,
                          const Job &job) {
  int64_t threads = Workers::get().count(), panels = (columns + tile_columns - 1) / tile_columns;
  int64_t worth = std::max<int64_t>(1, a.rows * columns * a.depth / 300000);
  bool is_high = a.rows >= 4 * columns;
  int64_t groups = is_high ? 1 : std::min(panels, threads == 1 ? 1 : std::min(3 * threads, worth));
  groups = std::max(groups, (panels + block_panels - 1) / block_panels);
  int64_t splits = std::min(a.tiles, (std::min(threads, worth) + groups - 1) / groups);
  // Where the left side stays in the second cache, panels can stay in the first; else many of them should
  // meet it when it comes.
  int64_t together = std::max<int64_t>(1, first_cache / (std::min(a.depth, block_depth) * 2 * vector_bytes + 1));
  if (a.rows * a.depth * int64_t(sizeof(float)) > second_cache)
    together = block_panels;
  parallel_for(splits * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t split = i / groups, first_tile = a.tiles * split / splits, last_tile = a.tiles * (split + 1) / splits;
      int64_t first_panel = panels * (i % groups) / groups, last_panel = panels * (i % groups + 1) / groups;
      for (int64_t p = first_panel; p < last_panel; p += together)
        job(Part{first_tile, last_tile, p, std::min(last_panel, p + together)});
      for (int64_t r = a.first_row(first_tile); finish && r < a.first_row(last_tile); ++r)
        finish(c - offset, offset + r * columns + first_panel * tile_columns,
               offset + r * columns + std::min(columns, last_panel * tile_columns));
    }
  });
}

/// Computes a part of c = a * b, a block of depth after the other. `panels(k0, depth)` packs the panels of
/// the part and gives a function that says where each of them lies.
template <class Panels>
inline void multiply_part(const PackedRows &a, const Part &part, int64_t columns, float *c, Panels &&panels) {
  float edge[most_rows * tile_columns];
  if (a.depth == 0)
    for (int64_t i = a.first_row(part.first_tile); i < a.first_row(part.last_tile); ++i)
      std::fill(c + i * columns + part.first_panel * tile_columns, c + i * columns + std::min(columns, part.last_panel * tile_columns), 0.0f);
  for (int64_t k0 = 0; k0 < a.depth; k0 += block_depth) {
    int64_t deep = std::min(block_depth, a.depth - k0);
    auto panel_at = panels(k0, deep);
    for (int64_t t0 = part.first_tile; t0 < part.last_tile; t0 += block_tiles)
      for (int64_t p = part.first_panel; p < part.last_panel; ++p) {
        const float *b = panel_at(p);
        int64_t column = p * tile_columns, wide = std::min<int64_t>(tile_columns, columns - column);
        for (int64_t t = t0; t < std::min(part.last_tile, t0 + block_tiles); ++t) {
          int height = a.height(t);
          const float *from = a.tile(t) + k0 * height;
          float *to = c + a.first_row(t) * columns + column;
          Tile tile = tile_of(height, wide);
          if (wide == tile_columns) {
            tile(deep, from, b, to, columns, k0 == 0);
            continue;
          }
          tile(deep, from, b, edge, tile_columns, true);
          for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < wide; ++j)
              to[i * columns + j] = (k0 == 0 ? 0.0f : to[i * columns + j]) + edge[i * tile_columns + j];
        }
      }
  }
}

/// c (rows x columns) = a * b. `b_is_fixed` says that b never changes: then it is packed once.
inline void matrix_product(int64_t rows, int64_t columns, int64_t depth, const Matrix &a, const Matrix &b,
                           bool b_is_fixed, float *c, const Finish &finish, int64_t offset) {
  if (rows == 0 || columns == 0)
    return;
#ifdef CUPEL_ONEDNN
  if (onednn::product(rows, columns, depth, a, b, b_is_fixed, c)) {
    finish_rows(rows, columns, c, finish, offset);
    return;
  }
#endif
  int64_t panels = (columns + tile_columns - 1) / tile_columns;
  PackedRows left(rows, depth);
  left.pack(a);
  std::shared_ptr<const Tensor<float>> fixed;
  if (b_is_fixed)
    fixed = PackedWeights<Tensor<float>>::get(true, {b.data, b.row_step, b.column_step, depth, columns, 0}, [&] {
      auto made = std::make_shared<Tensor<float>>(Dims{panels * depth * tile_columns});
      parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          pack_panel(b, 0, depth, p * tile_columns, columns, made->data() + p * depth * tile_columns);
      });
      return made;
    });
  for_each_part(left, columns, c, finish, offset, [&](const Part &part) {
    if (fixed) {
      const float *packed = fixed->data();
      multiply_part(left, part, columns, c, [&](int64_t k0, int64_t) {
        return [=](int64_t p) { return packed + (p * depth + k0) * tile_columns; };
      });
      return;
    }
    Tensor<float> packed(Dims{(part.last_panel - part.first_panel) * std::min(depth, block_depth) * tile_columns});
    multiply_part(left, part, columns, c, [&](int64_t k0, int64_t deep) {
      float *to = packed.data();
      for (int64_t p = part.first_panel; p < part.last_panel; ++p)
        pack_panel(b, k0, deep, p * tile_columns, columns, to + (p - part.first_panel) * deep * tile_columns);
      return [&part, to, deep](int64_t p) { return to + (p - part.first_panel) * deep * tile_columns; };
    });
  });
}

} // namespace ops
