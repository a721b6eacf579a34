// What one instruction set offers: a table of functions that the files compiled for it fill and the
// drivers (Product.cpp, Convolution.cpp, ...) call. Plain data without any standard library, because
// files compiled for different processors include it. Internal to this folder and its tests.

#pragma once

#include <cstdint>

namespace cupel::kernels {

/// A tile of C: `rows` x `vectors` are the function's own. C is row-major, B a panel of packed
/// columns: element (k, j) at b[k * bStride + j].
struct Tile {
  const float *const *rows; // [tap][row]: `rowsPerTap` apart.
  int64_t rowsPerTap;
  int64_t offset; // Where in each row the depth begins.
  int64_t taps;
  const int32_t *tapIndices; // Which part of B a tap meets; null: the only one.
  int64_t tapStride;         // Elements of B between parts.
  int64_t depth;             // For each tap.
  const float *b;
  int64_t bStride;
  float *c;
  int64_t ldc;
  const float *bias; // For the tile's columns, added at the end, or null.
  bool accumulate;   // C goes on from what it holds.
  const char *next;  // What will be needed soon: brought into the cache by the way, `nextStep`
  int64_t nextStep;  // bytes for each step of the depth.
};
using TileFunction = void (*)(const Tile &);

constexpr int kMostTileRows = 8;
constexpr int kMostTileVectors = 4;

/// Some pixels of a line side by side, each channel by itself.
struct DepthwiseSpan {
  const float *const *line;    // Where the first pixel's first tap of each kernel line lies.
  const float *const *weights; // The kernel's line: [column][channel].
  int64_t lines;
  int64_t channels; // At least a vector; also between pixels of the input.
  float *c;
  int64_t ldc;
  const float *bias; // Or null.
};
using DepthwiseFunction = void (*)(const DepthwiseSpan &);

/// One pixel, each channel by itself.
struct DepthwisePixel {
  const float *const *input; // [tap]
  const float *const *weights;
  int64_t taps;
  int64_t channels;
  float *c;
  const float *bias; // Or null.
};

constexpr int kMostDepthwiseColumns = 5;
constexpr int kMostDepthwiseStride = 2;
constexpr int kDepthwisePixels = 4; // Of a wide span.

struct KernelTable {
  const char *name;
  int width; // Floats of a vector.
  /// For [vectors - 1]: the most rows that stay in registers; 0: no such tile.
  int tileRows[kMostTileVectors];
  /// Relative to the fastest tile.
  float tileSpeed[kMostTileVectors];
  TileFunction tiles[kMostTileVectors][kMostTileRows];
  /// Packs `columns` columns of B from the strided matrix into a panel of `width` columns, zeros
  /// behind the last one.
  void (*packPanel)(const float *b, int64_t rowStride, int64_t columnStride, int64_t depth,
                    int64_t columns, int64_t width, float *panel);
  /// Row-major copy of `rows` x `columns` of a matrix; rows of the copy are `to`'s stride apart.
  void (*copyMatrix)(const float *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                     int64_t columns, float *to, int64_t toStride);
  /// y[0, n) = x[0, k) * B, B's columns side by side (`columnStride` 1) or its rows (`rowStride` 1).
  void (*vectorTimesRows)(const float *x, int64_t xStride, const float *b, int64_t rowStride,
                          int64_t k, int64_t n, float *y);
  void (*vectorTimesColumns)(const float *x, const float *b, int64_t columnStride, int64_t k,
                             int64_t n, float *y);
  /// [columns - 1][stride - 1]: spans of kDepthwisePixels pixels and of one; null: none.
  DepthwiseFunction depthwise[kMostDepthwiseColumns][kMostDepthwiseStride][2];
  void (*depthwisePixel)(const DepthwisePixel &);
};

} // namespace cupel::kernels
