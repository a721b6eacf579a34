#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>

namespace cupel::kernels {
namespace {

/// One call of convolveDepthwise.
struct Work {
  const ConvolutionShape &shape;
  const KernelTable &kernels;
  Spatial output;
  const float *weights, *zeros; // zeros: for padding that has to be multiplied.
  const float *input;
  float *c;
  int64_t ldc;
  const float *bias;
};

/// A line of the result.
class Line {
public:
  Line(const Work &work, int64_t index)
      : work(work), pixel(pixelOf(work.output, index * work.output[2])) {
    c = work.c + index * work.output[2] * work.ldc;
  }

  /// Where all taps of a line lie inside the input: [begin, end). Only without input dilation.
  void findInside(int64_t &begin, int64_t &end) const {
    const ConvolutionShape &shape = work.shape;
    int64_t stride = shape.strides[2], low = shape.paddingLow[2];
    int64_t covered = (shape.kernel[2] - 1) * shape.kernelDilation[2] + 1;
    begin = std::clamp<int64_t>((low + stride - 1) / stride, 0, work.output[2]);
    int64_t last = shape.input[2] - covered + low; // The greatest start of a covered span.
    end = std::clamp<int64_t>(last < 0 ? 0 : last / stride + 1, begin, work.output[2]);
  }

  /// Pixels [begin, end) one by one.
  void computePixels(int64_t begin, int64_t end) {
    const ConvolutionShape &shape = work.shape;
    ScratchFrame frame;
    int64_t taps = shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
    auto **inputs = frame.take<const float *>(taps), **weights = frame.take<const float *>(taps);
    for (int64_t x = begin; x < end; ++x) {
      int64_t used = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        Spatial of = pixelOf(shape.kernel, tap).at;
        int64_t place = pixel.image;
        bool isInside = true;
        for (int d = 0; d < 3; ++d) {
          int64_t at = inputPosition(shape, d, d == 2 ? x : pixel.at[d], of[d]);
          isInside = isInside && at >= 0;
          place = place * shape.input[d] + at;
        }
        if (!isInside && !work.zeros)
          continue;
        inputs[used] = isInside ? work.input + place * shape.inputChannels : work.zeros;
        weights[used++] = work.weights + tap * shape.inputChannels;
      }
      work.kernels.depthwisePixel(
          {inputs, weights, used, shape.inputChannels, c + x * work.ldc, work.bias});
    }
  }

  /// Pixels [begin, end), all of whose taps along the line are inside.
  void computeInside(int64_t begin, int64_t end, DepthwiseFunction wide, DepthwiseFunction single) {
    const ConvolutionShape &shape = work.shape;
    ScratchFrame frame;
    int64_t most = shape.kernel[0] * shape.kernel[1], used = 0, channels = shape.inputChannels;
    auto **starts = frame.take<const float *>(most), **lines = frame.take<const float *>(most),
         **weights = frame.take<const float *>(most);
    for (int64_t i = 0; i < most; ++i) {
      int64_t z = inputPosition(shape, 0, pixel.at[0], i / shape.kernel[1]);
      int64_t y = inputPosition(shape, 1, pixel.at[1], i % shape.kernel[1]);
      if (z < 0 || y < 0)
        continue;
      int64_t line = (pixel.image * shape.input[0] + z) * shape.input[1] + y;
      starts[used] = work.input + (line * shape.input[2] - shape.paddingLow[2]) * channels;
      weights[used++] = work.weights + i * shape.kernel[2] * channels;
    }
    auto run = [&](DepthwiseFunction function, int64_t x) {
      for (int64_t i = 0; i < used; ++i)
        lines[i] = starts[i] + x * shape.strides[2] * channels;
      function({lines, weights, used, channels, c + x * work.ldc, work.ldc, work.bias});
    };
    int64_t x = begin;
    for (; x + kDepthwisePixels <= end; x += kDepthwisePixels)
      run(wide, x);
    for (; x < end; ++x)
      run(single, x);
  }

private:
  const Work &work;
  Pixel pixel;
  float *c;
};

} // namespace

void convolveDepthwise(const PackedConvolution &weights, const float *input, float *c, int64_t ldc,
                       const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  ScratchFrame frame;
  Work work{shape, ConvolutionAccess::kernels(weights), shape.output(),
            ConvolutionAccess::data(weights), nullptr, input, c, ldc, epilogue.bias};
  bool isFinite = ConvolutionAccess::isFinite(weights);
  if (!isFinite) {
    auto *zeros = frame.take<float>(shape.inputChannels);
    std::fill_n(zeros, shape.inputChannels, 0.0f);
    work.zeros = zeros;
  }
  // Spans for the usual kernels; the others go pixel by pixel.
  const DepthwiseFunction *spans = nullptr;
  if (isFinite && shape.inputDilation == Spatial{1, 1, 1} && shape.kernelDilation[2] == 1 &&
      shape.inputChannels >= work.kernels.width && shape.kernel[2] <= kMostDepthwiseColumns &&
      shape.strides[2] <= kMostDepthwiseStride)
    spans = work.kernels.depthwise[shape.kernel[2] - 1][shape.strides[2] - 1];
  if (spans && !spans[0])
    spans = nullptr;
  int64_t width = work.output[2], lines = shape.rows() / width;
  // A channel's tap costs as much as loading it.
  double nanoseconds = convolutionNanoseconds(shape) * 3;
  pool.parallelFor(lines, nanoseconds / static_cast<double>(lines), [&](int64_t index) {
    Line line(work, index);
    int64_t begin = width, end = width;
    if (spans) {
      line.findInside(begin, end);
      line.computeInside(begin, end, spans[0], spans[1]);
    }
    line.computePixels(0, begin);
    line.computePixels(end, width);
    if (epilogue.function)
      epilogue.function(epilogue.operands, c + index * width * ldc, ldc, index * width, width, 0,
                        shape.outputChannels);
  });
}

} // namespace cupel::kernels
