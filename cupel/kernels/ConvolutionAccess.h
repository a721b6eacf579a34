// How a convolution is carried out, decided from its shape alone, and what its parts share. Internal
// to this folder.

#pragma once

#include "cupel/kernels/Convolution.h"
#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Panels.h"
#include "cupel/kernels/Scratch.h"

#include <vector>

namespace cupel::kernels {

enum class ConvolutionMethod {
  Pixels,    // A tap is a pixel's channels.
  Lines,     // A tap is all that the kernel covers of a line: for images of a few channels.
  Columns,   // Each column of the kernel is multiplied by itself: for a few channels of the result.
  Groups,    // A vector of channels is made of whole groups: for groups of a few channels.
  Depthwise, // A channel of the result is made of one channel, which others may be made of too.
};

class ConvolutionAccess {
public:
  static ConvolutionMethod method(const ConvolutionShape &shape, const KernelTable &kernels);
  static ConvolutionMethod method(const PackedConvolution &packed) {
    return method(packed.of, kernels(packed));
  }
  static const float *data(const PackedConvolution &packed) { return packed.data.get(); }
  static const KernelTable &kernels(const PackedConvolution &packed) {
    return packed.kernels ? *packed.kernels : currentKernels();
  }
  static bool isFinite(const PackedConvolution &packed) { return packed.isFinite; }
  /// Of a group's output channels, or those of all columns of the kernel.
  static PanelCut cut(const PackedConvolution &packed) {
    return {packedColumns(packed.of, method(packed)), packed.panels,
            packed.kernels ? packed.kernels->width : 1};
  }
  static int64_t packedColumns(const ConvolutionShape &shape, ConvolutionMethod method) {
    int64_t columns = shape.outputChannels / shape.groups;
    return method == ConvolutionMethod::Columns ? columns * shape.kernel[2] : columns;
  }
  static PackedConvolution make(const ConvolutionShape &shape, bool isFinite);
  static float *writable(PackedConvolution &packed) { return packed.data.get(); }
  static int64_t &roundedChannels(PackedConvolution &packed) { return packed.roundedChannels; }
  static int64_t roundedChannels(const PackedConvolution &packed) { return packed.roundedChannels; }
};

/// What does groups of that many channels, or null.
GroupedFunction groupedFunction(const ConvolutionShape &shape, const KernelTable &kernels);

/// Where in the input a tap of an output position lies along one dimension, or -1 if nowhere.
inline int64_t inputPosition(const ConvolutionShape &shape, int d, int64_t position, int64_t tap) {
  int64_t at = position * shape.strides[d] - shape.paddingLow[d] + tap * shape.kernelDilation[d];
  if (at < 0 || at % shape.inputDilation[d] != 0)
    return -1;
  at /= shape.inputDilation[d];
  return at < shape.input[d] ? at : -1;
}

/// An output pixel.
struct Pixel {
  int64_t image;
  Spatial at;
};

inline Pixel pixelOf(const Spatial &output, int64_t row) {
  Pixel pixel;
  for (int d = 2; d >= 0; --d) {
    pixel.at[d] = row % output[d];
    row /= output[d];
  }
  pixel.image = row;
  return pixel;
}

inline void advance(Pixel &pixel, const Spatial &output) {
  for (int d = 2; d >= 0; --d) {
    if (++pixel.at[d] < output[d])
      return;
    pixel.at[d] = 0;
  }
  ++pixel.image;
}

inline int64_t product(const Spatial &sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Of integers: each channel has a kernel of its own.
inline bool isDepthwise(const ConvolutionShape &shape) {
  return shape.groups > 1 && shape.groups == shape.inputChannels &&
         shape.groups == shape.outputChannels;
}

/// Where element `index` of a box lies, whose dimensions have these strides.
inline int64_t offsetOf(const Spatial &sizes, const int64_t *strides, int64_t index) {
  int64_t offset = 0;
  for (int d = 2; d >= 0; --d) {
    offset += index % sizes[d] * strides[d];
    index /= sizes[d];
  }
  return offset;
}

/// Asks for what will be read soon and may lie in another core's cache, from which lines come one
/// by one otherwise: as slowly as a load takes there, which is longer than a processor looks ahead.
inline void fetchNear(const void *from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  for (int64_t i = 0; i < bytes; i += kLine)
    __builtin_prefetch(static_cast<const char *>(from) + i, 0, 2);
}

/// An image in f32, or else in bf16.
struct Image {
  const float *wide = nullptr;
  const uint16_t *narrow = nullptr;
};

/// The image of a convolution that rounds, in pairs or in f32: as it lies, if that is what it is.
const float *roundedImage(const PackedConvolution &weights, const Image &image, ScratchFrame &frame,
                          const Pool &pool);

/// multiplyRows for a unit of work, panel by panel where its epilogue takes units and there is no place for the result.
void multiplyUnit(const KernelTable &kernels, RowsTimesPanels part);

/// Of bytes, `c` may be null (RowsTimesPanels); their input is not dilated.
void convolvePixels(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                    const Epilogue &epilogue, const Pool &pool, const ByteSides *bytes = nullptr);
/// An image that is rounded is so on its way.
void convolveLines(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                   const Epilogue &epilogue, const Pool &pool);
/// Of images in f32.
void convolveColumns(const PackedConvolution &weights, const float *input, float *c, int64_t ldc,
                     const Epilogue &epilogue, const Pool &pool);
void convolveDepthwise(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                       const Epilogue &epilogue, const Pool &pool);

/// Weights of convolveColumns: for each tap of the kernel's depth and height, channels x (columns
/// of the kernel x output channels).
std::vector<float> weightsByColumn(const ConvolutionShape &shape, const WeightsView &weights);

/// How many places there are between the pixels of a dilated input: more than can be counted where
/// these lie far apart.
inline double phaseCount(const ConvolutionShape &shape) {
  double count = 1;
  for (int64_t dilation : shape.inputDilation)
    count *= static_cast<double>(dilation);
  return count;
}

/// What a convolution takes on one core, cautiously.
double convolutionNanoseconds(const ConvolutionShape &shape);

} // namespace cupel::kernels
