#include "bench/kernels/Peers.h"

#include "cupel/kernels/Convolution.h"

#include <memory>
#include <random>

namespace cupel::bench {

using namespace cupel::kernels;

std::vector<float> randomFloats(int64_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return values;
}

Runner ourProduct(const ProductShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::vector<float> a, b, c, bias;
    std::vector<PackedMatrix> packed;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}, {}, {}});
  state->a = randomFloats(shape.batch * shape.rows * shape.depth, 1);
  state->b = randomFloats(shape.batch * shape.depth * shape.columns, 2);
  state->c.resize(static_cast<size_t>(shape.batch * shape.rows * shape.columns));
  state->bias = randomFloats(shape.columns, 3);
  if (!shape.isPacked) {
    ProductBatch batch;
    batch.sizes[3] = shape.batch;
    batch.aStrides[3] = shape.rows * shape.depth;
    batch.bStrides[3] = shape.depth * shape.columns;
    batch.cStrides[3] = shape.rows * shape.columns;
    batch.rows = shape.rows, batch.columns = shape.columns, batch.depth = shape.depth;
    return [=](int64_t) {
      multiplyBatch(batch, {state->a.data(), shape.depth}, {state->b.data(), shape.columns},
                    state->c.data(), shape.columns, {}, state->pool);
    };
  }
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(
        packMatrix({state->b.data(), shape.columns}, shape.depth, shape.columns, state->pool));
  return [=](int64_t turn) {
    multiply(shape.rows, {state->a.data(), shape.depth},
             state->packed[static_cast<size_t>(turn % copies)], state->c.data(), shape.columns,
             {state->bias.data()}, state->pool);
  };
}

Runner ourConvolution(const bench::ConvolutionShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::vector<float> input, bias, output;
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
  std::vector<float> weights = randomFloats(taps * inputs * shape.outputs, 2);
  state->input = randomFloats(shape.batch * shape.height * shape.width * shape.inputs, 1);
  state->bias = randomFloats(shape.outputs, 3);
  state->output.resize(static_cast<size_t>(ours.rows() * shape.outputs));
  int64_t tap = inputs * shape.outputs;
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(packConvolution(
        ours, {weights.data(), {0, shape.kernel * tap, tap}, shape.outputs, 1}, state->pool));
  return [=](int64_t turn) {
    convolve(state->packed[static_cast<size_t>(turn % copies)], state->input.data(),
             state->output.data(), shape.outputs, {state->bias.data()}, state->pool);
  };
}

} // namespace cupel::bench
