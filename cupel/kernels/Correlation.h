// Sums over images and pixels of what lies under each other when one stack of images is laid over another at every
// place: the gradient of a convolution with respect to its kernel, and every convolution whose window is
// most of the image. Channels lie innermost in both, so neither is packed or turned. Used by the runtime of
// device programs. An element is one chain of multiply-adds in the order of images, lines and pixels, whatever
// the number of threads; nothing is allocated for a call beyond the scratch of the threads.

#pragma once

#include "cupel/kernels/Pool.h"

#include <array>

namespace cupel::kernels {

struct CorrelationShape {
  using Sizes = std::array<int64_t, 2>; // Height, width.

  int64_t images = 1;
  int64_t rows = 1, columns = 1; // Channels of the image and of the window.
  Sizes input = {1, 1}, window = {1, 1};
  Sizes strides = {1, 1};                    // Between places of the window.
  Sizes paddingLow = {}, paddingHigh = {};   // Of the image with zeros; may be negative.
  Sizes dilations = {1, 1};                  // Between pixels of the window.

  /// Places of the window, never negative.
  Sizes output() const;
};

/// c[y, x, row, column] is the sum over n, v and u of image[n, y * strides + v * dilations - padding, ..., row] *
/// window[n, v, u, column]. All are dense, and the result overlaps neither of the others. What lies outside
/// the image is multiplied as zero.
void correlate(const CorrelationShape &shape, const float *image, const float *window, float *c,
               const Pool &pool);

} // namespace cupel::kernels
