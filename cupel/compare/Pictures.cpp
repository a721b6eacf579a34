#include "cupel/compare/Pictures.h"

#include "cupel/compare/Canvas.h"
#include "cupel/tensor/ConvertElement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

using Index = std::vector<int64_t>;

/// "rows", "columns", or "dimension 1".
std::string axisName(int64_t axis, int64_t rank) {
  if (rank == 1)
    return "elements";
  if (rank == 2)
    return axis == 0 ? "rows" : "columns";
  return fmt::format("dimension {}", axis);
}
std::string alongAxis(int64_t axis, int64_t rank) {
  if (rank == 1)
    return "";
  if (rank == 2)
    return axis == 0 ? " along the rows' dimension" : " along the columns' dimension";
  return fmt::format(" along dimension {}", axis);
}
std::string range(int64_t first, int64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}..{}", first, last);
}

/// The smallest box around a set of positions, and the first and last of them.
struct Box {
  Index low, high;
  int64_t first = -1, last = -1, count = 0;

  void add(int64_t position, const Canvas &canvas) {
    if (first < 0) {
      first = position;
      low.assign(canvas.dims.size(), INT64_MAX);
      high.assign(canvas.dims.size(), -1);
    }
    last = position;
    ++count;
    for (size_t i = 0; i < low.size(); ++i) {
      int64_t at = position / canvas.steps[i] % canvas.dims[i];
      low[i] = std::min(low[i], at);
      high[i] = std::max(high[i], at);
    }
  }
  int64_t volume() const {
    int64_t volume = 1;
    for (size_t i = 0; i < low.size(); ++i)
      volume *= high[i] - low[i] + 1;
    return volume;
  }
  bool contains(int64_t position, const Canvas &canvas) const {
    for (size_t i = 0; i < low.size(); ++i) {
      int64_t at = position / canvas.steps[i] % canvas.dims[i];
      if (at < low[i] || at > high[i])
        return false;
    }
    return true;
  }
  /// The positions as a run or a box, whichever is the closer description; "rows 32..63".
  std::string describe(const Canvas &canvas) const {
    int64_t rank = static_cast<int64_t>(canvas.dims.size());
    int64_t run = last - first + 1;
    if (run == canvas.count)
      return "all elements";
    if (run < volume()) {
      if (last == canvas.count - 1)
        return fmt::format("the tail from [{}] on (the last {} of {} elements)",
                           fmt::join(canvas.found.indexOf(first), ","), run, canvas.count);
      return fmt::format("elements {} of the flattened tensor", range(first, last));
    }
    std::vector<int64_t> cut; // dimensions that the box does not fill
    for (int64_t i = 0; i < rank; ++i)
      if (low[i] != 0 || high[i] != canvas.dims[i] - 1)
        cut.push_back(i);
    if (cut.size() == 1) {
      int64_t axis = cut[0];
      std::string where = fmt::format("{} {}", axisName(axis, rank), range(low[axis], high[axis]));
      bool toTheEnd = high[axis] == canvas.dims[axis] - 1;
      return toTheEnd ? where + " (the tail)" : where;
    }
    std::vector<std::string> ranges;
    for (int64_t i = 0; i < rank; ++i)
      ranges.push_back(range(low[i], high[i]));
    return fmt::format("the block [{}]", fmt::join(ranges, ", "));
  }
};

std::string verb(const std::string &what) { return what.starts_with("the ") ? "is" : "are"; }

/// NaN or infinities where numbers are expected: where they are, and how far they reach.
std::string spreadOfNan(const Canvas &canvas) {
  if (canvas.found.nonFiniteMismatches == 0)
    return "";
  Box box;
  int64_t nans = 0, expectedToo = 0;
  for (int64_t p = 0; p < canvas.count; ++p) {
    double a = canvas.actual.at(p * canvas.parts), e = canvas.expected.at(p * canvas.parts);
    if (canvas.parts == 2) {
      a += 0 * canvas.actual.at(p * 2 + 1);
      e += 0 * canvas.expected.at(p * 2 + 1);
    }
    if (std::isfinite(a))
      continue;
    if (!std::isfinite(e)) {
      ++expectedToo;
      continue;
    }
    nans += std::isnan(a);
    box.add(p, canvas);
  }
  if (box.count == 0)
    return canvas.found.nonFiniteExpected.nans + canvas.found.nonFiniteExpected.infinities >
                   expectedToo
               ? "numbers where NaN or infinity is expected"
               : "";
  std::string what = nans == box.count ? "NaN" : nans == 0 ? "infinity" : "NaN and infinity";
  if (box.count == 1)
    return fmt::format("a single {} at [{}]", what,
                       fmt::join(canvas.found.indexOf(box.first), ","));
  std::string where = box.describe(canvas);
  int64_t room = std::min(box.volume(), box.last - box.first + 1);
  if (box.count == room)
    return fmt::format("{} spread over {}", what, where);
  return fmt::format("{} scattered, {} of them within {}", what, box.count, where);
}

std::string constantResult(const Canvas &canvas) {
  if (canvas.count < 4)
    return "";
  for (int64_t p = 1; p < canvas.count; ++p)
    for (int k = 0; k < canvas.parts; ++k)
      if (canvas.actual.at(p * canvas.parts + k) != canvas.actual.at(k))
        return "";
  bool expectedVaries = false;
  for (int64_t p : canvas.samples)
    expectedVaries |= !canvas.alike(canvas.expected.at(p * canvas.parts), canvas.expected.at(0));
  if (canvas.isZero(canvas.actual, 0))
    return "everything is zero";
  return expectedVaries ? fmt::format("every element is {}", canvas.actual.text(0, 6)) : "";
}

/// actual = factor * expected + offset, where the fit leaves next to nothing unexplained.
struct Line {
  double factor = 0, offset = 0, residual = 0; // residual: share of the result's norm
};

/// Least squares over the samples, and judged over everything if those fit; through the origin, or
/// with a slope of one.
Line fitLine(const Canvas &canvas, bool throughOrigin) {
  double ae = 0, ee = 0, difference = 0, n = 0;
  auto finite = [&](int64_t i, double &a, double &e) {
    a = canvas.actual.at(i), e = canvas.expected.at(i);
    return std::isfinite(a) && std::isfinite(e);
  };
  double a, e;
  for (int64_t p : canvas.samples)
    for (int64_t i = p * canvas.parts; i < (p + 1) * canvas.parts; ++i)
      if (finite(i, a, e)) {
        ae += a * e;
        ee += e * e;
        difference += a - e;
        ++n;
      }
  Line line;
  if (throughOrigin)
    line.factor = ee > 0 ? ae / ee : 0;
  else
    line = {1, n > 0 ? difference / n : 0, 0};
  struct Rest {
    double left = 0, whole = 0;
    void add(const Line &line, double a, double e) {
      if (!std::isfinite(a) || !std::isfinite(e))
        return;
      double rest = a - (line.factor * e + line.offset);
      left += rest * rest;
      whole += a * a;
    }
    double share() const { return whole > 0 ? std::sqrt(left / whole) : 1; }
  };
  Rest some;
  for (int64_t p : canvas.samples)
    for (int64_t i = p * canvas.parts; i < (p + 1) * canvas.parts; ++i)
      some.add(line, canvas.actual.at(i), canvas.expected.at(i));
  line.residual = some.share();
  if (line.residual >= 0.03)
    return line;
  std::vector<Rest> rests(size_t(canvas.blocks()));
  canvas.forBlocks([&](int64_t block, const double *a, const double *e, int64_t size) {
    for (int64_t i = 0; i < size; ++i)
      rests[size_t(block)].add(line, a[i], e[i]);
  });
  Rest all;
  for (const Rest &each : rests)
    all.left += each.left, all.whole += each.whole;
  line.residual = all.share();
  return line;
}

/// "0.125 (1/8)", "0.0884 (1/sqrt(128))".
std::string factorText(double factor) {
  std::string text = fmt::format("{:.4g}", factor);
  double inverse = 1 / std::fabs(factor);
  const char *sign = factor < 0 ? "-" : "";
  auto isWhole = [](double x) {
    return x > 1.5 && x < 1e6 && std::fabs(x - std::round(x)) < 0.002 * x / std::max(1.0, x / 64);
  };
  if (isWhole(inverse) && std::round(inverse) <= 4096)
    return fmt::format("{} ({}1/{:.0f})", text, sign, std::round(inverse));
  double square = inverse * inverse;
  if (isWhole(square) && std::has_single_bit(static_cast<uint64_t>(std::round(square))))
    return fmt::format("{} ({}1/sqrt({:.0f}))", text, sign, std::round(square));
  return text;
}

std::string scaledOrOffset(const Canvas &canvas) {
  // Two elements always lie on some line; noise around the right result is no factor.
  if (canvas.found.finitePairs < 4 || canvas.found.pccState == PccState::ExpectedConstant ||
      canvas.found.nonFiniteMismatches > 0)
    return "";
  Line scaled = fitLine(canvas, true);
  auto stands = [](double change, double residual) {
    return residual < 0.01 && residual < 0.1 * change;
  };
  if (std::fabs(scaled.factor + 1) < 0.02 && scaled.residual < 0.02)
    return "the sign is flipped";
  if (scaled.factor != 0 && std::fabs(scaled.factor - 1) > 0.004 &&
      stands(std::fabs(scaled.factor - 1), scaled.residual))
    return fmt::format("scaled by {}", factorText(scaled.factor));
  Line moved = fitLine(canvas, false);
  double change = std::fabs(moved.offset) / std::max(canvas.found.rmsExpected, 1e-300);
  if (change > 0.004 && stands(change, moved.residual) && canvas.parts == 1)
    return fmt::format("the constant {:.4g} is added to every element", moved.offset);
  return "";
}

/// Only some elements have the wrong sign, and all that are wrong do.
std::string signsLost(const Canvas &canvas) {
  for (int64_t p : canvas.wrongSamples)
    if (!canvas.shows(p, p, -1))
      return "";
  int64_t flipped = 0, negative = 0;
  bool areFlipped = canvas.forWrong([&](int64_t p) {
    ++flipped;
    negative += canvas.expected.at(p * canvas.parts) < 0;
    return canvas.shows(p, p, -1);
  });
  if (!areFlipped || flipped < 8 || canvas.parts == 2)
    return "";
  if (negative == flipped)
    return "the sign of negative elements is lost";
  return fmt::format("the sign of {} of {} elements is flipped", flipped, canvas.count);
}

std::string zeroed(const Canvas &canvas) {
  for (int64_t p : canvas.wrongSamples)
    if (!canvas.isZero(canvas.actual, p))
      return "";
  Box box;
  bool areZero = canvas.forWrong([&](int64_t p) {
    box.add(p, canvas);
    return canvas.isZero(canvas.actual, p);
  });
  if (!areZero || box.count == 0)
    return "";
  // The picture is a run or a box that is zero throughout, also where zero happens to be right.
  int64_t run = box.last - box.first + 1;
  int64_t filled = 0;
  bool isRun = run < box.volume();
  for (int64_t p = box.first; p <= box.last; ++p)
    filled += canvas.isZero(canvas.actual, p) && (isRun || box.contains(p, canvas));
  int64_t room = std::min(run, box.volume());
  if (filled != room || box.count * 4 < room)
    return box.count >= 8 ? fmt::format("{} scattered elements are zero", box.count) : "";
  std::string where = box.describe(canvas);
  return fmt::format("{} {} zero", where, box.count == 1 ? "is" : verb(where));
}

std::string transposed(const Canvas &canvas) {
  int64_t rank = static_cast<int64_t>(canvas.dims.size());
  std::vector<int64_t> axes; // dimensions of size one do not move anything
  for (int64_t i = 0; i < rank; ++i)
    if (canvas.dims[i] > 1)
      axes.push_back(i);
  if (axes.size() < 2)
    return "";
  int64_t n = static_cast<int64_t>(axes.size());
  // Row-major over the permuted dimensions: what the buffer of a transposed tensor holds.
  auto explains = [&](const std::vector<int64_t> &order) {
    return canvas.isExplainedBy([&](int64_t position) {
      int64_t source = 0;
      for (int64_t i = n; i-- > 0;) {
        int64_t size = canvas.dims[order[i]];
        source += position % size * canvas.steps[order[i]];
        position /= size;
      }
      return source;
    });
  };
  auto name = [&](const std::vector<int64_t> &order) -> std::string {
    if (rank == 2)
      return canvas.dims[0] == canvas.dims[1]
                 ? "transposed"
                 : fmt::format("transposed (the memory of a {}x{} tensor)", canvas.dims[1],
                               canvas.dims[0]);
    std::vector<int64_t> moved;
    for (int64_t i = 0; i < n; ++i)
      if (order[i] != axes[i])
        moved.push_back(axes[i]);
    if (moved.size() == 2)
      return fmt::format("transposed (dimensions {} and {})", moved[0], moved[1]);
    return fmt::format("transposed (dimensions in the order {})", fmt::join(order, ","));
  };
  std::vector<int64_t> order = axes;
  if (n <= 5) {
    while (std::next_permutation(order.begin(), order.end()))
      if (explains(order))
        return name(order);
    return "";
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = i + 1; k < n; ++k) {
      order = axes;
      std::swap(order[i], order[k]);
      if (explains(order))
        return name(order);
    }
  return "";
}

std::string reversed(const Canvas &canvas) {
  for (size_t axis = 0; axis < canvas.dims.size(); ++axis) {
    int64_t size = canvas.dims[axis], step = canvas.steps[axis];
    if (size > 1 && canvas.isExplainedBy([&](int64_t p) {
          int64_t at = p / step % size;
          return p + (size - 1 - 2 * at) * step;
        }))
      return fmt::format("reversed{}", alongAxis(axis, static_cast<int64_t>(canvas.dims.size())));
  }
  if (canvas.isExplainedBy([&](int64_t p) { return canvas.count - 1 - p; }))
    return "reversed along all dimensions";
  return "";
}

std::string shifted(const Canvas &canvas) {
  constexpr int64_t kFarthest = 4096;
  int64_t rank = static_cast<int64_t>(canvas.dims.size());
  // Along each dimension, then in the flattened tensor; near shifts first.
  for (int64_t axis = rank - 1; axis >= (rank > 1 ? -1 : 0); --axis) {
    bool flat = axis < 0;
    int64_t size = flat ? canvas.count : canvas.dims[axis];
    int64_t step = flat ? 1 : canvas.steps[axis];
    for (int64_t by = 1; by <= std::min(size / 2, kFarthest); ++by)
      for (int64_t shift : {by, -by}) {
        auto moved = [&](int64_t p) {
          int64_t from = p / step % size - shift;
          return from < 0 || from >= size ? -1 : p - shift * step;
        };
        if (!canvas.isExplainedBy(moved))
          continue;
        auto rotated = [&](int64_t p) {
          int64_t at = p / step % size;
          return p + (((at - shift) % size + size) % size - at) * step;
        };
        bool wraps = canvas.isExplainedBy(rotated);
        // What leaves a row may enter the next one.
        if (!flat && step == 1 && axis > 0 && !wraps && canvas.isExplainedBy([&](int64_t p) {
              return p - shift < 0 || p - shift >= canvas.count ? -1 : p - shift;
            }))
          return fmt::format("shifted by {} in the flattened tensor", shift);
        const char *how = wraps ? "rotated" : "shifted";
        return fmt::format("{} by {}{}", how, shift,
                           flat ? " in the flattened tensor" : alongAxis(axis, rank));
      }
  }
  return "";
}

std::string repeated(const Canvas &canvas) {
  constexpr int64_t kLargest = 4096;
  int64_t rank = static_cast<int64_t>(canvas.dims.size());
  for (int64_t axis = rank - 1; axis >= (rank > 1 ? -1 : 0); --axis) {
    bool flat = axis < 0;
    int64_t size = flat ? canvas.count : canvas.dims[axis];
    int64_t step = flat ? 1 : canvas.steps[axis];
    for (int64_t tile = 1; tile <= std::min(size / 2, kLargest); ++tile)
      if (canvas.isExplainedBy([&](int64_t p) {
            int64_t at = p / step % size;
            return p - (at - at % tile) * step;
          })) {
        if (flat)
          return fmt::format("the first {} elements are repeated", tile);
        if (tile == 1)
          return fmt::format("{} 0 is repeated", rank == 1   ? "element"
                                                 : rank == 2 ? (axis == 0 ? "row" : "column")
                                                             : axisName(axis, rank) + " index");
        return fmt::format("the tile of {} 0..{} is repeated", axisName(axis, rank), tile - 1);
      }
  }
  // Tiles of the last two dimensions.
  if (rank < 2)
    return "";
  int64_t rows = canvas.dims[rank - 2], columns = canvas.dims[rank - 1];
  for (int64_t height = 2; height <= std::min<int64_t>(rows / 2, 256); height *= 2)
    for (int64_t width = 2; width <= std::min<int64_t>(columns / 2, 256); width *= 2)
      if (canvas.isExplainedBy([&](int64_t p) {
            int64_t row = p / columns % rows, column = p % columns;
            return p - (row - row % height) * columns - (column - column % width);
          }))
        return fmt::format("the first {}x{} tile is repeated", height, width);
  return "";
}

/// The spacing of a float format at `value`, and whether the format has the value.
template <DType type> double spacing(double value) {
  constexpr FloatFormat f = FormatOf<type>::value;
  int exponent = value == 0 ? -10000 : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, 1 - f.bias) - f.mantissaBits);
}
template <DType type> bool has(double value) {
  return toDouble<type>(fromDouble<type>(value)) == value;
}

/// Every element is within one step of a narrow format: nothing is wrong but a rounding.
template <DType type> std::string oneRounding(const Canvas &canvas) {
  DType own = partType(canvas.found.actualType.storage);
  if (!isFloat(own) || (isNarrowFloat(own) && own != type))
    return "";
  bool narrow = own == type;
  int64_t off = 0;
  for (int64_t i = 0; i < canvas.count * canvas.parts; ++i) {
    double a = canvas.actual.at(i), e = canvas.expected.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e)))
      continue;
    double step = std::max(spacing<type>(a), spacing<type>(e));
    // What is stored wider must show that it went through the narrow format.
    if (!(std::fabs(a - e) <= step) || (!narrow && !has<type>(a)))
      return "";
    ++off;
  }
  if (off == 0 || (!narrow && off < 4))
    return "";
  return narrow ? fmt::format("off by one rounding of {}", info(type).name)
                : fmt::format("rounded to {} on the way", info(type).name);
}

} // namespace

std::string compare::recognisePicture(const Tensor &actual, const Tensor &expected,
                                      const Statistics &found, int threads) {
  if (!found.sameShape() || found.count == 0 || found.different == 0 || found.count == 1)
    return "";
  int parts = isComplex(actual.dtype()) || isComplex(expected.dtype()) ? 2 : 1;
  Result<ElementReader> actualReader = ElementReader::make(actual, parts);
  Result<ElementReader> expectedReader = ElementReader::make(expected, parts);
  if (!actualReader || !expectedReader)
    return "";
  Canvas canvas(std::move(*actualReader), std::move(*expectedReader), found, threads);
  // The most particular first: a zeroed tail is also a bad shift.
  for (auto *look : {spreadOfNan, oneRounding<DType::F16>, oneRounding<DType::BF16>, constantResult,
                     scaledOrOffset, zeroed, signsLost, transposed, reversed, repeated, shifted})
    if (std::string picture = look(canvas); !picture.empty())
      return picture;
  return "";
}
