#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cupel::kernels {
namespace {

/// `count` pixels of so many halves, an odd number of them filled up with zero.
void copyInPairs(const uint16_t *from, int64_t channels, int64_t count, uint16_t *to) {
  int64_t padded = (channels + 1) / 2 * 2, i = 0;
  if (channels == 3) // Of colours: with what comes behind, which is masked, but not behind the last.
    for (; i + 1 < count; ++i) {
      uint64_t four;
      std::memcpy(&four, from + i * 3, sizeof four);
      four &= 0xffff'ffff'ffff;
      std::memcpy(to + i * 4, &four, sizeof four);
    }
  for (; i < count; ++i) {
    std::copy_n(from + i * channels, channels, to + i * padded);
    if (padded != channels)
      to[i * padded + channels] = 0;
  }
}

/// Parts of lines of the input with its padding, which begins with the first pixel that the kernel can touch.
/// They lie where they are if there is nothing to add. An image that is rounded is so line by line.
struct Lines {
  const ConvolutionShape &shape;
  const KernelTable &kernels;
  const float *input;
  const uint16_t *narrow;
  int64_t halves; // Of a pixel that is rounded; else 0.

  Lines(const PackedConvolution &weights, const Image &image)
      : shape(weights.shape()), kernels(ConvolutionAccess::kernels(weights)), input(image.wide), narrow(image.narrow),
        halves(ConvolutionAccess::roundedChannels(weights)) {}

  bool isCopied() const { return halves > 0 || shape.paddingLow[2] > 0 || shape.paddingHigh[2] > 0; }
  const float *at(int64_t image, int64_t z, int64_t y) const {
    int64_t line = (image * shape.input[0] + z) * shape.input[1] + y;
    return input + line * shape.input[2] * shape.inputChannels;
  }
  /// A pixel of a padded line that is not copied.
  const float *pixel(int64_t image, int64_t z, int64_t y, int64_t number) const {
    return at(image, z, y) + (number - shape.paddingLow[2]) * shape.inputChannels;
  }
  /// So many pixels of a padded line, from `first` on.
  void copy(int64_t image, int64_t z, int64_t y, int64_t first, int64_t count, float *to) const {
    int64_t before = std::clamp<int64_t>(shape.paddingLow[2] - first, 0, count), from = first + before - shape.paddingLow[2];
    int64_t pixels = std::clamp<int64_t>(shape.input[2] - from, 0, count - before);
    int64_t channels = shape.inputChannels;
    std::fill_n(to, before * channels, 0.0f);
    if (halves > 0 && pixels > 0)
      roundPixels(image, z, y, from, pixels, to + before * channels);
    else if (pixels > 0)
      std::copy_n(at(image, z, y) + from * channels, pixels * channels, to + before * channels);
    std::fill(to + (before + pixels) * channels, to + count * channels, 0.0f);
  }

private:
  /// In pairs or in f32.
  void roundPixels(int64_t image, int64_t z, int64_t y, int64_t first, int64_t count, float *floats) const {
    int64_t line = (image * shape.input[0] + z) * shape.input[1] + y, from = (line * shape.input[2] + first) * halves;
    auto *to = reinterpret_cast<uint16_t *>(floats);
    if (!shape.hasPairs)
      return narrow ? kernels.widenRows(narrow + from, 0, 1, count * halves, floats, 0)
                    : kernels.roundFloats(input + from, count * halves, floats);
    if (narrow)
      return copyInPairs(narrow + from, halves, count, to);
    if (halves % 2 == 0)
      return kernels.roundToBf16(input + from, count * halves, to);
    ScratchFrame frame;
    auto *rounded = frame.take<uint16_t>(count * halves);
    kernels.roundToBf16(input + from, count * halves, rounded);
    copyInPairs(rounded, halves, count, to);
  }
};

/// The padded lines that a band has asked for so far: so many pixels, from `firstPixel` on.
class LineCopies {
public:
  LineCopies(const Lines &lines, int64_t firstPixel, int64_t pixels, int64_t most, ScratchFrame &frame)
      : lines(lines), frame(frame), firstPixel(firstPixel), pixels(pixels), keys(frame.take<int64_t>(most)),
        copies(frame.take<const float *>(most)) {}

  const float *find(int64_t image, int64_t z, int64_t y) {
    if (!lines.isCopied())
      return lines.pixel(image, z, y, firstPixel);
    int64_t key = (image * lines.shape.input[0] + z) * lines.shape.input[1] + y;
    for (int64_t i = count - 1; i >= 0; --i)
      if (keys[i] == key)
        return copies[i];
    auto *copy = frame.take<float>(pixels * lines.shape.inputChannels);
    lines.copy(image, z, y, firstPixel, pixels, copy);
    keys[count] = key;
    return copies[count++] = copy;
  }

private:
  const Lines &lines;
  ScratchFrame &frame;
  int64_t firstPixel, pixels;
  int64_t *keys;
  const float **copies;
  int64_t count = 0;
};

/// How the lines of a result are shared: some at a time, which share most of the lines they need, and of lines that are longer than a unit should
/// be (sound, of which there is one) a part.
struct LineParts {
  int64_t bands, parts;

  LineParts(int64_t lines, int64_t width, bool takesUnits) {
    const int64_t mostRows = takesUnits ? 256 : 1024; // What units are taken of has to stay in a near cache.
    parts = (width + mostRows - 1) / mostRows;
    int64_t together = parts > 1 ? 1 : takesUnits ? std::clamp<int64_t>(mostRows / width, 1, kBandLines) : kBandLines;
    bands = (lines + together - 1) / together;
  }

private:
  static constexpr int64_t kBandLines = 4;
};

} // namespace

void convolveLines(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                   const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  Spatial output = shape.output();
  PanelCut cut = ConvolutionAccess::cut(weights);
  Lines lines(weights, image);
  int64_t taps = shape.kernel[0] * shape.kernel[1];
  int64_t depth = shape.kernel[2] * shape.inputChannels;
  ScratchFrame outer;
  auto *zeros = outer.take<float>(depth);
  std::fill_n(zeros, depth, 0.0f);
  auto *tapIndices = outer.take<int32_t>(taps);
  std::iota(tapIndices, tapIndices + taps, 0);
  int64_t all = shape.batch * output[0] * output[1];
  const LineParts cuts(all, output[2], !c && epilogue.takesUnits);
  const int64_t units = cuts.bands * cuts.parts;
  double nanoseconds = convolutionNanoseconds(shape);
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    int64_t band = unit / cuts.parts, place = unit % cuts.parts;
    int64_t first = all * band / cuts.bands, count = all * (band + 1) / cuts.bands - first;
    int64_t begin = output[2] * place / cuts.parts, width = output[2] * (place + 1) / cuts.parts - begin, rowCount = count * width;
    ScratchFrame frame;
    LineCopies copies(lines, begin * shape.strides[2], (width - 1) * shape.strides[2] + shape.kernel[2], taps * count, frame);
    auto **rows = frame.take<const float *>(taps * rowCount);
    bool isAtTheEdge = false;
    for (int64_t i = 0; i < count; ++i) {
      Pixel pixel = pixelOf(output, (first + i) * output[2]);
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t z = inputPosition(shape, 0, pixel.at[0], tap / shape.kernel[1]);
        int64_t y = inputPosition(shape, 1, pixel.at[1], tap % shape.kernel[1]);
        const float **to = rows + tap * rowCount + i * width;
        if (z < 0 || y < 0) {
          std::fill_n(to, width, zeros);
          isAtTheEdge = true;
          continue;
        }
        const float *line = copies.find(pixel.image, z, y);
        // A number that nobody changes meanwhile, so that several pointers are made at once.
        const int64_t step = shape.strides[2] * shape.inputChannels;
        for (int64_t x = 0; x < width; ++x)
          to[x] = line + x * step;
      }
    }
    RowsTimesPanels part = {};
    part.rows = rows;
    part.rowCount = rowCount;
    part.taps = taps;
    part.tapIndices = tapIndices;
    part.zeros = isAtTheEdge && ConvolutionAccess::isFinite(weights) ? zeros : nullptr;
    part.depth = depth;
    part.hasPairs = shape.hasPairs;
    part.cut = cut;
    part.panels = ConvolutionAccess::data(weights);
    part.panelDepth = taps * depth;
    part.endPanel = cut.count;
    part.panelAfter = -1;
    part.row = first * output[2] + begin;
    part.c = c ? c + part.row * ldc : nullptr;
    part.ldc = ldc;
    part.epilogue = &epilogue;
    multiplyUnit(ConvolutionAccess::kernels(weights), part);
  });
}

} // namespace cupel::kernels
