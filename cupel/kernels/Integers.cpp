#include "cupel/kernels/Integers.h"

#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace cupel::kernels {

/// How the functions of this file reach into what they packed.
class IntegerAccess {
public:
  static PackedMatrix &low(PackedIntegers &b) { return b.low; }
  static PackedMatrix &high(PackedIntegers &b) { return b.high; }
  static bool &isWide(PackedIntegers &b) { return b.hasHigh; }
  static const PackedMatrix &low(const PackedIntegers &b) { return b.low; }
  static const PackedMatrix &high(const PackedIntegers &b) { return b.high; }

  static ConvolutionShape &shape(PackedIntegerConvolution &w) { return w.of; }
  static PackedConvolution &low(PackedIntegerConvolution &w) { return w.low; }
  static PackedConvolution &high(PackedIntegerConvolution &w) { return w.high; }
  static bool &isWide(PackedIntegerConvolution &w) { return w.hasHigh; }
  static std::shared_ptr<int32_t[]> &channels(PackedIntegerConvolution &w) { return w.channels; }
  static const PackedConvolution &low(const PackedIntegerConvolution &w) { return w.low; }
  static const PackedConvolution &high(const PackedIntegerConvolution &w) { return w.high; }
  static bool isWide(const PackedIntegerConvolution &w) { return w.hasHigh; }
  static const int32_t *channels(const PackedIntegerConvolution &w) { return w.channels.get(); }
};

namespace {

/// Elements of a side that are brought into halves at a time.
constexpr int64_t kBlock = int64_t{1} << 20;
constexpr double kNanosecondsPerElement = 0.5;

/// A value is low + 2^16 high, modulo 2^32.
struct Halves {
  uint16_t low, high;
};

Halves halvesOf(int32_t value) {
  auto bits = static_cast<uint32_t>(value);
  auto low = static_cast<uint16_t>(bits);
  return {low, static_cast<uint16_t>((bits - static_cast<uint32_t>(static_cast<int16_t>(low))) >> 16)};
}

/// Calls `body` with a pointer of the elements' type.
template <typename F> void withElements(const void *data, IntegerType type, F &&body) {
  switch (type) {
  case IntegerType::I8:
    return body(static_cast<const int8_t *>(data));
  case IntegerType::U8:
    return body(static_cast<const uint8_t *>(data));
  case IntegerType::I16:
    return body(static_cast<const int16_t *>(data));
  case IntegerType::U16:
    return body(static_cast<const uint16_t *>(data));
  case IntegerType::I32:
    return body(static_cast<const int32_t *>(data));
  }
}

/// to[j] = the chosen half of from[columns[j]], and a zero behind an odd number. The upper halves of
/// all together.
template <typename T>
uint16_t copyHalves(const T *from, std::span<const int64_t> columns, bool isDense, bool takesHigh,
                    uint16_t *to) {
  auto count = static_cast<int64_t>(columns.size());
  uint16_t found = 0;
  if (isDense && sizeof(T) == 1) {
    for (int64_t j = 0; j < count; ++j)
      to[j] = static_cast<uint16_t>(static_cast<int16_t>(from[j]));
  } else {
    for (int64_t j = 0; j < count; ++j) {
      Halves halves = halvesOf(static_cast<int32_t>(from[isDense ? j : columns[j]]));
      found |= halves.high;
      to[j] = takesHigh ? halves.high : halves.low;
    }
  }
  if (count % 2)
    to[count] = 0;
  return found;
}

bool isRun(std::span<const int64_t> offsets) {
  for (size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != offsets[0] + static_cast<int64_t>(i))
      return false;
  return true;
}

/// Rows [first, first + count) of a matrix in pairs; whether some have upper halves.
bool copyRows(const IntegerMatrix &a, bool isDense, int64_t first, int64_t count, bool takesHigh,
              uint16_t *to, int64_t stride, const Pool &pool) {
  std::atomic<bool> isWide = false;
  withElements(a.data, a.type, [&](const auto *data) {
    int64_t start = isDense && !a.columns.empty() ? a.columns[0] : 0;
    auto nanoseconds = static_cast<double>(a.columns.size()) * kNanosecondsPerElement;
    pool.parallelFor(count, nanoseconds, [&](int64_t i) {
      if (copyHalves(data + a.rows[static_cast<size_t>(first + i)] + start, a.columns, isDense,
                     takesHigh, to + i * stride))
        isWide.store(true, std::memory_order_relaxed);
    });
  });
  return isWide;
}

/// Columns of B in panels of pairs; whether some have upper halves.
bool packHalves(const IntegerMatrix &b, bool takesHigh, PackedMatrix &packed, const Pool &pool) {
  auto depth = static_cast<int64_t>(b.rows.size()), columns = static_cast<int64_t>(b.columns.size());
  packed = PackedAccess::make(depth, columns, true);
  const KernelTable &kernels = PackedAccess::kernels(packed);
  PanelCut cut = PackedAccess::cut(packed);
  float *panels = PackedAccess::writablePanels(packed);
  std::atomic<bool> isWide = false;
  withElements(b.data, b.type, [&](const auto *data) {
    auto nanoseconds = static_cast<double>(depth * cut.width) * kNanosecondsPerElement;
    pool.parallelFor(cut.count, nanoseconds, [&](int64_t panel) {
      ScratchFrame frame;
      int64_t first = cut.columnOf(panel), count = cut.columnsOf(panel);
      auto *halves = frame.take<uint16_t>(depth * count);
      uint16_t found = 0;
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < count; ++j) {
          Halves each = halvesOf(static_cast<int32_t>(
              data[b.rows[static_cast<size_t>(k)] + b.columns[static_cast<size_t>(first + j)]]));
          found |= each.high;
          halves[k * count + j] = takesHigh ? each.high : each.low;
        }
      kernels.packPairs(halves, count, 1, depth, count, cut.widthOf(panel),
                        panels + first * ((depth + 1) / 2));
      if (found)
        isWide.store(true, std::memory_order_relaxed);
    });
  });
  return isWide;
}

/// c += 2^16 sums.
void addUpper(const int32_t *sums, int64_t rows, int64_t columns, int32_t *c, int64_t ldc) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      auto upper = static_cast<uint32_t>(sums[i * columns + j]) << 16;
      c[i * ldc + j] = static_cast<int32_t>(static_cast<uint32_t>(c[i * ldc + j]) + upper);
    }
}

void multiplyPairs(int64_t rows, const uint16_t *a, int64_t stride, const PackedMatrix &b,
                   int32_t *c, int64_t ldc, const Pool &pool) {
  Epilogue none;
  PanelProduct product{rows,
                       {reinterpret_cast<const float *>(a), stride / 2},
                       (b.rows() + 1) / 2,
                       PackedAccess::cut(b),
                       PackedAccess::panels(b),
                       0,
                       reinterpret_cast<float *>(c),
                       ldc,
                       0,
                       &none};
  product.hasIntegers = true;
  multiplyPanels(PackedAccess::kernels(b), &product, 1, pool);
}

/// Channels of each group by themselves, an odd number filled with zero: in pairs.
ConvolutionShape inPairs(ConvolutionShape shape) {
  shape.inputChannels = shape.groups * ((shape.inputChannels / shape.groups + 1) / 2);
  shape.hasIntegers = true;
  return shape;
}

bool packHalves(const ConvolutionShape &shape, const IntegerTensor &weights, bool takesHigh,
                PackedConvolution &packed, const Pool &pool) {
  int64_t inputs = shape.inputChannels / shape.groups, pairs = (inputs + 1) / 2;
  int64_t taps = product(shape.kernel), outputs = shape.outputChannels;
  // [tap][pair][output], of which each float is a pair.
  std::shared_ptr<float[]> matrix = allocateFloats(taps * pairs * outputs);
  uint16_t found = 0;
  withElements(weights.data, weights.type, [&](const auto *data) {
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t pair = 0; pair < pairs; ++pair)
        for (int64_t o = 0; o < outputs; ++o) {
          const auto *from = data + offsetOf(shape.kernel, weights.strides.data(), tap) +
                             2 * pair * weights.strides[3] + o * weights.strides[4];
          Halves first = halvesOf(static_cast<int32_t>(*from)), second = {};
          if (2 * pair + 1 < inputs)
            second = halvesOf(static_cast<int32_t>(from[weights.strides[3]]));
          found |= first.high | second.high;
          uint32_t both = takesHigh ? first.high | uint32_t{second.high} << 16
                                    : first.low | uint32_t{second.low} << 16;
          matrix[(tap * pairs + pair) * outputs + o] = std::bit_cast<float>(both);
        }
  });
  int64_t line = pairs * outputs;
  WeightsView view{matrix.get(),
                   {shape.kernel[1] * shape.kernel[2] * line, shape.kernel[2] * line, line},
                   outputs,
                   1};
  packed = packConvolution(inPairs(shape), view, pool);
  return found != 0;
}

/// The image with its channels innermost, each element put by `put(pixel, channel, value)`.
template <typename F>
void forPixels(const ConvolutionShape &shape, const IntegerTensor &image, const Pool &pool, F &&put) {
  int64_t pixels = product(shape.input);
  auto nanoseconds =
      static_cast<double>(shape.input[2] * shape.inputChannels) * 2 * kNanosecondsPerElement;
  int64_t lines = shape.input[2] == 0 ? 0 : pixels / shape.input[2];
  withElements(image.data, image.type, [&](const auto *data) {
    pool.parallelFor(shape.batch * lines, nanoseconds, [&](int64_t unit) {
      int64_t line = unit % lines, first = line * shape.input[2];
      const auto *from = data + unit / lines * image.strides[0] +
                         offsetOf(shape.input, image.strides.data() + 1, first);
      int64_t pixel = unit / lines * pixels + first, step = image.strides[3];
      if (image.strides[4] == 1 || step != 1)
        for (int64_t x = 0; x < shape.input[2]; ++x)
          for (int64_t c = 0; c < shape.inputChannels; ++c)
            put(pixel + x, c, static_cast<int32_t>(from[x * step + c * image.strides[4]]));
      else
        for (int64_t c = 0; c < shape.inputChannels; ++c)
          for (int64_t x = 0; x < shape.input[2]; ++x)
            put(pixel + x, c, static_cast<int32_t>(from[x + c * image.strides[4]]));
    });
  });
}

bool copyImage(const ConvolutionShape &shape, const IntegerTensor &image, bool takesHigh,
               uint16_t *to, const Pool &pool) {
  int64_t inputs = shape.inputChannels / shape.groups, padded = (inputs + 1) / 2 * 2;
  int64_t all = shape.groups * padded;
  if (padded != inputs)
    std::fill_n(to, shape.batch * product(shape.input) * all, uint16_t{0});
  std::atomic<bool> isWide = false;
  forPixels(shape, image, pool, [&](int64_t pixel, int64_t channel, int32_t value) {
    Halves halves = halvesOf(value);
    if (halves.high)
      isWide.store(true, std::memory_order_relaxed);
    int64_t place = padded == inputs ? channel : channel / inputs * padded + channel % inputs;
    to[pixel * all + place] = takesHigh ? halves.high : halves.low;
  });
  return isWide;
}

/// Each channel by itself.
void convolveChannels(const ConvolutionShape &shape, const int32_t *weights,
                      const IntegerTensor &image, int32_t *c, const Pool &pool) {
  ScratchFrame frame;
  int64_t channels = shape.inputChannels, taps = product(shape.kernel);
  auto *input = frame.take<int32_t>(shape.batch * product(shape.input) * channels);
  forPixels(shape, image, pool, [&](int64_t pixel, int64_t channel, int32_t value) {
    input[pixel * channels + channel] = value;
  });
  const KernelTable &kernels = currentKernels();
  Spatial output = shape.output();
  pool.parallelFor(shape.rows(), static_cast<double>(taps * channels) / 8, [&](int64_t row) {
    Pixel pixel = pixelOf(output, row);
    int32_t *sums = c + row * channels;
    std::fill_n(sums, channels, 0);
    for (int64_t tap = 0; tap < taps; ++tap) {
      Spatial of = pixelOf(shape.kernel, tap).at;
      int64_t place = pixel.image;
      bool isInside = true;
      for (int d = 0; d < 3; ++d) {
        int64_t at = inputPosition(shape, d, pixel.at[d], of[d]);
        isInside = isInside && at >= 0;
        place = place * shape.input[d] + at;
      }
      if (isInside)
        kernels.multiplyAddIntegers(input + place * channels, weights + tap * channels, channels,
                                    sums);
    }
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

PackedIntegers packIntegers(const IntegerMatrix &b, const Pool &pool) {
  PackedIntegers packed;
  bool isWide = packHalves(b, false, IntegerAccess::low(packed), pool);
  IntegerAccess::isWide(packed) = isWide;
  if (isWide)
    packHalves(b, true, IntegerAccess::high(packed), pool);
  return packed;
}

void multiply(const IntegerMatrix &a, const PackedIntegers &b, int32_t *c, int64_t ldc,
              const Pool &pool) {
  auto rows = static_cast<int64_t>(a.rows.size()), depth = b.rows(), columns = b.columns();
  if (rows == 0 || columns == 0)
    return;
  int64_t stride = (depth + 1) / 2 * 2;
  int64_t most = std::clamp<int64_t>(kBlock / std::max<int64_t>(1, stride), 16, rows < 16 ? 16 : rows);
  bool isDense = isRun(a.columns);
  ScratchFrame frame;
  auto *halves = frame.take<uint16_t>(std::min(most, rows) * stride);
  for (int64_t first = 0; first < rows; first += most) {
    int64_t count = std::min(most, rows - first);
    int32_t *to = c + first * ldc;
    bool isWide = copyRows(a, isDense, first, count, false, halves, stride, pool);
    multiplyPairs(count, halves, stride, IntegerAccess::low(b), to, ldc, pool);
    if (!isWide && !b.isWide())
      continue;
    ScratchFrame inner;
    auto *sums = inner.take<int32_t>(count * columns);
    if (b.isWide()) {
      multiplyPairs(count, halves, stride, IntegerAccess::high(b), sums, columns, pool);
      addUpper(sums, count, columns, to, ldc);
    }
    if (isWide) {
      copyRows(a, isDense, first, count, true, halves, stride, pool);
      multiplyPairs(count, halves, stride, IntegerAccess::low(b), sums, columns, pool);
      addUpper(sums, count, columns, to, ldc);
    }
  }
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

PackedIntegerConvolution packIntegers(const ConvolutionShape &shape, const IntegerTensor &weights,
                                      const Pool &pool) {
  PackedIntegerConvolution packed;
  IntegerAccess::shape(packed) = shape;
  if (isDepthwise(shape)) {
    int64_t taps = product(shape.kernel), channels = shape.outputChannels;
    auto made = std::make_shared<int32_t[]>(static_cast<size_t>(taps * channels));
    withElements(weights.data, weights.type, [&](const auto *data) {
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t o = 0; o < channels; ++o)
          made[tap * channels + o] = static_cast<int32_t>(
              data[offsetOf(shape.kernel, weights.strides.data(), tap) + o * weights.strides[4]]);
    });
    IntegerAccess::channels(packed) = std::move(made);
    return packed;
  }
  bool isWide = packHalves(shape, weights, false, IntegerAccess::low(packed), pool);
  IntegerAccess::isWide(packed) = isWide;
  if (isWide)
    packHalves(shape, weights, true, IntegerAccess::high(packed), pool);
  return packed;
}

void convolve(const PackedIntegerConvolution &weights, const IntegerTensor &image, int32_t *c,
              const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  int64_t rows = shape.rows(), outputs = shape.outputChannels;
  if (rows == 0 || outputs == 0)
    return;
  if (const int32_t *channels = IntegerAccess::channels(weights))
    return convolveChannels(shape, channels, image, c, pool);
  ScratchFrame frame;
  int64_t all = inPairs(shape).inputChannels * 2;
  auto *halves = frame.take<uint16_t>(shape.batch * product(shape.input) * all);
  const auto *pairs = reinterpret_cast<const float *>(halves);
  bool isWide = copyImage(shape, image, false, halves, pool);
  convolve(IntegerAccess::low(weights), pairs, reinterpret_cast<float *>(c), outputs, {}, pool);
  if (!isWide && !IntegerAccess::isWide(weights))
    return;
  auto *sums = frame.take<int32_t>(rows * outputs);
  auto add = [&](const PackedConvolution &with) {
    convolve(with, pairs, reinterpret_cast<float *>(sums), outputs, {}, pool);
    addUpper(sums, rows, outputs, c, outputs);
  };
  if (IntegerAccess::isWide(weights))
    add(IntegerAccess::high(weights));
  if (isWide) {
    copyImage(shape, image, true, halves, pool);
    add(IntegerAccess::low(weights));
  }
}

} // namespace cupel::kernels
