#include "cupel/kernels/Pooling.h"

#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cupel::kernels {
namespace {

/// Where windows lie is where kernels of convolutions lie.
ConvolutionShape geometryOf(const PoolingShape &shape) {
  ConvolutionShape same;
  same.batch = shape.batch;
  same.inputChannels = same.outputChannels = shape.channels;
  same.input = shape.input;
  same.kernel = shape.window;
  same.strides = shape.strides;
  same.paddingLow = shape.paddingLow;
  same.paddingHigh = shape.paddingHigh;
  same.kernelDilation = shape.windowDilation;
  return same;
}

/// The part of a window that lies inside along one dimension: taps [begin, end).
struct Inside {
  int64_t first; // Where tap 0 lies.
  int64_t begin, end;
};

Inside findInside(const PoolingShape &shape, int d, int64_t position) {
  int64_t first = position * shape.strides[d] - shape.paddingLow[d], step = shape.windowDilation[d];
  // Divisions take longer than a line of windows.
  auto taps = [step](int64_t places) { return places <= 0 ? 0 : step == 1 ? places : (places + step - 1) / step; };
  int64_t begin = taps(-first), end = taps(shape.input[d] - first);
  begin = std::min(begin, shape.window[d]);
  return {first, begin, std::clamp(end, begin, shape.window[d])};
}

} // namespace

Spatial PoolingShape::output() const { return geometryOf(*this).output(); }

int64_t PoolingShape::rows() const { return geometryOf(*this).rows(); }

/// Calls `fold(row, inputs, count)` for every window, with where the pixels that it covers begin; behind the windows of a line
/// `finish(first row, rows)`.
template <typename Element, typename Fold, typename Finish>
static void forEachWindow(const PoolingShape &shape, const Element *input, double nanosecondsPerElement, const Pool &pool, Fold fold,
                          Finish finish) {
  int64_t rows = shape.rows(), channels = shape.channels;
  if (rows == 0 || channels == 0)
    return;
  Spatial output = shape.output();
  int64_t taps = shape.window[0] * shape.window[1] * shape.window[2];
  int64_t width = output[2], lines = rows / width;
  double nanoseconds = static_cast<double>(width * channels) * static_cast<double>(taps) * nanosecondsPerElement + 100;
  pool.parallelFor(lines, nanoseconds, [&](int64_t line) {
    ScratchFrame frame;
    auto **inputs = frame.take<const Element *>(taps);
    Pixel pixel = pixelOf(output, line * width);
    Inside z = findInside(shape, 0, pixel.at[0]), y = findInside(shape, 1, pixel.at[1]);
    for (int64_t column = 0; column < width; ++column) {
      Inside x = findInside(shape, 2, column);
      int64_t count = 0;
      for (int64_t kz = z.begin; kz < z.end; ++kz)
        for (int64_t ky = y.begin; ky < y.end; ++ky) {
          int64_t fromZ = z.first + kz * shape.windowDilation[0];
          int64_t fromY = y.first + ky * shape.windowDilation[1];
          int64_t place = ((pixel.image * shape.input[0] + fromZ) * shape.input[1] + fromY) *
                              shape.input[2] + x.first;
          for (int64_t kx = x.begin; kx < x.end; ++kx)
            inputs[count++] = input + (place + kx * shape.windowDilation[2]) * channels;
        }
      fold(line * width + column, inputs, count);
    }
    finish(line * width, width);
  });
}

void computeWindows(const PoolingShape &shape, PoolingKind kind, float initial, const float *input,
                    float *c, int64_t ldc, const Epilogue &epilogue, const Pool &pool) {
  auto fold = currentKernels().foldRows[static_cast<int>(kind)];
  forEachWindow(
      shape, input, 1.0 / 8, pool,
      [&](int64_t row, const float *const *inputs, int64_t count) {
        fold({inputs, count, shape.channels, initial, c + row * ldc, epilogue.bias});
      },
      [&](int64_t first, int64_t rows) {
        epilogue.complete(currentKernels(), false, c + first * ldc, ldc, first, rows, 0, shape.channels);
      });
}

/// Where a window covers nothing, what is there is `least`.
template <typename Element, typename Rows>
static void findGreatest(const PoolingShape &shape, const Element *input, Element *c, Element least, void (*fold)(const Rows &), const Pool &pool) {
  forEachWindow(
      shape, input, sizeof(Element) / 32.0, pool,
      [&](int64_t row, const Element *const *inputs, int64_t count) {
        Element *to = c + row * shape.channels;
        if (count > 0)
          fold({inputs, count, shape.channels, to});
        else
          std::fill_n(to, shape.channels, least);
      },
      [](int64_t, int64_t) {});
}

void computeByteWindows(const PoolingShape &shape, bool isSigned, const uint8_t *input, uint8_t *c, const Pool &pool) {
  findGreatest(shape, input, c, isSigned ? uint8_t{0x80} : uint8_t{0}, currentKernels().greatestBytes[isSigned], pool);
}

void computeHalfWindows(const PoolingShape &shape, const uint16_t *input, uint16_t *c, const Pool &pool) {
  constexpr uint16_t kMinusInfinity = 0xff80;
  findGreatest(shape, input, c, kMinusInfinity, currentKernels().greatestHalves, pool);
}

/// What computes windows plane by plane, if these are such ones; null if not.
static void (*planesOf(const KernelTable &kernels, const PoolingShape &shape, PoolingKind kind, float initial))(const WindowPlane &) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNeutral[] = {-kInfinity, kInfinity, 0};
  const bool isFlat = shape.window[0] == 1 && shape.strides[0] == 1 && shape.paddingLow[0] == 0 && shape.paddingHigh[0] == 0;
  const bool isByOne = shape.strides[1] == 1 && shape.strides[2] == 1 && shape.windowDilation[1] == 1 && shape.windowDilation[2] == 1;
  if (!isFlat || !isByOne || shape.window[1] != shape.window[2] || initial != kNeutral[static_cast<int>(kind)] || std::signbit(initial) != (kind == PoolingKind::Max))
    return nullptr;
  return shape.window[1] == 3 ? kernels.foldPlanes[static_cast<int>(kind)][0] : shape.window[1] == 5 ? kernels.foldPlanes[static_cast<int>(kind)][1] : nullptr;
}

/// Units are some planes, or of few large ones some lines of one.
static void computePlanes(const PoolingShape &shape, void (*fold)(const WindowPlane &), float neutral, const float *input, float *c, const Pool &pool) {
  constexpr double kUnitNanoseconds = 10'000;
  constexpr int64_t kFewestLines = 16; // The lines above and below are folded as well.
  const Spatial output = shape.output();
  const int64_t planes = shape.batch * shape.channels * shape.input[0];
  const double line = 5 + static_cast<double>((output[2] + 63) / 64 * shape.window[1]) * 5;
  const double plane = line * static_cast<double>(output[1]);
  const int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(plane / kUnitNanoseconds), 1, std::max<int64_t>(1, output[1] / kFewestLines));
  const int64_t perUnit = parts > 1 ? 1 : std::max<int64_t>(1, static_cast<int64_t>(kUnitNanoseconds / plane));
  const int64_t units = (planes * parts + perUnit - 1) / perUnit;
  pool.parallelFor(units, plane * static_cast<double>(perUnit) / static_cast<double>(parts), [&](int64_t unit) {
    for (int64_t i = unit * perUnit; i < std::min(planes * parts, (unit + 1) * perUnit); ++i) {
      const int64_t at = i / parts, part = i % parts;
      const int64_t begin = output[1] * part / parts, end = output[1] * (part + 1) / parts;
      fold({input + at * shape.input[1] * shape.input[2], shape.input[1], shape.input[2], shape.paddingLow[1], shape.paddingLow[2], begin, end - begin,
            output[2], neutral, c + at * output[1] * output[2]});
    }
  });
}

void computePlanarWindows(const PoolingShape &shape, PoolingKind kind, float initial, const float *input, float *c, const Pool &pool) {
  Spatial output = shape.output();
  int64_t lines = shape.batch * shape.channels * output[0] * output[1];
  if (lines == 0 || output[2] <= 0)
    return;
  const KernelTable &kernels = currentKernels();
  if (auto *fold = planesOf(kernels, shape, kind, initial))
    return computePlanes(shape, fold, initial, input, c, pool);
  auto fold = kernels.foldLines[static_cast<int>(kind)];
  int64_t taps = shape.window[0] * shape.window[1], vector = kernels.width;
  int64_t reach = (output[2] - 1) * shape.strides[2] + (shape.window[2] - 1) * shape.windowDilation[2] + 1;
  // Vectors are computed whole: those behind the last result read numbers as well.
  int64_t columns = std::max(reach, shape.paddingLow[2] + shape.input[2]) + vector * (shape.strides[2] + 1);
  double one = 10 + static_cast<double>(shape.input[2] * taps + output[2] * shape.window[2] * 2) / 24;
  auto perPart = std::max<int64_t>(1, static_cast<int64_t>(10'000 / one));
  // What a line's own stores have not reached memory of cannot be read at another place at once: several lines go down before they go along.
  constexpr int64_t kNearest = 16'384, kMost = 16;
  int64_t together = std::clamp<int64_t>(kNearest / (columns * int64_t{sizeof(float)}), 1, std::min(kMost, perPart));
  pool.parallelFor((lines + perPart - 1) / perPart, one * static_cast<double>(perPart), [&](int64_t part) {
    ScratchFrame frame;
    auto **inputs = frame.take<const float *>(together * taps);
    auto *counts = frame.take<int64_t>(together);
    auto *scratch = frame.take<float>(together * columns);
    for (int64_t i = 0; i < together; ++i) {
      std::fill_n(scratch + i * columns, shape.paddingLow[2], initial);
      std::fill(scratch + i * columns + shape.paddingLow[2] + shape.input[2], scratch + (i + 1) * columns, initial);
    }
    int64_t line = part * perPart, end = std::min(lines, line + perPart);
    int64_t image = line / (output[0] * output[1]), atZ = line / output[1] % output[0], atY = line % output[1];
    // Short lines take no longer than what is done for each of them: planes are looked for when they change, and lines are steps.
    const int64_t width = shape.input[2], step = shape.windowDilation[1] * width, plane = shape.input[1] * width;
    Inside z = findInside(shape, 0, atZ);
    const float *planes = input + (image * shape.input[0] + z.first) * plane;
    for (; line < end; line += together) {
      int64_t many = std::min(together, end - line);
      for (int64_t i = 0; i < many; ++i) {
        Inside y = findInside(shape, 1, atY);
        const float **to = inputs + i * taps;
        for (int64_t kz = z.begin; kz < z.end; ++kz) {
          const float *from = planes + kz * shape.windowDilation[0] * plane + y.first * width;
          for (int64_t ky = y.begin; ky < y.end; ++ky)
            *to++ = from + ky * step;
        }
        counts[i] = to - (inputs + i * taps);
        if (++atY == output[1]) {
          atY = 0;
          if (++atZ == output[0]) {
            atZ = 0;
            ++image;
          }
          z = findInside(shape, 0, atZ);
          planes = input + (image * shape.input[0] + z.first) * plane;
        }
      }
      fold({many, inputs, counts, taps, shape.input[2], shape.paddingLow[2], output[2], shape.window[2], shape.strides[2], shape.windowDilation[2],
            initial, scratch, columns, c + line * output[2]});
    }
  });
}

} // namespace cupel::kernels
