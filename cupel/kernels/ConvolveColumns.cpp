// Convolutions of a few output channels, as images have them at the end of a network: vectors of
// these would be mostly empty. Each pixel of a line is multiplied by the weights of all columns of
// the kernel side by side, and a pixel of the result is the sum of what its neighbours have for it:
// a chain of multiply-adds for each column, then the columns in their order.

#include "cupel/kernels/ConvolutionAccess.h"

#include <algorithm>
#include <numeric>

namespace cupel::kernels {

std::vector<float> weightsByColumn(const ConvolutionShape &shape, const WeightsView &weights) {
  std::vector<float> dense;
  dense.reserve(
      static_cast<size_t>(product(shape.kernel) * shape.inputChannels * shape.outputChannels));
  for (int64_t tap = 0; tap < shape.kernel[0] * shape.kernel[1]; ++tap)
    for (int64_t i = 0; i < shape.inputChannels; ++i)
      for (int64_t x = 0; x < shape.kernel[2]; ++x)
        for (int64_t o = 0; o < shape.outputChannels; ++o)
          dense.push_back(
              weights.data[tap / shape.kernel[1] * weights.strides[0] +
                           tap % shape.kernel[1] * weights.strides[1] + x * weights.strides[2] +
                           i * weights.inputStride + o * weights.outputStride]);
  return dense;
}

void convolveColumns(const PackedConvolution &weights, const float *input, float *c, int64_t ldc,
                     const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  const KernelTable &kernels = ConvolutionAccess::kernels(weights);
  Spatial output = shape.output();
  PanelCut cut = ConvolutionAccess::cut(weights);
  int64_t taps = shape.kernel[0] * shape.kernel[1], channels = shape.inputChannels,
          results = shape.outputChannels;
  // Pixels behind those of the result that are multiplied as well, with those of padding: only what
  // some column of the kernel meets.
  int64_t beside = (shape.kernel[2] - 1) * shape.kernelDilation[2];
  // Lines of sound are long: they are computed in pieces, of which little is multiplied twice.
  constexpr int64_t kPiece = 1024, kPart = 4;
  int64_t piece = std::max(kPiece, kPart * beside), pieces = (output[2] + piece - 1) / piece;
  ScratchFrame outer;
  auto *zeros = outer.take<float>(channels);
  std::fill_n(zeros, channels, 0.0f);
  auto *tapIndices = outer.take<int32_t>(taps);
  std::iota(tapIndices, tapIndices + taps, 0);
  Epilogue none;
  int64_t units = shape.batch * output[0] * output[1] * pieces;
  double nanoseconds = convolutionNanoseconds(shape);
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    ScratchFrame frame;
    int64_t line = unit / pieces, first = output[2] * (unit % pieces) / pieces,
            pixels = output[2] * (unit % pieces + 1) / pieces - first;
    int64_t width = pixels + beside, low = shape.paddingLow[2] - first;
    Pixel pixel = pixelOf(output, line * output[2]);
    auto **rows = frame.take<const float *>(taps * width);
    // [begin, end) lie inside.
    int64_t begin = std::clamp<int64_t>(low, 0, width);
    int64_t end = std::clamp<int64_t>(shape.input[2] + low, begin, width);
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t z = inputPosition(shape, 0, pixel.at[0], tap / shape.kernel[1]),
              y = inputPosition(shape, 1, pixel.at[1], tap % shape.kernel[1]);
      const float **to = rows + tap * width;
      bool isInside = z >= 0 && y >= 0;
      std::fill(to, isInside ? to + begin : to + width, zeros);
      if (!isInside)
        continue;
      const float *from = input + ((pixel.image * shape.input[0] + z) * shape.input[1] + y) *
                                      shape.input[2] * channels;
      for (int64_t x = begin; x < end; ++x)
        to[x] = from + (x - low) * channels;
      std::fill(to + end, to + width, zeros);
    }
    RowsTimesPanels part = {};
    part.rows = rows;
    part.rowCount = width;
    part.taps = taps;
    part.tapIndices = tapIndices;
    part.zeros = ConvolutionAccess::isFinite(weights) ? zeros : nullptr;
    part.depth = channels;
    part.cut = cut;
    part.panels = ConvolutionAccess::data(weights);
    part.panelDepth = taps * channels;
    part.endPanel = cut.count;
    part.panelAfter = -1;
    part.c = frame.take<float>(width * cut.columns);
    part.ldc = cut.columns;
    part.epilogue = &none;
    multiplyRows(kernels, part);
    int64_t row = line * output[2] + first;
    // What nobody keeps lies by itself.
    float *to = c ? c + row * ldc : frame.take<float>(pixels * results);
    int64_t stride = c ? ldc : results;
    kernels.addColumnParts({part.c, cut.columns, shape.kernel[2], shape.kernelDilation[2] * cut.columns + results, results, epilogue.bias},
                           pixels, to, stride);
    epilogue.complete(kernels, false, to, stride, row, pixels, 0, results);
  });
}

} // namespace cupel::kernels
