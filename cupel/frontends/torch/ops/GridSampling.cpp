// Images looked up where a grid says, and grids of affine maps.

#include "cupel/frontends/torch/ops/Algebra.h"

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

using H = HloBuilder;

// As torch numbers them.
enum Mode { Bilinear = 0, Nearest = 1, Bicubic = 2 };
enum Border { Zeros = 0, Clamp = 1, Reflect = 2 };

struct Sampler {
  HloBuilder &b;
  int64_t mode, border;
  bool corners;
  /// Torch's kernel for pictures multiplies what is not there by its weight, so that a weight which
  /// is no number shows, and moves what is no number to the first pixel where a border is asked for.
  bool isPicture = false;

  /// Moves coordinates inside as the border asks for.
  Value inside(Value x, double size) const {
    if (border == Reflect)
      x = b.reflect(x, corners ? 0 : -0.5, corners ? size - 1 : size - 0.5);
    if (border == Zeros)
      return x;
    Value held = b.clamp(b.like(x, 0), x, b.like(x, size - 1));
    return isPicture ? b.select(b.equal(held, held), held, b.like(x, 0)) : held;
  }

  /// How fast the pixel moves with the grid; not at all where the border holds it.
  Value speed(Value x, double size) const {
    Value speed = b.like(x, (corners ? size - 1 : size) / 2);
    if (border == Zeros || mode == Bicubic)
      return speed;
    Value at = x, turned = speed;
    if (border == Reflect) {
      double low = corners ? 0 : -0.5, range = (corners ? size - 1 : size - 0.5) - low;
      if (range <= 0)
        return b.like(x, 0);
      Value moved = b.subtract(x, b.like(x, low));
      Value within = b.remainder(b.abs(moved), b.like(x, 2 * range));
      Value back = b.greater(within, b.like(x, range)), under = b.less(moved, b.like(x, 0));
      turned = b.select(b.notEqual(back, under), b.negate(speed), speed);
      at = b.reflect(x, low, low + range);
    }
    Value free = b.logicalAnd(b.greater(at, b.like(at, 0)), b.less(at, b.like(at, size - 1)));
    return b.select(free, turned, b.like(x, 0));
  }

  /// From -1 .. 1 to pixels.
  Value pixels(Value x, double size) const {
    Value one = b.like(x, 1);
    if (corners)
      return b.multiply(b.add(x, one), b.like(x, (size - 1) / 2));
    return b.subtract(b.multiply(b.add(x, one), b.like(x, size / 2)), b.like(x, 0.5));
  }
};

/// A pixel that counts, along one dimension, and how its weight changes with the grid; `valid`
/// where it is one of the picture's.
struct Tap {
  Value index, weight, slope, valid;
};

SmallVector<Tap> tapsOf(const Sampler &s, Value grid, int64_t size, bool slopes = false) {
  HloBuilder &b = s.b;
  auto extent = double(size);
  Value x = s.pixels(grid, extent);
  Value speed = slopes ? s.speed(x, extent) : Value();
  if (s.mode != Bicubic)
    x = s.inside(x, extent);
  Value base = s.mode == Nearest ? b.unary<stablehlo::RoundNearestEvenOp>(x) : b.floor(x);
  Value t = b.subtract(x, base), one = b.like(x, 1);
  SmallVector<Tap> taps;
  auto add = [&](int64_t offset, Value weight, function_ref<Value()> slopeOf) {
    Value at = b.add(base, b.like(base, double(offset)));
    if (s.mode == Bicubic)
      at = s.inside(at, extent);
    Value top = b.like(at, extent - 1), zero = b.like(at, 0);
    Value valid = b.logicalAnd(b.greaterEqual(at, zero), b.lessEqual(at, top));
    // The weight of what is not there is 0, and nothing is looked up there.
    Value index = b.convert(b.select(valid, at, zero), b.i64());
    Value zeros = b.like(weight, 0), slope;
    if (slopes)
      slope = b.select(valid, b.multiply(slopeOf(), speed), zeros);
    Value nothing = s.isPicture && s.border == Zeros ? b.subtract(weight, weight) : zeros;
    taps.push_back({index, b.select(valid, weight, nothing), slope, valid});
  };
  if (s.mode == Nearest) {
    add(0, one, [&] { return b.like(x, 0); });
  } else if (s.mode == Bilinear) {
    add(0, b.subtract(one, t), [&] { return b.like(x, -1); });
    add(1, t, [&] { return one; });
  } else {
    double a = -0.75;
    auto poly = [&](Value v, double c3, double c2, double c1, double c0) {
      Value sum = b.add(b.multiply(b.like(v, c3), v), b.like(v, c2));
      sum = b.add(b.multiply(sum, v), b.like(v, c1));
      return b.add(b.multiply(sum, v), b.like(v, c0));
    };
    Value other = b.subtract(one, t);
    Value before = b.add(t, one), after = b.add(other, one);
    // Derivatives by t: right of the pixel the distance grows with t, left of it it shrinks.
    auto near = [&](Value v) { return poly(v, 0, 3 * (a + 2), -2 * (a + 3), 0); };
    auto far = [&](Value v) { return poly(v, 0, 3 * a, -10 * a, 8 * a); };
    add(-1, poly(before, a, -5 * a, 8 * a, -4 * a), [&] { return far(before); });
    add(0, poly(t, a + 2, -(a + 3), 0, 1), [&] { return near(t); });
    add(1, poly(other, a + 2, -(a + 3), 0, 1), [&] { return b.negate(near(other)); });
    add(2, poly(after, a, -5 * a, 8 * a, -4 * a), [&] { return b.negate(far(after)); });
  }
  return taps;
}

/// Pictures as rows of channels, one a pixel: what is looked up is then a row at a time, by one
/// number a point. An index for each element would be twelve times the picture in bfloat16.
struct Rows {
  HloBuilder &b;
  int64_t batch, channels, pixels, points;

  Value of(Value x, int64_t count) const {
    Value last = swapLast(b, b.reshape(x, {batch, channels, count}));
    return b.reshape(last, {batch * count, channels});
  }
  Value back(Value rows, int64_t count) const {
    return swapLast(b, b.reshape(rows, {batch, count, channels}));
  }
  /// Of all pictures, by the pixel in each.
  Value indices(Value index) const {
    if (batch > 1) {
      Value first = b.iota({batch, points}, 0, HloBuilder::elementOf(index));
      index = b.add(index, b.multiply(first, b.like(first, double(pixels))));
    }
    return b.reshape(index, {batch * points});
  }
  Value spread(Value weight) const {
    Value line = b.reshape(weight, {batch * points});
    return b.broadcastInDim(line, {batch * points, channels}, {0});
  }
  /// One row more than the pictures have, of zeros: what lies outside of them.
  Value withOutside(Value image) const {
    Value zeros = b.splat(0, HloBuilder::elementOf(image), {1, channels});
    return b.concatenate({image, zeros}, 0);
  }
  /// Indices that name the row behind the pictures' where a point has no pixel. A weight of 0 alone
  /// would let a NaN of the first pixel through.
  Value orOutside(Value indices, Value valid) const {
    Value outside = b.like(indices, double(batch * pixels));
    return b.select(b.reshape(valid, {batch * points}), indices, outside);
  }
};

/// One pixel out of those that count along each dimension.
struct Pixel {
  Value index, weight, valid;
};

Pixel pixelOf(HloBuilder &b, ArrayRef<SmallVector<Tap>> taps, ArrayRef<int64_t> at,
              ArrayRef<int64_t> sizes) {
  Pixel pixel;
  for (size_t d = 0; d < taps.size(); ++d) {
    const Tap &tap = taps[d][at[d]];
    if (d == 0) {
      pixel = {tap.index, tap.weight, tap.valid};
      continue;
    }
    pixel.index =
        b.add(b.multiply(pixel.index, b.like(pixel.index, double(sizes[d]))), tap.index);
    pixel.weight = b.multiply(pixel.weight, tap.weight);
    pixel.valid = b.logicalAnd(pixel.valid, tap.valid);
  }
  return pixel;
}

void lowerGridSampler(Node &n) {
  HloBuilder &b = n.b;
  // Torch's kernels round narrow types at every step.
  Type type = n.resultElement();
  Value x = n.in("input", type), grid = n.in("grid", type);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x), spatial = rank - 2;
  if (rank < 4 || rank > 5 || H::rankOf(grid) != rank || H::shapeOf(grid).back() != spatial ||
      H::shapeOf(grid)[0] != H::shapeOf(x)[0])
    return n.fail("the grid does not fit the input");
  Sampler sampler{b, n.integer("interpolation_mode"), n.integer("padding_mode"),
                  n.flag("align_corners")};
  sampler.isPicture = spatial == 2;
  if (n.resultType().getNumElements() == 0 || isEmpty(x))
    return n.out(b.splat(0, type, n.resultShape()));
  int64_t batch = H::shapeOf(x)[0], channels = H::shapeOf(x)[1], points = 1, pixels = 1;
  Dims sizes(H::shapeOf(x).drop_front(2));
  for (int64_t i = 0; i < spatial; ++i) {
    points *= H::shapeOf(grid)[i + 1];
    pixels *= sizes[i];
  }
  grid = b.reshape(grid, {batch, points, spatial});
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < spatial; ++d) { // The grid's last dimension is (x, y, z).
    int64_t column = spatial - 1 - d;
    Value line = b.reshape(b.sliceDim(grid, 2, column, column + 1), {batch, points});
    taps.push_back(tapsOf(sampler, line, sizes[d]));
  }
  const Rows rows{b, batch, channels, pixels, points};
  const bool hasOutside = sampler.border == Zeros;
  Value image = rows.of(x, pixels), sum;
  if (hasOutside)
    image = rows.withOutside(image);
  Dims at(spatial, 0);
  while (true) {
    Pixel pixel = pixelOf(b, taps, at, sizes);
    Value places = rows.indices(pixel.index);
    if (hasOutside)
      places = rows.orOutside(places, pixel.valid);
    Value part = b.multiply(b.take(image, places, 0), rows.spread(pixel.weight));
    sum = sum ? b.add(sum, part) : part;
    int64_t d = spatial - 1;
    while (d >= 0 && ++at[d] == int64_t(taps[d].size()))
      at[d--] = 0;
    if (d < 0)
      break;
  }
  n.out(b.reshape(rows.back(sum, points), n.resultShape()));
}

void lowerGridSamplerBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.element("input"));
  Value x = n.in("input", type), grid = n.in("grid", type), g = n.in("grad_output", type);
  if (n.failed())
    return;
  int64_t rank = H::rankOf(x), spatial = rank - 2;
  if (rank < 4 || rank > 5 || H::rankOf(grid) != rank || H::shapeOf(grid).back() != spatial ||
      H::shapeOf(grid)[0] != H::shapeOf(x)[0] || H::rankOf(g) != rank ||
      H::shapeOf(g)[1] != H::shapeOf(x)[1])
    return n.fail("the grid does not fit the input");
  SmallVector<bool> mask = n.flags("output_mask");
  mask.resize(2, true);
  Sampler sampler{b, n.integer("interpolation_mode"), n.integer("padding_mode"),
                  n.flag("align_corners")};
  if (isEmpty(x) || isEmpty(grid)) {
    for (size_t i : {0, 1})
      if (n.resultType(i))
        n.out(i, b.splat(0, type, n.resultShape(i)));
    return;
  }
  int64_t batch = H::shapeOf(x)[0], channels = H::shapeOf(x)[1], points = 1, pixels = 1;
  Dims sizes(H::shapeOf(x).drop_front(2));
  for (int64_t i = 0; i < spatial; ++i) {
    points *= H::shapeOf(grid)[i + 1];
    pixels *= sizes[i];
  }
  if (H::countOf(g) != batch * channels * points)
    return n.fail("grad_output does not fit the grid");
  const Rows rows{b, batch, channels, pixels, points};
  g = rows.of(g, points);
  grid = b.reshape(grid, {batch, points, spatial});
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t column = spatial - 1 - d;
    Value line = b.reshape(b.sliceDim(grid, 2, column, column + 1), {batch, points});
    taps.push_back(tapsOf(sampler, line, sizes[d], true));
  }
  const bool hasOutside = sampler.border == Zeros;
  Value image = rows.of(x, pixels), back = b.like(image, 0);
  if (hasOutside)
    image = rows.withOutside(image);
  SmallVector<Value> moved(spatial, b.splat(0, type, {batch, points}));
  Dims at(spatial, 0);
  while (true) {
    Pixel pixel = pixelOf(b, taps, at, sizes);
    Value places = rows.indices(pixel.index);
    if (hasOutside)
      places = rows.orOutside(places, pixel.valid);
    if (mask[0]) // What falls outside of the pictures is left out.
      back = b.scatterNd(back, b.unsqueeze(places, 1), b.multiply(g, rows.spread(pixel.weight)),
                         Fold::Add);
    if (mask[1]) {
      Value along = b.reduce(b.multiply(g, b.take(image, places, 0)), {1}, Fold::Add);
      along = b.reshape(along, {batch, points});
      for (int64_t d = 0; d < spatial; ++d) {
        Value slope = taps[d][at[d]].slope;
        for (int64_t e = 0; e < spatial; ++e)
          if (e != d)
            slope = b.multiply(slope, taps[e][at[e]].weight);
        moved[d] = b.add(moved[d], b.multiply(along, slope));
      }
    }
    int64_t d = spatial - 1;
    while (d >= 0 && ++at[d] == int64_t(taps[d].size()))
      at[d--] = 0;
    if (d < 0)
      break;
  }
  if (mask[0])
    n.out(0, b.reshape(rows.back(back, pixels), H::shapeOf(x)));
  if (mask[1]) {
    SmallVector<Value> columns;
    for (int64_t d = spatial - 1; d >= 0; --d)
      columns.push_back(b.unsqueeze(moved[d], 2));
    n.out(1, b.reshape(b.concatenate(columns, 2), n.resultShape(1)));
  }
}

void lowerAffineGrid(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value theta = n.in("theta", type);
  Dims size = n.integers("size");
  bool corners = n.flag("align_corners");
  if (n.failed() || (size.size() != 4 && size.size() != 5) || H::rankOf(theta) != 3)
    return n.fail("size should be [N, C, H, W] or [N, C, D, H, W]");
  int64_t spatial = int64_t(size.size()) - 2, points = 1;
  if (H::shapeOf(theta)[1] != spatial || H::shapeOf(theta)[2] != spatial + 1)
    return n.fail("theta does not fit size");
  Dims grid(size.begin() + 2, size.end());
  for (int64_t extent : grid)
    points *= extent;
  if (points > (1 << 26))
    return n.notYet("grids of this size");
  // Rows (x, y[, z], 1) for each point.
  std::vector<double> base;
  for (int64_t p = 0; p < points; ++p) {
    int64_t rest = p;
    Dims at(spatial, 0);
    for (int64_t d = spatial - 1; d >= 0; --d) {
      at[d] = rest % grid[d];
      rest /= grid[d];
    }
    for (int64_t d = spatial - 1; d >= 0; --d) {
      auto extent = double(grid[d]);
      double x = grid[d] <= 1 ? 0 : -1 + 2 * double(at[d]) / (extent - 1);
      base.push_back(corners ? x : x * (extent - 1) / extent);
    }
    base.push_back(1);
  }
  Value rows = b.convert(b.constant(Tensor::of<DType::F64>({points, spatial + 1}, base)), type);
  Value y = b.dotGeneral(theta, rows, {}, {}, {2}, {1}); // [N, spatial, points]
  n.out(b.reshape(swapLast(b, y), n.resultShape()));
}

} // namespace

void registerGridSampling(OpTable &table) {
  table.add("aten.grid_sampler", lowerGridSampler);
  table.add("aten.grid_sampler_2d", lowerGridSampler);
  table.add("aten.grid_sampler_3d", lowerGridSampler);
  table.add("aten._grid_sampler_2d_cpu_fallback", lowerGridSampler);
  table.add("aten.grid_sampler_2d_backward", lowerGridSamplerBackward);
  table.add("aten.grid_sampler_3d_backward", lowerGridSamplerBackward);
  table.add("aten.affine_grid_generator", lowerAffineGrid);
}

} // namespace cupel::frontends::torch_import
