// The work that is timed and who else can do it. A runner does one call; `copies` of the weights are
// used in turn, so that they come from memory as they do in a model that is larger than the caches.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace cupel::bench {

/// What both sides are: bf16 with a result in f32, or bytes (without sign times with one) with a result in integers; only
/// with weights.
enum class Numbers { F32, Bf16, Int8 };

/// What a convolution in bf16 ends with: a bias and a result in f32, or what hidden layers have: a factor and an addend for
/// each channel, a residual in bf16 or none, no negative numbers, and a result in bf16.
enum class Ends { Bias, Narrow, Residual };

struct ProductShape {
  int64_t batch, rows, columns, depth;
  bool isPacked; // B is a weight; else both sides come as they are.
  Numbers numbers = Numbers::F32;
};

struct ConvolutionShape {
  int64_t batch, height, width, inputs, outputs, kernel, stride, padding, groups;
  Numbers numbers = Numbers::F32;
  Ends ends = Ends::Bias;

  int64_t outputHeight() const { return (height + 2 * padding - kernel) / stride + 1; }
  int64_t outputWidth() const { return (width + 2 * padding - kernel) / stride + 1; }
};

/// Does the call with the weights of a turn.
using Runner = std::function<void(int64_t turn)>;

Runner ourProduct(const ProductShape &shape, int64_t copies, int threads);
Runner ourConvolution(const ConvolutionShape &shape, int64_t copies, int threads);

/// Empty functions where this build has no oneDNN.
Runner oneDnnProduct(const ProductShape &shape, int64_t copies, int threads);
Runner oneDnnConvolution(const ConvolutionShape &shape, int64_t copies, int threads);

/// Multiply-adds in registers alone, in GFLOP/s.
double peakGflops(int threads);

/// On a multiple of 64 bytes, as buffers of device programs are.
std::shared_ptr<float[]> alignedFloats(int64_t count);
std::shared_ptr<float[]> randomFloats(int64_t count, unsigned seed);

} // namespace cupel::bench
