#include "cupel/kernels/Bytes.h"

#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cupel::kernels {

/// How the functions of this file reach into what they packed.
class ByteAccess {
public:
  static int64_t &depth(PackedBytes &b) { return b.depth; }
  static PackedMatrix &matrix(PackedBytes &b) { return b.matrix; }
  static const PackedMatrix &matrix(const PackedBytes &b) { return b.matrix; }
  static ByteSides &sides(PackedBytes &b) { return b.sides; }
  static const ByteSides &sides(const PackedBytes &b) { return b.sides; }
  static std::shared_ptr<int32_t[]> &terms(PackedBytes &b) { return b.terms; }
  static const int32_t *terms(const PackedBytes &b) { return b.terms.get(); }

  static ConvolutionShape &shape(PackedByteConvolution &w) { return w.of; }
  static ConvolutionShape &carried(PackedByteConvolution &w) { return w.carried; }
  static const ConvolutionShape &carried(const PackedByteConvolution &w) { return w.carried; }
  static PackedConvolution &weights(PackedByteConvolution &w) { return w.weights; }
  static const PackedConvolution &weights(const PackedByteConvolution &w) { return w.weights; }
  static ByteSides &sides(PackedByteConvolution &w) { return w.sides; }
  static const ByteSides &sides(const PackedByteConvolution &w) { return w.sides; }
  static std::shared_ptr<int32_t[]> &terms(PackedByteConvolution &w) { return w.terms; }
  static const int32_t *terms(const PackedByteConvolution &w) { return w.terms.get(); }
  static std::shared_ptr<int32_t[]> &channels(PackedByteConvolution &w) { return w.channels; }
  static const int32_t *channels(const PackedByteConvolution &w) { return w.channels.get(); }
  static std::shared_ptr<int32_t[]> &pairs(PackedByteConvolution &w) { return w.pairs; }
  static const int32_t *pairs(const PackedByteConvolution &w) { return w.pairs.get(); }
  static int64_t &pairWidth(PackedByteConvolution &w) { return w.pairWidth; }
  static int64_t pairWidth(const PackedByteConvolution &w) { return w.pairWidth; }
};

namespace {

constexpr double kNanosecondsPerByte = 0.5;

/// Whether sums of `taps` times so many fours of bytes are worth matrix registers: short ones take most of their time to
/// begin and to be stored, and where a tap has whole groups of steps and a rest, registers are set up twice for each tile.
bool isWorthBlocks(int64_t fours, int64_t taps) {
  constexpr int64_t kGroup = 16, kLeast = 48, kLeastWithRest = 128;
  bool isSetUpTwice = fours > kGroup && fours % kGroup != 0;
  return fours * taps >= (isSetUpTwice ? kLeastWithRest : kLeast);
}

/// How sides are moved so that the left one has no sign and the right one has.
struct Moved {
  ByteSides sides;
  uint8_t flip;     // Changes what a byte of the right side is to what is multiplied.
  uint32_t left, right; // What is zero behind that.

  Moved(IntegerType leftType, IntegerType rightType, ByteZeros zeros, int64_t rowBytes, int64_t taps = 1) {
    bool isRightSigned = rightType == IntegerType::I8;
    sides.isSigned = leftType == IntegerType::I8;
    sides.isInBlocks = currentKernels().blocks && isWorthBlocks((rowBytes + 3) / 4, taps);
    sides.isMoved = sides.isSigned && !sides.isInBlocks; // Matrix registers take both sides with a sign.
    flip = isRightSigned ? 0 : 0x80;
    left = static_cast<uint32_t>(zeros.left + (sides.isMoved ? 128 : 0));
    right = static_cast<uint32_t>(zeros.right - (isRightSigned ? 0 : 128));
    sides.rowFactor = static_cast<int32_t>(-right);
    sides.rowBytes = rowBytes;
    sides.filler = static_cast<uint8_t>(zeros.left);
  }

  /// What a column of `depth` bytes with this sum gets.
  int32_t term(uint32_t sum, int64_t depth) const {
    return static_cast<int32_t>(static_cast<uint32_t>(depth) * left * right - left * sum);
  }
};

const uint8_t *bytesOf(const void *data) { return static_cast<const uint8_t *>(data); }

bool isRun(std::span<const int64_t> offsets) {
  for (size_t i = 0; i < offsets.size(); ++i)
    if (offsets[i] != offsets[0] + static_cast<int64_t>(i))
      return false;
  return true;
}

/// How far rows are apart, if that is the same for all.
int64_t commonStep(std::span<const int64_t> offsets) {
  int64_t step = offsets.size() < 2 ? 0 : offsets[1] - offsets[0];
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] - offsets[i - 1] != step)
      return -1;
  return step;
}

/// Panels of fours, and the sums of columns.
void packPanelsOf(const IntegerMatrix &b, const Moved &moved, PackedMatrix &packed, int32_t *terms, const Pool &pool) {
  auto depth = static_cast<int64_t>(b.rows.size()), fours = (depth + 3) / 4;
  PanelCut cut = PackedAccess::cut(packed);
  float *panels = PackedAccess::writablePanels(packed);
  const uint8_t *data = bytesOf(b.data);
  auto nanoseconds = static_cast<double>(depth * cut.width) * kNanosecondsPerByte;
  pool.parallelFor(cut.count, nanoseconds, [&](int64_t panel) {
    int64_t first = cut.columnOf(panel), count = cut.columnsOf(panel), width = cut.widthOf(panel);
    auto *to = reinterpret_cast<uint8_t *>(panels + first * fours);
    std::memset(to, 0, static_cast<size_t>(fours * width * 4));
    ScratchFrame frame;
    auto *sums = frame.take<uint32_t>(count);
    std::fill_n(sums, count, 0u);
    for (int64_t k = 0; k < depth; ++k) {
      const uint8_t *from = data + b.rows[static_cast<size_t>(k)];
      uint8_t *row = to + (k / 4 * width) * 4 + k % 4;
      for (int64_t j = 0; j < count; ++j) {
        auto byte = static_cast<uint8_t>(from[b.columns[static_cast<size_t>(first + j)]] ^ moved.flip);
        row[j * 4] = byte;
        sums[j] += static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)));
      }
    }
    for (int64_t j = 0; j < count; ++j)
      terms[first + j] = moved.term(sums[j], depth);
  });
}

Epilogue withTerms(Epilogue epilogue, const int32_t *terms) {
  epilogue.bias = reinterpret_cast<const float *>(terms);
  return epilogue;
}

/// Channels of each group by themselves, filled up with zero: in fours.
ConvolutionShape inFours(ConvolutionShape shape) {
  shape.inputChannels = shape.groups * ((shape.inputChannels / shape.groups + 3) / 4);
  shape.hasBytes = true;
  return shape;
}

void packFours(const ConvolutionShape &shape, const IntegerTensor &weights, const Moved &moved,
               PackedByteConvolution &packed, const Pool &pool) {
  int64_t inputs = shape.inputChannels / shape.groups, fours = (inputs + 3) / 4;
  int64_t taps = product(shape.kernel), outputs = shape.outputChannels;
  // [tap][four][output], of which each float is four bytes.
  std::shared_ptr<float[]> matrix = allocateFloats(taps * fours * outputs);
  auto *to = reinterpret_cast<uint8_t *>(matrix.get());
  std::memset(to, 0, static_cast<size_t>(taps * fours * outputs * 4));
  auto terms = std::make_shared<int32_t[]>(static_cast<size_t>(outputs));
  const uint8_t *data = bytesOf(weights.data);
  pool.parallelFor(outputs, static_cast<double>(taps * inputs) * kNanosecondsPerByte * 4, [&](int64_t o) {
    uint32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const uint8_t *from = data + offsetOf(shape.kernel, weights.strides.data(), tap) + o * weights.strides[4];
      for (int64_t i = 0; i < inputs; ++i) {
        auto byte = static_cast<uint8_t>(from[i * weights.strides[3]] ^ moved.flip);
        to[((tap * fours + i / 4) * outputs + o) * 4 + i % 4] = byte;
        sum += static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)));
      }
    }
    terms[o] = moved.term(sum, taps * inputs);
  });
  int64_t line = fours * outputs;
  WeightsView view{matrix.get(),
                   {shape.kernel[1] * shape.kernel[2] * line, shape.kernel[2] * line, line},
                   outputs,
                   1};
  ByteAccess::weights(packed) = packConvolution(inFours(shape), view, pool);
  ByteAccess::terms(packed) = std::move(terms);
}

/// [tap][channel] in 32 bits, less their zero point.
void packChannels(const ConvolutionShape &shape, const IntegerTensor &weights, ByteZeros zeros,
                  PackedByteConvolution &packed) {
  int64_t taps = product(shape.kernel), channels = shape.outputChannels;
  auto made = std::make_shared<int32_t[]>(static_cast<size_t>(taps * channels));
  auto terms = std::make_shared<int32_t[]>(static_cast<size_t>(channels));
  const uint8_t *data = bytesOf(weights.data);
  for (int64_t o = 0; o < channels; ++o) {
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      uint8_t byte = data[offsetOf(shape.kernel, weights.strides.data(), tap) + o * weights.strides[4]];
      int32_t value = weights.type == IntegerType::I8 ? static_cast<int8_t>(byte) : byte;
      sum += made[tap * channels + o] = value - zeros.right;
    }
    terms[o] = static_cast<int32_t>(-static_cast<uint32_t>(zeros.left) * static_cast<uint32_t>(sum));
  }
  int64_t width = currentKernels().width, block = 2 * width, whole = channels / block * block;
  auto pairs = std::make_shared<int32_t[]>(static_cast<size_t>((taps + 1) / 2 * whole));
  for (int64_t tap = 0; tap < taps; tap += 2)
    for (int64_t i = 0; i < whole; ++i) {
      int64_t o = i / block * block + pairChannel(width, i % block);
      int32_t second = tap + 1 < taps ? made[(tap + 1) * channels + o] : 0;
      pairs[tap / 2 * whole + i] = static_cast<int32_t>((static_cast<uint32_t>(made[tap * channels + o]) & 0xffffu) |
                                                        static_cast<uint32_t>(second) << 16);
    }
  ByteAccess::pairs(packed) = std::move(pairs);
  ByteAccess::pairWidth(packed) = width;
  ByteAccess::channels(packed) = std::move(made);
  ByteAccess::terms(packed) = std::move(terms);
}

/// Images of so few channels that most of the work would be to find them: what the kernel covers of a line is brought together.
bool hasFewChannels(const ConvolutionShape &shape) {
  return shape.groups == 1 && !isDepthwise(shape) && shape.inputChannels <= 4 && shape.kernel[2] > 1 && shape.kernelDilation[2] == 1;
}

ConvolutionShape withJoinedLines(ConvolutionShape shape) {
  shape.input[2] = shape.output()[2];
  shape.inputChannels *= shape.kernel[2];
  shape.kernel[2] = shape.strides[2] = 1;
  shape.paddingLow[2] = shape.paddingHigh[2] = 0;
  return shape;
}

/// Weights as [tap of a line][channel of a pixel][output], one behind the other.
std::vector<uint8_t> denseWeights(const ConvolutionShape &shape, const IntegerTensor &weights) {
  std::vector<uint8_t> dense;
  const uint8_t *data = bytesOf(weights.data);
  for (int64_t tap = 0; tap < product(shape.kernel); ++tap)
    for (int64_t i = 0; i < shape.inputChannels; ++i)
      for (int64_t o = 0; o < shape.outputChannels; ++o)
        dense.push_back(data[offsetOf(shape.kernel, weights.strides.data(), tap) + i * weights.strides[3] + o * weights.strides[4]]);
  return dense;
}

/// For each line of the image and place of the result in it, what the kernel covers: `bytes` of them, filled up to `padded`.
void joinLines(const ConvolutionShape &shape, const IntegerTensor &image, uint8_t filler, int64_t places, int64_t bytes, int64_t padded,
               uint8_t *to, const Pool &pool) {
  int64_t width = shape.input[2], channels = shape.inputChannels, lines = shape.input[0] * shape.input[1];
  int64_t pixel = image.strides[3], channel = image.strides[4];
  bool isDense = pixel == channels && (channel == 1 || channels == 1);
  const uint8_t *data = bytesOf(image.data);
  pool.parallelFor(shape.batch * lines, static_cast<double>(places * padded) / 8, [&](int64_t unit) {
    const uint8_t *from = data + unit / lines * image.strides[0] + offsetOf(shape.input, image.strides.data() + 1, unit % lines * width);
    uint8_t *put = to + unit * places * padded;
    for (int64_t place = 0; place < places; ++place, put += padded) {
      int64_t x = place * shape.strides[2] - shape.paddingLow[2];
      if (isDense && x >= 0 && x * channels + padded <= width * channels) {
        for (int64_t k = 0; k < padded; k += 4) // What is behind is multiplied by nothing.
          std::memcpy(put + k, from + x * channels + k, 4);
        continue;
      }
      std::memset(put, filler, static_cast<size_t>(padded));
      for (int64_t kx = 0; kx < bytes / channels; ++kx)
        if (x + kx >= 0 && x + kx < width)
          for (int64_t i = 0; i < channels; ++i)
            put[kx * channels + i] = from[(x + kx) * pixel + i * channel];
    }
  });
}

/// Whether the channels of pixels lie one behind the other, and pixels as well.
bool isDense(const ConvolutionShape &shape, const IntegerTensor &image) {
  int64_t step = 1;
  const int64_t sizes[] = {shape.batch, shape.input[0], shape.input[1], shape.input[2], shape.inputChannels};
  for (size_t d = 5; d-- > 0; step *= sizes[d])
    if (sizes[d] != 1 && image.strides[d] != step)
      return false;
  return true;
}

/// Pixels with channels innermost, of each group filled up to a multiple of `multiple`.
void copyImage(const ConvolutionShape &shape, const IntegerTensor &image, int64_t multiple, uint8_t *to,
               const Pool &pool) {
  int64_t inputs = shape.inputChannels / shape.groups, padded = (inputs + multiple - 1) / multiple * multiple;
  int64_t all = shape.groups * padded, pixels = product(shape.input), width = shape.input[2];
  int64_t lines = width == 0 ? 0 : pixels / width;
  const uint8_t *data = bytesOf(image.data);
  int64_t pixel = image.strides[3], channel = image.strides[4];
  pool.parallelFor(shape.batch * lines, static_cast<double>(width * all) * kNanosecondsPerByte, [&](int64_t unit) {
    const uint8_t *from = data + unit / lines * image.strides[0] +
                          offsetOf(shape.input, image.strides.data() + 1, unit % lines * width);
    uint8_t *line = to + unit * width * all;
    if (padded != inputs)
      std::memset(line, 0, static_cast<size_t>(width * all));
    for (int64_t group = 0; group < shape.groups; ++group)
      for (int64_t i = 0; i < inputs; ++i) {
        const uint8_t *one = from + (group * inputs + i) * channel;
        uint8_t *put = line + group * padded + i;
        for (int64_t x = 0; x < width; ++x)
          put[x * all] = one[x * pixel];
      }
  });
}

/// rows[tap * count + i]: where the channels of pixel i's tap lie.
void findRows(const ConvolutionShape &shape, const Spatial &output, const uint8_t *input, const uint8_t *filler,
              int64_t row, int64_t count, const uint8_t **rows) {
  Pixel pixel = pixelOf(output, row);
  const Spatial &size = shape.input, &step = shape.kernelDilation;
  for (int64_t i = 0; i < count; ++i, advance(pixel, output)) {
    Spatial first;
    for (int d = 0; d < 3; ++d)
      first[d] = pixel.at[d] * shape.strides[d] - shape.paddingLow[d];
    const uint8_t **to = rows + i;
    for (int64_t kz = 0, z = first[0]; kz < shape.kernel[0]; ++kz, z += step[0])
      for (int64_t ky = 0, y = first[1]; ky < shape.kernel[1]; ++ky, y += step[1]) {
        bool hasLine = z >= 0 && z < size[0] && y >= 0 && y < size[1];
        int64_t line = ((pixel.image * size[0] + z) * size[1] + y) * size[2];
        for (int64_t kx = 0, x = first[2]; kx < shape.kernel[2]; ++kx, x += step[2], to += count)
          *to = hasLine && x >= 0 && x < size[2] ? input + (line + x) * shape.inputChannels : filler;
      }
  }
}

/// Each channel by itself.
void convolveChannels(const PackedByteConvolution &weights, const uint8_t *input, int32_t *c,
                      const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  const ByteSides &sides = ByteAccess::sides(weights);
  const KernelTable &kernels = currentKernels();
  int64_t channels = shape.inputChannels, taps = product(shape.kernel), rows = shape.rows();
  Spatial output = shape.output();
  ScratchFrame outer;
  auto *filler = outer.take<uint8_t>(channels);
  std::memset(filler, sides.filler, static_cast<size_t>(channels));
  // What a unit makes stays in the nearest cache.
  constexpr int64_t kUnitElements = 4096;
  int64_t most = std::clamp<int64_t>(kUnitElements / std::max<int64_t>(1, channels), 4, 64);
  int64_t units = (rows + most - 1) / most;
  pool.parallelFor(units, static_cast<double>(most * taps * channels) / 16, [&](int64_t unit) {
    ScratchFrame frame;
    int64_t row = unit * most, count = std::min(most, rows - row);
    auto **pointers = frame.take<const uint8_t *>(count * taps);
    findRows(shape, output, input, filler, row, count, pointers);
    int32_t *sums = c ? c + row * channels : frame.take<int32_t>(count * channels);
    kernels.depthwiseBytes[sides.isSigned]({pointers, count, taps, ByteAccess::channels(weights), channels, count,
                                            channels, sums, channels, ByteAccess::terms(weights),
                                            ByteAccess::pairWidth(weights) == kernels.width ? ByteAccess::pairs(weights) : nullptr});
    if (epilogue.function)
      epilogue.function(epilogue.operands, reinterpret_cast<float *>(sums), channels, row, count, 0, channels);
  });
}

} // namespace

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

PackedBytes packBytes(const IntegerMatrix &b, IntegerType left, ByteZeros zeros, const Pool &pool) {
  auto depth = static_cast<int64_t>(b.rows.size()), columns = static_cast<int64_t>(b.columns.size());
  Moved moved(left, b.type, zeros, depth);
  PackedBytes packed;
  ByteAccess::depth(packed) = depth;
  ByteAccess::sides(packed) = moved.sides;
  ByteAccess::terms(packed) = std::make_shared<int32_t[]>(static_cast<size_t>(columns));
  ByteAccess::matrix(packed) = PackedAccess::make((depth + 3) / 4, columns, false);
  packPanelsOf(b, moved, ByteAccess::matrix(packed), ByteAccess::terms(packed).get(), pool);
  return packed;
}

void multiply(const IntegerMatrix &a, const PackedBytes &b, int32_t *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool) {
  auto rows = static_cast<int64_t>(a.rows.size()), depth = b.rows(), fours = (depth + 3) / 4;
  if (rows == 0 || b.columns() == 0)
    return;
  const PackedMatrix &matrix = ByteAccess::matrix(b);
  const uint8_t *data = bytesOf(a.data);
  ScratchFrame frame;
  int64_t step = commonStep(a.rows);
  const uint8_t *first = nullptr;
  if (depth % 4 == 0 && step >= 0 && step % 4 == 0 && isRun(a.columns)) {
    first = data + a.rows[0] + (depth > 0 ? a.columns[0] : 0);
  } else {
    auto *copy = frame.take<uint8_t>(rows * fours * 4);
    bool isSideBySide = isRun(a.columns);
    pool.parallelFor(rows, static_cast<double>(depth) * kNanosecondsPerByte, [&](int64_t i) {
      const uint8_t *from = data + a.rows[static_cast<size_t>(i)];
      uint8_t *to = copy + i * fours * 4;
      if (isSideBySide)
        std::copy_n(from + (depth > 0 ? a.columns[0] : 0), depth, to);
      else
        for (int64_t k = 0; k < depth; ++k)
          to[k] = from[a.columns[static_cast<size_t>(k)]];
      std::fill(to + depth, to + fours * 4, uint8_t{0});
    });
    first = copy, step = fours * 4;
  }
  Epilogue all = withTerms(epilogue, ByteAccess::terms(b));
  PanelProduct product{rows,
                       {reinterpret_cast<const float *>(first), step / 4},
                       fours,
                       PackedAccess::cut(matrix),
                       PackedAccess::panels(matrix),
                       0,
                       reinterpret_cast<float *>(c),
                       ldc,
                       0,
                       &all};
  product.bytes = &ByteAccess::sides(b);
  multiplyPanels(PackedAccess::kernels(matrix), &product, 1, pool);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

PackedByteConvolution packBytes(const ConvolutionShape &shape, const IntegerTensor &weights,
                                IntegerType image, ByteZeros zeros, const Pool &pool) {
  bool joins = hasFewChannels(shape);
  ConvolutionShape carried = joins ? withJoinedLines(shape) : shape;
  Moved moved(image, weights.type, zeros, carried.inputChannels / shape.groups, product(carried.kernel));
  PackedByteConvolution packed;
  ByteAccess::shape(packed) = shape;
  ByteAccess::carried(packed) = carried;
  ByteAccess::sides(packed) = moved.sides;
  if (joins) {
    std::vector<uint8_t> dense = denseWeights(shape, weights);
    int64_t outputs = shape.outputChannels, line = carried.inputChannels * outputs;
    packFours(carried, {dense.data(), weights.type, {shape.kernel[1] * line, line, line, outputs, 1}}, moved, packed, pool);
  } else if (isDepthwise(shape)) {
    packChannels(shape, weights, zeros, packed);
  } else {
    packFours(shape, weights, moved, packed, pool);
  }
  return packed;
}

void convolve(const PackedByteConvolution &weights, const IntegerTensor &image, int32_t *c,
              const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  if (shape.rows() == 0 || shape.outputChannels == 0)
    return;
  ScratchFrame frame;
  const uint8_t *input = bytesOf(image.data);
  int64_t multiple = isDepthwise(shape) ? 1 : 4, pixels = shape.batch * product(shape.input);
  if (hasFewChannels(shape)) {
    const ConvolutionShape &carried = ByteAccess::carried(weights);
    int64_t bytes = carried.inputChannels, padded = (bytes + 3) / 4 * 4;
    auto *copy = frame.take<uint8_t>(carried.batch * product(carried.input) * padded);
    joinLines(shape, image, ByteAccess::sides(weights).filler, carried.input[2], bytes, padded, copy, pool);
    input = copy;
  } else if (shape.inputChannels / shape.groups % multiple != 0 || !isDense(shape, image)) {
    int64_t inputs = shape.inputChannels / shape.groups, padded = (inputs + multiple - 1) / multiple * multiple;
    auto *copy = frame.take<uint8_t>(pixels * shape.groups * padded);
    copyImage(shape, image, multiple, copy, pool);
    input = copy;
  }
  if (isDepthwise(shape))
    return convolveChannels(weights, input, c, epilogue, pool);
  Epilogue all = withTerms(epilogue, ByteAccess::terms(weights));
  convolvePixels(ByteAccess::weights(weights), Image{reinterpret_cast<const float *>(input)}, reinterpret_cast<float *>(c),
                 shape.outputChannels, all, pool, &ByteAccess::sides(weights));
}

} // namespace cupel::kernels
