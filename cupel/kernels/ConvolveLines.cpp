#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace cupel::kernels {
namespace {

/// A line of the input with its padding, from the first element that the kernel can touch on.
/// Lies where it is if there is nothing to add.
struct Lines {
  const ConvolutionShape &shape;
  const float *input;
  int64_t width; // Pixels of a padded line.

  Lines(const ConvolutionShape &shape, const float *input)
      : shape(shape), input(input),
        width(shape.input[2] + shape.paddingLow[2] + shape.paddingHigh[2]) {}

  bool isCopied() const { return shape.paddingLow[2] > 0 || shape.paddingHigh[2] > 0; }
  int64_t size() const { return width * shape.inputChannels; }
  const float *at(int64_t image, int64_t z, int64_t y) const {
    int64_t line = (image * shape.input[0] + z) * shape.input[1] + y;
    return input + line * shape.input[2] * shape.inputChannels;
  }
  /// Pixel -paddingLow of a line that is not copied.
  const float *start(int64_t image, int64_t z, int64_t y) const {
    return at(image, z, y) - shape.paddingLow[2] * shape.inputChannels;
  }
  void copy(int64_t image, int64_t z, int64_t y, float *to) const {
    int64_t low = std::max<int64_t>(0, shape.paddingLow[2]);
    int64_t skipped = std::max<int64_t>(0, -shape.paddingLow[2]);
    int64_t pixels = std::min(shape.input[2] - skipped, width - low);
    int64_t channels = shape.inputChannels;
    std::fill_n(to, low * channels, 0.0f);
    std::memcpy(to + low * channels, at(image, z, y) + skipped * channels,
                static_cast<size_t>(pixels * channels) * sizeof(float));
    std::fill(to + (low + pixels) * channels, to + size(), 0.0f);
  }
};

} // namespace

void convolveLines(const PackedConvolution &weights, const float *input, float *c, int64_t ldc,
                   const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  Spatial output = shape.output();
  PanelCut cut = ConvolutionAccess::cut(weights);
  Lines lines(shape, input);
  int64_t taps = shape.kernel[0] * shape.kernel[1];
  int64_t depth = shape.kernel[2] * shape.inputChannels;
  ScratchFrame outer;
  auto *zeros = outer.take<float>(lines.size());
  std::fill_n(zeros, lines.size(), 0.0f);
  // A unit is a line of the result: the lines it needs are copied once, and it is in the cache.
  int64_t units = shape.batch * output[0] * output[1];
  double nanoseconds = convolutionNanoseconds(shape);
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    ScratchFrame frame;
    Pixel pixel = pixelOf(output, unit * output[2]);
    auto **rows = frame.take<const float *>(taps * output[2]);
    auto *tapIndices = frame.take<int32_t>(taps);
    int64_t used = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t z = inputPosition(shape, 0, pixel.at[0], tap / shape.kernel[1]);
      int64_t y = inputPosition(shape, 1, pixel.at[1], tap % shape.kernel[1]);
      const float *line = zeros;
      if (z >= 0 && y >= 0) {
        line = lines.start(pixel.image, z, y);
        if (lines.isCopied()) {
          auto *copy = frame.take<float>(lines.size());
          lines.copy(pixel.image, z, y, copy);
          line = copy;
        }
      } else if (ConvolutionAccess::isFinite(weights)) {
        continue;
      }
      tapIndices[used] = static_cast<int32_t>(tap);
      for (int64_t x = 0; x < output[2]; ++x)
        rows[used * output[2] + x] = line + x * shape.strides[2] * shape.inputChannels;
      ++used;
    }
    RowsTimesPanels part = {};
    part.rows = rows;
    part.rowCount = output[2];
    part.taps = used;
    part.tapIndices = tapIndices;
    part.depth = depth;
    part.cut = cut;
    part.panels = ConvolutionAccess::data(weights);
    part.panelDepth = taps * depth;
    part.endPanel = cut.count;
    part.row = unit * output[2];
    part.c = c + part.row * ldc;
    part.ldc = ldc;
    part.epilogue = &epilogue;
    multiplyRows(ConvolutionAccess::kernels(weights), part);
  });
}

} // namespace cupel::kernels
