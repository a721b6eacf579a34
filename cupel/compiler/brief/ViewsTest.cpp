// Maps over views of every kind (broadcast, transposed, sliced, reversed, padded, and all of it at
// once) against a plain walk over the indices, with buffers that end at guard pages.

#include "cupel/compiler/brief/KernelTesting.h"

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace {

/// A view with the buffer that it just fits into.
struct Operand {
  View view;
  int64_t elements = 0; ///< Of the buffer.
};

class Views {
public:
  explicit Views(uint32_t seed) : random(seed) {}
  int64_t pick(int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  }

  std::vector<int64_t> sizes() {
    constexpr int64_t kSizes[] = {1, 2, 3, 5, 7, 8, 16, 17, 33};
    std::vector<int64_t> sizes(static_cast<size_t>(pick(5)));
    int64_t count = 1;
    for (int64_t &size : sizes) {
      size = count > 3000 ? 2 : kSizes[pick(std::size(kSizes))];
      count *= size;
    }
    return sizes;
  }

  Operand operand(DType type, const std::vector<int64_t> &sizes, bool isOutput) {
    Operand result{{type, 0, std::vector<int64_t>(sizes.size()), {}, 0}, 0};
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    if (pick(2))
      std::shuffle(order.begin(), order.end(), random);
    View &view = result.view;
    bool isPadded = !isOutput && pick(3) == 0;
    if (isPadded) {
      view.padding = random();
      for (int64_t size : sizes) {
        int64_t begin = pick(2) ? 0 : pick(size + 1);
        view.valid.push_back({begin, begin + pick(size - begin + 2)});
        view.valid.back().end = pick(2) ? std::max(begin, size) : view.valid.back().end;
      }
    }
    int64_t stride = pick(4) ? 1 : 2 + pick(2);
    for (size_t k = order.size(); k-- > 0;) {
      size_t d = order[k];
      if (!isOutput && pick(4) == 0)
        continue; // broadcast
      view.strides[d] = pick(4) ? stride : -stride;
      stride *= sizes[d] + (pick(4) ? 0 : 1 + pick(3));
    }
    // The elements that are reached lie at 0 and up.
    int64_t least = 0, most = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      int64_t first = 0, last = sizes[d] - 1;
      if (isPadded) {
        first = std::max(first, view.valid[d].begin);
        last = std::min(last, view.valid[d].end - 1);
        if (first > last) {
          view.offset = 0;
          return result; // nothing is reached
        }
      }
      least += std::min(first * view.strides[d], last * view.strides[d]);
      most += std::max(first * view.strides[d], last * view.strides[d]);
    }
    view.offset = -least;
    result.elements = most - least + 1;
    return result;
  }

private:
  std::mt19937 random;
};

/// Calls f(index) for all indices.
template <typename F> void forAll(const std::vector<int64_t> &sizes, F f) {
  std::vector<int64_t> index(sizes.size());
  for (int64_t size : sizes)
    if (size == 0)
      return;
  for (;;) {
    f(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

int64_t addressOf(const View &view, const std::vector<int64_t> &index) {
  int64_t at = view.offset;
  for (size_t d = 0; d < index.size(); ++d)
    at += index[d] * view.strides[d];
  return at;
}

template <typename T> T read(const View &view, const T *data, const std::vector<int64_t> &index) {
  for (size_t d = 0; d < view.valid.size(); ++d)
    if (index[d] < view.valid[d].begin || index[d] >= view.valid[d].end) {
      T padding;
      std::memcpy(&padding, &view.padding, sizeof(padding));
      return padding;
    }
  return data[addressOf(view, index)];
}

/// r = a + b - c in a type where that is exact for what the buffers hold.
template <DType type>
void checkSums(const std::string &targetName, const Target &target, int from, int to) {
  using T = tensor::Storage<type>;
  std::string t = "tensor<" + std::string(tensor::info(type).name) + ">";
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: " + t + ", %b: " + t + ", %c: " + t + ") -> (" +
                                   t + ", " + t + ") { %0 = stablehlo.add %a, %b : " + t +
                                   " %1 = stablehlo.subtract %0, %c : " + t + " return %1, %0 : " +
                                   t + ", " + t + " }");
  ASSERT_TRUE(body);
  for (int round = from; round < to; ++round) {
    Views views(static_cast<uint32_t>(round));
    MapKernel kernel{views.sizes(), {}, {}, body};
    std::vector<std::unique_ptr<GuardedBytes>> in, out;
    std::vector<const void *> inputs;
    std::vector<void *> outputs;
    auto buffer = [&](const Operand &operand) {
      auto edge = views.pick(2) ? GuardedBytes::Edge::End : GuardedBytes::Edge::Begin;
      size_t bytes = static_cast<size_t>(operand.elements) * sizeof(T);
      return std::make_unique<GuardedBytes>(bytes, edge);
    };
    for (int k = 0; k < 3; ++k) {
      Operand operand = views.operand(type, kernel.sizes, false);
      T padding = static_cast<T>(operand.view.padding % 100);
      operand.view.padding = 0;
      std::memcpy(&operand.view.padding, &padding, sizeof(T));
      kernel.inputs.push_back(operand.view);
      in.push_back(buffer(operand));
      for (int64_t i = 0; i < operand.elements; ++i)
        in.back()->as<T>()[i] = static_cast<T>(views.pick(100));
      inputs.push_back(in.back()->data());
    }
    for (int k = 0; k < 2; ++k) {
      Operand operand = views.operand(type, kernel.sizes, true);
      kernel.outputs.push_back(operand.view);
      out.push_back(buffer(operand));
      std::fill_n(out.back()->as<T>(), operand.elements, T(77));
      outputs.push_back(out.back()->data());
    }
    auto code = make(kernel, target);
    ASSERT_TRUE(code) << code.message();
    runInPieces(*code, inputs, outputs, 1 + round % 5, static_cast<uint32_t>(round));
    // What is written is right, and nothing else is written.
    std::vector<std::vector<T>> right;
    for (auto &bytes : out)
      right.push_back(std::vector<T>(bytes->size / sizeof(T), T(77)));
    forAll(kernel.sizes, [&](const std::vector<int64_t> &index) {
      T values[3];
      for (int k = 0; k < 3; ++k)
        values[k] = read(kernel.inputs[k], in[k]->template as<T>(), index);
      T sum = static_cast<T>(values[0] + values[1]);
      right[0][addressOf(kernel.outputs[0], index)] = static_cast<T>(sum - values[2]);
      right[1][addressOf(kernel.outputs[1], index)] = sum;
    });
    for (int k = 0; k < 2; ++k) {
      EXPECT_TRUE(out[k]->isClean());
      ASSERT_EQ(std::memcmp(out[k]->data(), right[k].data(), out[k]->size), 0)
          << "round " << round << " on " << targetName << ", output " << k;
    }
  }
}

class ViewsTest : public testing::TestWithParam<std::pair<std::string, Target>> {};

TEST_P(ViewsTest, F32) { checkSums<DType::F32>(GetParam().first, GetParam().second, 0, 150); }
TEST_P(ViewsTest, F64) { checkSums<DType::F64>(GetParam().first, GetParam().second, 1000, 1040); }
TEST_P(ViewsTest, I8) { checkSums<DType::I8>(GetParam().first, GetParam().second, 2000, 2040); }
TEST_P(ViewsTest, U16) { checkSums<DType::U16>(GetParam().first, GetParam().second, 3000, 3040); }
TEST_P(ViewsTest, I64) { checkSums<DType::I64>(GetParam().first, GetParam().second, 4000, 4040); }

TEST_P(ViewsTest, AnOutputMayLieOnAnInput) {
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {"
                                   "  %0 = stablehlo.subtract %a, %b : tensor<f32>"
                                   "  return %0 : tensor<f32> }");
  constexpr int64_t n = 10001;
  MapKernel kernel{{n}, std::vector<View>(2, View::contiguous(DType::F32, {n})),
                   {View::contiguous(DType::F32, {n})}, body};
  auto code = make(kernel, GetParam().second);
  ASSERT_TRUE(code);
  GuardedBytes a(n * 4), b(n * 4);
  for (int i = 0; i < n; ++i)
    a.as<float>()[i] = static_cast<float>(3 * i), b.as<float>()[i] = static_cast<float>(i);
  runInPieces(*code, {a.data(), b.data()}, {a.data()}, 2);
  for (int i = 0; i < n; ++i)
    ASSERT_EQ(a.as<float>()[i], static_cast<float>(2 * i));
}

TEST_P(ViewsTest, LargeResultsLieAnywhere) {
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {"
                                   "  %0 = stablehlo.negate %a : tensor<f32>"
                                   "  return %0 : tensor<f32> }");
  // Large enough to be written past the caches, from a line's beginning and from between.
  for (int64_t n : {int64_t{3400000}, int64_t{3400003}}) {
    View view = View::contiguous(DType::F32, {n});
    auto code = make(MapKernel{{n}, {view}, {view}, body}, GetParam().second);
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(n * 4), out(n * 4);
    for (int64_t i = 0; i < n; ++i)
      in.as<float>()[i] = static_cast<float>(i);
    runInPieces(*code, {in.data()}, {out.data()}, 3);
    EXPECT_TRUE(out.isClean());
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(out.as<float>()[i], -static_cast<float>(i)) << n;
  }
}

/// Channels brought inmost: rows that are shorter than a vector, with something done by the way.
template <DType type> void checkInterleaving(const Target &target) {
  using T = tensor::Storage<type>;
  std::string t = "tensor<" + std::string(tensor::info(type).name) + ">";
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: " + t + ", %b: " + t + ") -> " + t +
                                   " { %0 = stablehlo.subtract %a, %b : " + t + " return %0 : " + t +
                                   " }");
  for (auto [images, pixels, channels] :
       {std::array<int64_t, 3>{1, 16, 2}, {2, 37, 3}, {1, 2500, 3}, {3, 64, 5}, {1, 17, 8}}) {
    std::vector<int64_t> sizes = {images, pixels, channels};
    View across{type, 0, {pixels * channels, 1, pixels}, {}, 0}, each{type, 0, {0, 0, 1}, {}, 0};
    MapKernel kernel{sizes, {across, each}, {View::contiguous(type, sizes)}, body};
    auto code = make(kernel, target);
    ASSERT_TRUE(code) << code.message();
    int64_t count = images * pixels * channels;
    GuardedBytes a(count * sizeof(T)), b(channels * sizeof(T)), out(count * sizeof(T));
    for (int64_t i = 0; i < count; ++i)
      a.as<T>()[i] = static_cast<T>(i % 101);
    for (int64_t i = 0; i < channels; ++i)
      b.as<T>()[i] = static_cast<T>(i);
    runInPieces(*code, {a.data(), b.data()}, {out.data()}, 2);
    EXPECT_TRUE(out.isClean());
    for (int64_t i = 0; i < count; ++i) {
      int64_t channel = i % channels, pixel = i / channels % pixels, image = i / channels / pixels;
      int64_t from = (image * channels + channel) * pixels + pixel;
      ASSERT_EQ(out.as<T>()[i], static_cast<T>(from % 101 - channel)) << i;
    }
  }
}

TEST_P(ViewsTest, ShortRowsAreInterleaved) {
  checkInterleaving<DType::F32>(GetParam().second);
  checkInterleaving<DType::I8>(GetParam().second);
  checkInterleaving<DType::F64>(GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Targets, ViewsTest, testing::ValuesIn(withBrief(allTargets())),
                         [](const auto &info) { return info.param.first; });

TEST(CodegenTest, EqualKernelsAreTheSameCode) {
  Bodies bodies;
  View view = View::contiguous(DType::F32, {123});
  MapKernel kernel{{123}, {view}, {view}};
  // Names of values, functions and places in the text are no part of what a kernel is.
  kernel.body = bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
                             "%x = stablehlo.abs %a : tensor<f32> return %x : tensor<f32> }");
  auto first = compile(kernel);
  kernel.body = bodies.parse("func.func @g(%b: tensor<f32>) -> tensor<f32> {\n\n"
                             "%y = stablehlo.abs %b : tensor<f32>\n return %y : tensor<f32> }");
  int64_t compiled = statistics().compiled;
  auto second = compile(kernel);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->code, second->code);
  EXPECT_EQ(statistics().compiled, compiled);
  kernel.body = bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {\n"
                             "%x = stablehlo.negate %a : tensor<f32> return %x : tensor<f32> }");
  auto third = compile(kernel);
  ASSERT_TRUE(third);
  EXPECT_NE(first->code, third->code);
  EXPECT_EQ(statistics().compiled, compiled + 1);
}

TEST(CodegenTest, WhatIsNotSupportedIsRefusedByName) {
  Bodies bodies;
  MapKernel kernel{{4}, {View::contiguous(DType::F32, {4})}, {View::contiguous(DType::F32, {4})}};
  kernel.body = bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {"
                             "%x = chlo.lgamma %a : tensor<f32> -> tensor<f32>"
                             "return %x : tensor<f32> }");
  ASSERT_TRUE(kernel.body);
  Status status = supports(kernel);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
  EXPECT_NE(status.message().find("chlo.lgamma"), std::string::npos) << status.message();
  auto code = make(kernel);
  EXPECT_FALSE(code);
  // Complex numbers, and a body that is no map's.
  kernel.body = bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {"
                             "%x = stablehlo.complex %a, %a : tensor<complex<f32>>"
                             "%y = stablehlo.imag %x : (tensor<complex<f32>>) -> tensor<f32>"
                             "return %y : tensor<f32> }");
  ASSERT_TRUE(kernel.body);
  EXPECT_EQ(supports(kernel).error().code, ErrorCode::Unsupported);
  kernel.body = bodies.parse("func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {"
                             "%x = stablehlo.abs %a : tensor<4xf32> return %x : tensor<4xf32> }");
  EXPECT_EQ(supports(kernel).error().code, ErrorCode::Unsupported);
}

TEST(CodegenTest, WrongViewsAreMistakes) {
  Bodies bodies;
  mlir::Block *body = bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> {"
                                   "%x = stablehlo.abs %a : tensor<f32> return %x : tensor<f32> }");
  View view = View::contiguous(DType::F32, {4});
  EXPECT_FALSE(supports(MapKernel{{4, 4}, {view}, {view}, body}));
  EXPECT_FALSE(supports(MapKernel{{4}, {}, {view}, body}));
  EXPECT_FALSE(supports(MapKernel{{-4}, {view}, {view}, body}));
  EXPECT_FALSE(supports(MapKernel{{4}, {View::contiguous(DType::I32, {4})}, {view}, body}));
  EXPECT_FALSE(supports(MapKernel{{int64_t{1} << 60}, {view}, {view}, body}));
  View padded = view;
  padded.valid = {{1, 3}};
  EXPECT_TRUE(supports(MapKernel{{4}, {padded}, {view}, body}));
  EXPECT_FALSE(supports(MapKernel{{4}, {view}, {padded}, body}));
}

} // namespace
