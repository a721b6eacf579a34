// Pooling in one to three dimensions: average, maximum with positions, adaptive, fractional; what
// undoes it, and gradients.

#include "cupel/frontends/torch/ops/Algebra.h"

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

using H = HloBuilder;

/// Windows over the last dimensions.
struct Windows {
  Dims kernel, stride, padding, dilation, in, out;
  size_t spatial() const { return kernel.size(); }
};

std::optional<Windows> readWindows(Node &n, size_t spatial, ArrayRef<int64_t> shape) {
  Windows w;
  w.kernel = n.repeated("kernel_size", spatial);
  w.stride = n.repeated("stride", spatial, w.kernel);
  w.padding = n.repeated("padding", spatial, {0});
  w.dilation = n.declares("dilation") ? n.repeated("dilation", spatial, {1}) : Dims(spatial, 1);
  bool ceil = n.flag("ceil_mode");
  if (n.failed())
    return std::nullopt;
  if (shape.size() < spatial || w.kernel.size() != spatial || w.stride.size() != spatial ||
      w.padding.size() != spatial || w.dilation.size() != spatial) {
    n.fail("kernel_size, stride, padding or dilation does not fit the input's rank");
    return std::nullopt;
  }
  w.in.assign(shape.end() - spatial, shape.end());
  for (size_t i = 0; i < spatial; ++i) {
    int64_t k = w.kernel[i], s = w.stride[i], p = w.padding[i], d = w.dilation[i];
    int64_t room = w.in[i] + 2 * p - d * (k - 1) - 1;
    if (ceil && room < 0 && room + s > 0 && d > 0 && w.in[i] > 0 && p <= k / 2) {
      // One window that reaches beyond the input, and what lies there counts for nothing.
      w.kernel[i] = (w.in[i] + 2 * p - 1) / d + 1;
      w.out.push_back(1);
      continue;
    }
    if (k < 1 || s < 1 || d < 1 || p < 0 || room < 0 || p > d * (k - 1) + 1) {
      n.fail("the windows do not fit the input");
      return std::nullopt;
    }
    int64_t out = (ceil ? room + s - 1 : room) / s + 1;
    if (ceil && (out - 1) * s >= w.in[i] + p) // A window must not start beyond the input.
      --out;
    w.out.push_back(out);
  }
  return w;
}

H::Window windowOf(const Windows &w, int64_t rank) {
  H::Window window;
  int64_t outer = rank - int64_t(w.spatial());
  window.sizes.assign(outer, 1);
  window.strides = window.dilations = window.sizes;
  window.low.assign(outer, 0);
  window.high = window.low;
  for (size_t i = 0; i < w.spatial(); ++i) {
    int64_t reach = w.dilation[i] * (w.kernel[i] - 1) + 1;
    int64_t needed = (w.out[i] - 1) * w.stride[i] + reach;
    window.sizes.push_back(w.kernel[i]);
    window.strides.push_back(w.stride[i]);
    window.dilations.push_back(w.dilation[i]);
    window.low.push_back(w.padding[i]);
    window.high.push_back(std::max(needed - w.in[i] - w.padding[i], w.padding[i]));
    if (needed < w.in[i] + 2 * w.padding[i])
      window.high.back() = needed - w.in[i] - w.padding[i];
  }
  return window;
}

//===----------------------------------------------------------------------===//
// Averages
//===----------------------------------------------------------------------===//

/// What the sum of each window is divided by, in the windows' shape.
Value divisors(Node &n, const Windows &w, Type type) {
  HloBuilder &b = n.b;
  if (n.declares("divisor_override") && n.has("divisor_override"))
    return b.splat(double(n.integer("divisor_override", 1)), type, w.out);
  bool padded = n.flag("count_include_pad", true);
  std::vector<double> counts{1};
  for (size_t i = 0; i < w.spatial(); ++i) {
    std::vector<double> next;
    for (double count : counts)
      for (int64_t o = 0; o < w.out[i]; ++o) {
        int64_t from = o * w.stride[i] - w.padding[i],
                to = std::min(from + w.kernel[i], w.in[i] + w.padding[i]);
        if (!padded) {
          from = std::max<int64_t>(from, 0);
          to = std::min(to, w.in[i]);
        }
        next.push_back(count * double(std::max<int64_t>(to - from, 1)));
      }
    counts = std::move(next);
  }
  std::vector<int64_t> shape(w.out.begin(), w.out.end());
  return b.convert(b.constant(Tensor::of<DType::F64>(shape, counts)), type);
}

template <size_t spatial> void lowerAverage(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type);
  std::optional<Windows> w = readWindows(n, spatial, H::shapeOf(x));
  if (!w)
    return;
  if (isEmpty(x))
    return n.out(b.splat(0, type, n.resultShape()));
  Value sum = b.reduceWindow(x, windowOf(*w, H::rankOf(x)), Fold::Add);
  n.out(b.divide(sum, divisors(n, *w, type)));
}

template <size_t spatial> void lowerAverageBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value gradient = n.in("grad_output", type);
  std::optional<Windows> w = readWindows(n, spatial, n.shape("self"));
  if (!w)
    return;
  if (isEmpty(gradient))
    return n.out(b.splat(0, type, n.resultShape()));
  Value x = b.divide(gradient, divisors(n, *w, type));
  for (size_t i = 0; i < spatial; ++i) {
    std::vector<double> covers(w->out[i] * w->in[i], 0);
    for (int64_t o = 0; o < w->out[i]; ++o)
      for (int64_t k = 0; k < w->kernel[i]; ++k) {
        int64_t at = o * w->stride[i] - w->padding[i] + k;
        if (at >= 0 && at < w->in[i])
          covers[o * w->in[i] + at] = 1;
      }
    x = applyMatrix(b, x, H::rankOf(x) - int64_t(spatial - i), w->out[i], w->in[i], covers, true);
  }
  n.out(x);
}

struct Span {
  int64_t from, to;
};
/// What output i of an adaptive pooling looks at.
Span adaptiveSpan(int64_t i, int64_t in, int64_t out) {
  return {i * in / out, ((i + 1) * in + out - 1) / out};
}

std::vector<double> adaptiveMatrix(int64_t in, int64_t out) {
  std::vector<double> matrix(in * out, 0);
  for (int64_t i = 0; i < out; ++i) {
    Span span = adaptiveSpan(i, in, out);
    for (int64_t j = span.from; j < span.to; ++j)
      matrix[i * in + j] = 1 / double(span.to - span.from);
  }
  return matrix;
}

template <size_t spatial> void lowerAdaptiveAverage(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("self", type);
  ArrayRef<int64_t> wanted = n.resultShape();
  if (n.failed() || H::rankOf(x) < int64_t(spatial) || int64_t(wanted.size()) != H::rankOf(x))
    return n.fail("the input has too few dimensions");
  if (isEmpty(x) || n.resultType().getNumElements() == 0)
    return n.out(b.splat(0, type, wanted));
  // Where sizes divide each other, windows are as large everywhere and lie side by side.
  H::Window window;
  window.sizes.assign(size_t(H::rankOf(x)), 1);
  int64_t count = 1;
  bool isEven = true, isOneAverage = true;
  for (int64_t d = H::rankOf(x) - int64_t(spatial); d < H::rankOf(x); ++d) {
    isEven = isEven && H::shapeOf(x)[d] % wanted[d] == 0;
    isOneAverage = isOneAverage && (wanted[d] == 1 || wanted[d] == H::shapeOf(x)[d]);
    count *= window.sizes[size_t(d)] = H::shapeOf(x)[d] / wanted[d];
  }
  if (isEven && !isOneAverage) {
    window.strides = window.sizes;
    return n.out(b.divide(b.reduceWindow(x, window, Fold::Add), b.splat(double(count), type, wanted)));
  }
  Dims whole; // Averaged together: one sum, and one division.
  for (int64_t d = H::rankOf(x) - int64_t(spatial); d < H::rankOf(x); ++d) {
    int64_t in = H::shapeOf(x)[d], out = wanted[d];
    if (in == out)
      continue;
    if (out == 1)
      whole.push_back(d);
    else
      x = applyMatrix(b, x, d, out, in, adaptiveMatrix(in, out));
  }
  n.out(whole.empty() ? x : b.mean(x, whole, true));
}

template <size_t spatial> void lowerAdaptiveAverageBackward(Node &n) {
  HloBuilder &b = n.b;
  Type type = n.computeType(n.resultElement());
  Value x = n.in("grad_output", type);
  ArrayRef<int64_t> wanted = n.resultShape();
  if (n.failed() || H::rankOf(x) < int64_t(spatial) || int64_t(wanted.size()) != H::rankOf(x))
    return n.fail("grad_output has another rank than self");
  if (isEmpty(x))
    return n.out(b.splat(0, type, wanted));
  for (int64_t d = H::rankOf(x) - int64_t(spatial); d < H::rankOf(x); ++d) {
    int64_t out = H::shapeOf(x)[d], in = wanted[d];
    if (in == out)
      continue;
    if (out == 1) { // Every element has the same part in the one average.
      Dims shape(H::shapeOf(x));
      shape[d] = in;
      x = b.broadcastTo(b.multiply(x, b.splat(1 / double(in), type)), shape);
    } else {
      x = applyMatrix(b, x, d, out, in, adaptiveMatrix(in, out), true);
    }
  }
  n.out(x);
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

/// For one dimension: which positions each output looks at, [out, width] of i64. A position may
/// stand there twice: the same element cannot win against itself.
struct Table {
  Value positions;
  int64_t out, width;
};

Table tableOf(HloBuilder &b, ArrayRef<Dims> rows) {
  Dims flat;
  size_t width = 0;
  for (const Dims &row : rows)
    width = std::max(width, row.size());
  for (const Dims &row : rows)
    for (size_t i = 0; i < width; ++i)
      flat.push_back(i < row.size() ? row[i] : row.back());
  Value table = b.reshape(b.integers(flat), {int64_t(rows.size()), int64_t(width)});
  return {table, int64_t(rows.size()), int64_t(width)};
}

/// Largest elements and their flat positions in the last dimensions. Tables may have leading
/// dimensions: then there is one for each of the operand's.
std::pair<Value, Value> maximaOf(HloBuilder &b, Value x, ArrayRef<Table> tables) {
  int64_t spatial = tables.size(), outer = H::rankOf(x) - spatial;
  Dims lead(H::shapeOf(x).take_front(outer)), in(H::shapeOf(x).take_back(spatial));
  int64_t planes = 1, plane = 1;
  for (int64_t size : lead)
    planes *= size;
  for (int64_t size : in)
    plane *= size;
  // One flat position for each (output, place in its window): [P, out..., window...].
  Dims all{planes};
  for (const Table &table : tables)
    all.push_back(table.out);
  for (const Table &table : tables)
    all.push_back(table.width);
  bool shared = llvm::all_of(tables, [](const Table &t) { return H::rankOf(t.positions) == 2; });
  if (shared)
    all[0] = 1;
  Value flat;
  for (int64_t d = 0; d < spatial; ++d) {
    const Table &table = tables[d];
    bool own = H::rankOf(table.positions) == 3;
    Value mine = own ? b.broadcastInDim(table.positions, all, {0, 1 + d, 1 + spatial + d})
                     : b.broadcastInDim(table.positions, all, {1 + d, 1 + spatial + d});
    flat = flat ? b.add(b.multiply(flat, b.splatInteger(in[d], b.i64(), all)), mine) : mine;
  }
  int64_t outputs = 1, width = 1;
  for (const Table &table : tables) {
    outputs *= table.out;
    width *= table.width;
  }
  flat = b.reshape(flat, {all[0], outputs * width});
  Value rows = b.reshape(x, {planes, plane}), values;
  if (shared)
    values = b.take(rows, b.reshape(flat, {outputs * width}), 1);
  else
    values = b.takeAlong(rows, flat, 1);
  values = b.reshape(values, {planes, outputs, width});
  Value best = b.argExtreme(values, 2, true, false, b.i64(), true); // [planes, outputs, 1]
  Value places = b.broadcastTo(b.reshape(flat, {all[0], outputs, width}), {planes, outputs, width});
  Dims shape = lead;
  for (const Table &table : tables)
    shape.push_back(table.out);
  return {b.reshape(b.takeAlong(values, best, 2), shape),
          b.reshape(b.takeAlong(places, best, 2), shape)};
}

void outMaxima(Node &n, std::pair<Value, Value> maxima) {
  n.out(0, maxima.first);
  if (n.outputCount() > 1)
    n.out(1, maxima.second);
}

/// Nothing to look at: zeros of the declared shapes.
void outNothing(Node &n) {
  for (size_t i = 0; i < n.outputCount(); ++i)
    n.out(i, n.b.splat(0, n.resultElement(i), n.resultShape(i)));
}

template <size_t spatial> void lowerMax(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  std::optional<Windows> w = readWindows(n, spatial, H::shapeOf(x));
  if (!w)
    return;
  if (isEmpty(x))
    return outNothing(n);
  if (n.outputCount() == 1 || !n.wants(1)) {
    n.out(0, b.reduceWindow(x, windowOf(*w, H::rankOf(x)), Fold::Max));
    if (n.outputCount() > 1)
      n.out(1, b.splatInteger(0, b.i64(), n.resultShape(1)));
    return;
  }
  SmallVector<Table> tables;
  for (size_t i = 0; i < spatial; ++i) {
    SmallVector<Dims> rows;
    for (int64_t o = 0; o < w->out[i]; ++o) {
      Dims row;
      for (int64_t k = 0; k < w->kernel[i]; ++k) {
        int64_t at = o * w->stride[i] - w->padding[i] + k * w->dilation[i];
        if (at >= 0 && at < w->in[i])
          row.push_back(at);
      }
      if (row.empty())
        return n.fail("a window lies outside of the input");
      rows.push_back(row);
    }
    tables.push_back(tableOf(b, rows));
  }
  outMaxima(n, maximaOf(b, x, tables));
}

template <size_t spatial> void lowerAdaptiveMax(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  ArrayRef<int64_t> wanted = n.resultShape();
  if (n.failed() || H::rankOf(x) < int64_t(spatial) || int64_t(wanted.size()) != H::rankOf(x))
    return n.fail("the input has too few dimensions");
  if (isEmpty(x) || n.resultType().getNumElements() == 0)
    return outNothing(n);
  // Where sizes divide each other and nobody asks for places: windows side by side, or one of everything.
  H::Window window;
  window.sizes.assign(size_t(H::rankOf(x)), 1);
  Dims whole;
  bool isEven = true;
  for (int64_t d = H::rankOf(x) - int64_t(spatial); d < H::rankOf(x); ++d) {
    isEven = isEven && H::shapeOf(x)[d] % wanted[d] == 0;
    window.sizes[size_t(d)] = H::shapeOf(x)[d] / wanted[d];
    if (wanted[d] == 1)
      whole.push_back(d);
  }
  if (isEven && (n.outputCount() == 1 || !n.wants(1))) {
    window.strides = window.sizes;
    n.out(0, whole.size() == spatial ? b.reshape(b.reduce(x, whole, Fold::Max), wanted) : b.reduceWindow(x, window, Fold::Max));
    if (n.outputCount() > 1)
      n.out(1, b.splatInteger(0, b.i64(), n.resultShape(1)));
    return;
  }
  SmallVector<Table> tables;
  for (int64_t d = H::rankOf(x) - int64_t(spatial); d < H::rankOf(x); ++d) {
    SmallVector<Dims> rows;
    for (int64_t o = 0; o < wanted[d]; ++o) {
      Span span = adaptiveSpan(o, H::shapeOf(x)[d], wanted[d]);
      Dims row;
      for (int64_t at = span.from; at < span.to; ++at)
        row.push_back(at);
      rows.push_back(row);
    }
    tables.push_back(tableOf(b, rows));
  }
  outMaxima(n, maximaOf(b, x, tables));
}

/// Windows of a fixed size whose starts depend on samples in 0 .. 1, one for each plane and
/// dimension.
template <size_t spatial> void lowerFractionalMax(Node &n) {
  HloBuilder &b = n.b;
  Value x = n.in("self"), samples = n.in("random_samples");
  Dims kernel = n.repeated("kernel_size", spatial), out = n.repeated("output_size", spatial);
  if (n.failed() || H::rankOf(x) < int64_t(spatial) + 1)
    return n.fail("the input has too few dimensions");
  if (isEmpty(x))
    return outNothing(n);
  int64_t planes = 1, outer = H::rankOf(x) - int64_t(spatial);
  for (int64_t i = 0; i < outer; ++i)
    planes *= H::shapeOf(x)[i];
  if (H::countOf(samples) != planes * int64_t(spatial))
    return n.fail("random_samples does not fit the input");
  samples = b.reshape(samples, {planes, int64_t(spatial)});
  SmallVector<Table> tables;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t in = H::shapeOf(x)[outer + i], k = kernel[i], o = out[i];
    // In two dimensions torch's samples are (width, height), in three (time, height, width).
    int64_t column = spatial == 2 ? int64_t(spatial - 1 - i) : int64_t(i);
    if (o < 1 || k < 1 || in < k + o - 1)
      return n.fail("the windows do not fit the input");
    Value sample = b.sliceDim(samples, 1, column, column + 1); // [P, 1]
    Value starts;
    Type type = H::elementOf(samples);
    if (o == 1) {
      starts = b.splatInteger(in - k, b.i64(), {planes, 1});
    } else {
      double alpha = double(in - k) / double(o - 1);
      Value factor = b.splat(type.isF32() ? double(float(in - k) / float(o - 1)) : alpha, type);
      Value steps = b.iota({1, o}, 1, type);
      auto whole = [&](Value v) { return b.convert(b.convert(v, b.i64()), type); };
      Value base = whole(b.multiply(sample, factor));
      Value at = whole(b.multiply(b.add(steps, sample), factor));
      starts = b.convert(b.subtract(at, base), b.i64()); // [P, o]
      Value last = b.splatInteger(in - k, b.i64(), {planes, 1});
      starts = b.concatenate({b.sliceDim(starts, 1, 0, o - 1), last}, 1);
    }
    Value positions = b.add(b.unsqueeze(starts, 2), b.iota({1, 1, k}, 2, b.i64()));
    tables.push_back({positions, o, k});
  }
  outMaxima(n, maximaOf(b, x, tables));
}

/// Adds or writes values to flat positions of planes of zeros.
template <size_t spatial>
Value spread(Node &n, Value values, Value indices, std::optional<Fold> fold) {
  HloBuilder &b = n.b;
  ArrayRef<int64_t> shape = n.resultShape();
  int64_t planes = 1, plane = 1, count = 1;
  size_t outer = shape.size() - spatial;
  for (size_t i = 0; i < shape.size(); ++i)
    (i < outer ? planes : plane) *= shape[i];
  for (int64_t size : H::shapeOf(values).drop_front(outer))
    count *= size;
  Type type = H::elementOf(values);
  Value zeros = b.splat(0, type, {planes, plane});
  if (!isEmpty(values))
    zeros = b.scatterAlong(zeros, b.reshape(indices, {planes, count}),
                           b.reshape(values, {planes, count}), 1, fold);
  return b.reshape(zeros, shape);
}

template <size_t spatial> void lowerMaxBackward(Node &n) {
  Type type = n.computeType(n.resultElement());
  Value gradient = n.in("grad_output", type), indices = n.in("indices");
  if (n.failed() || H::shapeOf(gradient) != H::shapeOf(indices) ||
      H::rankOf(gradient) != int64_t(n.resultShape().size()) || n.resultShape().size() < spatial)
    return n.fail("indices do not fit grad_output");
  n.out(spread<spatial>(n, gradient, indices, Fold::Add));
}

template <size_t spatial> void lowerUnpool(Node &n) {
  Value x = n.in("self"), indices = n.in("indices");
  if (n.failed() || H::shapeOf(x) != H::shapeOf(indices) ||
      H::rankOf(x) != int64_t(n.resultShape().size()) || n.resultShape().size() < spatial)
    return n.fail("indices do not fit the input");
  n.out(spread<spatial>(n, x, indices, std::nullopt));
}

} // namespace

void registerPooling(OpTable &table) {
  table.add("aten.avg_pool1d", lowerAverage<1>);
  table.add("aten.avg_pool2d", lowerAverage<2>);
  table.add("aten.avg_pool3d", lowerAverage<3>);
  table.add("aten.avg_pool2d_backward", lowerAverageBackward<2>);
  table.add("aten.avg_pool3d_backward", lowerAverageBackward<3>);
  table.add("aten.max_pool1d", lowerMax<1>);
  table.add("aten.max_pool2d", lowerMax<2>);
  table.add("aten.max_pool3d", lowerMax<3>);
  table.add("aten.max_pool1d_with_indices", lowerMax<1>);
  table.add("aten.max_pool2d_with_indices", lowerMax<2>);
  table.add("aten.max_pool3d_with_indices", lowerMax<3>);
  table.add("aten.max_pool2d_with_indices_backward", lowerMaxBackward<2>);
  table.add("aten.max_pool3d_with_indices_backward", lowerMaxBackward<3>);
  table.add("aten.adaptive_avg_pool1d", lowerAdaptiveAverage<1>);
  table.add("aten.adaptive_avg_pool2d", lowerAdaptiveAverage<2>);
  table.add("aten.adaptive_avg_pool3d", lowerAdaptiveAverage<3>);
  table.add("aten._adaptive_avg_pool2d", lowerAdaptiveAverage<2>);
  table.add("aten._adaptive_avg_pool3d", lowerAdaptiveAverage<3>);
  table.add("aten._adaptive_avg_pool2d_backward", lowerAdaptiveAverageBackward<2>);
  table.add("aten._adaptive_avg_pool3d_backward", lowerAdaptiveAverageBackward<3>);
  table.add("aten.adaptive_max_pool1d", lowerAdaptiveMax<1>);
  table.add("aten.adaptive_max_pool2d", lowerAdaptiveMax<2>);
  table.add("aten.adaptive_max_pool3d", lowerAdaptiveMax<3>);
  table.add("aten.adaptive_max_pool2d_backward", lowerMaxBackward<2>);
  table.add("aten.adaptive_max_pool3d_backward", lowerMaxBackward<3>);
  table.add("aten.fractional_max_pool2d", lowerFractionalMax<2>);
  table.add("aten.fractional_max_pool3d", lowerFractionalMax<3>);
  table.add("aten.fractional_max_pool2d_backward", lowerMaxBackward<2>);
  table.add("aten.fractional_max_pool3d_backward", lowerMaxBackward<3>);
  table.add("aten.max_unpool2d", lowerUnpool<2>);
  table.add("aten.max_unpool3d", lowerUnpool<3>);
}

} // namespace cupel::frontends::torch_import
