// What one instruction set offers: a table of functions that the files compiled for it fill and the
// drivers (Product.cpp, Convolution.cpp, ...) call. Plain data without any standard library, because
// files compiled for different processors include it. Internal to this folder and its tests.

#pragma once

#include "cupel/kernels/Finish.h"

#include <cstdint>

namespace cupel::kernels {

/// A tile of C, or some below each other: `rows` x `vectors` are the function's own. C is
/// row-major, B a panel of packed columns: element (k, j) at b[k * bStride + j].
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
  const Finish *finish; // Behind that; or null.
  int64_t row, column;  // Of C's first element, for `finish`.
  int64_t ragged; // Not 0: of the last vector of each row, only so many elements are there.
  bool accumulate;   // C goes on from what it holds.
  const char *next;  // What will be needed soon: brought into the cache by the way, `nextStep`
  int64_t nextStep;  // bytes for each step of the depth.
  int64_t below = 1; // So many tiles, each with the rows behind those of the one before.
};
using TileFunction = void (*)(const Tile &);

/// A row of C and two panels of B, which lie `panelStride` apart; otherwise as above.
struct RowTile {
  const float *const *rows; // [tap]: `rowsPerTap` apart.
  int64_t rowsPerTap;
  int64_t taps;
  const int32_t *tapIndices;
  int64_t tapStride;
  int64_t depth;
  const float *b;
  int64_t bStride, panelStride;
  float *c;
  const float *bias;
  const Finish *finish;
  int64_t row, column;
  int64_t ragged;
};
using RowFunction = void (*)(const RowTile &);

/// Rows of C below each other, whose sums have a short depth in one piece: those of A are `aStride` apart, B is a packed panel.
struct EvenRows {
  int64_t rows;
  const float *a;
  int64_t aStride;
  const float *b;
  int64_t depth;
  float *c;
  int64_t ldc;
  const float *bias;    // As a tile's; or null.
  const Finish *finish; // The same.
  int64_t row, column;
  int64_t lastColumns; // Of the last vector.
};
using EvenFunction = void (*)(const EvenRows &);

/// How the columns of a tile end: with a whole vector, with a part of one, or with no more than half of one.
enum class PlainEnd { Whole, Part, Half };

/// A tile of C from sides that lie row by row. Of the last vector of B and C only `lastColumns` are touched, but for PlainEnd::Whole.
struct PlainTile {
  const float *a;
  int64_t aStride;
  const float *b;
  int64_t bStride;
  int64_t depth;
  float *c;
  int64_t ldc;
  int64_t lastColumns;
};
using PlainFunction = void (*)(const PlainTile &);

/// A tile of C as the sum of outer products: at step k of a line, left[line][leftOffset + k * leftStep + row] times
/// right[line][rightOffset + k * rightStep + column].
struct OuterTile {
  const float *const *left, *const *right; // Of each line.
  const int64_t *steps;                    // As above.
  int64_t lines;
  int64_t leftOffset, rightOffset;
  int64_t leftStep, rightStep;
  float *c;
  int64_t ldc;
  bool accumulate; // C goes on from what it holds.
};
using OuterFunction = void (*)(const OuterTile &);

constexpr int kMostTileRows = 16;
constexpr int kMostTileVectors = 4;

/// The most steps of a tap that are multiplied at once in matrix registers. Measured: less would stay in the nearest cache
/// while rows go by, and be slower, because sums are stored and loaded again for each part.
constexpr int64_t kBlockDepth = 384;
/// Rows of a matrix register.
constexpr int64_t kBlockRegisterRows = 16;
/// Vectors of panels that are made for matrix registers: with 32 rows each product loads one of them, all others load more.
constexpr int64_t kBlockVectors = 2;

/// What a thread's matrix registers are set up for; nothing, to begin with.
struct BlockSetup {
  uint32_t key = 0;
};

/// A tile of `rows` x `vectors` in matrix registers. Its bias is what sums begin with, not what is added at their end.
using BlockFunction = void (*)(const Tile &, int64_t rows, int64_t vectors, BlockSetup &setup);

/// What processors with matrix registers (AMX) do instead of the tiles of vectors that are named. The sum of a step is no
/// chain: where the depth is cut is seen in sums of floats, and must follow from the shape of the whole alone.
struct BlockTable {
  int rows[kMostTileVectors]; // As `tileRows` below.
  BlockFunction pairs;        // pairTiles
  BlockFunction bytes[2];     // byteTiles; but [1]: those of A are multiplied as they are, with their sign.
  /// Of a setup that is not empty: before the thread does anything else for long.
  void (*release)();
};

/// Pixels of a line side by side, each channel by itself.
struct DepthwiseSpan {
  const void *const *line;     // Where the first pixel's first tap of each kernel line lies: f32 or bf16, as the function has it.
  const float *const *weights; // The kernel's line: columns are `pitch` apart.
  int64_t lines, columns;      // Of the kernel.
  int64_t pitch;
  int64_t stride;              // Elements between pixels' first taps.
  int64_t step;                // Elements between taps of a line.
  int64_t pixels;
  int64_t channels;
  float *c;
  int64_t ldc;
  const float *bias;    // Or null, as a tile's.
  const Finish *finish; // The same.
  int64_t row, column;  // Of c's first element, for `finish`.
  /// Of whole lines: `line` is where lines of the image begin, which have `width` pixels, and the
  /// first tap of the first pixel is at `first`, which may lie outside.
  int64_t first = 0, width = 0;
};
using DepthwiseFunction = void (*)(const DepthwiseSpan &);

/// Pixels of a vector of channels that is made of whole groups of channels.
struct GroupedPixels {
  const float *const *rows; // [tap][pixel]: `rowsPerTap` apart.
  int64_t rowsPerTap;
  int64_t offset;   // Of the channels in a row.
  int64_t channels; // As many as a vector has, or those that are left.
  int64_t taps;
  const float *weights; // [tap][input channel of a group, or pair of these][lane]
  int64_t pixels;
  float *c;
  int64_t ldc;
  const float *bias;    // Or null, as a tile's.
  const Finish *finish; // The same.
  int64_t row, column;  // Of c's first element, for `finish`.
};
using GroupedFunction = void (*)(const GroupedPixels &);

constexpr int kGroupSizes = 5; // 1, 2, 4, 8 and 16 channels.

/// In the order of PoolingKind.
enum class WindowFold { Max, Min, Sum };

/// c = initial, input[0], input[1], ... folded, each channel by itself, then the bias.
struct WindowRows {
  const float *const *input;
  int64_t count;
  int64_t channels;
  float initial;
  float *c;
  const float *bias; // Or null.
};

/// c = the greatest of input[0], input[1], ..., each channel by itself: bytes without a sign, or with one.
struct ByteWindowRows {
  const uint8_t *const *input;
  int64_t count; // One at least.
  int64_t channels;
  uint8_t *c;
};

/// The same of numbers in bf16.
struct HalfWindowRows {
  const uint16_t *const *input;
  int64_t count;
  int64_t channels;
  uint16_t *c;
};

/// Which channel of a block of 2 * width is the i-th: bytes of two taps are laced within 128 bits.
constexpr int64_t pairChannel(int64_t width, int64_t i) {
  int64_t lane = i % width;
  return lane / 4 * 8 + lane % 4 + (i < width ? 0 : 4);
}

/// Lines of windows over an image whose columns lie innermost: c[i] = initial and what the window from column i * stride on covers, folded.
struct WindowLines {
  int64_t lines;             // Of the result, one after the other in `c`.
  const float *const *input; // `taps` for each of them: the lines of the image that its windows cover.
  const int64_t *counts;     // How many of these there are.
  int64_t taps;
  int64_t columns; // Of the image; beside them lies the initial value.
  int64_t paddingLow;
  int64_t results; // Of a line.
  int64_t window, stride, dilation;
  float initial;
  float *scratch; // `scratchColumns` for each line, the initial value beside the columns: as many as windows reach, and a vector more.
  int64_t scratchColumns;
  float *c;
};

/// Windows of one size in both directions that move by one, over an image whose columns lie innermost. What lies beside it changes nothing.
struct WindowPlane {
  const float *input;
  int64_t lines, columns; // Of the image.
  int64_t paddingTop, paddingLeft;
  int64_t firstResult, resultLines; // Of the lines of the result, those that are asked for.
  int64_t results;                  // Of a line.
  float neutral;
  float *c; // Where the result's first line is.
};

/// How bits of floats become numbers that are in the order of the floats.
struct FloatOrder {
  uint32_t infinity;     // Magnitudes above it are NaN.
  uint32_t negativeZero; // Becomes zero.
  uint32_t flip;         // All ones: the other way round.
  uint32_t nan;          // The key of NaN.
};

/// Products so small that their sums are scalars: matrices of any steps, in floats, `count` of them
/// one after the other.
struct TinyProducts {
  int64_t count, rows, columns, depth;
  const float *a, *b;
  float *c;
  int64_t aRow, aColumn, aNext; // Steps to the next row, column and matrix.
  int64_t bRow, bColumn, bNext;
  int64_t cRow, cNext;
};
constexpr int64_t kMostTinyDepth = 4;

/// What is first in a line by its key.
struct LeastKey {
  uint32_t key;
  uint32_t place;
  uint32_t greatest; // Of all keys of the line.
};

/// Floats of `columns` columns, as many as a vector has at least, whose `rows` rows (one at least) lie `step` apart. Of each column: the least key,
/// the row of the first of these (or of the last), and the greatest key.
struct KeyColumns {
  const uint32_t *bits;
  int64_t step, rows, columns;
  uint32_t *least, *places, *greatest;
};

/// Pixels side by side: the sums over taps of what bytes of images are times weights, for each channel, from `bias` on.
struct ByteTaps {
  const uint8_t *const *rows; // [tap][pixel]: `rowsPerTap` apart.
  int64_t rowsPerTap;
  int64_t taps;
  const int32_t *weights; // [tap][channel]: `weightStride` apart.
  int64_t weightStride;
  int64_t pixels, channels;
  int32_t *c;
  int64_t ldc;
  const int32_t *bias;
  /// The weights of two taps of each channel as 16 bits, of whole blocks of two vectors of channels in the order of `pairChannel`, blocks
  /// one behind the other in each pair of taps; or null.
  const int32_t *pairs = nullptr;
};

/// Pixels of a line of the result: each is the sum of `columns` parts of `results` floats, which lie `step` floats apart.
struct ColumnParts {
  const float *first;
  int64_t stride; // Between pixels.
  int64_t columns, step, results;
  const float *bias; // Or null.
};

constexpr int kDepthwiseColumns = 3; // 3, 5 and 7.
constexpr int kMostDepthwiseStride = 2;
/// Pixels of a line along which a few channels are computed before the next ones; of longer ones
/// all, as memory has them.
constexpr int kMostShortPixels = 16;

/// How many of a line are found in step: 1, 2, 4 and 8.
constexpr int kFirstSizes = 4;

struct KernelTable {
  const char *name;
  int width; // Floats of a vector.
  /// For [vectors - 1]: the most rows that stay in registers; 0: no such tile.
  int tileRows[kMostTileVectors];
  /// Relative to the fastest tile.
  float tileSpeed[kMostTileVectors];
  TileFunction tiles[kMostTileVectors][kMostTileRows];
  /// The same with no more than half of the last vector, without `finish`; null where that would not be faster.
  TileFunction halfTiles[kMostTileVectors][kMostTileRows];
  /// For [vectors of a panel - 1]; the same ones as `tiles`. [1]: as `pairTiles`, null where those are.
  RowFunction rowTiles[2][kMostTileVectors];
  /// The same where every float of A and B is a pair of neighbours of the depth in bf16; null where
  /// the processor cannot multiply them.
  TileFunction pairTiles[kMostTileVectors][kMostTileRows];
  /// The same where they are pairs of 16-bit integers, and C holds 32-bit ones that wrap around.
  TileFunction integerTiles[kMostTileVectors][kMostTileRows];
  /// The same where they are four neighbouring bytes: B's have a sign; [1]: A's as well, and are multiplied as if
  /// each were greater by 128. A bias is integers too.
  TileFunction byteTiles[2][kMostTileVectors][kMostTileRows];
  /// For [vectors - 1], [1]: of pairs as above; null where there are none. There are `evenRows`
  /// rows at least, and nothing is added to them that C may lie upon: some are computed twice.
  EvenFunction evenTiles[2][kMostTileVectors];
  int evenRows[kMostTileVectors];
  /// [PlainEnd][vectors - 1, the last one counted][rows - 1]; in f32, of as many rows and vectors as `tiles`.
  PlainFunction plainTiles[3][kMostTileVectors][kMostTileRows];
  const BlockTable *blocks; // Null: there are no matrix registers.
  /// Of as many rows and vectors as tiles have.
  OuterFunction outer[kMostTileVectors][kMostTileRows];
  /// Packs `columns` columns of B from the strided matrix into a panel of `width` columns, zeros
  /// behind the last one.
  void (*packPanel)(const float *b, int64_t rowStride, int64_t columnStride, int64_t depth,
                    int64_t columns, int64_t width, float *panel);
  /// Row-major copy of `rows` x `columns` of a matrix; rows of the copy are `to`'s stride apart.
  void (*copyMatrix)(const float *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                     int64_t columns, float *to, int64_t toStride);
  /// As packPanel and copyMatrix from bf16, into pairs (an odd one is filled with zero; strides of
  /// results are in pairs) and into f32.
  void (*packPairs)(const uint16_t *b, int64_t rowStride, int64_t columnStride, int64_t depth,
                    int64_t columns, int64_t width, float *panel);
  void (*packWidened)(const uint16_t *b, int64_t rowStride, int64_t columnStride, int64_t depth,
                      int64_t columns, int64_t width, float *panel);
  void (*copyPairs)(const uint16_t *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                    int64_t columns, float *to, int64_t toStride);
  void (*copyWidened)(const uint16_t *from, int64_t rowStride, int64_t columnStride, int64_t rows,
                      int64_t columns, float *to, int64_t toStride);
  /// As copyWidened of what lies side by side.
  void (*widenRows)(const uint16_t *from, int64_t rowStride, int64_t rows, int64_t columns, float *to, int64_t toStride);
  /// Numbers rounded to bf16, and held in f32. Where pairs are multiplied, denormal ones may become zero.
  void (*roundToBf16)(const float *from, int64_t count, uint16_t *to);
  void (*roundFloats)(const float *from, int64_t count, float *to);
  /// y[0, n) = x[0, k) * B, B's columns side by side (`columnStride` 1) or its rows (`rowStride` 1).
  void (*vectorTimesRows)(const float *x, int64_t xStride, const float *b, int64_t rowStride,
                          int64_t k, int64_t n, float *y);
  void (*vectorTimesColumns)(const float *x, const float *b, int64_t columnStride, int64_t k,
                             int64_t n, float *y);
  /// [depth - 1].
  void (*tinyProducts[kMostTinyDepth])(const TinyProducts &);
  /// [(columns - 3) / 2][stride in pixels - 1], for whole lines of the result, at least a vector of
  /// channels and weights that are finite, or null; and for any kernel. Of images in f32, and in
  /// bf16.
  DepthwiseFunction depthwiseLine[2][kDepthwiseColumns][kMostDepthwiseStride];
  DepthwiseFunction depthwise[2];
  /// Of f32 and of pairs in bf16, for groups of [binary logarithm] channels; null where a vector does not hold one.
  GroupedFunction grouped[2][kGroupSizes];
  /// Rows and columns of sums that lie in memory, finished (null: as they are) and put where they belong, which may be where they lie.
  void (*finishBlock)(const Finish *finish, const float *from, int64_t fromStride, float *c, int64_t ldc, int64_t row, int64_t rows,
                      int64_t column, int64_t columns);
  bool (*joinColumns)(const ColumnTerms &terms, float *factor, float *addend);
  void (*addColumnParts)(const ColumnParts &parts, int64_t pixels, float *c, int64_t ldc);
  void (*foldRows[3])(const WindowRows &);
  void (*greatestBytes[2])(const ByteWindowRows &); // Without a sign, with one.
  void (*greatestHalves)(const HalfWindowRows &);

  void (*foldLines[3])(const WindowLines &);
  void (*foldPlanes[3][2])(const WindowPlane &); // Of 3 x 3 and of 5 x 5; null where there is none.
  void (*floatKeys)(const uint32_t *bits, int64_t count, const FloatOrder &order, uint32_t *keys);
  /// least[i] = keys[i] and places[i] = place where keys[i] is less; [1]: or equal.
  void (*keepLeast[2])(const uint32_t *keys, int64_t count, uint32_t place, uint32_t *least, uint32_t *places);
  void (*leastOfColumns[2])(const KeyColumns &of, const FloatOrder &order); // [1]: the last of equal ones.
  /// The first of the least in each of the lines, `count` floats each, which follow one another;
  /// [1]: the last of them.
  void (*leastOfLines[2])(const uint32_t *bits, int64_t lines, int64_t count,
                          const FloatOrder &order, LeastKey *found);
  /// Of `width` lines of `count` keys each, which follow one another: places[k * width + line] is that of the k-th least; of equal ones
  /// the first is before the others. Of [i], k goes to 2^i, or to `count` where that is less.
  void (*firstOfLines[kFirstSizes])(const uint32_t *keys, int64_t count, uint32_t *places);
  /// sums[0, n) += a[0, n) * b[0, n), in 32-bit integers that wrap around.
  void (*multiplyAddIntegers)(const int32_t *a, const int32_t *b, int64_t n, int32_t *sums);
  /// The sum of bytes; [1]: that have a sign, each greater by 128.
  int32_t (*sumBytes[2])(const uint8_t *bytes, int64_t count);
  /// Of bytes, each channel by itself; [1]: those of images have a sign. Weights are widened to 32 bits.
  void (*depthwiseBytes[2])(const ByteTaps &);
  /// to[c, r] = from[r, c]; a large result goes past the caches.
  void (*transpose)(const float *from, int64_t fromStride, int64_t rows, int64_t columns, float *to,
                    int64_t toStride, bool isLarge);
};

} // namespace cupel::kernels
