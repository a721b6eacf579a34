#include "cupel/reference/MatrixProduct.h"

#include "cupel/reference/ExactSum.h"
#include "cupel/reference/MatrixTiles.h"
#include "cupel/reference/Parallel.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <vector>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Storage;

/// How stored elements become the numbers that are summed (T), and back.
template <typename T> struct Access {
  void (*gather)(T *target, const std::byte *row, const int64_t *columns, int64_t count);
  /// The same from elements that lie together.
  void (*load)(T *target, const std::byte *first, int64_t count);
  void (*scatter)(std::byte *row, const int64_t *columns, const T *source, int64_t count);
  int64_t bytes; // of an element

  /// Whether elements at these offsets lie together.
  bool isRun(std::span<const int64_t> offsets) const {
    for (size_t i = 1; i < offsets.size(); ++i)
      if (offsets[i] - offsets[i - 1] != bytes)
        return false;
    return true;
  }
  void read(bool run, T *target, const std::byte *row, std::span<const int64_t> columns) const {
    if (run && !columns.empty())
      load(target, row + columns[0], static_cast<int64_t>(columns.size()));
    else
      gather(target, row, columns.data(), static_cast<int64_t>(columns.size()));
  }
};

template <DType type, typename T> T loaded(Storage<type> stored) {
  if constexpr (tensor::isFloat(type) && std::is_same_v<T, double>)
    return tensor::toDouble<type>(stored);
  else if constexpr (tensor::isFloat(type))
    return tensor::toFloat<type>(stored);
  else
    return static_cast<T>(stored);
}

template <DType type, typename T> Storage<type> storedFrom(T value) {
  constexpr tensor::DTypeInfo info = tensor::info(type);
  if constexpr (tensor::isFloat(type) && std::is_same_v<T, double>) {
    return tensor::fromDouble<type>(value);
  } else if constexpr (tensor::isFloat(type)) {
    return tensor::fromFloat<type>(value);
  } else if constexpr (info.kind == tensor::Kind::Boolean) {
    return value != 0;
  } else if constexpr (info.kind == tensor::Kind::Signed) {
    constexpr int spare = sizeof(T) * 8 - info.bits;
    return static_cast<Storage<type>>(static_cast<std::make_signed_t<T>>(value << spare) >> spare);
  } else if constexpr (info.kind == tensor::Kind::Unsigned) {
    constexpr int spare = sizeof(T) * 8 - info.bits;
    return static_cast<Storage<type>>(static_cast<T>(value << spare) >> spare);
  } else {
    return static_cast<Storage<type>>(value);
  }
}

template <DType type, typename T> Access<T> accessTo() {
  using Stored = Storage<type>;
  return {[](T *target, const std::byte *row, const int64_t *columns, int64_t count) {
            for (int64_t i = 0; i < count; ++i)
              target[i] = loaded<type, T>(*reinterpret_cast<const Stored *>(row + columns[i]));
          },
          [](T *target, const std::byte *first, int64_t count) {
            const auto *stored = reinterpret_cast<const Stored *>(first);
            for (int64_t i = 0; i < count; ++i)
              target[i] = loaded<type, T>(stored[i]);
          },
          [](std::byte *row, const int64_t *columns, const T *source, int64_t count) {
            for (int64_t i = 0; i < count; ++i)
              *reinterpret_cast<Stored *>(row + columns[i]) = storedFrom<type, T>(source[i]);
          },
          sizeof(Stored)};
}

// Blocks: a panel of B (depth x tile columns) stays in the first cache, a block of A in the second.
constexpr int64_t kDepth = 256, kColumns = 512, kRows = 960, kInnerRows = 120;

int64_t roundUp(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/// Packs `rows` x `depth` elements as panels of `width` rows, depth-major within a panel; rows that
/// do not exist are zero.
template <typename T>
void packAlong(const Access<T> &access, const std::byte *base, std::span<const int64_t> rows,
               std::span<const int64_t> depth, int width, T *target, T *line) {
  auto height = static_cast<int64_t>(rows.size()), length = static_cast<int64_t>(depth.size());
  bool run = access.isRun(depth);
  for (int64_t first = 0; first < height; first += width) {
    for (int64_t i = 0; i < width; ++i) {
      T *column = target + i;
      if (first + i < height) {
        access.read(run, line, base + rows[first + i], depth);
        for (int64_t k = 0; k < length; ++k)
          column[k * width] = line[k];
      } else {
        for (int64_t k = 0; k < length; ++k)
          column[k * width] = T{};
      }
    }
    target += length * width;
  }
}

/// The same from elements that lie side by side across the panel.
template <typename T>
void packAcross(const Access<T> &access, const std::byte *base, std::span<const int64_t> depth,
                std::span<const int64_t> columns, int width, T *target, T *line) {
  auto length = static_cast<int64_t>(depth.size());
  auto count = static_cast<int64_t>(columns.size());
  std::fill_n(line, roundUp(count, width), T{});
  bool run = access.isRun(columns);
  for (int64_t k = 0; k < length; ++k) {
    access.read(run, line, base + depth[k], columns);
    for (int64_t first = 0; first < count; first += width)
      std::memcpy(target + first * length + k * width, line + first, width * sizeof(T));
  }
}

/// Packs one side of a product into panels, walking memory in its closer order.
template <typename T>
void packPanels(const Access<T> &access, const std::byte *base, std::span<const int64_t> across,
                std::span<const int64_t> depth, int width, T *target, T *line) {
  auto stepOf = [](std::span<const int64_t> offsets) {
    return offsets.size() > 1 ? std::abs(offsets[1] - offsets[0]) : INT64_MAX;
  };
  if (stepOf(across) < stepOf(depth))
    packAcross(access, base, depth, across, width, target, line);
  else
    packAlong(access, base, across, depth, width, target, line);
}

/// Stores sums as they are; all other ways to store have this form too. Sums of row i and columns
/// from j on, `count` of them.
template <typename T> struct StoreSums {
  const Access<T> &access;
  const MutableIndexedMatrix &c;
  void operator()(int64_t i, int64_t j, const T *sums, int64_t count) const {
    access.scatter(c.base + c.rows[i], c.columns.data() + j, sums, count);
  }
};

template <typename T, typename Store>
void multiplyBlocked(const Access<T> &access, const MatrixTile<T> &tile, const IndexedMatrix &a,
                     const IndexedMatrix &b, const MutableIndexedMatrix &c, const Store &store) {
  auto m = static_cast<int64_t>(c.rows.size()), n = static_cast<int64_t>(c.columns.size());
  auto depth = static_cast<int64_t>(a.columns.size());
  int64_t rows = std::min(roundUp(m, tile.rows), kRows);
  // Several inner blocks also where there are few rows, for several threads.
  int64_t innerRows =
      std::clamp<int64_t>(roundUp((rows + 7) / 8, tile.rows), tile.rows, kInnerRows);
  int64_t columns = std::min(roundUp(n, tile.columns), kColumns);
  int64_t deep = std::min(depth, kDepth);
  std::vector<T> sums(rows * columns), right(deep * columns);
  // About what the slowest tile takes for a product.
  constexpr double each = 0.05;

  for (int64_t i0 = 0; i0 < m; i0 += rows) {
    int64_t height = std::min(rows, m - i0);
    for (int64_t j0 = 0; j0 < n; j0 += columns) {
      int64_t width = std::min(columns, n - j0);
      std::fill(sums.begin(), sums.end(), T{});
      for (int64_t k0 = 0; k0 < depth; k0 += deep) {
        int64_t length = std::min(deep, depth - k0);
        auto ks = static_cast<size_t>(k0);
        // Panels of B, some at a time: whole ones, at multiples of the tile's width.
        forBlocks(
            width, 0.5 * static_cast<double>(length),
            [&](int64_t begin, int64_t end) {
              std::vector<T> line(std::max(roundUp(end - begin, tile.columns), length));
              packPanels(access, b.base, b.columns.subspan(j0 + begin, end - begin),
                         b.rows.subspan(ks, length), tile.columns, right.data() + begin * length,
                         line.data());
            },
            tile.columns);
        forEach((height + innerRows - 1) / innerRows,
                each * static_cast<double>(innerRows * width * length), [&](int64_t block) {
                  int64_t i1 = block * innerRows;
                  int64_t inner = std::min(innerRows, height - i1);
                  std::vector<T> left(innerRows * length), line(std::max(innerRows, length));
                  packPanels(access, a.base, a.rows.subspan(i0 + i1, inner),
                             a.columns.subspan(ks, length), tile.rows, left.data(), line.data());
                  for (int64_t j = 0; j < width; j += tile.columns)
                    for (int64_t i = 0; i < inner; i += tile.rows)
                      tile.run(length, left.data() + i * length, right.data() + j * length,
                               sums.data() + (i1 + i) * columns + j, columns);
                });
        if (isStopped())
          return;
      }
      forBlocks(height, 1.0 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          store(i0 + i, j0, sums.data() + i * columns, width);
      });
    }
  }
}

template <typename T>
void multiplyBlocked(const Access<T> &access, const MatrixTile<T> &tile, const IndexedMatrix &a,
                     const IndexedMatrix &b, const MutableIndexedMatrix &c) {
  multiplyBlocked(access, tile, a, b, c, StoreSums<T>{access, c});
}

/// Up to this many rows of C are no work for tiles.
constexpr int64_t kThin = 3;
constexpr int kSideBySide = 8;
constexpr int64_t kLine = 512;

/// C has few rows, as for a matrix and a vector: B is read once and stays where it is. Sums run in
/// order; with `absolute` the sums of the products' absolute values are made too, and `store` gets
/// both.
template <typename T, bool absolute, typename Store>
void multiplyThin(const Access<T> &access, const IndexedMatrix &a, const IndexedMatrix &b,
                  const MutableIndexedMatrix &c, const Store &store) {
  auto m = static_cast<int64_t>(c.rows.size()), n = static_cast<int64_t>(c.columns.size());
  auto depth = static_cast<int64_t>(a.columns.size());
  auto size = [](T x) { return x < T{} ? -x : x; };
  auto finish = [&](int64_t i, int64_t j, const T *sums, const T *sizes, int64_t count) {
    if constexpr (absolute)
      store(i, j, sums, sizes, count);
    else
      store(i, j, sums, count);
  };
  double each = static_cast<double>(m * depth);
  bool depthRun = access.isRun(b.rows), leftRun = access.isRun(a.columns);
  if (!depthRun && n > 1 && std::abs(b.columns[1] - b.columns[0]) <= 64) {
    // Neighbouring columns lie close together: a row of sums takes in one row of B at a time.
    forBlocks(
        n, each,
        [&](int64_t begin, int64_t end) {
          T sums[kLine], sizes[kLine], line[kLine];
          for (int64_t j = begin; j < end; j += kLine) {
            int64_t count = std::min(kLine, end - j);
            auto columns = b.columns.subspan(j, count);
            bool run = access.isRun(columns);
            for (int64_t i = 0; i < m && !isStopped(); ++i) {
              std::fill_n(sums, count, T{});
              std::fill_n(sizes, count, T{});
              for (int64_t k = 0; k < depth; ++k) {
                T left;
                access.gather(&left, a.base + a.rows[i], &a.columns[k], 1);
                access.read(run, line, b.base + b.rows[k], columns);
                for (int64_t x = 0; x < count; ++x) {
                  T product = left * line[x];
                  sums[x] += product;
                  if constexpr (absolute)
                    sizes[x] += size(product);
                }
              }
              finish(i, j, sums, sizes, count);
            }
          }
        },
        kLine);
    return;
  }
  forBlocks(
      n, each,
      [&](int64_t begin, int64_t end) {
        T left[kLine], lines[kSideBySide][kLine];
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = begin; j < end && !isStopped(); j += kSideBySide) {
            int64_t columns = std::min<int64_t>(kSideBySide, end - j);
            T sums[kSideBySide] = {}, sizes[kSideBySide] = {};
            for (int64_t k = 0; k < depth; k += kLine) {
              int64_t count = std::min(kLine, depth - k);
              access.read(leftRun, left, a.base + a.rows[i], a.columns.subspan(k, count));
              for (int64_t s = 0; s < columns; ++s)
                access.read(depthRun, lines[s], b.base + b.columns[j + s],
                            b.rows.subspan(k, count));
              for (int64_t x = 0; x < count; ++x) {
#pragma clang loop unroll(full)
                for (int s = 0; s < kSideBySide; ++s) {
                  T product = left[x] * lines[s][x];
                  sums[s] += product;
                  if constexpr (absolute)
                    sizes[s] += size(product);
                }
              }
            }
            finish(i, j, sums, sizes, columns);
          }
      },
      kSideBySide);
}

/// Types whose loops need no registers of ours: complex numbers and 64-bit integers.
template <typename T> constexpr int kPlainRows = 4;
template <typename T> constexpr int kPlainColumns = 8;

template <typename T> MatrixTile<T> plainTile() {
  return {kPlainRows<T>, kPlainColumns<T>,
          [](int64_t depth, const T *a, const T *b, T *c, int64_t stride) {
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
          [&](int64_t i, int64_t j, const double *sums, const double *sizes, int64_t count) {
            storeAll(i, j, sums, sizes, 1 + 0x1p-10, count);
          });
      return;
    }
    // A row's and a column's lengths bound what their products add up to (Cauchy and Schwarz).
    std::vector<double> rows = lengths(a), columns = lengths(b.transposed());
    multiplyBlocked(access, exactProductTile(), a, b, c,
                    [&](int64_t i, int64_t j, const double *sums, int64_t count) {
                      storeAll(i, j, sums, columns.data() + j, rows[i], count);
                    });
  }

private:
  static constexpr double kLonger = 1 + 0x1p-10;

  /// Of the rows of a matrix, a little too long rather than too short.
  std::vector<double> lengths(const IndexedMatrix &matrix) const {
    auto count = static_cast<int64_t>(matrix.rows.size());
    std::vector<double> result(matrix.rows.size());
    auto stepOf = [](std::span<const int64_t> offsets) {
      return offsets.size() > 1 ? std::abs(offsets[1] - offsets[0]) : INT64_MAX;
    };
    if (stepOf(matrix.rows) < stepOf(matrix.columns)) {
      // Rows are neighbours: all of them one element further at a time.
      forBlocks(
          count, 1.0 * static_cast<double>(depth) + 4,
          [&](int64_t begin, int64_t end) {
            double line[kLine], squares[kLine];
            for (int64_t i = begin; i < end; i += kLine) {
              int64_t part = std::min(kLine, end - i);
              auto rows = matrix.rows.subspan(i, part);
              bool run = access.isRun(rows);
              std::fill_n(squares, part, 0.0);
              for (int64_t k = 0; k < depth; ++k) {
                access.read(run, line, matrix.base + matrix.columns[k], rows);
                for (int64_t x = 0; x < part; ++x)
                  squares[x] += line[x] * line[x];
              }
              for (int64_t x = 0; x < part; ++x)
                result[i + x] = std::sqrt(squares[x]) * kLonger;
            }
          },
          kLine);
      return result;
    }
    bool run = access.isRun(matrix.columns);
    forBlocks(count, 1.0 * static_cast<double>(depth) + 4, [&](int64_t begin, int64_t end) {
      double line[kLine];
      for (int64_t i = begin; i < end; ++i) {
        double lanes[8] = {};
        for (int64_t k = 0; k < depth; k += kLine) {
          int64_t part = std::min(kLine, depth - k);
          access.read(run, line, matrix.base + matrix.rows[i], matrix.columns.subspan(k, part));
          for (int64_t x = part; x < roundUp(part, 8); ++x)
            line[x] = 0;
          for (int64_t x = 0; x < part; x += 8)
            for (int l = 0; l < 8; ++l)
              lanes[l] += line[x + l] * line[x + l];
        }
        double squares = 0;
        for (double lane : lanes)
          squares += lane;
        result[i] = std::sqrt(squares) * kLonger;
      }
    });
    return result;
  }

  /// Sums of columns from j on; the absolute values of the x-th add up to factor * absolute[x].
  void storeAll(int64_t i, int64_t j, const double *sums, const double *absolute, double factor,
                int64_t count) const {
    factor = sumErrorBound(depth, factor);
    if constexpr (type == DType::F32) {
      float rounded[kColumns];
      if (count <= kColumns && roundSafely(sums, absolute, factor, rounded, count)) {
        for (int64_t x = 0; x < count; ++x)
          *reinterpret_cast<float *>(c.base + c.rows[i] + c.columns[j + x]) = rounded[x];
        return;
      }
    }
    for (int64_t x = 0; x < count; ++x)
      store(i, j + x, sums[x], factor * absolute[x]);
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
  // Tiles are wide: let the longer side of C run across. Products commute, sums keep their order.
  if (c.columns.size() < 16 && c.rows.size() > c.columns.size()) {
    std::swap(a, b);
    a = a.transposed();
    b = b.transposed();
    c = c.transposed();
  }
  tensor::dispatch(type, [&]<DType t>() { multiplyAs<t>(accumulate, a, b, c); });
}

} // namespace cupel::reference
