#include "cupel/reference/FoldKernels.h"

#include "cupel/reference/KnownOps.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Kind;
using tensor::Storage;

namespace {

using F = KnownFunction;

/// In which order elements may be combined.
enum class Order {
  Strict, // one by one from init
  Free,   // any order gives the same result
  Tree,   // eight at a time by a fixed tree, the groups one by one from init
};

/// An element type T as stored, an accumulator A, and how they combine.
template <F function, DType stored, DType accumulator, Order orderOf, DType roundTo = accumulator>
struct Op {
  using T = Storage<stored>;
  using A = Storage<accumulator>;
  static constexpr Order order = orderOf;
  static constexpr F kind = function;
  static A load(T x) { return static_cast<A>(x); }
  static A apply(A a, A b) {
    A result = applyKnown<function, accumulator>(a, b);
    if constexpr (roundTo == accumulator)
      return result;
    else
      return tensor::toFloat<roundTo>(tensor::fromFloat<roundTo>(result));
  }
};

/// About how long an element takes; only sizes of blocks depend on it.
template <typename O>
constexpr double kFoldNanoseconds = O::order == Order::Strict ? 0.4 : sizeof(typename O::T) * 0.05;

/// Rows are taken in pieces of this size, a multiple of eight.
constexpr int64_t kPieceElements = 1 << 16;

/// Asks now and then whether to stop, in a loop whose steps take in `elements` elements each.
class PollEvery {
public:
  explicit PollEvery(int64_t elements) : elements(elements) {}
  bool operator()() {
    if ((left -= elements) > 0)
      return false;
    left = kPieceElements;
    return isStopped();
  }

private:
  int64_t elements, left = kPieceElements;
};

template <typename O> typename O::A loadAt(const std::byte *address) {
  typename O::T value;
  std::memcpy(&value, address, sizeof(value));
  return O::load(value);
}

template <typename O, typename Load> typename O::A tree(Load &&x) {
  return O::apply(O::apply(O::apply(x(0), x(4)), O::apply(x(2), x(6))),
                  O::apply(O::apply(x(1), x(5)), O::apply(x(3), x(7))));
}

/// Minimum and maximum of floats: loops first take the cheap way that is right unless a NaN or
/// the sign of a zero matters, and find out whether one does.
template <typename O>
constexpr bool isExtreme =
    std::is_floating_point_v<typename O::A> && (O::kind == F::Minimum || O::kind == F::Maximum);
template <typename O> typename O::A cheapExtreme(typename O::A a, typename O::A b) {
  if constexpr (O::kind == F::Minimum)
    return b < a ? b : a;
  else
    return b > a ? b : a;
}

/// acc[j] takes in one element of each of four rows by cheapExtreme, NaN if one is a NaN.
template <typename O>
void takeRowsCheaply(typename O::A *__restrict acc, const std::byte *const *row, int64_t step,
                     int64_t count) {
  using A = typename O::A;
  const std::byte *p = row[0], *q = row[1], *r = row[2], *s = row[3];
  auto loop = [&](int64_t stride) __attribute__((always_inline)) {
    for (int64_t j = 0; j < count; ++j) {
      A a = loadAt<O>(p + j * stride), b = loadAt<O>(q + j * stride);
      A c = loadAt<O>(r + j * stride), d = loadAt<O>(s + j * stride);
      A best = cheapExtreme<O>(cheapExtreme<O>(a, b), cheapExtreme<O>(c, d));
      A value = cheapExtreme<O>(acc[j], best);
      bool unordered = __builtin_isunordered(a, b) | __builtin_isunordered(c, d);
      acc[j] = unordered ? std::numeric_limits<A>::quiet_NaN() : value;
    }
  };
  if (step == static_cast<int64_t>(sizeof(typename O::T)))
    loop(sizeof(typename O::T));
  else
    loop(step);
}

/// acc[j] takes in one element of each of `rows` rows, in order; a row's elements are `step` apart.
template <typename O, int rows>
void takeRows(typename O::A *__restrict acc, const std::byte *const *row, int64_t step,
              int64_t count) {
  using A = typename O::A;
  const std::byte *base[rows];
  for (int r = 0; r < rows; ++r)
    base[r] = row[r];
  auto loop = [&](int64_t stride) __attribute__((always_inline)) {
    for (int64_t j = 0; j < count; ++j) {
      if constexpr (rows == 8 && O::order == Order::Tree) {
        acc[j] = O::apply(acc[j], tree<O>([&](int k) { return loadAt<O>(base[k] + j * stride); }));
      } else {
        A value = acc[j];
        for (int r = 0; r < rows; ++r)
          value = O::apply(value, loadAt<O>(base[r] + j * stride));
        acc[j] = value;
      }
    }
  };
  if (step == static_cast<int64_t>(sizeof(typename O::T)))
    loop(sizeof(typename O::T));
  else
    loop(step);
}

/// Folds while neighbouring results, `inner` apart in the input, are kept in a row of accumulators.
template <typename O>
void foldColumns(const std::byte *input, typename O::A init, typename O::A *output,
                 const FoldLayout &layout) {
  using A = typename O::A;
  constexpr int group = O::order == Order::Tree ? 8 : 4;
  constexpr int64_t block = 16384 / sizeof(A);
  FoldDim inner = layout.kept.empty() ? FoldDim{1, 0} : layout.kept.back();
  std::span<const FoldDim> outer(layout.kept.data(),
                                 layout.kept.empty() ? 0 : layout.kept.size() - 1);
  int64_t outerCount = layout.keptCount / inner.size;
  // Long columns: narrower blocks, so that there are several.
  double nanoseconds = kFoldNanoseconds<O> * static_cast<double>(layout.reducedCount);
  int64_t width = std::clamp<int64_t>(blockOf(nanoseconds, 256), 256, block);
  int64_t across = (inner.size + width - 1) / width;
  auto columns = [&](int64_t number, FoldWalk &outerWalk) {
    int64_t o = number / across, j0 = number % across * width;
    outerWalk.seek(o);
    int64_t count = std::min(width, inner.size - j0);
    A *acc = output + o * inner.size + j0;
    std::fill(acc, acc + count, init);
    const std::byte *base = input + outerWalk.offset() + j0 * inner.stride;
    const std::byte *rows[group];
    PollEvery poll(count * group);
    int64_t r = 0;
    if constexpr (isExtreme<O>) {
      FoldWalk walk(layout.reduced);
      for (; r + group <= layout.reducedCount && !poll(); r += group) {
        for (int k = 0; k < group; ++k, walk.next())
          rows[k] = base + walk.offset();
        takeRowsCheaply<O>(acc, rows, inner.stride, count);
      }
      bool zero = false;
      for (int64_t j = 0; j < count; ++j)
        zero |= acc[j] == 0;
      if (!zero) {
        for (; r < layout.reducedCount && !poll(); ++r, walk.next()) {
          rows[0] = base + walk.offset();
          takeRows<O, 1>(acc, rows, inner.stride, count);
        }
        return;
      }
      std::fill(acc, acc + count, init); // which zero is it?
      r = 0;
    }
    FoldWalk walk(layout.reduced);
    for (; r + group <= layout.reducedCount && !poll(); r += group) {
      for (int k = 0; k < group; ++k, walk.next())
        rows[k] = base + walk.offset();
      takeRows<O, group>(acc, rows, inner.stride, count);
    }
    for (; r < layout.reducedCount && !poll(); ++r, walk.next()) {
      rows[0] = base + walk.offset();
      takeRows<O, 1>(acc, rows, inner.stride, count);
    }
  };
  forBlocks(outerCount * across, nanoseconds * static_cast<double>(std::min(width, inner.size)),
            [&](int64_t begin, int64_t end) {
              FoldWalk outerWalk(outer);
              for (int64_t number = begin; number < end; ++number)
                columns(number, outerWalk);
            });
}

/// Elements that leave an accumulator as it is: the start of further partial results.
template <typename O> typename O::A neutral(typename O::A init) {
  using A = typename O::A;
  switch (O::kind) {
  case F::Add:
  case F::Xor:
    return A(0);
  case F::Multiply:
    return A(1);
  default: // taking init in twice is taking it in once
    return init;
  }
}

template <typename O>
typename O::A foldPiece(typename O::A acc, const typename O::T *x, int64_t count) {
  using A = typename O::A;
  int64_t i = 0;
  if constexpr (O::order == Order::Tree) {
    for (; i + 8 <= count; i += 8)
      acc = O::apply(acc, tree<O>([&](int k) { return O::load(x[i + k]); }));
  } else if constexpr (O::order == Order::Free) {
    constexpr int lanes = 128 / sizeof(A);
    if constexpr (isExtreme<O>) {
      using Flag = std::conditional_t<sizeof(A) == 4, int32_t, int64_t>;
      if (count >= 2 * lanes && acc == acc) {
        A part[lanes];
        Flag bad[lanes] = {};
        std::fill(part, part + lanes, acc);
        int64_t k = 0;
        for (; k + lanes <= count; k += lanes)
          for (int l = 0; l < lanes; ++l) {
            A value = O::load(x[k + l]);
            part[l] = cheapExtreme<O>(part[l], value);
            bad[l] |= value != value ? Flag{-1} : Flag{0};
          }
        A best = part[0];
        Flag anyBad = 0;
        for (int l = 0; l < lanes; ++l) {
          best = cheapExtreme<O>(best, part[l]);
          anyBad |= bad[l];
        }
        if (anyBad)
          return std::numeric_limits<A>::quiet_NaN();
        if (best != 0) {
          for (; k < count; ++k)
            best = O::apply(best, O::load(x[k]));
          return best;
        }
      }
    }
    if (count >= 2 * lanes) {
      A part[lanes];
      std::fill(part, part + lanes, neutral<O>(acc));
      for (; i + lanes <= count; i += lanes)
        for (int k = 0; k < lanes; ++k)
          part[k] = O::apply(part[k], O::load(x[i + k]));
      for (int k = 0; k < lanes; ++k)
        acc = O::apply(acc, part[k]);
    }
  }
  for (; i < count; ++i)
    acc = O::apply(acc, O::load(x[i]));
  return acc;
}

/// A row in pieces of a multiple of eight, between which a limit may stop it.
template <typename O>
typename O::A foldRow(typename O::A acc, const typename O::T *x, int64_t count) {
  for (int64_t i = 0; i < count; i += kPieceElements) {
    if (i > 0 && isStopped())
      break;
    acc = foldPiece<O>(acc, x + i, std::min(kPieceElements, count - i));
  }
  return acc;
}

/// A long row whose elements may be taken in any order, in pieces side by side.
template <typename O>
typename O::A foldLongRow(typename O::A init, const typename O::T *x, int64_t count) {
  static_assert(O::order == Order::Free);
  int64_t pieces = (count + kPieceElements - 1) / kPieceElements;
  std::vector<typename O::A> parts(static_cast<size_t>(pieces));
  double each = kFoldNanoseconds<O> * static_cast<double>(kPieceElements);
  forEach(pieces, each, [&](int64_t p) {
    int64_t first = p * kPieceElements;
    parts[static_cast<size_t>(p)] =
        foldPiece<O>(neutral<O>(init), x + first, std::min(kPieceElements, count - first));
  });
  for (typename O::A part : parts)
    init = O::apply(init, part);
  return init;
}

/// Rows side by side: each strictly in order, none waiting for another. An addition takes about as
/// long as this many can be begun.
constexpr int kSideBySide = 8;

template <typename O>
void foldRowsSideBySide(typename O::A *results, const typename O::T *const *rows, int64_t count) {
  typename O::A acc[kSideBySide];
  const typename O::T *row[kSideBySide];
  std::copy(results, results + kSideBySide, acc);
  std::copy(rows, rows + kSideBySide, row);
  for (int64_t i = 0; i < count; ++i) {
#pragma clang loop unroll(full)
    for (int r = 0; r < kSideBySide; ++r)
      acc[r] = O::apply(acc[r], O::load(row[r][i]));
  }
  std::copy(acc, acc + kSideBySide, results);
}

/// Folds where the innermost folded dimension is contiguous.
template <typename O>
void foldRows(const std::byte *input, typename O::A init, typename O::A *output,
              const FoldLayout &layout) {
  using T = typename O::T;
  int64_t run = layout.reduced.back().size;
  std::span<const FoldDim> outer(layout.reduced.data(), layout.reduced.size() - 1);
  int64_t outerCount = layout.reducedCount / run;
  auto at = [](const std::byte *address) { return reinterpret_cast<const T *>(address); };
  auto rows = [&](int64_t begin, int64_t end) {
    FoldWalk keptWalk(layout.kept);
    keptWalk.seek(begin);
    PollEvery poll(kSideBySide * run);
    for (int64_t k = begin; k < end;) {
      int64_t batch = O::order == Order::Strict && end - k >= kSideBySide ? kSideBySide : 1;
      const std::byte *base[kSideBySide];
      for (int64_t b = 0; b < batch; ++b, keptWalk.next()) {
        base[b] = input + keptWalk.offset();
        output[k + b] = init;
      }
      FoldWalk walk(outer);
      for (int64_t r = 0; r < outerCount && !poll(); ++r, walk.next()) {
        if (batch == kSideBySide) {
          for (int64_t i = 0; i < run && !(i > 0 && isStopped()); i += kPieceElements) {
            const T *pieces[kSideBySide];
            for (int b = 0; b < kSideBySide; ++b)
              pieces[b] = at(base[b] + walk.offset()) + i;
            foldRowsSideBySide<O>(output + k, pieces, std::min(kPieceElements, run - i));
          }
        } else {
          output[k] = foldRow<O>(output[k], at(base[0] + walk.offset()), run);
        }
      }
      k += batch;
    }
  };
  if constexpr (O::order == Order::Free)
    if (layout.keptCount < 16 && outerCount == 1 && run > kPieceElements) {
      FoldWalk keptWalk(layout.kept);
      for (int64_t k = 0; k < layout.keptCount; ++k, keptWalk.next())
        output[k] = foldLongRow<O>(init, at(input + keptWalk.offset()), run);
      return;
    }
  double each = 4 + kFoldNanoseconds<O> * static_cast<double>(layout.reducedCount);
  forBlocks(layout.keptCount, each, rows, kSideBySide);
}

/// Chooses the loop; where neither fits, each result's elements are brought together first.
template <typename O>
void foldWith(const std::byte *input, typename O::A init, typename O::A *output,
              const FoldLayout &layout) {
  constexpr int64_t bytes = sizeof(typename O::T);
  if (layout.reduced.empty() || (!layout.kept.empty() && layout.kept.back().size >= 8 &&
                                 (layout.kept.back().stride == bytes || layout.reducedCount < 16)))
    return foldColumns<O>(input, init, output, layout);
  const FoldDim &inner = layout.reduced.back();
  bool rows = inner.stride == bytes &&
              (layout.reduced.size() == 1 || O::order != Order::Tree || inner.size % 8 == 0);
  if (rows && (layout.reduced.size() == 1 || inner.size >= 16 || layout.kept.empty() ||
               layout.kept.back().size < 8))
    return foldRows<O>(input, init, output, layout);
  if (!layout.kept.empty() && layout.kept.back().size >= 8 && inner.stride != bytes)
    return foldColumns<O>(input, init, output, layout);

  std::vector<int64_t> shape, source;
  for (const FoldDim &dim : layout.reduced) {
    shape.push_back(dim.size);
    source.push_back(dim.stride);
  }
  StridedCopy copy(shape, contiguousStrides(shape, bytes), source, bytes);
  double each = 20 + 2 * kFoldNanoseconds<O> * static_cast<double>(layout.reducedCount);
  forBlocks(layout.keptCount, each, [&](int64_t begin, int64_t end) {
    std::vector<typename O::T> row(static_cast<size_t>(layout.reducedCount));
    FoldWalk walk(layout.kept);
    walk.seek(begin);
    PollEvery poll(layout.reducedCount);
    for (int64_t k = begin; k < end && !poll(); ++k, walk.next()) {
      copy.run(reinterpret_cast<std::byte *>(row.data()), input + walk.offset());
      output[k] = foldRow<O>(init, row.data(), layout.reducedCount);
    }
  });
}

/// Runs and stores accumulators as results.
template <typename O, DType result> void foldInto(const KnownFold &fold, const FoldLayout &layout) {
  using A = typename O::A;
  using S = Storage<result>;
  S stored;
  std::memcpy(&stored, fold.init, sizeof(S));
  auto *output = reinterpret_cast<S *>(fold.output);
  if constexpr (std::is_same_v<A, S> && info(result).bits >= 8) {
    foldWith<O>(fold.input, stored, output, layout);
  } else {
    std::vector<A> wide(static_cast<size_t>(layout.keptCount));
    A init;
    if constexpr (tensor::isNarrowFloat(result))
      init = static_cast<A>(tensor::toFloat<result>(stored));
    else
      init = static_cast<A>(stored);
    foldWith<O>(fold.input, init, wide.data(), layout);
    for (size_t i = 0; i < wide.size(); ++i) {
      if constexpr (tensor::isNarrowFloat(result) && std::is_same_v<A, double>)
        output[i] = tensor::fromDouble<result>(wide[i]);
      else if constexpr (tensor::isNarrowFloat(result))
        output[i] = tensor::fromFloat<result>(wide[i]);
      else
        output[i] = normalized<result>(static_cast<S>(wide[i]));
    }
  }
}

/// The whole-byte type whose loop serves an integer type: sums, products and bit patterns do not
/// care about signs, and bits above a narrow type's own are cut off at the end.
constexpr DType loopType(F function, DType type) {
  if (function == F::Minimum || function == F::Maximum) {
    if (info(type).bits < 8)
      return info(type).kind == Kind::Signed ? DType::I8 : DType::U8;
    return type;
  }
  switch (info(type).bytes) {
  case 1:
    return DType::U8;
  case 2:
    return DType::U16;
  case 4:
    return DType::U32;
  default:
    return DType::U64;
  }
}

template <F function> constexpr bool isSum = function == F::Add || function == F::Multiply;

template <F function, DType type> void foldTyped(const KnownFold &fold, const FoldLayout &layout) {
  constexpr Kind kind = info(type).kind;
  bool wide = fold.accumulate == Accumulate::Wide;
  if constexpr (kind == Kind::Complex) {
    if (wide)
      foldInto<Op<function, type, DType::C128, Order::Tree>, type>(fold, layout);
    else
      foldInto<Op<function, type, type, Order::Strict>, type>(fold, layout);
  } else if constexpr (tensor::isNarrowFloat(type)) {
    if constexpr (!isSum<function>)
      foldInto<Op<function, DType::F32, DType::F32, Order::Free>, type>(fold, layout);
    else if (wide)
      foldInto<Op<function, DType::F32, DType::F64, Order::Tree>, type>(fold, layout);
    else if constexpr (type == DType::F16 || type == DType::BF16)
      foldInto<Op<function, DType::F32, DType::F32, Order::Strict, type>, type>(fold, layout);
  } else if constexpr (kind == Kind::Float) {
    if constexpr (!isSum<function>)
      foldInto<Op<function, type, type, Order::Free>, type>(fold, layout);
    else if (wide)
      foldInto<Op<function, type, DType::F64, Order::Tree>, type>(fold, layout);
    else
      foldInto<Op<function, type, type, Order::Strict>, type>(fold, layout);
  } else if constexpr (kind == Kind::Boolean) {
    constexpr F onBits = function == F::Add || function == F::Maximum        ? F::Or
                         : function == F::Multiply || function == F::Minimum ? F::And
                                                                             : function;
    foldInto<Op<onBits, DType::U8, DType::U8, Order::Free>, DType::U8>(fold, layout);
  } else {
    constexpr DType loop = loopType(function, type);
    if constexpr (info(type).bits < 8)
      foldInto<Op<function, loop, loop, Order::Free>, type>(fold, layout);
    else
      foldInto<Op<function, loop, loop, Order::Free>, loop>(fold, layout);
  }
}

} // namespace

bool hasKnownFold(KnownFunction function, DType type, Accumulate accumulate) {
  if (!hasKnown(function, type))
    return false;
  bool eightBitFloat = tensor::isFloat(type) && info(type).bits <= 8;
  bool sum = function == F::Add || function == F::Multiply;
  return !(eightBitFloat && sum && accumulate == Accumulate::Native);
}

void foldKnown(const KnownFold &fold, const FoldLayout &layout) {
  bool single =
      fold.result == DType::C64 || (tensor::isFloat(fold.result) && fold.result != DType::F64);
  if (fold.function == F::Add && fold.accumulate == Accumulate::Wide && single)
    return foldSums(fold, layout);
  dispatchKnown(fold.function, [&]<F function>() {
    tensor::dispatch(fold.result, [&]<DType type>() {
      // Sums of the rare ones are wide, and made above.
      if constexpr (hasKnown(function, type) && !tensor::isRareFloat(type))
        foldTyped<function, type>(fold, layout);
    });
  });
}

} // namespace cupel::reference
