#include "cupel/kernels/ConvolutionAccess.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cupel::kernels {
namespace {

bool areFinite(const ConvolutionShape &shape, const WeightsView &weights) {
  if (shape.hasIntegers || shape.hasBytes)
    return true;
  auto isFinite = [&](float value) {
    auto bits = std::bit_cast<uint32_t>(value);
    auto isHalfFinite = [](uint32_t half) { return (half & 0x7f80) != 0x7f80; };
    return shape.hasPairs ? isHalfFinite(bits) && isHalfFinite(bits >> 16) : std::isfinite(value);
  };
  int64_t inputs = shape.inputChannels / shape.groups;
  Spatial at = {};
  for (int64_t tap = 0; tap < product(shape.kernel); ++tap) {
    const float *data = weights.data;
    for (int d = 0; d < 3; ++d)
      data += at[d] * weights.strides[d];
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t o = 0; o < shape.outputChannels; ++o)
        if (!isFinite(data[i * weights.inputStride + o * weights.outputStride]))
          return false;
    for (int d = 2; d >= 0 && ++at[d] == shape.kernel[d]; --d)
      at[d] = 0;
  }
  return true;
}

const float *tapOf(const ConvolutionShape &shape, const WeightsView &weights, int64_t tap) {
  const float *data = weights.data;
  for (int d = 2; d >= 0; --d) {
    data += tap % shape.kernel[d] * weights.strides[d];
    tap /= shape.kernel[d];
  }
  return data;
}

/// [tap][channel]
void packDepthwise(const ConvolutionShape &shape, const WeightsView &weights, float *to) {
  for (int64_t tap = 0; tap < product(shape.kernel); ++tap) {
    const float *from = tapOf(shape, weights, tap);
    for (int64_t o = 0; o < shape.outputChannels; ++o)
      to[tap * shape.outputChannels + o] = from[o * weights.outputStride];
  }
}

/// [vector of channels][tap][input channel of a group][lane]; lanes behind the last channel are zero.
void packGroups(const ConvolutionShape &shape, const WeightsView &weights, int64_t width,
                float *to) {
  int64_t inputs = shape.inputChannels / shape.groups;
  for (int64_t first = 0; first < shape.outputChannels; first += width)
    for (int64_t tap = 0; tap < product(shape.kernel); ++tap)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t lane = 0; lane < width; ++lane)
          *to++ = first + lane < shape.outputChannels
                      ? tapOf(shape, weights, tap)[i * weights.inputStride + (first + lane) * weights.outputStride]
                      : 0.0f;
}

/// Whether the output channels are one vector at most, and those of all columns of the kernel are several: vectors of a few channels would be mostly
/// empty, and where one is full a number of the image would be read for each multiplication.
bool hasFewResults(const ConvolutionShape &shape, const KernelTable &kernels) {
  constexpr int64_t kMostColumns = 64, kFewestSteps = 32;
  const int64_t kFewResults = std::max(8, kernels.width);
  return shape.groups == 1 && !shape.hasPairs && shape.outputChannels > 0 &&
         shape.outputChannels <= kFewResults && shape.kernel[2] > 2 &&
         shape.outputChannels * shape.kernel[2] <= kMostColumns && shape.strides[2] == 1 &&
         shape.inputDilation == Spatial{1, 1, 1} &&
         shape.kernel[0] * shape.kernel[1] * shape.inputChannels >= kFewestSteps &&
         (shape.kernel[2] - 1) * shape.kernelDilation[2] <=
             shape.output()[2]; // Else most of what is multiplied lies beside the result.
}

} // namespace

GroupedFunction groupedFunction(const ConvolutionShape &shape, const KernelTable &kernels) {
  int64_t size = shape.groups > 0 ? shape.outputChannels / shape.groups : 0, perStep = shape.hasPairs ? 2 : 1;
  if (shape.groups <= 1 || shape.hasIntegers || shape.hasBytes || shape.inputChannels * perStep != shape.outputChannels || size > kernels.width || size < 2 ||
      !std::has_single_bit(static_cast<uint64_t>(size)) || shape.inputDilation != Spatial{1, 1, 1})
    return nullptr;
  return kernels.grouped[shape.hasPairs][std::countr_zero(static_cast<uint64_t>(size))];
}

Spatial ConvolutionShape::output() const {
  Spatial sizes;
  for (int d = 0; d < 3; ++d) {
    int64_t dilated = input[d] == 0 ? 0 : (input[d] - 1) * inputDilation[d] + 1;
    int64_t padded = dilated + paddingLow[d] + paddingHigh[d];
    int64_t covered = kernel[d] == 0 ? 0 : (kernel[d] - 1) * kernelDilation[d] + 1;
    sizes[d] = padded < covered || padded < 0 ? 0 : (padded - covered) / strides[d] + 1;
  }
  return sizes;
}

int64_t ConvolutionShape::rows() const { return batch * product(output()); }

double convolutionNanoseconds(const ConvolutionShape &shape) {
  return static_cast<double>(shape.rows() * shape.outputChannels) *
         static_cast<double>(product(shape.kernel) * shape.inputChannels / shape.groups) /
         (30 * phaseCount(shape)); // Most taps lie between pixels.
}

ConvolutionMethod ConvolutionAccess::method(const ConvolutionShape &shape,
                                            const KernelTable &kernels) {
  constexpr int64_t kFewChannels = 12;
  if (shape.hasIntegers || shape.hasBytes)
    return ConvolutionMethod::Pixels;
  int64_t fewChannels = shape.hasPairs ? kFewChannels / 2 : kFewChannels;
  if (!shape.hasPairs && shape.groups > 1 && shape.groups == shape.inputChannels &&
      shape.outputChannels % shape.groups == 0)
    return ConvolutionMethod::Depthwise;
  if (groupedFunction(shape, kernels))
    return ConvolutionMethod::Groups;
  if (shape.groups == 1 && shape.inputChannels <= fewChannels && shape.kernel[2] > 1 &&
      shape.kernelDilation[2] == 1 && shape.inputDilation == Spatial{1, 1, 1})
    return ConvolutionMethod::Lines;
  if (hasFewResults(shape, kernels))
    return ConvolutionMethod::Columns;
  return ConvolutionMethod::Pixels;
}

PackedConvolution ConvolutionAccess::make(const ConvolutionShape &shape, bool isFinite) {
  PackedConvolution packed;
  packed.of = shape;
  packed.isFinite = isFinite;
  packed.kernels = &currentKernels();
  int64_t taps = product(shape.kernel), depth = taps * (shape.inputChannels / shape.groups);
  int64_t count = depth * shape.outputChannels;
  ConvolutionMethod how = method(shape, *packed.kernels);
  if (how != ConvolutionMethod::Groups && how != ConvolutionMethod::Depthwise) {
    PanelCut cut = cutIntoPanels(*packed.kernels, packedColumns(shape, how), shape.hasPairs && packed.kernels->blocks);
    packed.panels = cut.count;
    if (how == ConvolutionMethod::Columns)
      depth /= shape.kernel[2];
    count = cut.size(depth) * shape.groups;
  } else if (how == ConvolutionMethod::Groups) {
    const int64_t width = packed.kernels->width;
    count = depth * ((shape.outputChannels + width - 1) / width * width);
  }
  packed.size = count * static_cast<int64_t>(sizeof(float));
  packed.data = allocateFloats(count);
  return packed;
}

PackedConvolution packConvolution(const ConvolutionShape &shape, WeightsView weights,
                                  const Pool &pool) {
  PackedConvolution packed = ConvolutionAccess::make(shape, areFinite(shape, weights));
  float *data = ConvolutionAccess::writable(packed);
  if (ConvolutionAccess::method(packed) == ConvolutionMethod::Depthwise) {
    packDepthwise(shape, weights, data);
    return packed;
  }
  if (ConvolutionAccess::method(packed) == ConvolutionMethod::Groups) {
    packGroups(shape, weights, ConvolutionAccess::kernels(packed).width, data);
    return packed;
  }
  const KernelTable &kernels = ConvolutionAccess::kernels(packed);
  PanelCut cut = ConvolutionAccess::cut(packed);
  if (ConvolutionAccess::method(packed) == ConvolutionMethod::Columns) {
    std::vector<float> dense = weightsByColumn(shape, weights);
    int64_t depth = shape.kernel[0] * shape.kernel[1] * shape.inputChannels;
    for (int64_t panel = 0; panel < cut.count; ++panel)
      kernels.packPanel(dense.data() + cut.columnOf(panel), cut.columns, 1, depth,
                        cut.columnsOf(panel), cut.widthOf(panel),
                        data + cut.columnOf(panel) * depth);
    return packed;
  }
  // A tap's weights are a matrix; a panel holds the matrices of all taps one below the other.
  int64_t taps = product(shape.kernel), inputs = shape.inputChannels / shape.groups;
  int64_t depth = taps * inputs;
  double nanoseconds = static_cast<double>(cut.size(depth)) / 4;
  int64_t units = cut.count * shape.groups;
  pool.parallelFor(units, nanoseconds / static_cast<double>(std::max<int64_t>(1, cut.count)),
                   [&](int64_t unit) {
                     int64_t group = unit / cut.count, panel = unit % cut.count;
                     int64_t column = cut.columnOf(panel), width = cut.widthOf(panel);
                     int64_t first = group * cut.columns + column;
                     float *to = data + group * cut.size(depth) + column * depth;
                     for (int64_t tap = 0; tap < taps; ++tap)
                       kernels.packPanel(tapOf(shape, weights, tap) + first * weights.outputStride,
                                         weights.inputStride, weights.outputStride, inputs,
                                         cut.columnsOf(panel), width, to + tap * inputs * width);
                   });
  return packed;
}

bool endsEachSumOnce(const PackedConvolution &weights) {
  return ConvolutionAccess::method(weights) == ConvolutionMethod::Pixels;
}

static void convolve(const PackedConvolution &weights, Image image, float *c, int64_t ldc,
                     const Epilogue &epilogue, const Pool &pool) {
  if (weights.shape().rows() == 0 || weights.shape().outputChannels == 0)
    return;
  ScratchFrame frame;
  ConvolutionMethod method = ConvolutionAccess::method(weights);
  bool roundsOnItsWay = method == ConvolutionMethod::Depthwise || method == ConvolutionMethod::Lines;
  if (ConvolutionAccess::roundedChannels(weights) && !weights.shape().hasPairs && !roundsOnItsWay)
    image = {roundedImage(weights, image, frame, pool)};
  switch (method) {
  case ConvolutionMethod::Groups:
  case ConvolutionMethod::Pixels:
    return convolvePixels(weights, image, c, ldc, epilogue, pool);
  case ConvolutionMethod::Lines:
    return convolveLines(weights, image, c, ldc, epilogue, pool);
  case ConvolutionMethod::Columns:
    return convolveColumns(weights, image.wide, c, ldc, epilogue, pool);
  case ConvolutionMethod::Depthwise:
    return convolveDepthwise(weights, image, c, ldc, epilogue, pool);
  }
}

void convolve(const PackedConvolution &weights, const float *input, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool) {
  convolve(weights, Image{input, nullptr}, c, ldc, epilogue, pool);
}

void convolve(const PackedConvolution &weights, const uint16_t *input, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool) {
  convolve(weights, Image{nullptr, input}, c, ldc, epilogue, pool);
}

} // namespace cupel::kernels
