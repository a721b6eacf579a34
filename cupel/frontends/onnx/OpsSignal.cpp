// Signals: Fourier transforms, windows, mel filters; and Col2Im, which adds patches up.

#include "cupel/frontends/onnx/Lowering.h"

#include <cmath>
#include <numbers>

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr int64_t kMaxLength = 4096;

/// cos or sin of 2 pi i k / n as [n, bins] of the given type.
Value fourierTable(HloBuilder &b, int64_t length, int64_t bins, bool sine, Type element) {
  std::vector<double> table;
  for (int64_t i = 0; i < length; ++i)
    for (int64_t k = 0; k < bins; ++k) {
      double angle = 2 * std::numbers::pi * double((i * k) % length) / double(length);
      table.push_back(sine ? std::sin(angle) : std::cos(angle));
    }
  return b.convert(b.constant(Tensor::of<DType::F64>({length, bins}, table)), element);
}

/// The transform of [..., n, 1 or 2] along the dimension before the last, in double precision.
Value fourier(HloBuilder &b, Value x, int64_t bins, bool inverse) {
  int64_t rank = HloBuilder::rankOf(x), length = HloBuilder::shapeOf(x)[rank - 2];
  Value wide = b.convert(x, b.f64());
  Value cosine = fourierTable(b, length, bins, false, b.f64()),
        sine = fourierTable(b, length, bins, true, b.f64());
  Dims flat(HloBuilder::shapeOf(x).drop_back());
  bool complex = HloBuilder::shapeOf(x)[rank - 1] == 2;
  Value re = b.reshape(b.sliceDim(wide, rank - 1, 0, 1), flat), im;
  if (complex)
    im = b.reshape(b.sliceDim(wide, rank - 1, 1, 2), flat);
  // (re + i im)(cos -+ i sin)
  double sign = inverse ? 1 : -1;
  Value outRe = b.matmul(re, cosine), outIm = b.matmul(re, sine);
  outIm = b.multiply(outIm, b.like(outIm, sign));
  if (complex) {
    Value cross = b.matmul(im, sine);
    outRe = b.subtract(outRe, b.multiply(cross, b.like(cross, sign)));
    outIm = b.add(outIm, b.matmul(im, cosine));
  }
  Value y = b.concatenate({b.unsqueeze(outRe, rank - 1), b.unsqueeze(outIm, rank - 1)}, rank - 1);
  if (inverse)
    y = b.divide(y, b.like(y, double(length)));
  return b.convert(y, HloBuilder::elementOf(x));
}

Status lowerDft(Node &n) {
  ONNX_TRY(n.expect(1, 3));
  HloBuilder &b = n.b;
  int64_t rank = n.rank(0), given = n.opset < 20 ? n.integer("axis", 1) : -2;
  if (n.opset >= 20 && n.has(2)) {
    ONNX_LET(axis, n.knownIntegers(2, "the axis"));
    if (axis.size() != 1)
      return n.error("its axis should be one number");
    given = axis[0];
  }
  ONNX_LET(axis, n.axis(given, rank));
  int64_t parts = n.shape(0)[rank - 1];
  if (rank < 2 || axis == rank - 1 || (parts != 1 && parts != 2))
    return n.error("its last dimension should be 1 or 2, and not the axis");
  bool inverse = n.integer("inverse", 0), oneSided = n.integer("onesided", 0);
  int64_t size = n.shape(0)[axis], length = inverse && oneSided ? 2 * (size - 1) : size;
  if (n.has(1)) {
    ONNX_LET(asked, n.knownIntegers(1, "the length"));
    if (asked.size() != 1)
      return n.error("its length should be one number");
    length = asked[0];
  }
  if (length < 1 || length > kMaxLength)
    return n.refuse(ErrorCode::NotYet, "a transform of this length is not lowered");
  // The axis goes next to last.
  Dims order, back(rank, 0);
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axis)
      order.push_back(i);
  order.append({axis, rank - 1});
  for (auto [i, from] : llvm::enumerate(order))
    back[from] = i;
  Value x = b.transpose(n.in(0), order);
  if (inverse && oneSided) {
    // The other half is the mirror image, conjugated.
    int64_t half = length / 2 + 1;
    if (parts != 2)
      return n.error("half a spectrum should be complex");
    Dims low(rank, 0), high(rank, 0);
    high[rank - 2] = half - size;
    x = b.pad(x, b.splat(0, n.element(0)), low, high);
    int64_t mirrored = length - half;
    if (mirrored > 0) {
      Value tail = b.reverse(b.sliceDim(x, rank - 2, 1, 1 + mirrored), {rank - 2});
      Value re = b.sliceDim(tail, rank - 1, 0, 1), im = b.sliceDim(tail, rank - 1, 1, 2);
      x = b.concatenate({x, b.concatenate({re, b.negate(im)}, rank - 1)}, rank - 2);
    }
  } else if (length != size) {
    Dims low(rank, 0), high(rank, 0);
    high[rank - 2] = length - size;
    x = b.pad(x, b.splat(0, n.element(0)), low, high);
  }
  Value y = fourier(b, x, oneSided && !inverse ? length / 2 + 1 : length, inverse);
  if (inverse && oneSided)
    y = b.sliceDim(y, rank - 1, 0, 1);
  n.out(0, b.transpose(y, back));
  return {};
}

Status lowerStft(Node &n) {
  ONNX_TRY(n.expect(2, 4));
  HloBuilder &b = n.b;
  ONNX_LET(step, n.knownIntegers(1, "the frame step"));
  int64_t size = n.has(2) ? HloBuilder::countOf(n.in(2)) : 0;
  if (n.has(3)) {
    ONNX_LET(given, n.knownIntegers(3, "the frame length"));
    size = given.empty() ? 0 : given[0];
  }
  if (n.rank(0) != 3 || step.size() != 1 || step[0] < 1 || size < 1 || size > kMaxLength ||
      size > n.shape(0)[1] || (n.has(2) && HloBuilder::countOf(n.in(2)) != size))
    return n.error("its frames do not fit its signal");
  int64_t frames = (n.shape(0)[1] - size) / step[0] + 1;
  Dims indices;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < size; ++i)
      indices.push_back(frame * step[0] + i);
  Value x = b.take(n.in(0), b.reshape(b.integers(indices), {frames, size}), 1); // [B, F, n, parts]
  if (n.has(2))
    x = b.multiply(x, b.reshape(n.in(2), {size, 1}));
  n.out(0, fourier(b, x, n.integer("onesided", 1) ? size / 2 + 1 : size, false));
  return {};
}

/// A window as a sum of cosines.
Status lowerWindow(Node &n, double a0, double a1, double a2) {
  ONNX_TRY(n.expect(1, 1));
  ONNX_LET(size, n.knownIntegers(0, "the size"));
  if (size.size() != 1 || size[0] < 0 || size[0] > (1 << 24))
    return n.error("its size should be one number");
  ONNX_LET(element, n.elementTypeNumbered(n.integer("output_datatype", 1)));
  double period = n.integer("periodic", 1) ? double(size[0]) : double(size[0] - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < size[0]; ++i) {
    double angle = period > 0 ? 2 * std::numbers::pi * double(i) / period : 0;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  n.out(0, n.b.convert(n.b.constant(Tensor::of<DType::F64>({size[0]}, values)), element));
  return {};
}
Status lowerHann(Node &n) { return lowerWindow(n, 0.5, 0.5, 0); }
Status lowerHamming(Node &n) { return lowerWindow(n, 25.0 / 46, 21.0 / 46, 0); }
Status lowerBlackman(Node &n) { return lowerWindow(n, 0.42, 0.5, 0.08); }

Status lowerMelWeights(Node &n) {
  ONNX_TRY(n.expect(5, 5));
  ONNX_LET(bins, n.knownNumber(0, "the number of bins"));
  ONNX_LET(length, n.knownNumber(1, "the length"));
  ONNX_LET(rate, n.knownNumber(2, "the sample rate"));
  ONNX_LET(low, n.knownNumber(3, "the lower edge"));
  ONNX_LET(high, n.knownNumber(4, "the upper edge"));
  ONNX_LET(element, n.elementTypeNumbered(n.integer("output_datatype", 1)));
  if (!(bins >= 0 && bins < 1e5 && length >= 1 && length < 1e6 && rate > 0))
    return n.error("its sizes are out of range");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  int64_t count = int64_t(bins), spectrum = int64_t(length) / 2 + 1;
  double step = (mel(high) - mel(low)) / double(count + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < count + 2; ++i) {
    double hertz = 700 * (std::pow(10, (double(i) * step + mel(low)) / 2595) - 1);
    edges.push_back(int64_t(std::floor((length + 1) * hertz / rate)));
  }
  std::vector<double> table(spectrum * count, 0);
  auto set = [&](int64_t j, int64_t i, double value) {
    if (j >= 0 && j < spectrum)
      table[j * count + i] = value;
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t left = edges[i], middle = edges[i + 1], right = edges[i + 2];
    if (middle == left)
      set(middle, i, 1);
    else
      for (int64_t j = left; j <= middle; ++j)
        set(j, i, double(j - left) / double(middle - left));
    if (right > middle)
      for (int64_t j = middle; j < right; ++j)
        set(j, i, double(right - j) / double(right - middle));
  }
  n.out(0, n.b.convert(n.b.constant(Tensor::of<DType::F64>({spectrum, count}, table)), element));
  return {};
}

Status lowerCol2Im(Node &n) {
  ONNX_TRY(n.expect(3, 3));
  HloBuilder &b = n.b;
  ONNX_LET(image, n.knownIntegers(1, "the image's shape"));
  ONNX_LET(block, n.knownIntegers(2, "the block's shape"));
  size_t spatial = image.size();
  auto list = [&](StringRef name, int64_t missing, size_t count) {
    return n.hasAttribute(name) ? n.integers(name) : Dims(count, missing);
  };
  Dims strides = list("strides", 1, spatial), dilations = list("dilations", 1, spatial),
       pads = list("pads", 0, 2 * spatial);
  if (n.rank(0) != 3 || spatial < 1 || block.size() != spatial || strides.size() != spatial ||
      dilations.size() != spatial || pads.size() != 2 * spatial)
    return n.error("its shapes, strides, dilations or pads do not fit");
  int64_t window = 1, columns = 1, pixels = 1;
  Dims steps;
  for (size_t i = 0; i < spatial; ++i) {
    if (block[i] < 1 || strides[i] < 1 || dilations[i] < 1 || image[i] < 1)
      return n.error("its sizes should be positive");
    int64_t room = image[i] + pads[i] + pads[i + spatial] - (block[i] - 1) * dilations[i] - 1;
    if (room < 0)
      return n.error("its block is larger than its image");
    steps.push_back(room / strides[i] + 1);
    window *= block[i];
    columns *= steps.back();
    pixels *= image[i];
  }
  if (n.shape(0)[1] % window || n.shape(0)[2] != columns)
    return n.error("its columns do not fit its image");
  int64_t batch = n.shape(0)[0], channels = n.shape(0)[1] / window;
  // Where each element of a block goes; what falls on padding goes behind the image.
  Dims targets;
  for (int64_t w = 0; w < window; ++w)
    for (int64_t c = 0; c < columns; ++c) {
      int64_t position = 0, restW = w, restC = c, unitW = window, unitC = columns;
      bool inside = true;
      for (size_t i = 0; i < spatial; ++i) {
        unitW /= block[i];
        unitC /= steps[i];
        int64_t at = restC / unitC * strides[i] - pads[i] + restW / unitW * dilations[i];
        restW %= unitW;
        restC %= unitC;
        inside &= at >= 0 && at < image[i];
        position = position * image[i] + at;
      }
      targets.push_back(inside ? position : pixels);
    }
  Value updates = b.reshape(n.in(0), {batch * channels, window * columns});
  updates = b.transpose(updates, {1, 0});
  Value sum =
      b.scatterNd(b.splat(0, n.element(0), {pixels + 1, batch * channels}),
                  b.reshape(b.integers(targets), {window * columns, 1}), updates, Fold::Add);
  Dims shape{batch, channels};
  shape.append(image);
  n.out(0, b.reshape(b.transpose(b.sliceDim(sum, 0, 0, pixels), {1, 0}), shape));
  return {};
}

} // namespace

void registerSignal(OpTable &table) {
  table.add("DFT", 17, lowerDft);
  table.add("STFT", 17, lowerStft);
  table.add("HannWindow", 17, lowerHann);
  table.add("HammingWindow", 17, lowerHamming);
  table.add("BlackmanWindow", 17, lowerBlackman);
  table.add("MelWeightMatrix", 17, lowerMelWeights);
  table.add("Col2Im", 18, lowerCol2Im);
}

} // namespace cupel::frontends::onnx_import
