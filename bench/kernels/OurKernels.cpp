#include "bench/kernels/Peers.h"

#include "cupel/kernels/Convolution.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

namespace cupel::bench {

using namespace cupel::kernels;

std::shared_ptr<float[]> alignedFloats(int64_t count) {
  auto bytes = (static_cast<size_t>(count) * sizeof(float) + 64) / 64 * 64;
  auto *data = static_cast<float *>(std::aligned_alloc(64, bytes));
  std::fill_n(data, count, 0.0f);
  return std::shared_ptr<float[]>(data, [](float *p) { std::free(p); });
}

std::shared_ptr<float[]> randomFloats(int64_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::shared_ptr<float[]> values = alignedFloats(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return values;
}

Runner ourProduct(const ProductShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::shared_ptr<float[]> a, b, c, bias;
    std::vector<PackedMatrix> packed;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}, {}, {}});
  state->a = randomFloats(shape.batch * shape.rows * shape.depth, 1);
  state->b = randomFloats(shape.batch * shape.depth * shape.columns, 2);
  state->c = alignedFloats(shape.batch * shape.rows * shape.columns);
  state->bias = randomFloats(shape.columns, 3);
  if (!shape.isPacked) {
    ProductBatch batch;
    batch.sizes[3] = shape.batch;
    batch.aStrides[3] = shape.rows * shape.depth;
    batch.bStrides[3] = shape.depth * shape.columns;
    batch.cStrides[3] = shape.rows * shape.columns;
    batch.rows = shape.rows, batch.columns = shape.columns, batch.depth = shape.depth;
    return [=](int64_t) {
      multiplyBatch(batch, {state->a.get(), shape.depth}, {state->b.get(), shape.columns},
                    state->c.get(), shape.columns, {}, state->pool);
    };
  }
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(
        packMatrix({state->b.get(), shape.columns}, shape.depth, shape.columns, state->pool));
  return [=](int64_t turn) {
    multiply(shape.rows, {state->a.get(), shape.depth},
             state->packed[static_cast<size_t>(turn % copies)], state->c.get(), shape.columns,
             {state->bias.get()}, state->pool);
  };
}

Runner ourConvolution(const bench::ConvolutionShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::shared_ptr<float[]> input, bias, output;
    std::vector<PackedConvolution> packed;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}, {}});
  kernels::ConvolutionShape ours;
  ours.batch = shape.batch;
  ours.inputChannels = shape.inputs;
  ours.outputChannels = shape.outputs;
  ours.input = {1, shape.height, shape.width};
  ours.kernel = {1, shape.kernel, shape.kernel};
  ours.strides = {1, shape.stride, shape.stride};
  ours.paddingLow = ours.paddingHigh = {0, shape.padding, shape.padding};
  ours.groups = shape.groups;
  int64_t inputs = shape.inputs / shape.groups, taps = shape.kernel * shape.kernel;
  std::shared_ptr<float[]> weights = randomFloats(taps * inputs * shape.outputs, 2);
  state->input = randomFloats(shape.batch * shape.height * shape.width * shape.inputs, 1);
  state->bias = randomFloats(shape.outputs, 3);
  state->output = alignedFloats(ours.rows() * shape.outputs);
  int64_t tap = inputs * shape.outputs;
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(packConvolution(
        ours, {weights.get(), {0, shape.kernel * tap, tap}, shape.outputs, 1}, state->pool));
  return [=](int64_t turn) {
    convolve(state->packed[static_cast<size_t>(turn % copies)], state->input.get(),
             state->output.get(), shape.outputs, {state->bias.get()}, state->pool);
  };
}

} // namespace cupel::bench
