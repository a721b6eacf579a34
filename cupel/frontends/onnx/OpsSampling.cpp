// Images looked up between their pixels: Resize in all its modes, Upsample, GridSample, AffineGrid.

#include "cupel/frontends/onnx/Lowering.h"

#include <cmath>
#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

/// One resized dimension.
struct Resized {
  int64_t axis, in, out;
  double scale; ///< Output over input, as given.
  double width; ///< in * scale where scales are given (it may be fractional), else out.
  double begin = 0, end = 1; ///< Of the region of interest.
};

struct ResizeOptions {
  std::string mode, transform, nearest;
  double cubic, extrapolation;
  bool excludeOutside, antialias;
};

double sourceCoordinate(const ResizeOptions &how, const Resized &r, int64_t i) {
  double x = double(i), in = double(r.in);
  if (how.transform == "align_corners")
    return r.width == 1 ? 0 : x * (in - 1) / (r.width - 1);
  if (how.transform == "asymmetric")
    return x / r.scale;
  if (how.transform == "tf_crop_and_resize")
    return r.width > 1 ? r.begin * (in - 1) + x * (r.end - r.begin) * (in - 1) / (r.width - 1)
                       : (r.begin + r.end) * (in - 1) / 2;
  if (how.transform == "pytorch_half_pixel" && r.width == 1)
    return -0.5;
  if (how.transform == "tf_half_pixel_for_nn")
    return (x + 0.5) / r.scale;
  double half = (x + 0.5) / r.scale - 0.5;
  if (how.transform == "half_pixel_symmetric")
    return in / 2 * (1 - double(r.out) / r.width) + half;
  return half;
}

int64_t nearestPixel(const ResizeOptions &how, double x, int64_t size) {
  double at = how.nearest == "floor"               ? std::floor(x)
              : how.nearest == "ceil"              ? std::ceil(x)
              : how.nearest == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                   : std::ceil(x - 0.5);
  return std::clamp<int64_t>(int64_t(at), 0, size - 1);
}

double kernelWeight(const ResizeOptions &how, double distance) {
  double d = std::abs(distance), a = how.cubic;
  if (how.mode == "linear")
    return std::max(1 - d, 0.0);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Row i: how much each pixel counts for output i.
std::vector<double> weights(const ResizeOptions &how, const Resized &r) {
  std::vector<double> result(r.out * r.in, 0);
  double stretch = how.antialias ? std::min(r.scale, 1.0) : 1;
  double reach = (how.mode == "linear" ? 1 : 2) / stretch;
  for (int64_t i = 0; i < r.out; ++i) {
    double x = sourceCoordinate(how, r, i), sum = 0;
    std::vector<double> row(r.in, 0);
    for (auto j = int64_t(std::floor(x - reach)); j <= int64_t(std::ceil(x + reach)); ++j) {
      double weight = kernelWeight(how, (x - double(j)) * stretch);
      bool outside = j < 0 || j >= r.in;
      if (weight == 0 || (outside && how.excludeOutside))
        continue;
      row[std::clamp<int64_t>(j, 0, r.in - 1)] += weight;
      sum += weight;
    }
    bool normalize = how.antialias || how.excludeOutside;
    for (int64_t j = 0; j < r.in; ++j)
      result[i * r.in + j] = normalize && sum != 0 ? row[j] / sum : row[j];
  }
  return result;
}

Result<Value> resize(Node &n, Value x, ArrayRef<Resized> dimensions, const ResizeOptions &how) {
  HloBuilder &b = n.b;
  Type element = HloBuilder::elementOf(x);
  bool interpolates = how.mode != "nearest";
  if (interpolates && !element.isF64())
    x = b.convert(x, b.f32());
  Value outside;
  for (const Resized &r : dimensions) {
    if (r.in < 1 || r.out < 0 || r.out > (1 << 24) || r.in > (1 << 24))
      return n.error(
          fmt::format("dimension {} cannot be resized from {} to {}", r.axis, r.in, r.out));
    if (how.transform == "tf_crop_and_resize") {
      std::vector<uint8_t> flags;
      for (int64_t i = 0; i < r.out; ++i) {
        double at = sourceCoordinate(how, r, i);
        flags.push_back(at < 0 || at > double(r.in - 1));
      }
      Dims shape(HloBuilder::rankOf(x), 1);
      shape[r.axis] = r.out;
      Value mine = b.reshape(b.constant(Tensor::of<DType::I1>({r.out}, flags)), shape);
      outside = outside ? b.logicalOr(b.broadcastPair(outside, mine).first,
                                      b.broadcastPair(outside, mine).second)
                        : mine;
    }
    if (!interpolates) {
      Dims indices;
      for (int64_t i = 0; i < r.out; ++i)
        indices.push_back(nearestPixel(how, sourceCoordinate(how, r, i), r.in));
      x = b.take(x, b.integers(indices), r.axis);
      continue;
    }
    if (r.in == r.out && r.scale == 1 && how.transform != "tf_crop_and_resize")
      continue;
    x = applyMatrix(b, x, r.axis, r.out, r.in, weights(how, r));
  }
  if (outside)
    x = b.select(outside, b.like(x, how.extrapolation), x);
  if (isa<IntegerType>(element) && interpolates)
    x = b.unary<stablehlo::RoundNearestEvenOp>(x);
  return castValue(b, x, element, true);
}

Result<ResizeOptions> resizeOptions(Node &n) {
  ResizeOptions how;
  bool legacy = n.opset < 11;
  how.mode = n.text("mode", "nearest");
  if (how.mode == "bilinear")
    how.mode = "linear";
  how.transform = n.text("coordinate_transformation_mode", legacy ? "asymmetric" : "half_pixel");
  how.nearest = n.text("nearest_mode", legacy ? "floor" : "round_prefer_floor");
  how.cubic = n.real("cubic_coeff_a", -0.75);
  how.extrapolation = n.real("extrapolation_value", 0);
  how.excludeOutside = n.integer("exclude_outside", 0);
  how.antialias = n.integer("antialias", 0);
  if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic")
    return n.error("its mode '" + how.mode + "' is unknown");
  return how;
}

Result<SmallVector<double>> knownReals(Node &n, size_t i, StringRef what) {
  ONNX_LET(tensor, n.known(i, what));
  SmallVector<double> result;
  if (tensor.dtype() != DType::F32 && tensor.dtype() != DType::F64)
    return n.refuse(ErrorCode::NotYet, what.str() + " should be float32 or float64");
  ONNX_LET(packed, tensor.contiguous());
  for (int64_t k = 0; k < packed.size(); ++k)
    result.push_back(packed.dtype() == DType::F64 ? packed.dataAs<double>()[k]
                                                  : double(packed.dataAs<float>()[k]));
  return result;
}

bool present(Node &n, size_t i) { return n.has(i) && HloBuilder::countOf(n.in(i)) > 0; }

Status lowerResize(Node &n) {
  ONNX_TRY(n.expect(1, 4));
  ONNX_LET(how, resizeOptions(n));
  size_t scalesAt = n.opset < 11 ? 1 : 2;
  Dims axes = dimsFrom(0, n.rank(0));
  if (n.hasAttribute("axes")) {
    ONNX_LET(given, n.axes(n.integers("axes"), n.rank(0)));
    axes = given;
  }
  SmallVector<Resized> dimensions;
  for (int64_t axis : axes)
    dimensions.push_back({axis, n.shape(0)[axis], 0, 1, 0});
  size_t count = axes.size();
  if (how.transform == "tf_crop_and_resize" && present(n, 1)) {
    ONNX_LET(roi, knownReals(n, 1, "the region of interest"));
    if (roi.size() != 2 * count)
      return n.error("its region of interest is not two numbers an axis");
    for (size_t i = 0; i < count; ++i) {
      dimensions[i].begin = roi[i];
      dimensions[i].end = roi[i + count];
    }
  }
  if (present(n, scalesAt)) {
    ONNX_LET(scales, knownReals(n, scalesAt, "the scales"));
    if (scales.size() != count)
      return n.error("its scales are not one an axis");
    for (auto [r, scale] : llvm::zip(dimensions, scales)) {
      if (!(scale > 0))
        return n.error("its scales should be positive");
      bool crops = how.transform == "tf_crop_and_resize";
      r.scale = scale;
      r.width = double(r.in) * scale * (crops ? r.end - r.begin : 1);
      r.out = int64_t(std::floor(r.width));
      if (crops)
        r.width = double(r.out);
    }
  } else {
    ONNX_LET(sizes, n.knownIntegers(3, "the sizes"));
    if (sizes.size() != count)
      return n.error("its sizes are not one an axis");
    std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
    double common = policy == "not_larger" ? HUGE_VAL : 0;
    for (auto [r, size] : llvm::zip(dimensions, sizes)) {
      r.out = size;
      r.scale = double(size) / double(std::max<int64_t>(r.in, 1));
      r.width = double(size);
      common = policy == "not_larger" ? std::min(common, r.scale) : std::max(common, r.scale);
    }
    if (policy != "stretch")
      for (Resized &r : dimensions) {
        r.scale = common;
        r.out = int64_t(std::floor(double(r.in) * common + 0.5));
        r.width = double(r.out);
      }
  }
  ONNX_LET(y, resize(n, n.in(0), dimensions, how));
  n.out(0, y);
  return {};
}

Status lowerUpsample(Node &n) {
  ONNX_TRY(n.expect(1, 2));
  ONNX_LET(how, resizeOptions(n));
  SmallVector<double> scales = n.reals("scales");
  if (n.opset >= 9) {
    ONNX_LET(given, knownReals(n, 1, "the scales"));
    scales = given;
  }
  if (int64_t(scales.size()) != n.rank(0))
    return n.error("its scales are not one a dimension");
  SmallVector<Resized> dimensions;
  for (auto [i, scale] : llvm::enumerate(scales)) {
    double width = double(n.shape(0)[i]) * scale;
    dimensions.push_back({int64_t(i), n.shape(0)[i], int64_t(std::floor(width)), scale, width});
  }
  ONNX_LET(y, resize(n, n.in(0), dimensions, how));
  n.out(0, y);
  return {};
}

//===----------------------------------------------------------------------===//
// Grids
//===----------------------------------------------------------------------===//

enum class Border { Zeros, Clamp, Reflect };

Status lowerGridSample(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  int64_t rank = n.rank(0), spatial = rank - 2;
  if (rank < 3 || n.rank(1) != rank || n.shape(1)[0] != n.shape(0)[0] ||
      n.shape(1)[rank - 1] != spatial)
    return n.error("its grid does not fit its operand");
  std::string mode = n.text("mode", "linear"), padding = n.text("padding_mode", "zeros");
  bool cubic = mode == "cubic" || mode == "bicubic", nearest = mode == "nearest",
       corners = n.integer("align_corners", 0);
  if (!cubic && !nearest && mode != "linear" && mode != "bilinear")
    return n.error("its mode '" + mode + "' is unknown");
  Border border = padding == "border"       ? Border::Clamp
                  : padding == "reflection" ? Border::Reflect
                                            : Border::Zeros;
  int64_t batch = n.shape(0)[0], channels = n.shape(0)[1], points = 1, pixels = 1;
  for (int64_t i = 0; i < spatial; ++i) {
    points *= n.shape(1)[i + 1];
    pixels *= n.shape(0)[i + 2];
  }
  Type element = n.element(0);
  Type wide = element.isF64() ? b.f64() : b.f32();
  Value grid = b.reshape(b.convert(n.in(1), wide), {batch, points, spatial});
  // For each dimension the taps: index and weight, and whether it lies inside.
  struct Tap {
    Value index, weight, inside;
  };
  SmallVector<SmallVector<Tap>> taps(spatial);
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t column = spatial - 1 - d;
    auto size = double(n.shape(0)[d + 2]);
    double low = corners ? 0 : -0.5, high = corners ? size - 1 : size - 0.5;
    Value x = b.reshape(b.sliceDim(grid, 2, column, column + 1), {batch, points});
    Value one = b.like(x, 1), half = b.like(x, 0.5);
    x = corners ? b.multiply(b.multiply(b.add(x, one), b.like(x, size - 1)), half)
                : b.multiply(b.subtract(b.multiply(b.add(x, one), b.like(x, size)), one), half);
    if (nearest)
      x = b.unary<stablehlo::RoundNearestEvenOp>(x);
    if (border == Border::Clamp)
      x = b.clamp(b.like(x, 0), x, b.like(x, size - 1));
    else if (border == Border::Reflect)
      x = b.reflect(x, low, high);
    Value base = nearest ? b.unary<stablehlo::RoundNearestEvenOp>(x) : b.floor(x);
    Value ratio = b.subtract(x, base);
    auto add = [&](int64_t offset, Value weight) {
      Value at = b.add(base, b.like(base, double(offset)));
      if (border == Border::Reflect)
        at = b.unary<stablehlo::RoundNearestEvenOp>(b.reflect(at, low, high));
      Value top = b.like(at, size - 1), zero = b.like(at, 0);
      Value inside = b.logicalAnd(b.greaterEqual(at, zero), b.lessEqual(at, top));
      taps[d].push_back({b.convert(b.clamp(zero, at, top), b.i64()), weight, inside});
    };
    if (nearest) {
      add(0, b.like(x, 1));
    } else if (!cubic) {
      add(0, b.subtract(one, ratio));
      add(1, ratio);
    } else {
      double a = -0.75;
      auto poly = [&](Value t, double c3, double c2, double c1, double c0) {
        Value sum = b.add(b.multiply(b.like(t, c3), t), b.like(t, c2));
        sum = b.add(b.multiply(sum, t), b.like(t, c1));
        return b.add(b.multiply(sum, t), b.like(t, c0));
      };
      Value other = b.subtract(one, ratio);
      add(-1, poly(b.add(ratio, one), a, -5 * a, 8 * a, -4 * a));
      add(0, poly(ratio, a + 2, -(a + 3), 0, 1));
      add(1, poly(other, a + 2, -(a + 3), 0, 1));
      add(2, poly(b.add(other, one), a, -5 * a, 8 * a, -4 * a));
    }
  }
  Value image = b.reshape(n.in(0), {batch, channels, pixels});
  Dims wideShape{batch, channels, points};
  Value sum = b.splat(0, wide, wideShape);
  Dims at(spatial, 0);
  while (true) {
    Value index, weight;
    for (int64_t d = 0; d < spatial; ++d) {
      const Tap &tap = taps[d][at[d]];
      Value mine = border == Border::Zeros ? b.select(tap.inside, tap.weight, b.like(tap.weight, 0))
                                           : tap.weight;
      Value scaled = index ? b.multiply(index, b.like(index, double(n.shape(0)[d + 2]))) : Value();
      index = index ? b.add(scaled, tap.index) : tap.index;
      weight = weight ? b.multiply(weight, mine) : mine;
    }
    Value picked = b.takeAlong(image, b.broadcastInDim(index, wideShape, {0, 2}), 2);
    sum = b.add(sum,
                b.multiply(b.convert(picked, wide), b.broadcastInDim(weight, wideShape, {0, 2})));
    int64_t d = spatial - 1;
    while (d >= 0 && ++at[d] == int64_t(taps[d].size()))
      at[d--] = 0;
    if (d < 0)
      break;
  }
  Dims shape{batch, channels};
  for (int64_t i = 0; i < spatial; ++i)
    shape.push_back(n.shape(1)[i + 1]);
  n.out(0, b.reshape(castValue(b, sum, element, true), shape));
  return {};
}

Status lowerAffineGrid(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  ONNX_LET(size, n.knownIntegers(1, "the size"));
  int64_t spatial = int64_t(size.size()) - 2, batch = n.shape(0)[0];
  if ((spatial != 2 && spatial != 3) ||
      n.shape(0) != ArrayRef<int64_t>({batch, spatial, spatial + 1}) || size[0] != batch)
    return n.error("its size does not fit its matrices");
  bool corners = n.integer("align_corners", 0);
  Dims shape;
  int64_t points = 1;
  for (int64_t i = 0; i < spatial; ++i) {
    if (size[i + 2] < 1)
      return n.error("a size is not positive");
    shape.push_back(size[i + 2]);
    points *= size[i + 2];
  }
  Type element = n.element(0);
  SmallVector<Value> columns; // x first
  for (int64_t d = spatial - 1; d >= 0; --d) {
    auto count = double(shape[d]);
    Value i = b.convert(b.iota(shape, d, b.i64()), element);
    Value x = corners ? b.subtract(b.multiply(i, b.like(i, count > 1 ? 2 / (count - 1) : 0)),
                                   b.like(i, count > 1 ? 1 : 0))
                      : b.subtract(b.multiply(b.add(i, b.like(i, 0.5)), b.like(i, 2 / count)),
                                   b.like(i, 1));
    columns.push_back(b.reshape(x, {points, 1}));
  }
  columns.push_back(b.splat(1, element, {points, 1}));
  Value rows = b.concatenate(columns, 1);                        // [points, spatial + 1]
  Value product = b.dotGeneral(n.in(0), rows, {}, {}, {2}, {1}); // [batch, spatial, points]
  Dims out{batch};
  out.append(shape);
  out.push_back(spatial);
  n.out(0, b.reshape(b.transpose(product, {0, 2, 1}), out));
  return {};
}

} // namespace

void registerSampling(OpTable &table) {
  table.add("Resize", 10, lowerResize);
  table.add("Upsample", 7, lowerUpsample);
  table.add("GridSample", 16, lowerGridSample);
  table.add("AffineGrid", 20, lowerAffineGrid);
}

} // namespace cupel::frontends::onnx_import
