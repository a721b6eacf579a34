#include "cupel/reference/MatrixProduct.h"

#include "cupel/reference/ExactSum.h"
#include "cupel/reference/MatrixLines.h"
#include "cupel/reference/MatrixPanels.h"
#include "cupel/reference/MatrixTiles.h"
#include "cupel/reference/Parallel.h"
#include "cupel/tensor/Float.h"
#include "cupel/tensor/KeptBlocks.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>
#include <vector>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Storage;

// Blocks: a panel of B (depth x tile columns) stays in the first cache, what a thread has of A or B in
// the second.
constexpr int64_t kDepth = 256, kLongStripe = 512, kInnerRows = 120;
/// Sums that a thread has on their way, and bytes of the side that all threads share.
constexpr int64_t kSums = int64_t{1} << 18, kSharedBytes = int64_t{16} << 20;

/// Stores sums as they are; all other ways to store have this form too. Sums of row i and of
/// `columns`, which begin with the j-th.
template <typename T> struct StoreSums {
  const Access<T> &access;
  const MutableIndexedMatrix &c;
  void operator()(int64_t i, int64_t /*j*/, const T *sums, const Runs &columns) const {
    access.write(columns, c.base + c.rows[i], sums);
  }
};

/// Memory of this thread, which it has until it ends: stripes are many, and what the allocator takes
/// back the system clears again. What is in it does not matter.
template <typename T, int which> T *scratchOf(int64_t count) {
  thread_local std::vector<T> memory;
  if (static_cast<int64_t>(memory.size()) < count)
    memory.resize(static_cast<size_t>(count));
  return memory.data();
}

/// Whether two such numbers have a product that is exact in f32: eight bits each, as bf16 has them, and
/// exponents that add up to those of normal numbers. Zero is one of them.
inline bool areShort(const float *values, int64_t count) {
  constexpr uint32_t kLeast = (127 - 60) << 23, kMost = (127 + 60) << 23;
  uint32_t isOther = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(values[i]), size = bits & 0x7fffffff;
    isOther |= (bits & 0xffff) | uint32_t(size != 0 && (size < kLeast || size > kMost));
  }
  return isOther == 0;
}

/// One side of a product, rows of A or columns of B: where its lines and their elements lie, and how
/// many lines a panel has.
struct Side {
  const std::byte *base;
  std::span<const int64_t> lines, depth;
  int width;
  auto count() const { return static_cast<int64_t>(lines.size()); }
};

/// The longer side of C is cut into stripes, of which a thread computes one from its first product to
/// its last store, waiting for nobody. The shorter side is packed before, once for all of them: as a
/// whole, or in parts where it is too large.
template <typename T, typename Store> class BlockedProduct {
public:
  BlockedProduct(const Access<T> &access, const MatrixTile<T> &tile, const IndexedMatrix &a,
                 const IndexedMatrix &b, const MutableIndexedMatrix &c, const Store &store)
      : access(access), tile(tile), targets(c), store(store),
        rows{a.base, a.rows, a.columns, tile.rows}, columns{b.base, b.columns, b.rows, tile.columns},
        depth(static_cast<int64_t>(a.columns.size())), isAcross(columns.count() >= rows.count()),
        cut(isAcross ? columns : rows), whole(isAcross ? rows : columns) {
    if constexpr (std::is_same_v<T, float>)
      if (tile.run == floatTile().run)
        exactTile = exactFloatTile();
  }

  void multiply() {
    const int64_t lineBytes = std::max<int64_t>(depth, 1) * int64_t{sizeof(T)};
    // Several stripes also where there are few lines, for several threads; each reads all that is shared.
    constexpr int64_t kStripes = 16, kLeastLines = 48;
    const int64_t least = (kLeastLines + cut.width - 1) / cut.width;
    // Of columns no more than kLongStripe are stored at a time, whichever side they are.
    const int64_t most = isAcross ? kSums / (least * cut.width) : kLongStripe;
    const int64_t part = std::clamp<int64_t>(kSharedBytes / lineBytes, 1, most) / whole.width * whole.width;
    const int64_t shared = std::min(std::max<int64_t>(part, whole.width), roundUp(whole.count(), whole.width));
    const int64_t longest = std::min(kLongStripe, kSums / shared) / cut.width;
    const int64_t panels =
        std::clamp<int64_t>(cut.count() / (kStripes * cut.width), least, std::max(longest, least));
    const int64_t stripe = panels * cut.width;
    std::shared_ptr<const void> memory =
        tensor::takeBlock(static_cast<size_t>(std::max<int64_t>(shared * lineBytes, 1)), false);
    if (!memory)
      throw std::bad_alloc();
    T *packed = static_cast<T *>(const_cast<void *>(memory.get()));
    // About what the slowest tile takes for a product.
    constexpr double each = 0.05;
    for (int64_t first = 0; first < whole.count() && !isStopped(); first += shared) {
      const int64_t count = std::min(shared, whole.count() - first);
      isSharedShort = exactTile.has_value();
      packShared(first, count, packed);
      forEach((cut.count() + stripe - 1) / stripe, each * static_cast<double>(count * stripe * depth),
              [&](int64_t number) {
                const int64_t begin = number * stripe;
                multiplyStripe(begin, std::min(stripe, cut.count() - begin), first, count, packed);
              });
    }
  }

private:
  /// Lines of a side from `first` on, and elements of them from k0 on, as panels.
  void pack(const Side &side, int64_t first, int64_t count, int64_t k0, int64_t length, T *to) const {
    T *line = scratchOf<T, 0>(std::max(roundUp(count, side.width), kLinesTogether * length));
    packPanels(access, side.base, side.lines.subspan(first, count), side.depth.subspan(k0, length),
               side.width, to, line);
  }

  /// Blocks of depth one after another, each in panels.
  void packShared(int64_t first, int64_t count, T *packed) const {
    const int64_t height = roundUp(count, whole.width);
    // Neighbours among many lines are read together.
    const int64_t lines = roundUp(128, whole.width), groups = (count + lines - 1) / lines;
    forEach(groups * ((depth + kDepth - 1) / kDepth), 0.5 * static_cast<double>(std::min(lines, count) * kDepth),
            [&](int64_t number) {
              const int64_t k0 = number / groups * kDepth, begin = number % groups * lines;
              const int64_t length = std::min(kDepth, depth - k0);
              T *to = packed + k0 * height + begin * length;
              const int64_t some = std::min(lines, count - begin);
              pack(whole, first + begin, some, k0, length, to);
              if constexpr (std::is_same_v<T, float>)
                if (isSharedShort && !areShort(to, roundUp(some, whole.width) * length))
                  isSharedShort = false;
            });
  }

  /// `count` lines of the side that is cut, from `begin` on, with those of the other that are packed.
  void multiplyStripe(int64_t begin, int64_t count, int64_t first, int64_t others, const T *packed) const {
    const int64_t height = roundUp(isAcross ? others : count, tile.rows);
    const int64_t width = roundUp(isAcross ? count : others, tile.columns);
    const int64_t firstRow = isAcross ? first : begin, firstColumn = isAcross ? begin : first;
    const int64_t realRows = isAcross ? others : count, realColumns = isAcross ? count : others;
    const bool isShallow = depth <= kDepth; // Then sums of some rows are stored before those of others begin.
    T *own = scratchOf<T, 1>(roundUp(count, cut.width) * std::min(depth, kDepth));
    T *sums = scratchOf<T, 2>((isShallow ? std::min(height, kInnerRows) : height) * width);
    const Runs lines(targets.columns.subspan(firstColumn, realColumns), access.bytes);
    int64_t k0 = 0;
    do { // Sums of nothing are zeros, and stored too.
      const int64_t length = std::min(kDepth, depth - k0);
      pack(cut, begin, count, k0, length, own);
      auto *run = tile.run;
      if constexpr (std::is_same_v<T, float>)
        if (isSharedShort && areShort(own, roundUp(count, cut.width) * length))
          run = exactTile->run;
      const T *shared = packed + k0 * roundUp(others, whole.width);
      const T *left = isAcross ? shared : own, *right = isAcross ? own : shared;
      for (int64_t i1 = 0; i1 < height; i1 += kInnerRows) {
        const int64_t inner = std::min(kInnerRows, height - i1);
        T *block = isShallow ? sums : sums + i1 * width;
        for (int64_t j = 0; j < width; j += tile.columns)
          for (int64_t i = 0; i < inner; i += tile.rows)
            run(length, left + (i1 + i) * length, right + j * length, block + i * width + j, width, k0 > 0);
        if (k0 + length == depth)
          for (int64_t i = 0; i < std::min(inner, realRows - i1); ++i)
            store(firstRow + i1 + i, firstColumn, block + i * width, lines);
      }
      k0 += length;
    } while (k0 < depth && !isStopped());
  }

  /// Of the tile itself, where that has roundings of products that can be left out.
  std::optional<MatrixTile<T>> exactTile;
  mutable std::atomic<bool> isSharedShort = false;
  const Access<T> &access;
  const MatrixTile<T> &tile;
  const MutableIndexedMatrix &targets;
  const Store &store;
  const Side rows, columns;
  const int64_t depth;
  const bool isAcross; ///< Stripes are columns.
  const Side &cut, &whole;
};

template <typename T, typename Store>
void multiplyBlocked(const Access<T> &access, const MatrixTile<T> &tile, const IndexedMatrix &a,
                     const IndexedMatrix &b, const MutableIndexedMatrix &c, const Store &store) {
  BlockedProduct<T, Store>(access, tile, a, b, c, store).multiply();
}

template <typename T>
void multiplyBlocked(const Access<T> &access, const MatrixTile<T> &tile, const IndexedMatrix &a,
                     const IndexedMatrix &b, const MutableIndexedMatrix &c) {
  multiplyBlocked(access, tile, a, b, c, StoreSums<T>{access, c});
}

/// Up to this many rows of C are no work for tiles.
constexpr int64_t kThin = 3;
constexpr int kSideBySide = 8;
constexpr int64_t kLine = LineMeasures::kMost;

/// C has few rows, as for a matrix and a vector: B is read once and stays where it is. Sums run in
/// order; with `absolute` the sums of the products' absolute values are made too, and `store` gets
/// both.
template <typename T, bool absolute, typename Store>
void multiplyThin(const Access<T> &access, const IndexedMatrix &a, const IndexedMatrix &b,
                  const MutableIndexedMatrix &c, const Store &store) {
  auto m = static_cast<int64_t>(c.rows.size()), n = static_cast<int64_t>(c.columns.size());
  auto depth = static_cast<int64_t>(a.columns.size());
  auto size = [](T x) { return x < T{} ? -x : x; };
  auto finish = [&](int64_t i, int64_t j, const T *sums, const T *sizes, const Runs &columns) {
    if constexpr (absolute)
      store(i, j, sums, sizes, columns);
    else
      store(i, j, sums, columns);
  };
  double each = static_cast<double>(m * depth);
  bool isDepthTogether = depth == 0 || Runs(b.rows, access.bytes).isOne();
  if (!isDepthTogether && n > 1 && std::abs(b.columns[1] - b.columns[0]) <= 64) {
    // Neighbouring columns lie close together: a row of sums takes in one row of B at a time.
    forBlocks(
        n, each,
        [&](int64_t begin, int64_t end) {
          T sums[kLine], sizes[kLine], line[kLine];
          for (int64_t j = begin; j < end; j += kLine) {
            int64_t count = std::min(kLine, end - j);
            const Runs columns(b.columns.subspan(j, count), access.bytes);
            const Runs targets(c.columns.subspan(j, count), access.bytes);
            for (int64_t i = 0; i < m && !isStopped(); ++i) {
              std::fill_n(sums, count, T{});
              std::fill_n(sizes, count, T{});
              for (int64_t k = 0; k < depth; ++k) {
                T left;
                access.gather(&left, a.base + a.rows[i], &a.columns[k], 1);
                access.read(columns, line, b.base + b.rows[k]);
                for (int64_t x = 0; x < count; ++x) {
                  T product = left * line[x];
                  sums[x] += product;
                  if constexpr (absolute)
                    sizes[x] += size(product);
                }
              }
              finish(i, j, sums, sizes, targets);
            }
          }
        },
        kLine);
    return;
  }
  const std::vector<Runs> leftParts = runsOfParts(a.columns, kLine, access.bytes);
  const std::vector<Runs> rightParts = runsOfParts(b.rows, kLine, access.bytes);
  forBlocks(
      n, each,
      [&](int64_t begin, int64_t end) {
        T left[kLine], lines[kSideBySide][kLine];
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = begin; j < end && !isStopped(); j += kSideBySide) {
            int64_t columns = std::min<int64_t>(kSideBySide, end - j);
            T sums[kSideBySide] = {}, sizes[kSideBySide] = {};
            for (size_t part = 0; part < leftParts.size(); ++part) {
              access.read(leftParts[part], left, a.base + a.rows[i]);
              for (int64_t s = 0; s < columns; ++s)
                access.read(rightParts[part], lines[s], b.base + b.columns[j + s]);
              for (int64_t x = 0; x < leftParts[part].count(); ++x) {
#pragma clang loop unroll(full)
                for (int s = 0; s < kSideBySide; ++s) {
                  T product = left[x] * lines[s][x];
                  sums[s] += product;
                  if constexpr (absolute)
                    sizes[s] += size(product);
                }
              }
            }
            finish(i, j, sums, sizes, Runs(c.columns.subspan(j, columns), access.bytes));
          }
      },
      kSideBySide);
}

/// Types whose loops need no registers of ours: complex numbers and 64-bit integers.
template <typename T> constexpr int kPlainRows = 4;
template <typename T> constexpr int kPlainColumns = 8;

template <typename T> MatrixTile<T> plainTile() {
  return {kPlainRows<T>, kPlainColumns<T>,
          [](int64_t depth, const T *a, const T *b, T *c, int64_t stride, bool adds) {
            for (int i = 0; i < kPlainRows<T> && !adds; ++i)
              std::fill_n(c + i * stride, kPlainColumns<T>, T{});
            for (int64_t k = 0; k < depth; ++k, a += kPlainRows<T>, b += kPlainColumns<T>)
              for (int i = 0; i < kPlainRows<T>; ++i)
                for (int j = 0; j < kPlainColumns<T>; ++j)
                  c[i * stride + j] += a[i] * b[j];
          }};
}

/// Complex numbers that multiply as the specification writes it; std::complex repairs NaNs.
template <typename T> struct PlainComplex {
  T real, imag;
  PlainComplex() = default;
  explicit PlainComplex(std::complex<float> z)
      : real(static_cast<T>(z.real())), imag(static_cast<T>(z.imag())) {}
  explicit PlainComplex(std::complex<double> z)
      : real(static_cast<T>(z.real())), imag(static_cast<T>(z.imag())) {}
  template <typename U> explicit operator std::complex<U>() const {
    return {static_cast<U>(real), static_cast<U>(imag)};
  }
  PlainComplex(T real, T imag) : real(real), imag(imag) {}
  PlainComplex operator*(PlainComplex o) const {
    return {real * o.real - imag * o.imag, real * o.imag + imag * o.real};
  }
  PlainComplex &operator+=(PlainComplex o) {
    real += o.real;
    imag += o.imag;
    return *this;
  }
};

/// Sums of exact products in f64, rounded once to the type as ExactSum.h has it.
template <DType type> class RoundedProducts {
public:
  RoundedProducts(const Access<double> &access, const IndexedMatrix &a, const IndexedMatrix &b,
                  const MutableIndexedMatrix &c)
      : access(access), a(a), b(b), c(c), depth(static_cast<int64_t>(a.columns.size())) {}

  void multiply() {
    if (static_cast<int64_t>(c.rows.size()) <= kThin) {
      multiplyThin<double, true>(
          access, a, b, c,
          [&](int64_t i, int64_t j, const double *sums, const double *sizes, const Runs &columns) {
            storeAll(i, j, sums, sizes, 1 + 0x1p-10, columns);
          });
      return;
    }
    // A row's and a column's lengths bound what their products add up to (Cauchy and Schwarz).
    Lines rows = measured(a), columns = measured(b.transposed());
    multiplyBlocked(access, exactProductTile(), a, b, c,
                    [&](int64_t i, int64_t j, const double *sums, const Runs &targets) {
                      storeAll(i, j, sums, columns.lengths.data() + j, rows.lengths[i], targets,
                               columns.bits.data() + j, rows.bits[i]);
                    });
  }

private:
  /// Of each row of a matrix what LineMeasures says of it.
  struct Lines {
    std::vector<double> lengths;
    std::vector<int> bits;
  };

  Lines measured(const IndexedMatrix &matrix) const {
    auto count = static_cast<int64_t>(matrix.rows.size());
    Lines result{std::vector<double>(matrix.rows.size()), std::vector<int>(matrix.rows.size())};
    auto stepOf = [](std::span<const int64_t> offsets) {
      return offsets.size() > 1 ? std::abs(offsets[1] - offsets[0]) : INT64_MAX;
    };
    if (stepOf(matrix.rows) < stepOf(matrix.columns)) {
      // Rows are neighbours: all of them one element further at a time.
      forBlocks(
          count, 2.0 * static_cast<double>(depth) + 4,
          [&](int64_t begin, int64_t end) {
            double line[kLine];
            for (int64_t i = begin; i < end; i += kLine) {
              int64_t part = std::min(kLine, end - i);
              const Runs rows(matrix.rows.subspan(i, part), access.bytes);
              LineMeasures all(part);
              for (int64_t k = 0; k < depth; ++k) {
                access.read(rows, line, matrix.base + matrix.columns[k]);
                all.takeAcross(line, part);
              }
              for (int64_t x = 0; x < part; ++x) {
                result.lengths[i + x] = all.length(x);
                result.bits[i + x] = all.bits(x);
              }
            }
          },
          kLine);
      return result;
    }
    const std::vector<Runs> parts = runsOfParts(matrix.columns, kLine, access.bytes);
    forBlocks(count, 2.0 * static_cast<double>(depth) + 4, [&](int64_t begin, int64_t end) {
      double line[kLine];
      for (int64_t i = begin; i < end; ++i) {
        LineMeasures all(1);
        for (const Runs &elements : parts) {
          int64_t part = elements.count(), whole = roundUp(part, LineMeasures::kLanes);
          access.read(elements, line, matrix.base + matrix.rows[i]);
          std::fill(line + part, line + whole, 0.0);
          all.takeAlong(line, whole);
        }
        all.joinLanes();
        result.lengths[i] = all.length(0);
        result.bits[i] = all.bits(0);
      }
    });
    return result;
  }

  /// Sums of columns from j on; the absolute values of the x-th add up to factor * absolute[x].
  /// `bits` of the columns and of the row tell which of them were summed without any rounding.
  void storeAll(int64_t i, int64_t j, const double *sums, const double *absolute, double factor,
                const Runs &targets, const int *bits = nullptr, int rowBits = 0) const {
    const int64_t count = targets.count();
    factor = sumErrorBound(depth, factor);
    // The sign of a zero is for the careful sum to say.
    auto isExact = [&](int64_t x) {
      return bits && rowBits + bits[x] + depthBits <= kExactBits && sums[x] != 0;
    };
    if constexpr (type == DType::F32) {
      float rounded[kLongStripe];
      if (count <= kLongStripe && bits) {
        bool areExact = true;
        for (int64_t x = 0; x < count; ++x) {
          rounded[x] = static_cast<float>(sums[x]);
          areExact &= isExact(x);
        }
        if (areExact)
          return accessTo<DType::F32, float>().write(targets, c.base + c.rows[i], rounded);
      }
      if (count <= kLongStripe && roundSafely(sums, absolute, factor, rounded, count))
        return accessTo<DType::F32, float>().write(targets, c.base + c.rows[i], rounded);
    }
    for (int64_t x = 0; x < count; ++x)
      store(i, j + x, sums[x], isExact(x) ? 0 : factor * absolute[x]);
  }

  void store(int64_t i, int64_t j, double sum, double error) const {
    auto *target = reinterpret_cast<Storage<type> *>(c.base + c.rows[i] + c.columns[j]);
    if (std::isfinite(sum) && (error == 0 || roundsSafely<type>(sum, error))) {
      *target = tensor::fromDouble<type>(sum);
      return;
    }
    *target = roundedSum<type>(sum, error, depth, [&](int64_t first, int64_t count, double *out) {
      std::vector<double> left(static_cast<size_t>(count));
      auto part = static_cast<size_t>(first);
      access.gather(left.data(), a.base + a.rows[i], a.columns.data() + part, count);
      access.gather(out, b.base + b.columns[j], b.rows.data() + part, count);
      for (int64_t k = 0; k < count; ++k)
        out[k] *= left[k];
    });
  }

  const Access<double> &access;
  const IndexedMatrix &a, &b;
  const MutableIndexedMatrix &c;
  int64_t depth;
  /// A row's and a column's elements are whole numbers of so many bits, but for a power of two each:
  /// sums of their products have the bits of both and those of the number of terms. All of them,
  /// also on the way, are numbers of f64 up to so many.
  static constexpr int kExactBits = 53;
  const int depthBits = static_cast<int>(std::bit_width(static_cast<uint64_t>(depth)));
};

template <typename T>
void multiply(const Access<T> &access, const MatrixTile<T> &tile, const IndexedMatrix &a,
              const IndexedMatrix &b, const MutableIndexedMatrix &c) {
  if (static_cast<int64_t>(c.rows.size()) <= kThin)
    multiplyThin<T, false>(access, a, b, c, StoreSums<T>{access, c});
  else
    multiplyBlocked(access, tile, a, b, c);
}

template <DType type>
void multiplyAs(Accumulate accumulate, const IndexedMatrix &a, const IndexedMatrix &b,
                const MutableIndexedMatrix &c) {
  bool wide = accumulate == Accumulate::Wide;
  if constexpr (tensor::isRareFloat(type)) {
    return; // Multiplied in f64: see DotAndConvolution.cpp.
  } else if constexpr (type == DType::F64) {
    multiply<double>(accessTo<type, double>(), doubleTile(), a, b, c);
  } else if constexpr (tensor::isFloat(type)) {
    if (wide)
      RoundedProducts<type>(accessTo<type, double>(), a, b, c).multiply();
    else if (type == DType::F32)
      multiply<float>(accessTo<type, float>(), floatTile(), a, b, c);
    else
      multiplyBlocked<float>(accessTo<type, float>(), narrowTile(type), a, b, c);
  } else if constexpr (type == DType::C64) {
    using Single = PlainComplex<float>;
    using Double = PlainComplex<double>;
    if (wide)
      multiplyBlocked<Double>(accessTo<type, Double>(), plainTile<Double>(), a, b, c);
    else
      multiplyBlocked<Single>(accessTo<type, Single>(), plainTile<Single>(), a, b, c);
  } else if constexpr (type == DType::C128) {
    using Double = PlainComplex<double>;
    multiplyBlocked<Double>(accessTo<type, Double>(), plainTile<Double>(), a, b, c);
  } else if constexpr (tensor::info(type).bits == 64) {
    multiply<uint64_t>(accessTo<type, uint64_t>(), plainTile<uint64_t>(), a, b, c);
  } else {
    multiply<uint32_t>(accessTo<type, uint32_t>(), integerTile(), a, b, c);
  }
}

} // namespace

void multiplyMatrices(DType type, Accumulate accumulate, IndexedMatrix a, IndexedMatrix b,
                      MutableIndexedMatrix c) {
  // Tiles are wide: let the longer side of C run across, or the one whose elements lie together.
  // Products commute, sums keep their order.
  auto areTogether = [&](std::span<const int64_t> offsets) {
    return offsets.size() > 1 && offsets[1] - offsets[0] == tensor::info(type).bytes;
  };
  bool isShort = c.columns.size() < 16 && c.rows.size() > c.columns.size();
  bool isApart = c.rows.size() >= 16 && areTogether(c.rows) && !areTogether(c.columns);
  if (isShort || isApart) {
    std::swap(a, b);
    a = a.transposed();
    b = b.transposed();
    c = c.transposed();
  }
  tensor::dispatch(type, [&]<DType t>() { multiplyAs<t>(accumulate, a, b, c); });
}

} // namespace cupel::reference
