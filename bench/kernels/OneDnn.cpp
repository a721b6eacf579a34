// oneDNN beside us: layouts of its own choice, weights reordered once, bias as it does it best. Built
// where CMake is told CUPEL_ONEDNN_ROOT; elsewhere there is nothing to compare with.

#include "bench/kernels/Peers.h"

#ifdef CUPEL_HAS_ONEDNN
#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

extern "C" void omp_set_num_threads(int);

namespace cupel::bench {
namespace {

using namespace dnnl;
using Tag = memory::format_tag;
using Type = memory::data_type;

struct State {
  engine processor{engine::kind::cpu, 0};
  stream queue{processor};
  primitive work;
  std::vector<std::unordered_map<int, memory>> arguments; // One for each copy.
};

memory filled(State &state, const memory::desc &plain, const memory::desc &wanted, unsigned seed) {
  memory source(plain, state.processor), target(wanted, state.processor);
  auto count = static_cast<int64_t>(plain.get_size() / sizeof(float));
  std::shared_ptr<float[]> values = randomFloats(count, seed);
  std::copy_n(values.get(), count, static_cast<float *>(source.get_data_handle()));
  reorder(source, target).execute(state.queue, source, target);
  state.queue.wait();
  return target;
}

Runner runnerOf(std::shared_ptr<State> state, int threads) {
  return [=](int64_t turn) {
    omp_set_num_threads(threads);
    const auto &arguments = state->arguments;
    state->work.execute(state->queue, arguments[static_cast<size_t>(turn) % arguments.size()]);
    state->queue.wait();
  };
}

} // namespace

Runner oneDnnProduct(const ProductShape &shape, int64_t copies, int threads) {
  if (shape.numbers == Numbers::Int8)
    return {};
  omp_set_num_threads(threads);
  auto state = std::make_shared<State>();
  bool isBatch = shape.batch > 1;
  auto dims = [&](int64_t rows, int64_t columns) {
    return isBatch ? memory::dims{shape.batch, rows, columns} : memory::dims{rows, columns};
  };
  Tag plain = isBatch ? Tag::abc : Tag::ab;
  Type input = shape.numbers == Numbers::Bf16 ? Type::bf16 : Type::f32;
  memory::desc a(dims(shape.rows, shape.depth), Type::f32, plain),
      b(dims(shape.depth, shape.columns), Type::f32, plain),
      anyB(dims(shape.depth, shape.columns), input, Tag::any),
      narrowA(dims(shape.rows, shape.depth), input, plain),
      c(dims(shape.rows, shape.columns), Type::f32, plain),
      bias({1, shape.columns}, Type::f32, Tag::ab);
  auto description = shape.isPacked ? matmul::primitive_desc(state->processor, narrowA, anyB, bias, c)
                                    : matmul::primitive_desc(state->processor, a, b, c);
  state->work = matmul(description);
  memory left = filled(*state, a, narrowA, 1), result(c, state->processor);
  for (int64_t i = 0; i < copies; ++i) {
    std::unordered_map<int, memory> arguments = {
        {DNNL_ARG_SRC, left},
        {DNNL_ARG_WEIGHTS, filled(*state, b, description.weights_desc(), 2)},
        {DNNL_ARG_DST, result}};
    if (shape.isPacked)
      arguments[DNNL_ARG_BIAS] = filled(*state, bias, bias, 3);
    state->arguments.push_back(arguments);
  }
  return runnerOf(state, threads);
}

Runner oneDnnConvolution(const ConvolutionShape &shape, int64_t copies, int threads) {
  if (shape.numbers != Numbers::F32)
    return {};
  omp_set_num_threads(threads);
  auto state = std::make_shared<State>();
  int64_t g = shape.groups;
  memory::desc source({shape.batch, shape.inputs, shape.height, shape.width}, Type::f32, Tag::any),
      target({shape.batch, shape.outputs, shape.outputHeight(), shape.outputWidth()}, Type::f32,
             Tag::any),
      bias({shape.outputs}, Type::f32, Tag::a);
  memory::dims weightDims = {shape.outputs / g, shape.inputs / g, shape.kernel, shape.kernel};
  if (g > 1)
    weightDims.insert(weightDims.begin(), g);
  memory::desc weights(weightDims, Type::f32, Tag::any),
      plainWeights(weightDims, Type::f32, g > 1 ? Tag::goihw : Tag::oihw);
  memory::dims strides = {shape.stride, shape.stride}, padding = {shape.padding, shape.padding};
  convolution_forward::primitive_desc description(
      state->processor, prop_kind::forward_inference, algorithm::convolution_direct, source, weights,
      bias, target, strides, padding, padding);
  state->work = convolution_forward(description);
  memory::desc plainSource({shape.batch, shape.inputs, shape.height, shape.width}, Type::f32,
                           Tag::nchw);
  memory input = filled(*state, plainSource, description.src_desc(), 1);
  memory result(description.dst_desc(), state->processor);
  for (int64_t i = 0; i < copies; ++i)
    state->arguments.push_back({{DNNL_ARG_SRC, input},
                                {DNNL_ARG_WEIGHTS, filled(*state, plainWeights,
                                                          description.weights_desc(), 2)},
                                {DNNL_ARG_BIAS, filled(*state, bias, bias, 3)},
                                {DNNL_ARG_DST, result}});
  return runnerOf(state, threads);
}

} // namespace cupel::bench

#else

namespace cupel::bench {

Runner oneDnnProduct(const ProductShape &, int64_t, int) { return {}; }
Runner oneDnnConvolution(const ConvolutionShape &, int64_t, int) { return {}; }

} // namespace cupel::bench

#endif
