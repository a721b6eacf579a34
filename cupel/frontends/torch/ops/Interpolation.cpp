// Images made larger or smaller: nearest, linear, cubic, with and without smoothing, and their
// gradients. Each dimension is multiplied with a matrix that is known now.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>
#include <numbers>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

using H = HloBuilder;

enum class Mode { Nearest, NearestExact, Linear, Cubic, SmoothLinear, SmoothCubic, SmoothLanczos };

/// One dimension.
struct Resized {
  int64_t in, out;
  std::optional<double> factor; ///< Output over input, where the caller gave it.
  bool corners = false;
};

/// Input steps for one output step, in the precision that torch computes it in.
template <typename T> T stepOf(const Resized &r) {
  if (r.corners)
    return r.out > 1 ? T(r.in - 1) / T(r.out - 1) : T(0);
  return r.factor && *r.factor > 0 ? T(1.0 / *r.factor) : T(r.in) / T(r.out);
}

int64_t nearestPixel(Mode mode, const Resized &r, int64_t i) {
  Resized plain = r;
  plain.corners = false;
  float step = stepOf<float>(plain);
  float at = mode == Mode::Nearest ? float(i) * step : (float(i) + 0.5f) * step;
  if (mode == Mode::Nearest && r.out == 2 * r.in)
    return i >> 1;
  if (r.out == r.in)
    return i;
  return std::min<int64_t>(int64_t(std::floor(at)), r.in - 1);
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

double sinc(double x) {
  double angle = x * std::numbers::pi;
  return x == 0 ? 1 : std::sin(angle) / angle;
}

double filter(Mode mode, double x) {
  switch (mode) {
  case Mode::SmoothLinear:
    return std::max(1 - std::abs(x), 0.0);
  case Mode::SmoothCubic:
    return cubic(x, -0.5);
  default:
    return std::abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
}

/// Row i: how much each pixel counts for output i.
template <typename T> std::vector<double> weightsOf(Mode mode, const Resized &r) {
  std::vector<double> weights(r.out * r.in, 0);
  T step = stepOf<T>(r);
  for (int64_t i = 0; i < r.out; ++i) {
    double *row = weights.data() + i * r.in;
    auto put = [&](int64_t at, double weight) {
      row[std::clamp<int64_t>(at, 0, r.in - 1)] += weight;
    };
    if (mode == Mode::Nearest || mode == Mode::NearestExact) {
      put(nearestPixel(mode, r, i), 1);
    } else if (mode == Mode::Linear || mode == Mode::Cubic) {
      // With one rounding, as torch's kernels are compiled: two move the weights.
      T x = r.corners ? step * T(i) : std::fma(step, T(i) + T(0.5), T(-0.5));
      if (mode == Mode::Linear)
        x = std::max(x, T(0));
      T base = std::floor(x), t = x - base;
      auto at = int64_t(base);
      if (mode == Mode::Linear) {
        if (at >= r.in - 1) { // The last pixel has no right neighbour.
          put(r.in - 1, 1);
          continue;
        }
        put(at, double(T(1) - t));
        put(at + 1, double(t));
      } else {
        for (int64_t k = -1; k <= 2; ++k)
          put(at + k, cubic(double(t) - double(k), -0.75));
      }
    } else {
      double reach = (mode == Mode::SmoothLinear  ? 1
                      : mode == Mode::SmoothCubic ? 2
                                                  : 3) *
                     std::max(double(step), 1.0);
      double center = double(step) * (double(i) + 0.5), shrink = step >= 1 ? 1 / double(step) : 1;
      auto from = std::max<int64_t>(int64_t(center - reach + 0.5), 0);
      auto to = std::min<int64_t>(int64_t(center + reach + 0.5), r.in);
      double sum = 0;
      for (int64_t j = from; j < to; ++j)
        sum += filter(mode, (double(j) - center + 0.5) * shrink);
      for (int64_t j = from; j < to && sum != 0; ++j)
        row[j] += filter(mode, (double(j) - center + 0.5) * shrink) / sum;
    }
  }
  return weights;
}

/// The factors a caller gave, one a dimension.
std::optional<double> factorOf(Node &n, size_t spatial, size_t i) {
  if (n.declares("scale_factors")) {
    if (!n.has("scale_factors"))
      return std::nullopt;
    SmallVector<double> factors = n.reals("scale_factors");
    return i < factors.size() ? std::optional(factors[i]) : std::nullopt;
  }
  StringRef names[] = {"scales_d", "scales_h", "scales_w"};
  StringRef name = spatial == 1 ? StringRef("scales") : names[3 - spatial + i];
  if (!n.declares(name) || !n.has(name))
    return std::nullopt;
  return n.real(name);
}

/// Backward, the matrix is transposed and sizes change places.
void resize(Node &n, Mode mode, size_t spatial, bool backward) {
  HloBuilder &b = n.b;
  Value x = n.in(backward ? "grad_output" : n.declares("input") ? "input" : "self");
  if (n.failed())
    return;
  Type element = n.resultElement();
  bool nearest = mode == Mode::Nearest || mode == Mode::NearestExact, integers = H::isInteger(x);
  int64_t rank = H::rankOf(x), outer = rank - int64_t(spatial);
  ArrayRef<int64_t> wanted = n.resultShape();
  if (outer < 0 || int64_t(wanted.size()) != rank)
    return n.fail("the input has another rank than the result");
  if (isEmpty(x) || n.resultType().getNumElements() == 0)
    return n.out(b.splat(0, element, wanted));
  if (!nearest || backward)
    x = b.convert(x, integers ? b.f32() : n.computeType(H::elementOf(x)));
  for (size_t i = 0; i < spatial; ++i) {
    int64_t at = outer + int64_t(i);
    Resized r{backward ? wanted[at] : H::shapeOf(x)[at], backward ? H::shapeOf(x)[at] : wanted[at],
              factorOf(n, spatial, i), n.declares("align_corners") && n.flag("align_corners")};
    if (r.in > (1 << 20) || r.out > (1 << 20) || r.in * r.out > (int64_t(1) << 28))
      return n.notYet("images of this size");
    if (nearest && !backward) {
      Dims indices;
      for (int64_t k = 0; k < r.out; ++k)
        indices.push_back(nearestPixel(mode, r, k));
      x = b.take(x, b.integers(indices), at);
      continue;
    }
    std::vector<double> weights =
        H::elementOf(x).isF64() ? weightsOf<double>(mode, r) : weightsOf<float>(mode, r);
    x = applyMatrix(b, x, at, r.out, r.in, weights, backward);
  }
  if (integers && !nearest) {
    x = b.unary<stablehlo::RoundNearestEvenOp>(x);
    if (mode == Mode::Cubic || mode == Mode::SmoothCubic) // Overshoots.
      x = b.clamp(b.convert(b.lowest(element), b.f32()), x, b.convert(b.highest(element), b.f32()));
  }
  n.out(x);
}

template <Mode mode, size_t spatial> void forward(Node &n) { resize(n, mode, spatial, false); }
template <Mode mode, size_t spatial> void backward(Node &n) { resize(n, mode, spatial, true); }

template <Mode mode, size_t spatial> void addBoth(OpTable &table, const std::string &name) {
  table.add(name, forward<mode, spatial>);
  table.add(name + "_backward", backward<mode, spatial>);
}

} // namespace

void registerInterpolation(OpTable &table) {
  addBoth<Mode::Nearest, 1>(table, "aten.upsample_nearest1d");
  addBoth<Mode::Nearest, 2>(table, "aten.upsample_nearest2d");
  addBoth<Mode::Nearest, 3>(table, "aten.upsample_nearest3d");
  addBoth<Mode::NearestExact, 1>(table, "aten._upsample_nearest_exact1d");
  addBoth<Mode::NearestExact, 2>(table, "aten._upsample_nearest_exact2d");
  addBoth<Mode::NearestExact, 3>(table, "aten._upsample_nearest_exact3d");
  addBoth<Mode::Linear, 1>(table, "aten.upsample_linear1d");
  addBoth<Mode::Linear, 2>(table, "aten.upsample_bilinear2d");
  addBoth<Mode::Linear, 3>(table, "aten.upsample_trilinear3d");
  addBoth<Mode::Cubic, 2>(table, "aten.upsample_bicubic2d");
  addBoth<Mode::SmoothLinear, 2>(table, "aten._upsample_bilinear2d_aa");
  addBoth<Mode::SmoothCubic, 2>(table, "aten._upsample_bicubic2d_aa");
  addBoth<Mode::SmoothLanczos, 2>(table, "aten._upsample_lanczos2d_aa");
}

} // namespace cupel::frontends::torch_import
