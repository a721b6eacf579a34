// Operators that sample an image at places computed from other operands: deformable convolution,
// and pooling over regions of interest.

#include "cupel/frontends/onnx/Lowering.h"
#include "cupel/tensor/Convert.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

/// The smaller neighbour of each coordinate, the larger one, and the weight of the larger.
struct Neighbours {
  Value low, high, weight; // low and high are i64.
};

Value toInteger(HloBuilder &b, Value x) { return b.convert(x, b.i64()); }

Value inside(HloBuilder &b, Value at, int64_t size) {
  return b.logicalAnd(b.greaterEqual(at, b.like(at, 0)), b.less(at, b.like(at, double(size))));
}

Value held(HloBuilder &b, Value at, int64_t size) {
  return b.clamp(b.like(at, 0), at, b.like(at, double(std::max<int64_t>(size - 1, 0))));
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

Status lowerDeformConv(Node &n) {
  ONNX_TRY(n.expect(3, 5));
  HloBuilder &b = n.b;
  if (n.rank(0) != 4 || n.rank(1) != 4 || n.rank(2) != 4)
    return n.refuse(n.rank(0) == n.rank(1) && n.rank(0) > 4 ? ErrorCode::NotYet
                                                            : ErrorCode::InvalidModel,
                    "takes images of two dimensions");
  auto list = [&](StringRef name, int64_t missing, size_t count) {
    return n.hasAttribute(name) ? n.integers(name) : Dims(count, missing);
  };
  Dims strides = list("strides", 1, 2), dilations = list("dilations", 1, 2),
       pads = list("pads", 0, 4);
  int64_t groups = n.integer("group", 1), offsetGroups = n.integer("offset_group", 1);
  ArrayRef<int64_t> xs = n.shape(0), ws = n.shape(1), os = n.shape(2);
  int64_t batch = xs[0], channels = xs[1], height = xs[2], width = xs[3], outs = ws[0],
          taps = ws[2] * ws[3];
  bool good = strides.size() == 2 && dilations.size() == 2 && pads.size() == 4 && groups >= 1 &&
              offsetGroups >= 1 && ws[1] * groups == channels && outs % groups == 0 &&
              channels % offsetGroups == 0 && taps > 0 && height > 0 && width > 0;
  for (int64_t i : {0, 1})
    good = good && strides[i] >= 1 && dilations[i] >= 1 && strides[i] < (1 << 20) &&
           dilations[i] < (1 << 20) && pads[i] >= 0 && pads[i + 2] >= 0 && pads[i] < (1 << 20) &&
           pads[i + 2] < (1 << 20);
  if (!good)
    return n.error("its kernel, strides, dilations, pads or groups do not fit its operand");
  Dims out;
  for (int64_t i : {0, 1}) {
    int64_t room = xs[i + 2] + pads[i] + pads[i + 2] - ((ws[i + 2] - 1) * dilations[i] + 1);
    if (room < 0)
      return n.error("its window does not fit its operand");
    out.push_back(room / strides[i] + 1);
  }
  if (os != ArrayRef<int64_t>({batch, offsetGroups * taps * 2, out[0], out[1]}))
    return n.error("its offsets do not fit its kernel and result");
  if (n.has(4) && n.shape(4) != ArrayRef<int64_t>({batch, offsetGroups * taps, out[0], out[1]}))
    return n.error("its mask does not fit its kernel and result");
  Type element = n.element(0), wide = element.isF64() ? b.f64() : b.f32();

  // Where each tap looks: [batch, offset group, tap, row, column].
  Dims places{batch, offsetGroups, taps, out[0], out[1]};
  Value offsets =
      b.reshape(b.convert(n.in(2), wide), {batch, offsetGroups, taps, 2, out[0], out[1]});
  auto coordinate = [&](int64_t i) {
    Value tap = b.iota(places, 2, b.i64());
    Value row = b.like(tap, double(ws[3]));
    tap = i == 0 ? b.divide(tap, row) : b.remainder(tap, row);
    Value start = b.multiply(b.iota(places, 3 + i, b.i64()), b.like(tap, double(strides[i])));
    Value moved = b.add(start, b.multiply(tap, b.like(tap, double(dilations[i]))));
    moved = b.subtract(moved, b.like(moved, double(pads[i])));
    Value offset = b.reshape(b.sliceDim(offsets, 3, i, i + 1), places);
    return b.add(b.convert(moved, wide), offset);
  };
  Value y = coordinate(0), x = coordinate(1), yLow = b.floor(y), xLow = b.floor(x);
  Value yWeight = b.subtract(y, yLow), xWeight = b.subtract(x, xLow);
  // Pixels as rows of an offset group's channels.
  int64_t each = channels / offsetGroups, count = taps * out[0] * out[1];
  Value pixels = b.reshape(b.convert(n.in(0), wide), {batch, offsetGroups, each, height * width});
  pixels = b.transpose(pixels, {0, 1, 3, 2});
  Value sum;
  for (int64_t corner = 0; corner < 4; ++corner) {
    bool down = corner & 2, right = corner & 1;
    Value row = b.add(toInteger(b, yLow), b.splatInteger(down, b.i64(), places)),
          column = b.add(toInteger(b, xLow), b.splatInteger(right, b.i64(), places));
    auto part = [&](Value weight, bool far) {
      return far ? weight : b.subtract(b.like(weight, 1), weight);
    };
    Value weight = b.multiply(part(yWeight, down), part(xWeight, right));
    Value real = b.logicalAnd(inside(b, row, height), inside(b, column, width));
    weight = b.select(real, weight, b.like(weight, 0));
    Value flat =
        b.add(b.multiply(held(b, row, height), b.like(row, double(width))), held(b, column, width));
    Value picked = b.gatherNd(pixels, b.reshape(flat, {batch, offsetGroups, count, 1}), 2);
    Value term = b.multiply(picked, b.reshape(weight, {batch, offsetGroups, count, 1}));
    sum = sum ? b.add(sum, term) : term;
  }
  if (n.has(4))
    sum = b.multiply(sum, b.reshape(b.convert(n.in(4), wide), {batch, offsetGroups, count, 1}));
  // [batch, offset group, tap, place, channel] -> columns that the kernel's rows meet.
  int64_t area = out[0] * out[1], perGroup = channels / groups;
  Value columns = b.reshape(sum, {batch, offsetGroups, taps, area, each});
  columns = b.transpose(columns, {0, 1, 4, 2, 3});
  columns = b.reshape(columns, {batch, groups, perGroup * taps, area});
  Value kernel = b.reshape(b.convert(n.in(1), wide), {groups, outs / groups, perGroup * taps});
  Value product = b.dotGeneral(kernel, columns, {0}, {1}, {2}, {2});
  Value result = b.reshape(b.transpose(product, {2, 0, 1, 3}), {batch, outs, out[0], out[1]});
  if (n.has(3)) {
    if (n.shape(3) != ArrayRef<int64_t>({outs}))
      return n.error("its bias is not one number a channel");
    result = b.add(result, perChannel(b, b.convert(n.in(3), wide), 4));
  }
  n.out(0, b.convert(result, element));
  return {};
}

//===----------------------------------------------------------------------===//
// Regions of interest
//===----------------------------------------------------------------------===//

struct RoiForm {
  int64_t height, width;         ///< Of the result.
  int64_t gridHeight, gridWidth; ///< Samples a cell.
  double scale;
  bool halfPixel, largest;
};

/// Coordinates of samples [R, cells, grid]: neighbours and weights, and whether they lie on the
/// image.
struct Samples {
  Neighbours at;
  Value real;
};

Samples samples(HloBuilder &b, Value begin, Value end, int64_t cells, int64_t grid, int64_t size,
                const RoiForm &form) {
  Type element = HloBuilder::elementOf(begin);
  int64_t regions = HloBuilder::countOf(begin);
  double shift = form.halfPixel ? 0.5 : 0;
  auto scaled = [&](Value v) {
    return b.subtract(b.multiply(v, b.like(v, form.scale)), b.like(v, shift));
  };
  Value start = scaled(begin), extent = b.subtract(scaled(end), start);
  if (!form.halfPixel)
    extent = b.maximum(extent, b.like(extent, 1));
  Value step = b.divide(extent, b.like(extent, double(cells)));
  Dims shape{regions, cells, grid};
  auto wide = [&](Value v) { return b.broadcastInDim(v, shape, {0}); };
  Value inCell = b.add(b.iota(shape, 2, element), b.splat(0.5, element, shape));
  inCell = b.divide(inCell, b.like(inCell, double(grid)));
  Value at = b.add(wide(start), b.multiply(wide(step), b.add(b.iota(shape, 1, element), inCell)));
  Samples result;
  result.real =
      b.logicalAnd(b.greaterEqual(at, b.like(at, -1)), b.lessEqual(at, b.like(at, double(size))));
  at = b.maximum(at, b.like(at, 0));
  Value low = toInteger(b, b.floor(at)), last = b.like(low, double(size - 1));
  Value atEnd = b.greaterEqual(low, last);
  result.at.low = b.minimum(low, last);
  result.at.high = b.minimum(b.add(low, b.like(low, 1)), last);
  Value weight = b.subtract(at, b.convert(low, element));
  result.at.weight = b.select(atEnd, b.like(weight, 0), weight);
  return result;
}

/// Regions [R, 4] of images [N, H, W, C] with their batches [R] -> [R, C, height, width].
Value roiAlign(HloBuilder &b, Value images, Value regions, Value batches, const RoiForm &form) {
  ArrayRef<int64_t> s = HloBuilder::shapeOf(images);
  int64_t height = s[1], width = s[2], channels = s[3], count = HloBuilder::shapeOf(regions)[0];
  auto corner = [&](int64_t i) { return b.reshape(b.sliceDim(regions, 1, i, i + 1), {count}); };
  Samples ys = samples(b, corner(1), corner(3), form.height, form.gridHeight, height, form);
  Samples xs = samples(b, corner(0), corner(2), form.width, form.gridWidth, width, form);
  Dims shape{count, form.height, form.gridHeight, form.width, form.gridWidth};
  int64_t all = form.height * form.gridHeight * form.width * form.gridWidth;
  auto rows = [&](Value v) { return b.broadcastInDim(v, shape, {0, 1, 2}); };
  auto columns = [&](Value v) { return b.broadcastInDim(v, shape, {0, 3, 4}); };
  Value base =
      b.broadcastInDim(b.multiply(batches, b.like(batches, double(height * width))), shape, {0});
  Value pixels = b.reshape(images, {s[0] * height * width, channels});
  Value real = b.logicalAnd(rows(ys.real), columns(xs.real));
  Value result;
  for (int64_t which = 0; which < 4; ++which) {
    bool down = which & 2, right = which & 1;
    auto part = [&](Value weight, bool far) {
      return far ? weight : b.subtract(b.like(weight, 1), weight);
    };
    Value weight = b.multiply(rows(part(ys.at.weight, down)), columns(part(xs.at.weight, right)));
    weight = b.select(real, weight, b.like(weight, 0));
    Value row = rows(down ? ys.at.high : ys.at.low),
          column = columns(right ? xs.at.high : xs.at.low);
    Value flat = b.add(b.add(base, b.multiply(row, b.like(row, double(width)))), column);
    Value picked = b.take(pixels, b.reshape(flat, {count, all}), 0);
    Value term = b.multiply(picked, b.reshape(weight, {count, all, 1}));
    if (!result)
      result = term;
    else
      result = form.largest ? b.maximum(result, term) : b.add(result, term);
  }
  Dims apart = shape;
  apart.push_back(channels);
  Value cells = b.reduce(b.reshape(result, apart), {2, 4}, form.largest ? Fold::Max : Fold::Add);
  if (!form.largest)
    cells = b.divide(cells, b.like(cells, double(form.gridHeight * form.gridWidth)));
  return b.transpose(cells, {0, 3, 1, 2});
}

Status lowerRoiAlign(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  constexpr int64_t kMaxAdaptive = 1024;
  if (n.rank(0) != 4 || n.rank(1) != 2 || n.shape(1)[1] != 4 ||
      n.shape(2) != ArrayRef<int64_t>({n.shape(1)[0]}) || n.shape(0)[2] < 1 || n.shape(0)[3] < 1)
    return n.error("its regions or their batches do not fit its images");
  std::string mode = n.text("mode", "avg");
  if (mode != "avg" && mode != "max")
    return n.error("its mode '" + mode + "' is unknown");
  std::string transform = n.text("coordinate_transformation_mode", "half_pixel");
  RoiForm form;
  form.height = n.integer("output_height", 1);
  form.width = n.integer("output_width", 1);
  form.scale = n.real("spatial_scale", 1);
  form.largest = mode == "max";
  form.halfPixel = n.opset >= 16 && transform == "half_pixel";
  int64_t ratio = n.integer("sampling_ratio", 0);
  if (form.height < 1 || form.width < 1 || form.height > (1 << 20) || form.width > (1 << 20) ||
      ratio < 0 || ratio > (1 << 10))
    return n.error("its output_height, output_width or sampling_ratio is out of range");
  Type element = n.element(0), wide = element.isF64() ? b.f64() : b.f32();
  Value images = b.convert(b.transpose(n.in(0), {0, 2, 3, 1}), wide);
  Value regions = b.convert(n.in(1), wide), batches = toInteger(b, n.in(2));
  if (ratio > 0) {
    form.gridHeight = form.gridWidth = ratio;
    n.out(0, b.convert(roiAlign(b, images, regions, batches, form), element));
    return {};
  }
  // As many samples as a region's cells are large: each region on its own.
  ONNX_LET(known, n.known(1, "the regions, which say how many samples are taken,"));
  auto numbers = tensor::convert(known, tensor::DType::F64);
  auto packed = numbers ? numbers->contiguous() : Result<tensor::Tensor>(Error{numbers.message()});
  if (!packed)
    return n.error(std::string(packed.message()));
  int64_t count = n.shape(1)[0];
  if (count > kMaxAdaptive)
    return n.refuse(ErrorCode::NotYet, "so many regions of adaptive sampling are not lowered");
  SmallVector<Value> parts;
  for (int64_t r = 0; r < count; ++r) {
    const double *corner = packed->dataAs<double>() + 4 * r;
    auto grid = [&](double begin, double end, int64_t cells) {
      double extent = (end - begin) * form.scale;
      if (!form.halfPixel)
        extent = std::max(extent, 1.0);
      double wanted = std::ceil(extent / double(cells));
      return wanted >= 1 && wanted <= 1024 ? int64_t(wanted) : int64_t(wanted > 1024 ? 1024 : 1);
    };
    form.gridWidth = grid(corner[0], corner[2], form.width);
    form.gridHeight = grid(corner[1], corner[3], form.height);
    parts.push_back(roiAlign(b, images, b.sliceDim(regions, 0, r, r + 1),
                             b.sliceDim(batches, 0, r, r + 1), form));
  }
  if (parts.empty())
    n.out(0, b.splat(0, element, {0, n.shape(0)[1], form.height, form.width}));
  else
    n.out(0, b.convert(b.concatenate(parts, 0), element));
  return {};
}

/// Which pixels lie in which cell along one dimension: [R, cells, size].
Value membership(HloBuilder &b, Value begin, Value end, double scale, int64_t cells, int64_t size) {
  int64_t regions = HloBuilder::countOf(begin);
  Type element = HloBuilder::elementOf(begin);
  auto rounded = [&](Value v) {
    return b.unary<stablehlo::RoundNearestAfzOp>(b.multiply(v, b.like(v, scale)));
  };
  Value start = rounded(begin);
  Value extent = b.add(b.subtract(rounded(end), start), b.like(start, 1));
  Value step = b.divide(b.maximum(extent, b.like(extent, 1)), b.like(extent, double(cells)));
  Dims shape{regions, cells, size};
  auto wide = [&](Value v) { return b.broadcastInDim(v, shape, {0}); };
  Value cell = b.iota(shape, 1, element), at = b.iota(shape, 2, element);
  Value low = b.add(b.floor(b.multiply(cell, wide(step))), wide(start));
  Value high = b.add(b.ceil(b.multiply(b.add(cell, b.like(cell, 1)), wide(step))), wide(start));
  return b.logicalAnd(b.greaterEqual(at, low), b.less(at, high));
}

Status lowerMaxRoiPool(Node &n) {
  ONNX_TRY(n.expect(2, 2));
  HloBuilder &b = n.b;
  Dims pooled = n.integers("pooled_shape");
  if (n.rank(0) != 4 || n.rank(1) != 2 || n.shape(1)[1] != 5 || pooled.size() != 2 ||
      pooled[0] < 1 || pooled[1] < 1 || pooled[0] > (1 << 20) || pooled[1] > (1 << 20))
    return n.error("its regions or its pooled_shape do not fit its images");
  double scale = n.real("spatial_scale", 1);
  Type element = n.element(0);
  int64_t count = n.shape(1)[0], channels = n.shape(0)[1], height = n.shape(0)[2],
          width = n.shape(0)[3];
  auto column = [&](int64_t i) { return b.reshape(b.sliceDim(n.in(1), 1, i, i + 1), {count}); };
  Value images = b.take(n.in(0), toInteger(b, column(0)), 0); // [R, C, H, W]
  Value inRow = membership(b, column(2), column(4), scale, pooled[0], height);
  Value inColumn = membership(b, column(1), column(3), scale, pooled[1], width);
  Dims byColumn{count, channels, height, pooled[1], width};
  Value spread =
      b.select(b.broadcastInDim(inColumn, byColumn, {0, 3, 4}),
               b.broadcastInDim(images, byColumn, {0, 1, 2, 4}), b.lowest(element, byColumn));
  Value columns = b.reduce(spread, {4}, Fold::Max); // [R, C, H, pw]
  Dims byRow{count, channels, pooled[0], height, pooled[1]};
  spread = b.select(b.broadcastInDim(inRow, byRow, {0, 2, 3}),
                    b.broadcastInDim(columns, byRow, {0, 1, 3, 4}), b.lowest(element, byRow));
  Value result = b.reduce(spread, {3}, Fold::Max);
  // A cell that holds no pixel gives zero.
  Value empty = b.equal(result, b.lowest(element, HloBuilder::shapeOf(result)));
  n.out(0, b.select(empty, b.like(result, 0), result));
  return {};
}

} // namespace

void registerRegions(OpTable &table) {
  table.add("DeformConv", 19, lowerDeformConv);
  table.add("RoiAlign", 10, lowerRoiAlign);
  table.add("MaxRoiPool", 1, lowerMaxRoiPool);
}

} // namespace cupel::frontends::onnx_import
