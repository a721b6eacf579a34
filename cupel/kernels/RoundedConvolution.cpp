#include "cupel/kernels/ConvolutionAccess.h"

#include <algorithm>
#include <bit>

namespace cupel::kernels {
namespace {

/// Channels of each group by themselves, an odd number filled with zero: in pairs.
ConvolutionShape inPairs(ConvolutionShape shape) {
  shape.inputChannels = shape.groups * ((shape.inputChannels / shape.groups + 1) / 2);
  shape.hasPairs = true;
  return shape;
}

/// [tap][input channel of a group][output channel], rounded.
std::shared_ptr<float[]> roundedWeights(const ConvolutionShape &shape, const WeightsView &weights) {
  const KernelTable &kernels = currentKernels();
  int64_t inputs = shape.inputChannels / shape.groups, outputs = shape.outputChannels;
  std::shared_ptr<float[]> rounded = allocateFloats(product(shape.kernel) * inputs * outputs);
  float *to = rounded.get();
  for (int64_t z = 0; z < shape.kernel[0]; ++z)
    for (int64_t y = 0; y < shape.kernel[1]; ++y)
      for (int64_t x = 0; x < shape.kernel[2]; ++x) {
        int64_t tap = z * weights.strides[0] + y * weights.strides[1] + x * weights.strides[2];
        if (weights.narrow)
          kernels.copyWidened(weights.narrow + tap, weights.inputStride, weights.outputStride, inputs, outputs,
                              to, outputs);
        else
          kernels.copyMatrix(weights.data + tap, weights.inputStride, weights.outputStride, inputs, outputs, to,
                             outputs);
        to += inputs * outputs;
      }
  if (!weights.narrow)
    kernels.roundFloats(rounded.get(), to - rounded.get(), rounded.get());
  return rounded;
}

/// Two channels of the input, of which each is `outputs` numbers, in the place of one.
std::shared_ptr<float[]> pairsOf(const float *rounded, int64_t taps, int64_t inputs, int64_t outputs) {
  int64_t pairs = (inputs + 1) / 2;
  std::shared_ptr<float[]> matrix = allocateFloats(taps * pairs * outputs);
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const float *from = rounded + (tap * inputs + 2 * pair) * outputs;
      float *to = matrix.get() + (tap * pairs + pair) * outputs;
      bool hasSecond = 2 * pair + 1 < inputs;
      for (int64_t o = 0; o < outputs; ++o) {
        uint32_t second = hasSecond ? std::bit_cast<uint32_t>(from[outputs + o]) : 0;
        to[o] = std::bit_cast<float>(std::bit_cast<uint32_t>(from[o]) >> 16 | second);
      }
    }
  return matrix;
}

} // namespace

PackedConvolution packRoundedConvolution(const ConvolutionShape &shape, WeightsView weights,
                                         const Pool &pool) {
  int64_t taps = product(shape.kernel), inputs = shape.inputChannels / shape.groups;
  std::shared_ptr<float[]> matrix = roundedWeights(shape, weights);
  ConvolutionShape packedShape = shape;
  ConvolutionMethod method = ConvolutionAccess::method(shape, currentKernels());
  bool isGrouped = method == ConvolutionMethod::Groups && !groupedFunction(inPairs(shape), currentKernels());
  if (multipliesBf16() && !isGrouped && method != ConvolutionMethod::Depthwise) {
    matrix = pairsOf(matrix.get(), taps, inputs, shape.outputChannels);
    packedShape = inPairs(shape);
    inputs = (inputs + 1) / 2;
  }
  int64_t line = inputs * shape.outputChannels;
  WeightsView view{matrix.get(),
                   {shape.kernel[1] * shape.kernel[2] * line, shape.kernel[2] * line, line},
                   shape.outputChannels,
                   1};
  PackedConvolution packed = packConvolution(packedShape, view, pool);
  ConvolutionAccess::roundedChannels(packed) = shape.inputChannels;
  return packed;
}

const float *roundedImage(const PackedConvolution &weights, const Image &image, ScratchFrame &frame,
                          const Pool &pool) {
  constexpr double kNanosecondsPerElement = 0.1;
  constexpr int64_t kChunk = 8192; // Elements.
  const ConvolutionShape &shape = weights.shape();
  const KernelTable &kernels = ConvolutionAccess::kernels(weights);
  int64_t channels = ConvolutionAccess::roundedChannels(weights);
  int64_t pixels = shape.batch * product(shape.input);
  if (!shape.hasPairs) {
    auto *rounded = frame.take<float>(pixels * channels);
    int64_t count = pixels * channels;
    pool.parallelFor((count + kChunk - 1) / kChunk, kChunk * kNanosecondsPerElement, [&](int64_t unit) {
      int64_t first = unit * kChunk, some = std::min(kChunk, count - first);
      if (image.narrow)
        kernels.copyWidened(image.narrow + first, 0, 1, 1, some, rounded + first, 0);
      else
        kernels.roundFloats(image.wide + first, some, rounded + first);
    });
    return rounded;
  }
  int64_t inputs = channels / shape.groups, padded = shape.inputChannels / shape.groups * 2;
  if (image.narrow && padded == inputs)
    return reinterpret_cast<const float *>(image.narrow);
  auto *pairs = frame.take<float>(pixels * shape.inputChannels);
  auto *halves = reinterpret_cast<uint16_t *>(pairs);
  // Pixels that are whole, or groups of pixels.
  int64_t rows = pixels * shape.groups, perUnit = std::max<int64_t>(1, kChunk / std::max<int64_t>(1, inputs));
  pool.parallelFor((rows + perUnit - 1) / perUnit, double(perUnit * inputs) * kNanosecondsPerElement,
                   [&](int64_t unit) {
                     int64_t first = unit * perUnit, end = std::min(rows, first + perUnit);
                     if (padded == inputs) {
                       kernels.roundToBf16(image.wide + first * inputs, (end - first) * inputs,
                                           halves + first * inputs);
                       return;
                     }
                     for (int64_t row = first; row < end; ++row) {
                       if (image.narrow)
                         std::copy_n(image.narrow + row * inputs, inputs, halves + row * padded);
                       else
                         kernels.roundToBf16(image.wide + row * inputs, inputs, halves + row * padded);
                       halves[row * padded + inputs] = 0;
                     }
                   });
  return pairs;
}

} // namespace cupel::kernels
