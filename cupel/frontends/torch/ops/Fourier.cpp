// Fourier transforms of every kind and dimension, and spectrograms there and back.

#include "cupel/frontends/torch/ops/Algebra.h"

#include <cmath>

namespace cupel::frontends::torch_import {

using namespace mlir;
using stablehlo::FftType;
using tensor::DType;
using tensor::Tensor;

namespace {

using H = HloBuilder;

/// Torch's numbers for how a transform is scaled: not, by 1/sqrt(n), by 1/n.
enum Scaling { None = 0, Root = 1, Full = 2 };

/// One transform along the last dimension; inverse ones divide by the length.
Value transformLast(HloBuilder &b, Value x, FftType kind, int64_t length) {
  Dims shape(H::shapeOf(x));
  Type element = H::elementOf(x);
  shape.back() = length;
  if (kind == FftType::RFFT) {
    shape.back() = length / 2 + 1;
    element = ComplexType::get(element);
  } else if (kind == FftType::IRFFT) {
    element = partType(element);
  }
  if (llvm::is_contained(shape, 0))
    return b.splat(0, element, shape);
  OpBuilder &ops = b.builder();
  OperationState state(b.location(), stablehlo::FftOp::getOperationName());
  state.addOperands(x);
  state.addTypes(b.tensorType(shape, element));
  state.addAttribute("fft_type", stablehlo::FftTypeAttr::get(b.context(), kind));
  state.addAttribute("fft_length", ops.getDenseI64ArrayAttr({length}));
  return ops.create(state)->getResult(0);
}

Value transform(HloBuilder &b, Value x, int64_t dimension, FftType kind, int64_t length) {
  return moveFromLast(b, transformLast(b, moveLast(b, x, dimension), kind, length), dimension);
}

Value scaled(HloBuilder &b, Value x, double factor) {
  return factor == 1 ? x : b.multiply(x, b.like(x, factor));
}

double factorOf(int64_t scaling, double count, bool inverse) {
  // Inverse transforms have divided by the count already.
  double factor = scaling == None ? 1 : scaling == Root ? 1 / std::sqrt(count) : 1 / count;
  return inverse ? factor * count : factor;
}

Value complexOf(HloBuilder &b, Value x) {
  return H::isComplex(x) ? x : makeComplex(b, x, b.like(x, 0));
}

/// All dimensions with complex numbers.
Value complexTransform(HloBuilder &b, Value x, ArrayRef<int64_t> dims, int64_t scaling,
                       bool forward) {
  double count = 1;
  x = complexOf(b, x);
  for (int64_t dimension : dims) {
    int64_t length = H::shapeOf(x)[dimension];
    count *= double(length);
    x = transform(b, x, dimension, forward ? FftType::FFT : FftType::IFFT, length);
  }
  return count == 0 ? x : scaled(b, x, factorOf(scaling, count, !forward));
}

/// Real to complex; the last of the dimensions is halved.
Value realTransform(HloBuilder &b, Value x, ArrayRef<int64_t> dims, int64_t scaling,
                    bool oneSided) {
  double count = 1;
  for (int64_t dimension : dims)
    count *= double(H::shapeOf(x)[dimension]);
  int64_t last = dims.back();
  if (oneSided)
    x = transform(b, x, last, FftType::RFFT, H::shapeOf(x)[last]);
  else
    x = complexTransform(b, x, {last}, None, true);
  x = complexTransform(b, x, dims.drop_back(), None, true);
  return count == 0 ? x : scaled(b, x, factorOf(scaling, count, false));
}

/// Complex to real of this length; all dimensions transformed backwards.
Value realInverse(HloBuilder &b, Value x, ArrayRef<int64_t> dims, int64_t scaling, int64_t length) {
  double count = double(length);
  for (int64_t dimension : dims.drop_back())
    count *= double(H::shapeOf(x)[dimension]);
  x = complexOf(b, x);
  for (int64_t dimension : dims.drop_back())
    x = transform(b, x, dimension, FftType::IFFT, H::shapeOf(x)[dimension]);
  x = transform(b, x, dims.back(), FftType::IRFFT, length);
  return count == 0 ? x : scaled(b, x, factorOf(scaling, count, true));
}

/// Cut or filled with zeros at the end.
Value resized(HloBuilder &b, Value x, int64_t dimension, int64_t size) {
  int64_t have = H::shapeOf(x)[dimension];
  if (size <= have)
    return b.sliceDim(x, dimension, 0, size);
  Dims low(H::rankOf(x), 0), high = low;
  high[dimension] = size - have;
  return b.pad(x, b.splat(0, H::elementOf(x)), low, high);
}

/// The operand in floats (or complex floats) of the result's precision.
Value operand(Node &n) {
  Value x = n.in("self");
  if (n.failed())
    return x;
  Type part = n.computeType(partType(n.resultElement()));
  if (!isa<FloatType>(part))
    part = n.b.f32();
  return n.b.convert(x, H::isComplex(x) ? Type(ComplexType::get(part)) : part);
}

//===----------------------------------------------------------------------===//
// The core operators
//===----------------------------------------------------------------------===//

/// Dimensions in the order given; the last one matters.
Dims orderedDims(Node &n, int64_t rank) {
  Dims dims;
  for (int64_t dimension : n.integers("dim"))
    dims.push_back(n.wrapDim(dimension, rank));
  return dims;
}

void lowerC2c(Node &n) {
  Value x = operand(n);
  Dims dims = orderedDims(n, H::rankOf(x));
  if (!n.failed())
    n.out(complexTransform(n.b, x, dims, n.integer("normalization"), n.flag("forward")));
}

void lowerR2c(Node &n) {
  Value x = operand(n);
  Dims dims = orderedDims(n, H::rankOf(x));
  if (n.failed() || dims.empty())
    return n.fail("no dimensions");
  n.out(realTransform(n.b, x, dims, n.integer("normalization"), n.flag("onesided")));
}

void lowerC2r(Node &n) {
  Value x = operand(n);
  Dims dims = orderedDims(n, H::rankOf(x));
  if (n.failed() || dims.empty())
    return n.fail("no dimensions");
  int64_t length = n.integer("last_dim_size");
  x = resized(n.b, x, dims.back(), length / 2 + 1);
  n.out(realInverse(n.b, x, dims, n.integer("normalization"), length));
}

//===----------------------------------------------------------------------===//
// torch.fft
//===----------------------------------------------------------------------===//

enum class Kind { Complex, RealToComplex, ComplexToReal, Hermitian, HermitianInverse };

/// `norm` in words; what it means depends on the direction.
std::optional<int64_t> scalingOf(Node &n, bool forward) {
  std::string word = n.has("norm") ? n.text("norm") : "backward";
  if (word == "ortho")
    return Root;
  if (word != "forward" && word != "backward") {
    n.fail("norm '" + word + "' is unknown");
    return std::nullopt;
  }
  return (word == "forward") == forward ? Full : None;
}

/// Which dimensions are transformed and to what sizes they are brought first (-1: as they are).
bool readDims(Node &n, int64_t rank, Dims &dims, Dims &sizes) {
  if (n.declares("n")) {
    dims = {n.dim("dim", rank)};
    sizes = {n.has("n") ? n.integer("n") : -1};
  } else {
    if (n.has("s"))
      sizes = n.integers("s");
    if (n.has("dim"))
      dims = orderedDims(n, rank);
    else
      dims = dimsFrom(n.has("s") ? rank - int64_t(sizes.size()) : 0, rank);
    if (!n.has("s"))
      sizes.assign(dims.size(), -1);
  }
  if (n.failed() || dims.size() != sizes.size() ||
      llvm::any_of(dims, [&](int64_t d) { return d < 0 || d >= rank; })) {
    n.fail("s and dim do not fit each other");
    return false;
  }
  return true;
}

void lowerFft(Node &n, Kind kind, bool forward) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  Dims dims, sizes;
  std::optional<int64_t> scaling = scalingOf(n, forward);
  if (n.failed() || !scaling || !readDims(n, H::rankOf(x), dims, sizes))
    return;
  bool toReal = kind == Kind::ComplexToReal || kind == Kind::Hermitian;
  if (dims.empty())
    return kind == Kind::Complex ? n.out(complexOf(b, x)) : n.fail("no dimensions");
  int64_t length = 0;
  if (toReal) {
    length = sizes.back() >= 0 ? sizes.back() : 2 * (H::shapeOf(x)[dims.back()] - 1);
    sizes.back() = length / 2 + 1;
    if (length < 1)
      return n.fail("the result would have no elements");
  }
  for (auto [dimension, size] : llvm::zip(dims, sizes))
    if (size >= 0)
      x = resized(b, x, dimension, size);
  ArrayRef<int64_t> outer = ArrayRef<int64_t>(dims).drop_back();
  switch (kind) {
  case Kind::Complex:
    return n.out(complexTransform(b, x, dims, *scaling, forward));
  case Kind::RealToComplex:
    return n.out(realTransform(b, x, dims, *scaling, true));
  case Kind::ComplexToReal:
    return n.out(realInverse(b, x, dims, *scaling, length));
  case Kind::Hermitian: {
    x = complexTransform(b, x, outer, *scaling, true);
    return n.out(realInverse(b, conjugate(b, x), {dims.back()}, *scaling, length));
  }
  case Kind::HermitianInverse: {
    Value half = conjugate(b, realTransform(b, x, {dims.back()}, *scaling, true));
    // Backwards, scaled as the whole is.
    return n.out(complexTransform(b, half, outer, *scaling, false));
  }
  }
}

void lowerShift(Node &n, bool inverse) {
  HloBuilder &b = n.b;
  Value x = n.in("self");
  Dims dims = n.dims("dim", H::rankOf(x));
  if (n.failed())
    return;
  for (int64_t dimension : dims) {
    if (dimension >= H::rankOf(x))
      continue;
    int64_t size = H::shapeOf(x)[dimension], at = inverse ? size / 2 : (size + 1) / 2;
    if (size > 1)
      x = b.concatenate({b.sliceDim(x, dimension, at, size), b.sliceDim(x, dimension, 0, at)},
                        dimension);
  }
  n.out(x);
}

void lowerFrequencies(Node &n, bool half) {
  int64_t count = n.integer("n");
  double step = n.real("d", 1);
  if (n.failed() || count < 1)
    return n.fail("n should be positive");
  std::vector<double> values;
  for (int64_t i = 0; i < (half ? count / 2 + 1 : count); ++i) {
    int64_t k = half || i < (count + 1) / 2 ? i : i - count;
    values.push_back(double(k) * (1 / (double(count) * step)));
  }
  Value table = n.b.constant(Tensor::of<DType::F64>({int64_t(values.size())}, values));
  n.out(n.b.convert(table, n.resultElement()));
}

//===----------------------------------------------------------------------===//
// Spectrograms
//===----------------------------------------------------------------------===//

/// The window in the middle of n_fft zeros; ones if there is none.
Value windowOf(Node &n, int64_t length, Type type) {
  HloBuilder &b = n.b;
  int64_t width = n.has("win_length") ? n.integer("win_length") : length;
  Value window = n.has("window") ? n.in("window") : b.splat(1, type, {width});
  if (n.failed() || H::rankOf(window) != 1 || H::countOf(window) > length) {
    n.fail("the window does not fit n_fft");
    return {};
  }
  if (!H::isComplex(window))
    window = b.convert(window, partType(type));
  int64_t missing = length - H::countOf(window);
  return b.pad(window, b.splat(0, H::elementOf(window)), {missing / 2}, {missing - missing / 2});
}

Value inPair(HloBuilder &b, Value complex) {
  int64_t rank = H::rankOf(complex);
  return b.concatenate(
      {b.unsqueeze(realPart(b, complex), rank), b.unsqueeze(imaginaryPart(b, complex), rank)},
      rank);
}

void lowerStft(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  int64_t length = n.integer("n_fft");
  int64_t hop = n.has("hop_length") ? n.integer("hop_length") : length / 4;
  if (n.failed() || length < 1 || hop < 1 || H::rankOf(x) < 1 || H::rankOf(x) > 2)
    return n.fail("takes a signal or a batch of them");
  if (n.declares("align_to_window") && n.has("align_to_window") && n.flag("align_to_window"))
    return n.notYet("align_to_window");
  int64_t last = H::rankOf(x) - 1;
  if (n.declares("center") && n.flag("center")) {
    std::string mode = n.text("pad_mode", "reflect");
    int64_t half = length / 2, size = H::shapeOf(x)[last];
    if (mode == "constant") {
      Dims pads(last + 1, 0);
      pads[last] = half;
      x = b.pad(x, b.splat(0, H::elementOf(x)), pads, pads);
    } else if (mode == "reflect" && half < size) {
      Value front = b.reverse(b.sliceDim(x, last, 1, half + 1), {last}),
            back = b.reverse(b.sliceDim(x, last, size - half - 1, size - 1), {last});
      x = b.concatenate({front, x, back}, last);
    } else {
      return n.notYet("pad_mode '" + mode + "'");
    }
  }
  int64_t size = H::shapeOf(x)[last];
  Value window = windowOf(n, length, H::elementOf(x));
  if (!window || size < length)
    return n.fail("the signal is shorter than n_fft");
  int64_t frames = (size - length) / hop + 1;
  Dims places;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < length; ++i)
      places.push_back(f * hop + i);
  Value framed = b.take(x, b.reshape(b.integers(places), {frames, length}), last);
  bool complex = H::isComplex(framed) || H::isComplex(window);
  if (complex) {
    framed = complexOf(b, framed);
    window = complexOf(b, window);
  }
  framed = b.multiply(framed, window);
  bool oneSided = n.has("onesided") ? n.flag("onesided") : !complex;
  int64_t scaling = n.flag("normalized") ? Root : None, at = H::rankOf(framed) - 1;
  Value y = complex ? complexTransform(b, framed, {at}, scaling, true)
                    : realTransform(b, framed, {at}, scaling, oneSided);
  y = swapLast(b, y);
  n.out(isa<ComplexType>(n.resultElement()) ? y : inPair(b, y));
}

void lowerIstft(Node &n) {
  HloBuilder &b = n.b;
  Value x = operand(n);
  if (n.failed() || !H::isComplex(x) || H::rankOf(x) < 2 || H::rankOf(x) > 3)
    return n.fail("takes a complex spectrogram");
  int64_t length = n.integer("n_fft");
  int64_t hop = n.has("hop_length") ? n.integer("hop_length") : length / 4;
  bool single = H::rankOf(x) == 2;
  if (single)
    x = b.unsqueeze(x, 0);
  int64_t batch = H::shapeOf(x)[0], bins = H::shapeOf(x)[1], frames = H::shapeOf(x)[2];
  bool oneSided = n.has("onesided") ? n.flag("onesided") : bins != length;
  bool center = n.flag("center", true), complex = n.flag("return_complex");
  if (length < 1 || hop < 1 || bins != (oneSided ? length / 2 + 1 : length))
    return n.fail("the spectrogram does not fit n_fft");
  x = swapLast(b, x); // [batch, frames, bins]
  int64_t scaling = n.flag("normalized") ? Root : Full;
  Value pieces = complex ? complexTransform(b, x, {2}, scaling, false)
                 : oneSided
                     ? realInverse(b, x, {2}, scaling, length)
                     : realInverse(b, b.sliceDim(x, 2, 0, length / 2 + 1), {2}, scaling, length);
  Value window = windowOf(n, length, H::elementOf(pieces));
  if (!window)
    return;
  if (complex)
    window = complexOf(b, window);
  pieces = b.multiply(pieces, window);
  int64_t total = length + hop * (frames - 1), count = frames * length;
  Dims places;
  for (int64_t f = 0; f < frames; ++f)
    for (int64_t i = 0; i < length; ++i)
      places.push_back(f * hop + i);
  Value at = b.reshape(b.integers(places), {count, 1});
  Type type = H::elementOf(pieces);
  // Overlapping pieces add up; so do the squares of the windows, by which they are divided.
  Value flat = b.transpose(b.reshape(pieces, {batch, count}), {1, 0});
  Value sum = b.scatterNd(b.splat(0, type, {total, batch}), at, flat, Fold::Add);
  Value squares = b.broadcastTo(b.square(window), {frames, length});
  Value weight = b.scatterNd(b.splat(0, type, {total}), at, b.reshape(squares, {count}), Fold::Add);
  int64_t from = center ? length / 2 : 0, to = center ? total - length / 2 : total;
  int64_t wanted = n.has("length") ? n.integer("length") : to - from;
  to = std::min(from + wanted, total);
  Value y = b.divide(b.sliceDim(sum, 0, from, to),
                     b.reshape(b.sliceDim(weight, 0, from, to), {to - from, 1}));
  y = b.transpose(y, {1, 0});
  if (wanted > to - from)
    y = b.pad(y, b.splat(0, type), {0, 0}, {0, wanted - (to - from)});
  n.out(single ? b.reshape(y, {wanted}) : y);
}

} // namespace

void registerFourier(OpTable &table) {
  table.add("aten._fft_c2c", lowerC2c);
  table.add("aten._fft_r2c", lowerR2c);
  table.add("aten._fft_c2r", lowerC2r);
  for (const char *suffix : {"", "2", "n"}) {
    auto name = [&](const char *base) { return std::string("aten.fft_") + base + suffix; };
    table.add(name("fft"), [](Node &n) { lowerFft(n, Kind::Complex, true); });
    table.add(name("ifft"), [](Node &n) { lowerFft(n, Kind::Complex, false); });
    table.add(name("rfft"), [](Node &n) { lowerFft(n, Kind::RealToComplex, true); });
    table.add(name("irfft"), [](Node &n) { lowerFft(n, Kind::ComplexToReal, false); });
    table.add(name("hfft"), [](Node &n) { lowerFft(n, Kind::Hermitian, true); });
    table.add(name("ihfft"), [](Node &n) { lowerFft(n, Kind::HermitianInverse, false); });
  }
  table.add("aten.fft_fftshift", [](Node &n) { lowerShift(n, false); });
  table.add("aten.fft_ifftshift", [](Node &n) { lowerShift(n, true); });
  table.add("aten.fft_fftfreq", [](Node &n) { lowerFrequencies(n, false); });
  table.add("aten.fft_rfftfreq", [](Node &n) { lowerFrequencies(n, true); });
  table.add("aten.stft", lowerStft);
  table.add("aten.istft", lowerIstft);
}

} // namespace cupel::frontends::torch_import
