// What tests of products and convolutions of integers share: how operands lie, and the sums written out. For tests only.

#pragma once

#include "cupel/kernels/ConvolutionAccess.h"

#include <array>
#include <vector>

namespace cupel::kernels {

inline std::vector<int64_t> spaced(int64_t count, int64_t step) {
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    offsets[static_cast<size_t>(i)] = i * step;
  return offsets;
}

/// Where the elements of a product's sides lie; `turned`: each side is the transpose of what lies there.
struct ProductPlaces {
  ProductPlaces(int64_t m, int64_t n, int64_t k, bool turned)
      : aRows(spaced(m, turned ? 1 : k)), aColumns(spaced(k, turned ? m : 1)), bRows(spaced(k, turned ? 1 : n)),
        bColumns(spaced(n, turned ? k : 1)) {}

  /// The sums, row by row; `left` and `right` give the element at an offset, as a number modulo 2^32.
  template <typename Left, typename Right> std::vector<uint32_t> sums(Left &&left, Right &&right) const {
    std::vector<uint32_t> all;
    for (int64_t row : aRows)
      for (int64_t column : bColumns) {
        uint32_t sum = 0;
        for (size_t p = 0; p < aColumns.size(); ++p)
          sum += left(row + aColumns[p]) * right(bRows[p] + column);
        all.push_back(sum);
      }
    return all;
  }

  std::vector<int64_t> aRows, aColumns, bRows, bColumns;
};

/// Where the elements of a convolution's sides lie: images with channels inmost or first, weights by output, input and space, as
/// ONNX has them.
struct ConvolutionPlaces {
  ConvolutionPlaces(const ConvolutionShape &shape, bool channelsFirst) : shape(shape) {
    int64_t pixels = shape.input[0] * shape.input[1] * shape.input[2], channels = shape.inputChannels;
    taps = shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
    inputs = channels / shape.groups;
    int64_t pixel = channelsFirst ? 1 : channels;
    image = {pixels * channels, shape.input[1] * shape.input[2] * pixel, shape.input[2] * pixel, pixel, channelsFirst ? pixels : 1};
    weights = {shape.kernel[1] * shape.kernel[2], shape.kernel[2], 1, taps, taps * inputs};
  }

  int64_t imageSize() const { return shape.batch * image[0]; }
  int64_t weightCount() const { return taps * inputs * shape.outputChannels; }

  /// The sums, row by row; what lies outside of images adds nothing.
  template <typename Left, typename Right> std::vector<uint32_t> sums(Left &&left, Right &&right) const {
    std::vector<uint32_t> all;
    Spatial out = shape.output();
    for (int64_t row = 0; row < shape.rows(); ++row) {
      Pixel at = pixelOf(out, row);
      for (int64_t o = 0; o < shape.outputChannels; ++o) {
        uint32_t sum = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
          Spatial of = pixelOf(shape.kernel, tap).at;
          int64_t from = at.image * image[0], with = o * weights[4];
          bool isInside = true;
          for (int d = 0; d < 3; ++d) {
            int64_t place = inputPosition(shape, d, at.at[d], of[d]);
            isInside = isInside && place >= 0;
            from += place * image[static_cast<size_t>(d + 1)];
            with += of[d] * weights[static_cast<size_t>(d)];
          }
          if (!isInside)
            continue;
          int64_t group = o / (shape.outputChannels / shape.groups);
          for (int64_t i = 0; i < inputs; ++i)
            sum += left(from + (group * inputs + i) * image[4]) * right(with + i * weights[3]);
        }
        all.push_back(sum);
      }
    }
    return all;
  }

  const ConvolutionShape &shape;
  int64_t taps, inputs;
  std::array<int64_t, 5> image, weights; // Strides.
};

} // namespace cupel::kernels
