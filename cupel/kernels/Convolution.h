// Convolutions in f32 over tensors whose channels lie innermost (NDHWC; NHWC and NWC are shapes with
// leading sizes of one): strided, dilated, padded, grouped, depthwise and transposed (a dilated
// input), with weights that are packed once. Used by the runtime of device programs. Results do not
// depend on the number of threads or on how the work is cut, nothing is allocated for a call beyond
// the scratch of the threads, and the input is never copied as a whole: rows of the product are
// pointers to pixels.

#pragma once

#include "cupel/kernels/Product.h"

#include <array>

namespace cupel::kernels {

/// Depth, height, width.
using Spatial = std::array<int64_t, 3>;

struct ConvolutionShape {
  int64_t batch = 1;
  int64_t inputChannels = 1, outputChannels = 1;
  Spatial input = {1, 1, 1};
  Spatial kernel = {1, 1, 1};
  Spatial strides = {1, 1, 1};
  Spatial paddingLow = {}, paddingHigh = {}; // May be negative.
  Spatial inputDilation = {1, 1, 1};         // More than one: a transposed convolution.
  Spatial kernelDilation = {1, 1, 1};
  int64_t groups = 1;
  /// Channels of images are pairs of 16-bit integers, results are 32-bit ones (Integers.h).
  bool hasIntegers = false;
  /// Channels of images are four bytes (Bytes.h), results are 32-bit integers.
  bool hasBytes = false;
  /// The same of numbers in bf16, results are f32.
  bool hasPairs = false;

  /// Never negative.
  Spatial output() const;
  /// Rows of the result: pixels of all images.
  int64_t rows() const;
};

/// Element (z, y, x, i, o): input channel i of a group, output channel o of all. Negative strides
/// turn the kernel around.
struct WeightsView {
  const float *data;
  Spatial strides;
  int64_t inputStride, outputStride;
  const uint16_t *narrow = nullptr; // In bf16, instead of `data`: for convolutions that round.
};

class PackedConvolution {
public:
  PackedConvolution() = default;
  const ConvolutionShape &shape() const { return of; }
  int64_t bytes() const { return size; }
  /// As they lie: the weights in another order, with zeros between them.
  const float *elements() const { return data.get(); }

private:
  friend class ConvolutionAccess;
  ConvolutionShape of;
  int64_t size = 0;
  int64_t panels = 0;    // Of a group.
  int64_t roundedChannels = 0; // Of an image that is rounded to bf16 on its way; 0: it is taken as it is.
  bool isFinite = false; // Then zeros of padding need not be multiplied.
  const KernelTable *kernels = nullptr;
  std::shared_ptr<float[]> data;
};

PackedConvolution packConvolution(const ConvolutionShape &shape, WeightsView weights,
                                  const Pool &pool);

/// In bf16 with f32 sums, as products in bf16 (Product.h): weights in f32 are rounded here, images in f32 on their way,
/// in pairs where the processor multiplies these and the shape lets it.
PackedConvolution packRoundedConvolution(const ConvolutionShape &shape, WeightsView weights,
                                         const Pool &pool);

/// Whether an epilogue sees each element once, so that its result in bf16 may lie where a residual does. Other kernels compute some
/// pixels or channels twice rather than one by one.
bool endsEachSumOnce(const PackedConvolution &weights);

/// `input` is dense, the result has `ldc` elements between pixels; they do not overlap. The epilogue's
/// rows are the result's pixels, its columns the output channels. Without `c` only the epilogue sees the result.
void convolve(const PackedConvolution &weights, const float *input, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool);

/// The same of an image in bf16, for weights of packRoundedConvolution.
void convolve(const PackedConvolution &weights, const uint16_t *input, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool);

} // namespace cupel::kernels
