#include "cupel/kernels/Convolution.h"

#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/FinishTesting.h"
#include "cupel/kernels/IsaTesting.h"
#include "cupel/kernels/TestBuffers.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace cupel::kernels {
namespace {

int64_t product(const Spatial &sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Weights as [z, y, x, i, o], dense.
WeightsView dense(const ConvolutionShape &shape, const float *data) {
  int64_t inputs = shape.inputChannels / shape.groups, o = shape.outputChannels;
  return {data,
          {shape.kernel[1] * shape.kernel[2] * inputs * o, shape.kernel[2] * inputs * o, inputs * o},
          o,
          1};
}

struct Exact {
  double value = 0, magnitude = 0;
};

/// The definition, with every zero of the padded and dilated input multiplied.
Exact exactAt(const ConvolutionShape &shape, const float *input, const WeightsView &weights,
              int64_t image, const Spatial &at, int64_t channel) {
  Exact sum;
  int64_t inputs = shape.inputChannels / shape.groups;
  int64_t group = channel / (shape.outputChannels / shape.groups);
  for (int64_t tap = 0; tap < product(shape.kernel); ++tap) {
    Spatial k = {tap / (shape.kernel[1] * shape.kernel[2]),
                 tap / shape.kernel[2] % shape.kernel[1], tap % shape.kernel[2]};
    bool isInside = true;
    int64_t place = image, weight = 0;
    for (int d = 0; d < 3; ++d) {
      int64_t p = at[d] * shape.strides[d] + k[d] * shape.kernelDilation[d] - shape.paddingLow[d];
      isInside = isInside && p >= 0 && p % shape.inputDilation[d] == 0 &&
                 p / shape.inputDilation[d] < shape.input[d];
      place = place * shape.input[d] + p / shape.inputDilation[d];
      weight += k[d] * weights.strides[d];
    }
    for (int64_t i = 0; i < inputs; ++i) {
      double x = isInside ? input[place * shape.inputChannels + group * inputs + i] : 0;
      double term =
          x * weights.data[weight + i * weights.inputStride + channel * weights.outputStride];
      sum.value += term;
      sum.magnitude += std::abs(term);
    }
  }
  return sum;
}

void checkAgainst(const ConvolutionShape &shape, const float *input, const WeightsView &weights,
                  const float *bias, const float *c, int64_t ldc, double factor) {
  Spatial output = shape.output();
  int64_t depth = product(shape.kernel) * shape.inputChannels / shape.groups;
  for (int64_t row = 0; row < shape.rows(); ++row) {
    Spatial at = {row / (output[1] * output[2]) % output[0], row / output[2] % output[1],
                  row % output[2]};
    for (int64_t o = 0; o < shape.outputChannels; ++o) {
      Exact exact = exactAt(shape, input, weights, row / product(output), at, o);
      double expected = factor * (exact.value + (bias ? bias[o] : 0));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(c[row * ldc + o])) << "pixel " << row << ", channel " << o;
        continue;
      }
      double bound = factor * (static_cast<double>(depth) + 4) * std::ldexp(1.0, -23) *
                         (exact.magnitude + 1e-3) + 1e-5;
      ASSERT_NEAR(c[row * ldc + o], expected, bound) << "pixel " << row << ", channel " << o;
    }
  }
}

std::string describe(const ConvolutionShape &s) {
  std::string text;
  auto add = [&](const char *name, const Spatial &v) {
    text += std::string(" ") + name + " " + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," +
            std::to_string(v[2]);
  };
  text = "batch " + std::to_string(s.batch) + " channels " + std::to_string(s.inputChannels) + "-" +
         std::to_string(s.outputChannels) + " groups " + std::to_string(s.groups);
  add("input", s.input), add("kernel", s.kernel), add("strides", s.strides);
  add("low", s.paddingLow), add("high", s.paddingHigh), add("dilations", s.inputDilation);
  add("and", s.kernelDilation);
  return text;
}

/// Doubles what it is given, and counts.
void finish(void *const *operands, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column,
            int64_t columns) {
  auto &times = *static_cast<std::vector<std::atomic<int>> *>(operands[0]);
  int64_t channels = *static_cast<int64_t *>(operands[1]);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      c[i * ldc + j] *= 2;
      ++times[static_cast<size_t>((row + i) * channels + column + j)];
    }
}

/// To the nearest number of bf16, ties to even.
float rounded(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? value : std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

/// Takes blocks of a result that nobody keeps to where it is wanted, with the number of its columns.
void carryOff(void *const *operands, float *c, int64_t ldc, int64_t row, int64_t rows, int64_t column,
              int64_t columns) {
  auto *result = static_cast<float *>(operands[0]);
  int64_t width = *static_cast<const int64_t *>(operands[1]);
  for (int64_t i = 0; i < rows; ++i)
    std::copy_n(c + i * ldc, columns, result + (row + i) * width + column);
}

/// Blocks that the epilogue alone sees have the bits of those that are kept.
template <typename T>
void checkCarriedOff(const PackedConvolution &packed, const T *input, const float *bias, const float *expected,
                     const Pool &pool) {
  int64_t count = packed.shape().rows() * packed.shape().outputChannels;
  int64_t columns = packed.shape().outputChannels;
  std::vector<float> carried(static_cast<size_t>(count), -777.0f);
  void *operands[] = {carried.data(), &columns};
  convolve(packed, input, nullptr, columns, {bias, carryOff, operands}, pool);
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(carried[static_cast<size_t>(i)], expected[i]) << i << " is carried off";
}

/// What is done in registers has the bits of the same done to what is kept, on any number of threads.
void checkFinished(const PackedConvolution &packed, const float *input, const float *bias, GuardedFloats &kept) {
  int64_t rows = packed.shape().rows(), columns = packed.shape().outputChannels;
  FinishOperands operands(rows, columns);
  GuardedFloats c(rows * columns);
  for (auto [which, threads] : {std::pair{47, 1},
                                {8, 2},
                                {43, 3},
                                {12, 7},
                                {50, 2},
                                {65, 2},
                                {107, 1},
                                {128, 3},
                                {168, 2},
                                {200, 3},
                                {236, 7},
                                {264, 2},
                                {488, 3},
                                {577, 2},
                                {712, 3},
                                {744, 1},
                                {968, 2},
                                {1024, 1},
                                {1024 + 47, 3},
                                {1024 + 128 + 64 + 256 + 512, 2}}) {
    Finish finish = operands.make(which);
    Epilogue epilogue{bias};
    epilogue.finish = &finish;
    convolve(packed, input, finish.narrow ? nullptr : c.data(), columns, epilogue, Pool(threads, Pool::Sharing::Always));
    for (int64_t i = 0; i < c.length(); ++i) {
      float expected = finishedElement(finish, kept[i], i / columns, i % columns);
      if (finish.narrow)
        ASSERT_EQ(operands.narrow[static_cast<size_t>(i)], narrowedElement(finish, expected)) << i << ", steps " << which << " on " << threads << " threads";
      else
        ASSERT_EQ(std::bit_cast<uint32_t>(c[i]), std::bit_cast<uint32_t>(expected))
            << i << ", steps " << which << " on " << threads << " threads";
    }
  }
}

/// The numbers of bf16 that floats are.
std::vector<uint16_t> halvesOf(GuardedFloats &numbers) {
  std::vector<uint16_t> halves;
  for (int64_t i = 0; i < numbers.length(); ++i)
    halves.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(numbers[i]) >> 16));
  return halves;
}

/// What is computed in bf16 is the convolution of rounded numbers, whether these were f32 or bf16.
void checkRounded(const ConvolutionShape &shape, GuardedFloats &input, GuardedFloats &weights,
                  const float *bias, const Pool &pool) {
  SCOPED_TRACE("in bf16");
  GuardedFloats c(shape.rows() * shape.outputChannels);
  WeightsView view = dense(shape, weights.data());
  PackedConvolution packed = packRoundedConvolution(shape, view, pool);
  convolve(packed, input.data(), c.data(), shape.outputChannels, {bias}, pool);
  for (GuardedFloats *numbers : {&input, &weights})
    for (int64_t i = 0; i < numbers->length(); ++i)
      (*numbers)[i] = rounded((*numbers)[i]);
  checkAgainst(shape, input.data(), view, bias, c.data(), shape.outputChannels, 1);
  checkCarriedOff(packed, input.data(), bias, c.data(), pool);
  std::vector<uint16_t> image = halvesOf(input), kernel = halvesOf(weights);
  view.data = nullptr;
  view.narrow = kernel.data();
  checkCarriedOff(packRoundedConvolution(shape, view, pool), image.data(), bias, c.data(), pool);
}

void check(ConvolutionShape shape, int threads = 1) {
  SCOPED_TRACE(describe(shape));
  int64_t inputs = shape.inputChannels / shape.groups;
  GuardedFloats input(shape.batch * product(shape.input) * shape.inputChannels);
  GuardedFloats weights(product(shape.kernel) * inputs * shape.outputChannels);
  GuardedFloats bias(shape.outputChannels);
  int64_t ldc = shape.outputChannels + 2, rows = shape.rows();
  GuardedFloats c(rows ? (rows - 1) * ldc + shape.outputChannels : 0);
  input.fill(1), weights.fill(2), bias.fill(3), c.fillWith(777);
  Pool pool(threads);
  WeightsView view = dense(shape, weights.data());
  std::vector<std::atomic<int>> times(static_cast<size_t>(rows * shape.outputChannels));
  void *operands[] = {&times, &shape.outputChannels};
  PackedConvolution packed = packConvolution(shape, view, pool);
  convolve(packed, input.data(), c.data(), ldc, {bias.data(), finish, operands}, pool);
  checkAgainst(shape, input.data(), view, bias.data(), c.data(), ldc, 2);
  for (auto &count : times)
    ASSERT_EQ(count, 1);
  for (int64_t row = 0; row + 1 < rows; ++row)
    ASSERT_EQ(c[row * ldc + ldc - 1], 777) << "between pixels";
  GuardedFloats plain(rows * shape.outputChannels);
  convolve(packed, input.data(), plain.data(), shape.outputChannels, {bias.data()}, pool);
  checkCarriedOff(packed, input.data(), bias.data(), plain.data(), pool);
  checkFinished(packed, input.data(), bias.data(), plain);
  checkRounded(shape, input, weights, bias.data(), pool);
}

using PackFunction = PackedConvolution (*)(const ConvolutionShape &, WeightsView, const Pool &);
constexpr PackFunction kPackFunctions[] = {packConvolution, packRoundedConvolution};

class ConvolutionTest : public OnEveryIsa {};
INSTANTIATE_TEST_SUITE_P(, ConvolutionTest, everyIsa(), nameOfIsa);

ConvolutionShape plain(int64_t inputs, int64_t outputs, int64_t size, int64_t kernel) {
  ConvolutionShape shape;
  shape.inputChannels = inputs, shape.outputChannels = outputs;
  shape.input = {1, size, size};
  shape.kernel = {1, kernel, kernel};
  shape.paddingLow = shape.paddingHigh = {0, (kernel - 1) / 2, (kernel - 1) / 2};
  return shape;
}

TEST_P(ConvolutionTest, UsualKernels) {
  for (int64_t kernel : {1, 2, 3, 5})
    for (int64_t stride : {1, 2, 3})
      for (auto [inputs, outputs] : {std::pair<int64_t, int64_t>{1, 1}, {3, 17}, {16, 48}, {20, 7}}) {
        ConvolutionShape shape = plain(inputs, outputs, 9, kernel);
        shape.strides = {1, stride, stride};
        check(shape);
      }
}

TEST_P(ConvolutionTest, FirstLayers) {
  for (int64_t channels : {1, 3, 4}) {
    ConvolutionShape shape = plain(channels, 64, 21, 7);
    shape.batch = 2;
    shape.strides = {1, 2, 2};
    check(shape, 2);
    shape.paddingLow = {0, 3, -1};
    shape.paddingHigh = {0, 0, 4};
    check(shape);
    shape.paddingLow = {0, -2, -3};
    shape.paddingHigh = {0, 5, -2};
    check(shape);
  }
}

TEST_P(ConvolutionTest, LastLayers) {
  for (int64_t channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16})
    for (int64_t kernel : {3, 7}) {
      ConvolutionShape shape = plain(24, channels, 23, kernel);
      shape.batch = 2;
      check(shape, 2);
      shape.strides = {1, 2, 1};
      shape.kernelDilation = {1, 1, 2};
      check(shape);
    }
  ConvolutionShape volume = plain(16, 3, 6, 3);
  volume.input = {4, 5, 6};
  volume.kernel = {3, 1, 5};
  volume.paddingLow = volume.paddingHigh = {1, 0, 1};
  check(volume, 2);
  // Lines of sound, with taps far apart too.
  for (int64_t dilation : {1, 300}) {
    ConvolutionShape sound = plain(32, 1, 1, 7);
    sound.input = {1, 1, 2500};
    sound.kernel = {1, 1, 7};
    sound.kernelDilation = {1, 1, dilation};
    sound.paddingLow = {0, 0, 3 * dilation}, sound.paddingHigh = {0, 0, 3 * dilation - 1};
    check(sound, 2);
  }
}

/// As many channels as a vector has, or eight: each number of the image is multiplied by several vectors, those of the kernel's columns.
TEST_P(ConvolutionTest, OneVectorOfChannelsIsComputedByColumns) {
  const KernelTable &kernels = currentKernels();
  for (int64_t channels : {3, 8, 12, 16, 20, 32})
    EXPECT_EQ(ConvolutionAccess::method(plain(32, channels, 23, 3), kernels) == ConvolutionMethod::Columns, channels <= std::max(8, kernels.width))
        << channels;
}

/// What a few channels of the result need beside it is bounded, wherever their taps lie.
TEST_P(ConvolutionTest, TapsOfLastLayersInPaddingFarAway) {
  ConvolutionShape shape = plain(32, 1, 5, 3);
  shape.kernelDilation = {1, 1, int64_t{1} << 36};
  shape.paddingLow = shape.paddingHigh = {0, 1, int64_t{1} << 36};
  check(shape, 2);
}

/// Sums beside the result are those of a piece of a line, however long it is, and others compute
/// the next piece meanwhile.
TEST_P(ConvolutionTest, LongLinesAreComputedInPieces) {
  ConvolutionShape sound = plain(32, 1, 1, 7);
  sound.input = {1, 1, 100000};
  sound.kernel = {1, 1, 7};
  sound.paddingLow = sound.paddingHigh = {0, 0, 3};
  GuardedFloats input(100000 * 32), weights(7 * 32), c(100000);
  input.fill(1), weights.fill(2);
  Pool pool(1);
  PackedConvolution packed = packConvolution(sound, dense(sound, weights.data()), pool);
  std::vector<int64_t> begins;
  void *operands[] = {&begins};
  auto note = [](void *const *operands, float *, int64_t, int64_t row, int64_t, int64_t, int64_t) {
    static_cast<std::vector<int64_t> *>(operands[0])->push_back(row);
  };
  convolve(packed, input.data(), c.data(), 1, {nullptr, note, operands}, pool);
  EXPECT_GT(begins.size(), 50u);
}

TEST_P(ConvolutionTest, PaddingOfAnySizeAndSign) {
  for (int64_t low : {-2, 0, 1, 4})
    for (int64_t high : {-1, 0, 3})
      for (int64_t channels : {2, 13}) {
        ConvolutionShape shape = plain(channels, 5, 6, 3);
        shape.paddingLow = {0, low, high};
        shape.paddingHigh = {0, high, low};
        check(shape);
      }
}

TEST_P(ConvolutionTest, DilatedKernels) {
  for (int64_t dilation : {2, 3})
    for (int64_t channels : {1, 3, 18}) {
      ConvolutionShape shape = plain(channels, 6, 10, 3);
      shape.kernelDilation = {1, dilation, dilation};
      shape.paddingLow = shape.paddingHigh = {0, dilation, 1};
      check(shape);
      shape.groups = channels, shape.outputChannels = 2 * channels;
      check(shape);
      shape.outputChannels = channels;
      check(shape);
    }
}

TEST_P(ConvolutionTest, Transposed) {
  for (int64_t dilation : {2, 3})
    for (int64_t kernel : {1, 2, 3, 4})
      for (int64_t low : {-1, 0, 2})
        for (int64_t stride : {1, 2}) {
          ConvolutionShape shape = plain(7, 19, 5, kernel);
          shape.inputDilation = {1, dilation, dilation};
          shape.strides = {1, stride, 1};
          shape.paddingLow = {0, low, kernel - 1};
          shape.paddingHigh = {0, 2, 1};
          check(shape, 2);
        }
  // Of volumes, and of lines shorter than the distance between pixels.
  for (int64_t kernel : {1, 2, 3}) {
    ConvolutionShape volume = plain(7, 19, 5, kernel);
    volume.input = {3, 4, 5};
    volume.kernel = {kernel, 2, kernel};
    volume.inputDilation = {2, 1, 3};
    volume.paddingLow = volume.paddingHigh = {1, 0, 2};
    check(volume, 2);
    ConvolutionShape thin = plain(7, 19, 5, kernel);
    thin.input = {1, 40, 1};
    thin.inputDilation = {1, 2, 8};
    thin.paddingLow = thin.paddingHigh = {0, 1, 2};
    check(thin, 2);
  }
  // Pixels so far apart that nobody comes to most places between them.
  ConvolutionShape sparse = plain(7, 19, 1, 3);
  sparse.input = {1, 2, 1};
  sparse.inputDilation = {1, int64_t{1} << 40, int64_t{1} << 62};
  sparse.strides = {1, int64_t{1} << 39, 1};
  check(sparse, 2);
}

TEST_P(ConvolutionTest, GroupedAndDepthwise) {
  for (int64_t kernel : {1, 3, 4, 5})
    for (int64_t stride : {1, 2, 3})
      for (auto [inputs, outputs, groups] :
           {std::array<int64_t, 3>{4, 6, 2}, {32, 32, 4}, {5, 5, 5}, {16, 16, 16}, {37, 37, 37},
            {6, 12, 6}, {24, 24, 24}, {16, 16, 8}, {32, 32, 8}, {48, 48, 3}, {32, 32, 1}, {14, 14, 7}, {36, 36, 9}, {24, 24, 3}, {40, 40, 5}}) {
        ConvolutionShape shape = plain(inputs, outputs, 11, kernel);
        shape.groups = groups;
        shape.strides = {1, stride, stride};
        check(shape, 2);
        shape.paddingLow = {0, 2, -1};
        shape.paddingHigh = {0, -2, 4};
        check(shape);
      }
  // Fewer pixels than are computed side by side, and pieces of lines of any length.
  for (int64_t width = 1; width <= 13; ++width)
    for (auto [channels, groups] : {std::pair<int64_t, int64_t>{40, 5}, {20, 10}, {48, 3}}) {
      ConvolutionShape shape = plain(channels, channels, width, 3);
      shape.groups = groups;
      shape.input[1] = 1;
      check(shape, 2);
    }
  ConvolutionShape transposed = plain(20, 20, 4, 3);
  transposed.groups = 20;
  transposed.inputDilation = {1, 2, 2};
  check(transposed);
}

/// Lines of more pixels than are computed side by side, channels of more vectors, and what is left of both.
TEST_P(ConvolutionTest, LargeDepthwiseKernels) {
  for (int64_t kernel : {4, 5, 7})
    for (int64_t channels : {3, 16, 75, 131})
      for (auto [stride, dilation] : {std::pair<int64_t, int64_t>{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
        ConvolutionShape shape = plain(channels, channels, 23, kernel);
        shape.groups = channels;
        shape.input = {1, 5, 23};
        shape.strides = {1, stride, stride};
        shape.kernelDilation = {1, 1, dilation};
        check(shape, 2);
      }
}

/// Several channels of the result are made of each of the image, in parts that begin and end between them.
TEST_P(ConvolutionTest, DepthwiseWithMoreResults) {
  for (int64_t kernel : {3, 4, 7})
    for (int64_t stride : {1, 2})
      for (auto [inputs, outputs] : {std::pair<int64_t, int64_t>{2, 4}, {35, 70}, {11, 33}, {150, 300}}) {
        ConvolutionShape shape = plain(inputs, outputs, 9, kernel);
        shape.groups = inputs;
        shape.batch = 2;
        shape.strides = {1, stride, stride};
        check(shape, 3);
      }
}

/// Transposed ones: pixels of the result meet some columns of the kernel by turns, and none where these are further apart than the kernel is wide.
TEST_P(ConvolutionTest, DepthwiseWithZerosBetweenPixels) {
  for (auto [inputs, outputs] : {std::pair<int64_t, int64_t>{5, 5}, {18, 36}})
    for (int64_t kernel : {2, 3, 5})
      for (Spatial apart : {Spatial{1, 2, 2}, {1, 1, 3}, {1, 4, 4}})
        for (int64_t low : {-2, 6}) {
          ConvolutionShape shape = plain(inputs, outputs, 5, kernel);
          shape.groups = inputs;
          shape.inputDilation = apart;
          shape.paddingLow[2] = low, shape.paddingHigh[2] = 3 - low;
          check(shape, 2);
        }
  ConvolutionShape strided = plain(20, 20, 7, 3);
  strided.groups = 20;
  strided.inputDilation = {1, 2, 2};
  strided.strides = {1, 3, 3};
  check(strided);
}

/// Lines are computed with what lies beside them, in pieces of several sizes of which the last ones
/// overlap, and channels of bf16 by places.
TEST_P(ConvolutionTest, DepthwiseLinesOfAnyLength) {
  for (int64_t width = 1; width <= 23; ++width)
    for (auto [kernel, stride, channels] :
         {std::array<int64_t, 3>{3, 1, 32}, {3, 2, 49}, {5, 1, 31}, {5, 2, 16}, {7, 1, 80}}) {
      ConvolutionShape shape = plain(channels, channels, width, kernel);
      shape.groups = channels;
      shape.input = {1, 2, width};
      shape.strides = {1, 1, stride};
      check(shape, 2);
      // Pixels of which nothing, or only a part, lies inside.
      shape.paddingLow[2] = kernel + 1, shape.paddingHigh[2] = 0;
      check(shape);
    }
}

TEST_P(ConvolutionTest, OneAndThreeDimensions) {
  ConvolutionShape line;
  line.batch = 3;
  line.inputChannels = 5, line.outputChannels = 9;
  line.input = {1, 1, 12};
  line.kernel = {1, 1, 3};
  line.paddingLow = {0, 0, 2};
  check(line);
  ConvolutionShape volume = plain(6, 10, 5, 3);
  volume.batch = 2;
  volume.input = {4, 5, 6};
  volume.kernel = {3, 2, 3};
  volume.paddingLow = {1, 0, 1};
  volume.strides = {2, 1, 1};
  check(volume);
  volume.inputChannels = 2;
  check(volume);
  volume.inputChannels = volume.outputChannels = volume.groups = 18;
  check(volume);
}

TEST_P(ConvolutionTest, EmptyAndDegenerate) {
  for (int d : {1, 2}) {
    ConvolutionShape shape = plain(3, 4, 5, 3);
    shape.input[d] = 0;
    check(shape);
    shape.paddingLow[d] = 3;
    check(shape); // Nothing but padding.
  }
  ConvolutionShape larger = plain(3, 4, 2, 5);
  larger.paddingLow = larger.paddingHigh = {};
  EXPECT_EQ(larger.rows(), 0);
  check(larger);
  ConvolutionShape noImages = plain(3, 4, 5, 3);
  noImages.batch = 0;
  check(noImages);
  ConvolutionShape noInputs = plain(0, 4, 5, 3);
  check(noInputs);
  check(plain(3, 0, 5, 3));
}

TEST_P(ConvolutionTest, KernelsTurnedAroundAndTransposedInMemory) {
  ConvolutionShape shape = plain(6, 11, 7, 3);
  // [o, i, y, x], read from its end.
  GuardedFloats input(7 * 7 * 6), weights(11 * 6 * 9), c(7 * 7 * 11);
  input.fill(1), weights.fill(2);
  WeightsView view{weights.data() + 8, {0, -3, -1}, 9, 54};
  Pool pool(1);
  convolve(packConvolution(shape, view, pool), input.data(), c.data(), 11, {}, pool);
  checkAgainst(shape, input.data(), view, nullptr, c.data(), 11, 1);
}

TEST_P(ConvolutionTest, ZerosOfPaddingMeetInfiniteWeights) {
  for (auto [inputs, channels] : {std::pair<int64_t, int64_t>{3, 3}, {20, 20}, {20, 3}, {10, 20}})
    for (int64_t groups : {int64_t{1}, std::min(inputs, channels)})
      for (int64_t dilation : {1, 2}) {
        if (inputs % groups != 0)
          continue;
        ConvolutionShape shape = plain(inputs, channels, 6, 3);
        shape.groups = groups;
        shape.inputDilation = {1, dilation, dilation};
        SCOPED_TRACE(describe(shape));
        GuardedFloats input(36 * inputs), weights(9 * inputs / groups * channels),
            c(shape.rows() * channels);
        input.fill(1), weights.fill(2);
        weights[0] = std::numeric_limits<float>::infinity();
        for (int64_t i = 0; i < input.length(); ++i)
          input[i] = std::abs(input[i]) + 1;
        Pool pool(2);
        WeightsView view = dense(shape, weights.data());
        for (PackFunction pack : kPackFunctions) {
          convolve(pack(shape, view, pool), input.data(), c.data(), channels, {}, pool);
          for (int64_t row = 0; row < shape.rows(); ++row) {
            Spatial size = shape.output();
            Exact exact = exactAt(shape, input.data(), view, 0,
                                  {0, row / size[2], row % size[2]}, 0);
            ASSERT_EQ(std::isnan(c[row * channels]), std::isnan(exact.value)) << row;
            ASSERT_EQ(std::isinf(c[row * channels]), std::isinf(exact.value)) << row;
          }
        }
      }
}

TEST_P(ConvolutionTest, InfinityStaysInItsGroup) {
  for (int64_t size : {1, 2, 4, 8, 16})
    for (int64_t channels : {size * 2, int64_t{32}, 32 + size})
      for (PackFunction pack : kPackFunctions) {
        ConvolutionShape shape = plain(channels, channels, 6, 3);
        shape.groups = channels / size;
        GuardedFloats input(36 * channels), weights(9 * size * channels), c(36 * channels);
        input.fill(1), weights.fill(2);
        input[14 * channels + channels - 1] = std::numeric_limits<float>::infinity(); // Of the last group.
        Pool pool(1);
        convolve(pack(shape, dense(shape, weights.data()), pool), input.data(), c.data(), channels, {}, pool);
        bool isAnywhere = false;
        for (int64_t i = 0; i < 36 * channels; ++i) {
          isAnywhere = isAnywhere || !std::isfinite(c[i]);
          if (i % channels < channels - size)
            ASSERT_TRUE(std::isfinite(c[i])) << shape.groups << " groups, channel " << i % channels;
        }
        EXPECT_TRUE(isAnywhere);
      }
}

TEST_P(ConvolutionTest, BitsDoNotDependOnThreads) {
  std::vector<ConvolutionShape> shapes = {plain(64, 96, 20, 3), plain(600, 40, 14, 1),
                                          plain(3, 40, 50, 7),  plain(40, 40, 40, 3),
                                          plain(12, 24, 12, 4), plain(40, 3, 40, 5)};
  shapes[3].groups = 40;
  shapes.push_back(plain(64, 64, 30, 3));
  shapes.back().groups = 16;
  shapes.push_back(plain(24, 72, 30, 3));
  shapes.back().groups = 24;
  shapes[4].inputDilation = {1, 2, 2};
  for (ConvolutionShape &shape : shapes) {
    SCOPED_TRACE(describe(shape));
    GuardedFloats input(product(shape.input) * shape.inputChannels);
    GuardedFloats weights(product(shape.kernel) * shape.inputChannels / shape.groups *
                          shape.outputChannels);
    input.fill(1), weights.fill(2);
    for (PackFunction pack : kPackFunctions) {
      auto run = [&](int threads) {
        Pool pool(threads);
        std::vector<float> c(static_cast<size_t>(shape.rows() * shape.outputChannels));
        convolve(pack(shape, dense(shape, weights.data()), pool), input.data(), c.data(),
                 shape.outputChannels, {}, pool);
        return c;
      };
      std::vector<float> expected = run(1);
      for (int threads : {2, 3, 7})
        EXPECT_EQ(run(threads), expected) << threads << " threads";
    }
  }
}

} // namespace
} // namespace cupel::kernels
