// Convolutions and pooling: [N, C, spatial...] tensors under a sliding window.

#include "cupel/frontends/onnx/Lowering.h"

#include <fmt/format.h>

namespace cupel::frontends::onnx_import {

using namespace mlir;

namespace {

/// A window and how it moves, one entry a spatial dimension.
struct Sliding {
  Dims kernel, strides, dilations, low, high;
  Dims extra; ///< What ceil_mode adds after the padding.
  Dims out;   ///< Positions of the window.
};

Result<Sliding> sliding(Node &n, ArrayRef<int64_t> spatial, Dims kernel) {
  Sliding s;
  size_t rank = spatial.size();
  s.kernel = kernel;
  auto list = [&](StringRef name, int64_t missing) {
    return n.hasAttribute(name) ? n.integers(name) : Dims(rank, missing);
  };
  s.strides = list("strides", 1);
  s.dilations = list("dilations", 1);
  Dims pads = n.hasAttribute("pads") ? n.integers("pads") : Dims(2 * rank, 0);
  if (s.kernel.size() != rank || s.strides.size() != rank || s.dilations.size() != rank ||
      pads.size() != 2 * rank)
    return n.error("its kernel_shape, strides, dilations or pads do not fit its operand");
  std::string automatic = n.text("auto_pad", "NOTSET");
  bool ceil = n.integer("ceil_mode", 0);
  for (size_t i = 0; i < rank; ++i) {
    if (s.kernel[i] < 1 || s.strides[i] < 1 || s.dilations[i] < 1 || s.kernel[i] > (1 << 30) ||
        s.dilations[i] > (1 << 30))
      return n.error("its kernel, strides and dilations should be positive");
    int64_t reach = (s.kernel[i] - 1) * s.dilations[i] + 1, low = pads[i], high = pads[i + rank];
    if (automatic == "VALID") {
      low = high = 0;
    } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      int64_t out = (spatial[i] + s.strides[i] - 1) / s.strides[i];
      int64_t total = std::max<int64_t>((out - 1) * s.strides[i] + reach - spatial[i], 0);
      low = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      high = total - low;
    } else if (automatic != "NOTSET" && !automatic.empty()) {
      return n.error("its auto_pad '" + automatic + "' is unknown");
    }
    int64_t room = spatial[i] + low + high - reach, extra = 0;
    if (room < 0)
      return n.error(fmt::format("its window does not fit dimension {}", i + 2));
    int64_t out = room / s.strides[i] + 1;
    if (ceil && room % s.strides[i] && out * s.strides[i] < spatial[i] + low) {
      extra = out * s.strides[i] - room;
      ++out;
    }
    s.low.push_back(low);
    s.high.push_back(high);
    s.extra.push_back(extra);
    s.out.push_back(out);
  }
  return s;
}

Status addBias(Node &n, size_t operand, Value &result) {
  if (!n.has(operand))
    return {};
  if (HloBuilder::countOf(n.in(operand)) != HloBuilder::shapeOf(result)[1])
    return n.error("its bias is not one number a channel");
  result = n.b.add(result, perChannel(n.b, n.in(operand), HloBuilder::rankOf(result)));
  return {};
}

Status lowerConv(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  int64_t groups = n.integer("group", 1);
  if (n.rank(0) < 3 || n.rank(1) != n.rank(0) || groups < 1 ||
      n.shape(0)[1] != n.shape(1)[1] * groups || n.shape(1)[0] % groups)
    return n.error("its kernel does not fit its operand");
  ONNX_LET(s, sliding(n, n.shape(0).drop_front(2), Dims(n.shape(1).drop_front(2))));
  HloBuilder::Convolution how;
  how.strides = s.strides;
  how.low = s.low;
  how.high = s.high;
  how.kernelDilations = s.dilations;
  how.groups = groups;
  Value result = n.b.convolution(n.in(0), n.in(1), how);
  ONNX_TRY(addBias(n, 2, result));
  n.out(0, result);
  return {};
}

Status lowerConvTranspose(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  HloBuilder &b = n.b;
  int64_t groups = n.integer("group", 1), rank = n.rank(0), spatial = rank - 2;
  if (rank < 3 || n.rank(1) != rank || groups < 1 || n.shape(0)[1] != n.shape(1)[0] ||
      n.shape(1)[0] % groups)
    return n.error("its kernel does not fit its operand");
  auto list = [&](StringRef name, int64_t missing, int64_t count) {
    return n.hasAttribute(name) ? n.integers(name) : Dims(count, missing);
  };
  Dims strides = list("strides", 1, spatial), dilations = list("dilations", 1, spatial),
       pads = list("pads", 0, 2 * spatial), more = list("output_padding", 0, spatial),
       wanted = n.integers("output_shape");
  if (int64_t(strides.size()) != spatial || int64_t(dilations.size()) != spatial ||
      int64_t(pads.size()) != 2 * spatial || int64_t(more.size()) != spatial ||
      (!wanted.empty() && int64_t(wanted.size()) < spatial))
    return n.error("its strides, dilations, pads or output_shape do not fit its operand");
  if (int64_t(wanted.size()) > spatial)
    wanted.erase(wanted.begin(), wanted.end() - spatial);
  std::string automatic = n.text("auto_pad", "NOTSET");
  HloBuilder::Convolution how;
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t size = n.shape(0)[i + 2], reach = (n.shape(1)[i + 2] - 1) * dilations[i] + 1;
    if (strides[i] < 1 || dilations[i] < 1)
      return n.error("its strides and dilations should be positive");
    int64_t full = strides[i] * (size - 1) + more[i] + reach, low = pads[i],
            high = pads[i + spatial];
    bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
    if (!wanted.empty() || same) {
      int64_t out = wanted.empty() ? size * strides[i] : wanted[i];
      int64_t total = full - out, half = total >> 1; // Rounds down where the output is extended.
      low = automatic == "SAME_UPPER" ? half : total - half;
      high = total - low;
    } else if (automatic == "VALID") {
      low = high = 0;
    }
    how.strides.push_back(1);
    how.baseDilations.push_back(strides[i]);
    how.kernelDilations.push_back(dilations[i]);
    how.low.push_back(reach - 1 - low);
    how.high.push_back(reach - 1 - high + more[i]);
  }
  how.groups = groups;
  how.reverseKernel = true;
  // [C, O/g, ...] -> [O, C/g, ...].
  Dims apart{groups, n.shape(1)[0] / groups, n.shape(1)[1]}, order{0, 2, 1};
  Dims together{groups * n.shape(1)[1], n.shape(1)[0] / groups};
  for (int64_t i = 0; i < spatial; ++i) {
    apart.push_back(n.shape(1)[i + 2]);
    together.push_back(n.shape(1)[i + 2]);
    order.push_back(i + 3);
  }
  Value kernel = b.reshape(b.transpose(b.reshape(n.in(1), apart), order), together);
  Value result = b.convolution(n.in(0), kernel, how);
  ONNX_TRY(addBias(n, 2, result));
  n.out(0, result);
  return {};
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

Dims withOuter(ArrayRef<int64_t> spatial, int64_t outer) {
  Dims result{outer, outer};
  result.append(spatial.begin(), spatial.end());
  return result;
}

HloBuilder::Window windowOf(const Sliding &s) {
  HloBuilder::Window window;
  window.sizes = withOuter(s.kernel, 1);
  window.strides = withOuter(s.strides, 1);
  window.dilations = withOuter(s.dilations, 1);
  window.low = withOuter(s.low, 0);
  window.high = withOuter(s.high, 0);
  for (size_t i = 0; i < s.extra.size(); ++i)
    window.high[i + 2] += s.extra[i];
  return window;
}

Result<Sliding> poolSliding(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  if (n.rank(0) < 3)
    return n.error("takes tensors with spatial dimensions");
  return sliding(n, n.shape(0).drop_front(2), n.integers("kernel_shape"));
}

/// All that lies under the window, on a new last dimension.
Value patches(HloBuilder &b, Value x, Value filler, const Sliding &s) {
  int64_t rank = HloBuilder::rankOf(x), spatial = rank - 2;
  HloBuilder::Window window = windowOf(s);
  Value padded = b.pad(x, filler, window.low, window.high);
  Dims at(spatial, 0);
  SmallVector<Value> pieces;
  while (true) {
    Dims from(rank, 0), to(HloBuilder::shapeOf(padded)), step(rank, 1);
    for (int64_t i = 0; i < spatial; ++i) {
      from[i + 2] = at[i] * s.dilations[i];
      step[i + 2] = s.strides[i];
      to[i + 2] = from[i + 2] + (s.out[i] - 1) * s.strides[i] + 1;
    }
    pieces.push_back(b.unsqueeze(b.slice(padded, from, to, step), rank));
    int64_t d = spatial - 1;
    while (d >= 0 && ++at[d] == s.kernel[d])
      at[d--] = 0;
    if (d < 0)
      break;
  }
  return b.concatenate(pieces, rank);
}

Status lowerMaxPool(Node &n) {
  ONNX_LET(s, poolSliding(n));
  HloBuilder &b = n.b;
  n.out(0, b.reduceWindow(n.in(0), windowOf(s), Fold::Max));
  if (!n.wants(1))
    return {};
  // Flat positions, found by looking for the largest under each window.
  Dims shape(n.shape(0));
  int64_t rank = shape.size();
  Dims order = dimsFrom(0, rank), flat = shape;
  bool columns = n.integer("storage_order", 0);
  if (columns) // Spatial positions count with the first dimension fastest.
    std::reverse(flat.begin() + 2, flat.end());
  Value positions = b.reshape(b.iota({HloBuilder::countOf(n.in(0))}, 0, b.i64()), flat);
  if (columns) {
    std::reverse(order.begin() + 2, order.end());
    positions = b.transpose(positions, order);
  }
  Value values = patches(b, n.in(0), b.lowest(n.element(0)), s);
  Value places = patches(b, positions, b.splatInteger(-1, b.i64()), s);
  // Padding holds the lowest value too, but must not win.
  Value real = b.greaterEqual(places, b.like(places, 0));
  Value top = b.reduce(values, {rank}, Fold::Max, true);
  Value hit = b.logicalAnd(real, b.equal(values, top));
  Value found = b.argExtreme(b.convert(hit, b.i32()), rank, true, false, b.i64(), true);
  Dims out(HloBuilder::shapeOf(values).drop_back());
  n.out(1, b.reshape(b.takeAlong(places, found, rank), out));
  return {};
}

Status lowerAveragePool(Node &n) {
  ONNX_LET(s, poolSliding(n));
  HloBuilder &b = n.b;
  Value sum = b.reduceWindow(n.in(0), windowOf(s), Fold::Add);
  Dims ones(n.shape(0));
  ones[0] = ones[1] = 1;
  Sliding counting = s;
  if (n.integer("count_include_pad", 0))
    for (size_t i = 0; i < s.kernel.size(); ++i) {
      ones[i + 2] += s.low[i] + s.high[i];
      counting.low[i] = counting.high[i] = 0;
    }
  Value count = b.reduceWindow(b.splat(1, n.element(0), ones), windowOf(counting), Fold::Add);
  n.out(0, b.divide(sum, count));
  return {};
}

Status lowerLpPool(Node &n) {
  ONNX_LET(s, poolSliding(n));
  HloBuilder &b = n.b;
  double p = n.opset < 2 ? n.real("p", 2) : double(n.integer("p", 2));
  if (!(p > 0))
    return n.error("p should be positive");
  Value x = b.abs(n.in(0));
  Value sum = b.reduceWindow(b.power(x, b.like(x, p)), windowOf(s), Fold::Add);
  n.out(0, b.power(sum, b.like(sum, 1 / p)));
  return {};
}

template <Fold fold> Status lowerGlobalPool(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  if (n.rank(0) < 3)
    return n.error("takes tensors with spatial dimensions");
  Dims axes = dimsFrom(2, n.rank(0));
  n.out(0, fold == Fold::Max ? n.b.reduce(n.in(0), axes, Fold::Max, true)
                             : n.b.mean(n.in(0), axes, true));
  return {};
}

Status lowerGlobalLpPool(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  double p = n.opset < 2 ? n.real("p", 2) : double(n.integer("p", 2));
  Value x = b.abs(n.in(0));
  Value sum = b.reduce(b.power(x, b.like(x, p)), dimsFrom(2, n.rank(0)), Fold::Add, true);
  n.out(0, b.power(sum, b.like(sum, 1 / p)));
  return {};
}

Status lowerLrn(Node &n) {
  ONNX_TRY(n.expect(1, 1));
  HloBuilder &b = n.b;
  int64_t size = n.integer("size", 0), rank = n.rank(0);
  if (size < 1 || rank < 2)
    return n.error("its size should be positive");
  HloBuilder::Window window;
  window.sizes.assign(rank, 1);
  window.low.assign(rank, 0);
  window.high.assign(rank, 0);
  window.sizes[1] = size;
  window.low[1] = (size - 1) / 2;
  window.high[1] = size - 1 - window.low[1];
  Value x = n.in(0), sum = b.reduceWindow(b.square(x), window, Fold::Add);
  Value base = b.add(b.multiply(sum, b.like(x, n.real("alpha", 1e-4) / double(size))),
                     b.like(x, n.real("bias", 1)));
  n.out(0, b.divide(x, b.power(base, b.like(x, n.real("beta", 0.75)))));
  return {};
}

Status lowerMaxUnpool(Node &n) {
  ONNX_TRY(n.expect(2, 3));
  HloBuilder &b = n.b;
  if (n.rank(0) < 3 || n.shape(1) != n.shape(0) || !HloBuilder::isInteger(n.in(1)))
    return n.error("takes pooled images and a place for each of their elements");
  Dims kernel = n.integers("kernel_shape"), strides = n.integers("strides"),
       pads = n.integers("pads"), natural(n.shape(0));
  size_t spatial = n.rank(0) - 2;
  if (strides.empty())
    strides.assign(spatial, 1);
  if (pads.empty())
    pads.assign(2 * spatial, 0);
  if (kernel.size() != spatial || strides.size() != spatial || pads.size() != 2 * spatial)
    return n.error("its kernel, strides or pads do not fit its operand");
  for (ArrayRef<int64_t> list :
       {ArrayRef<int64_t>(kernel), ArrayRef<int64_t>(strides), ArrayRef<int64_t>(pads)})
    for (int64_t size : list)
      if (size < 0 || size > (1 << 20))
        return n.error("its kernel, strides or pads are out of range");
  for (size_t i = 0; i < spatial; ++i)
    natural[i + 2] = (natural[i + 2] - 1) * strides[i] - pads[i] - pads[i + spatial] + kernel[i];
  int64_t values = HloBuilder::countOf(n.in(0));
  Value empty = b.splat(0, n.element(0), natural);
  int64_t count = HloBuilder::countOf(empty);
  Value flat = b.scatterNd(b.reshape(empty, {count}), b.reshape(n.in(1), {values, 1}),
                           b.reshape(n.in(0), {values}), std::nullopt);
  Value result = b.reshape(flat, natural);
  if (n.has(2)) {
    ONNX_LET(wanted, n.knownIntegers(2, "the output shape"));
    if (wanted.size() != natural.size())
      return n.error("its output shape has another rank");
    Dims low(natural.size(), 0), high;
    for (auto [size, want] : llvm::zip(natural, wanted))
      high.push_back(want - size);
    result = b.pad(result, b.splat(0, n.element(0)), low, high);
  }
  n.out(0, result);
  return {};
}

Status lowerConvInteger(Node &n) {
  ONNX_TRY(n.expect(2, 4));
  HloBuilder &b = n.b;
  int64_t groups = n.integer("group", 1);
  if (n.rank(0) < 3 || n.rank(1) != n.rank(0) || groups < 1 ||
      n.shape(0)[1] != n.shape(1)[1] * groups || n.shape(1)[0] % groups)
    return n.error("its kernel does not fit its operand");
  ONNX_LET(s, sliding(n, n.shape(0).drop_front(2), Dims(n.shape(1).drop_front(2))));
  Value x = b.convert(n.in(0), b.i32()), w = b.convert(n.in(1), b.i32());
  if (n.has(2))
    x = b.subtract(x, convertPoint(b, b.reshape(n.in(2), {}), b.i32()));
  if (n.has(3)) {
    Dims shape(n.rank(1), 1);
    shape[0] = HloBuilder::countOf(n.in(3));
    w = b.subtract(w, b.reshape(convertPoint(b, n.in(3), b.i32()), shape));
  }
  HloBuilder::Convolution how{s.strides, s.low, s.high, {}, s.dilations, groups, false};
  n.out(0, b.convolution(x, w, how));
  return {};
}

/// (x - zero point) and the kernel likewise, convolved in int32, then scaled and rounded.
Status lowerQLinearConv(Node &n) {
  ONNX_TRY(n.expect(8, 9));
  HloBuilder &b = n.b;
  int64_t groups = n.integer("group", 1), rank = n.rank(0);
  if (rank < 3 || n.rank(3) != rank || groups < 1 || n.shape(0)[1] != n.shape(3)[1] * groups ||
      n.shape(3)[0] % groups)
    return n.error("its kernel does not fit its operand");
  n.asConstants({1, 2, 4, 5, 6, 7});
  ONNX_LET(s, sliding(n, n.shape(0).drop_front(2), Dims(n.shape(3).drop_front(2))));
  Dims channel(rank, 1);
  channel[0] = HloBuilder::countOf(n.in(5));
  Value x = b.subtract(b.convert(n.in(0), b.i32()), convertPoint(b, b.reshape(n.in(2), {}), b.i32()));
  Value w =
      b.subtract(b.convert(n.in(3), b.i32()), b.reshape(convertPoint(b, n.in(5), b.i32()), channel));
  HloBuilder::Convolution how{s.strides, s.low, s.high, {}, s.dilations, groups, false};
  Value sum = b.convolution(x, w, how);
  ONNX_TRY(addBias(n, 8, sum));
  Value scale = scaleFactor(b, b.reshape(n.in(1), {}), n.in(4), b.reshape(n.in(6), {}));
  if (HloBuilder::countOf(scale) > 1)
    scale = perChannel(b, scale, rank);
  else
    scale = b.reshape(scale, {});
  Value y = b.unary<stablehlo::RoundNearestEvenOp>(b.multiply(b.convert(sum, b.f32()), scale));
  y = b.add(y, convertPoint(b, b.reshape(n.in(7), {}), b.f32()));
  Type element = n.element(7);
  Value low = convertPoint(b, b.lowest(element), b.f32()), high = convertPoint(b, b.highest(element), b.f32());
  n.out(0, b.convert(b.clamp(low, y, high), element));
  return {};
}

} // namespace

void registerConvolution(OpTable &table) {
  table.add("Conv", 1, lowerConv);
  table.add("ConvTranspose", 1, lowerConvTranspose);
  table.add("ConvInteger", 10, lowerConvInteger);
  table.add("QLinearConv", 10, lowerQLinearConv);
  table.add("MaxPool", 1, lowerMaxPool);
  table.add("AveragePool", 1, lowerAveragePool);
  table.add("LpPool", 1, lowerLpPool);
  table.add("GlobalMaxPool", 1, lowerGlobalPool<Fold::Max>);
  table.add("GlobalAveragePool", 1, lowerGlobalPool<Fold::Add>);
  table.add("GlobalLpPool", 1, lowerGlobalLpPool);
  table.add("LRN", 1, lowerLrn);
  table.add("MaxUnpool", 9, lowerMaxUnpool);
}

} // namespace cupel::frontends::onnx_import
