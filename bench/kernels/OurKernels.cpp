#include "bench/kernels/Peers.h"

#include "cupel/kernels/Bytes.h"
#include "cupel/kernels/Convolution.h"

#include <algorithm>
#include <bit>
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

namespace {

/// Values that bf16 holds, on a multiple of 64 bytes.
std::shared_ptr<float[]> randomBf16(int64_t count, unsigned seed) {
  std::shared_ptr<float[]> wide = randomFloats(count, seed), narrow = alignedFloats(count / 2 + 1);
  auto *to = reinterpret_cast<uint16_t *>(narrow.get());
  for (int64_t i = 0; i < count; ++i)
    to[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(wide[i]) >> 16);
  return narrow;
}

Runner ourBf16Product(const ProductShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::shared_ptr<float[]> a, c, bias;
    std::vector<PackedMatrix> packed;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}, {}});
  state->a = randomBf16(shape.rows * shape.depth, 1);
  state->c = alignedFloats(shape.rows * shape.columns);
  state->bias = randomFloats(shape.columns, 3);
  std::shared_ptr<float[]> b = randomBf16(shape.depth * shape.columns, 2);
  Bf16View right{reinterpret_cast<const uint16_t *>(b.get()), shape.columns};
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(packMatrix(right, shape.depth, shape.columns, state->pool));
  return [=](int64_t turn) {
    Bf16View left{reinterpret_cast<const uint16_t *>(state->a.get()), shape.depth};
    multiply(shape.rows, left, state->packed[static_cast<size_t>(turn % copies)], state->c.get(),
             shape.columns, {state->bias.get()}, state->pool);
  };
}

std::vector<int64_t> spaced(int64_t count, int64_t step) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    places[static_cast<size_t>(i)] = i * step;
  return places;
}

/// Any bytes, on a multiple of 64.
std::shared_ptr<float[]> randomBytes(int64_t count, unsigned seed) { return randomBf16((count + 1) / 2, seed); }

Runner ourByteProduct(const ProductShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::shared_ptr<float[]> a, c;
    std::vector<int64_t> rows, columns;
    std::vector<PackedBytes> packed;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}, {}, {}});
  state->a = randomBytes(shape.rows * shape.depth, 1);
  state->c = alignedFloats(shape.rows * shape.columns);
  state->rows = spaced(shape.rows, shape.depth), state->columns = spaced(shape.depth, 1);
  std::shared_ptr<float[]> b = randomBytes(shape.depth * shape.columns, 2);
  std::vector<int64_t> rows = spaced(shape.depth, shape.columns), columns = spaced(shape.columns, 1);
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(packBytes({b.get(), IntegerType::I8, rows, columns}, IntegerType::U8, {}, state->pool));
  return [=](int64_t turn) {
    multiply({state->a.get(), IntegerType::U8, state->rows, state->columns}, state->packed[static_cast<size_t>(turn % copies)],
             reinterpret_cast<int32_t *>(state->c.get()), shape.columns, {}, state->pool);
  };
}

kernels::ConvolutionShape oursOf(const bench::ConvolutionShape &shape) {
  kernels::ConvolutionShape ours;
  ours.batch = shape.batch;
  ours.inputChannels = shape.inputs;
  ours.outputChannels = shape.outputs;
  ours.input = {1, shape.height, shape.width};
  ours.kernel = {1, shape.kernel, shape.kernel};
  ours.strides = {1, shape.stride, shape.stride};
  ours.paddingLow = ours.paddingHigh = {0, shape.padding, shape.padding};
  ours.groups = shape.groups;
  return ours;
}

Runner ourByteConvolution(const bench::ConvolutionShape &shape, int64_t copies, int threads) {
  struct State {
    Pool pool;
    std::shared_ptr<float[]> input, output;
    std::vector<PackedByteConvolution> packed;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}});
  kernels::ConvolutionShape ours = oursOf(shape);
  int64_t tap = shape.inputs / shape.groups * shape.outputs, line = shape.width * shape.inputs;
  std::shared_ptr<float[]> weights = randomBytes(shape.kernel * shape.kernel * tap, 2);
  state->input = randomBytes(shape.batch * shape.height * line, 1);
  state->output = alignedFloats(ours.rows() * shape.outputs);
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back(packBytes(ours, {weights.get(), IntegerType::I8, {0, shape.kernel * tap, tap, shape.outputs, 1}},
                                      IntegerType::U8, {}, state->pool));
  return [=](int64_t turn) {
    convolve(state->packed[static_cast<size_t>(turn % copies)],
             {state->input.get(), IntegerType::U8, {shape.height * line, shape.height * line, line, shape.inputs, 1}},
             reinterpret_cast<int32_t *>(state->output.get()), {}, state->pool);
  };
}

} // namespace

Runner ourProduct(const ProductShape &shape, int64_t copies, int threads) {
  if (shape.numbers == Numbers::Bf16)
    return ourBf16Product(shape, copies, threads);
  if (shape.numbers == Numbers::Int8)
    return ourByteProduct(shape, copies, threads);
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
  if (shape.numbers == Numbers::Int8)
    return ourByteConvolution(shape, copies, threads);
  struct State {
    Pool pool;
    std::shared_ptr<float[]> input, bias, output, residual;
    std::vector<PackedConvolution> packed;
    Finish finish;
  };
  auto state = std::make_shared<State>(State{Pool(threads), {}, {}, {}, {}, {}, {}});
  kernels::ConvolutionShape ours = oursOf(shape);
  bool isBf16 = shape.numbers == Numbers::Bf16;
  int64_t inputs = shape.inputs / shape.groups, taps = shape.kernel * shape.kernel;
  std::shared_ptr<float[]> weights = randomFloats(taps * inputs * shape.outputs, 2);
  state->input = (isBf16 ? randomBf16 : randomFloats)(shape.batch * shape.height * shape.width * shape.inputs, 1);
  state->bias = randomFloats(shape.outputs, 3);
  state->output = alignedFloats(ours.rows() * shape.outputs);
  int64_t tap = inputs * shape.outputs;
  for (int64_t i = 0; i < copies; ++i)
    state->packed.push_back((isBf16 ? packRoundedConvolution : packConvolution)(
        ours, {weights.get(), {0, shape.kernel * tap, tap}, shape.outputs, 1}, state->pool));
  if (isBf16 && shape.ends != Ends::Bias) {
    Finish &finish = state->finish;
    finish.factors[0] = finish.addends = state->bias.get();
    finish.isJoined = finish.isPositive = true;
    finish.narrow = reinterpret_cast<uint16_t *>(state->output.get());
    finish.narrowStride = finish.rowStride = shape.outputs;
    if (shape.ends == Ends::Residual) {
      state->residual = randomBf16(ours.rows() * shape.outputs, 4);
      finish.narrowRows = reinterpret_cast<const uint16_t *>(state->residual.get());
    }
    return [=](int64_t turn) {
      Epilogue epilogue;
      epilogue.finish = &state->finish;
      convolve(state->packed[static_cast<size_t>(turn % copies)], reinterpret_cast<const uint16_t *>(state->input.get()), nullptr,
               shape.outputs, epilogue, state->pool);
    };
  }
  return [=](int64_t turn) {
    const PackedConvolution &packed = state->packed[static_cast<size_t>(turn % copies)];
    if (isBf16)
      convolve(packed, reinterpret_cast<const uint16_t *>(state->input.get()), state->output.get(), shape.outputs,
               {state->bias.get()}, state->pool);
    else
      convolve(packed, state->input.get(), state->output.get(), shape.outputs, {state->bias.get()}, state->pool);
  };
}

} // namespace cupel::bench
