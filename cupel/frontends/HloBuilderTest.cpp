// What the builder writes is run on the reference and compared with values worked out by hand.

#include "cupel/frontends/HloBuilder.h"
#include "cupel/ir/Dialects.h"
#include "cupel/reference/Plan.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::frontends;
using namespace mlir;
using tensor::DType;
using tensor::Tensor;

namespace {

class HloBuilderTest : public testing::Test {
protected:
  HloBuilderTest() {
    DialectRegistry registry;
    ir::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Builds a function without arguments, verifies it and runs it.
  std::vector<Tensor> run(const std::function<SmallVector<Value>(HloBuilder &)> &write) {
    OpBuilder builder(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
    auto function = builder.create<func::FuncOp>(builder.getUnknownLoc(), "main",
                                                 builder.getFunctionType({}, {}));
    function.addEntryBlock();
    HloBuilder b(function);
    SmallVector<Value> results = write(b);
    b.builder().create<func::ReturnOp>(b.location(), results);
    function.setFunctionType(builder.getFunctionType({}, ValueRange(results).getTypes()));
    if (failed(verify(*module))) {
      module->dump();
      ADD_FAILURE() << "the module does not verify";
      return {};
    }
    auto plan = reference::Plan::create(*module);
    if (!plan) {
      ADD_FAILURE() << plan.message();
      return {};
    }
    reference::Run run{reference::RunOptions{}};
    auto values = (*plan)->run(run, {});
    if (!values) {
      ADD_FAILURE() << values.message();
      return {};
    }
    std::vector<Tensor> tensors;
    for (reference::Value &value : *values)
      tensors.push_back(value.tensor());
    return tensors;
  }

  template <typename T> static std::vector<T> valuesOf(const Tensor &tensor) {
    Tensor packed = std::move(*tensor.contiguous());
    return {packed.dataAs<T>(), packed.dataAs<T>() + packed.size()};
  }

  MLIRContext context;
};

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

TEST_F(HloBuilderTest, BroadcastsAsNumpy) {
  auto results = run([](HloBuilder &b) -> SmallVector<Value> {
    Value row = b.constant(Tensor::of<DType::F32>({3}, {1, 2, 3}));
    Value column = b.constant(Tensor::of<DType::F32>({2, 1}, {10, 20}));
    return {b.add(row, column), b.select(b.greater(column, b.splat(15, b.f32())), row, column)};
  });
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(valuesOf<float>(results[0]), (Floats{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(valuesOf<float>(results[1]), (Floats{10, 10, 10, 1, 2, 3}));
}

TEST_F(HloBuilderTest, ReducesAndFindsExtremes) {
  auto results = run([](HloBuilder &b) -> SmallVector<Value> {
    Value x = b.constant(Tensor::of<DType::F32>({2, 3}, {1, 5, 5, 7, 2, 7}));
    return {b.reduce(x, {1}, Fold::Add, true), b.mean(x, {0, 1}),
            b.argExtreme(x, 1, true, false, b.i64(), false),
            b.argExtreme(x, 1, true, true, b.i64(), false),
            b.argExtreme(x, 0, false, false, b.i64(), true)};
  });
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(valuesOf<float>(results[0]), (Floats{11, 16}));
  EXPECT_EQ(valuesOf<float>(results[1]), (Floats{4.5}));
  EXPECT_EQ(valuesOf<int64_t>(results[2]), (Ints{1, 0}));
  EXPECT_EQ(valuesOf<int64_t>(results[3]), (Ints{2, 2}));
  EXPECT_EQ(valuesOf<int64_t>(results[4]), (Ints{0, 1, 0}));
  EXPECT_EQ(results[4].rank(), 2);
}

TEST_F(HloBuilderTest, MatmulTakesVectorsAndBatches) {
  auto results = run([](HloBuilder &b) -> SmallVector<Value> {
    Value m = b.constant(Tensor::of<DType::F32>({2, 2}, {1, 2, 3, 4}));
    Value v = b.constant(Tensor::of<DType::F32>({2}, {1, 10}));
    Value batch = b.constant(Tensor::of<DType::F32>({2, 1, 2}, {1, 0, 0, 1}));
    Value many = b.broadcastTo(m, {2, 2, 2});
    return {b.matmul(m, v), b.matmul(v, m), b.matmul(v, v), b.matmul(batch, m), b.matmul(v, many)};
  });
  ASSERT_EQ(results.size(), 5u);
  EXPECT_EQ(valuesOf<float>(results[0]), (Floats{21, 43}));
  EXPECT_EQ(valuesOf<float>(results[1]), (Floats{31, 42}));
  EXPECT_EQ(valuesOf<float>(results[2]), (Floats{101}));
  EXPECT_EQ(results[2].rank(), 0);
  EXPECT_EQ(valuesOf<float>(results[3]), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf<float>(results[4]), (Floats{31, 42, 31, 42}));
}

TEST_F(HloBuilderTest, GathersAndScatters) {
  auto results = run([](HloBuilder &b) -> SmallVector<Value> {
    Value x = b.constant(Tensor::of<DType::F32>({2, 3}, {1, 2, 3, 4, 5, 6}));
    Value picks = b.constant(Tensor::of<DType::I64>({2}, {-1, 0}));
    Value along = b.constant(Tensor::of<DType::I64>({2, 1}, {2, 0}));
    Value rows = b.constant(Tensor::of<DType::I64>({2, 2}, {0, 1, 1, 2}));
    Value ones = b.constant(Tensor::of<DType::F32>({2}, {100, 200}));
    return {b.take(x, b.wrapIndices(picks, 3), 1),
            b.takeAlong(x, along, 1),
            b.gatherNd(x, rows),
            b.scatterNd(x, rows, ones, Fold::Add),
            b.scatterNd(x, rows, ones, std::nullopt),
            b.gatherNd(x, b.reshape(along, {2, 1}), 1)};
  });
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(valuesOf<float>(results[0]), (Floats{3, 1, 6, 4}));
  EXPECT_EQ(valuesOf<float>(results[1]), (Floats{3, 4}));
  EXPECT_EQ(valuesOf<float>(results[2]), (Floats{2, 6}));
  EXPECT_EQ(valuesOf<float>(results[3]), (Floats{1, 102, 3, 4, 5, 206}));
  EXPECT_EQ(valuesOf<float>(results[4]), (Floats{1, 100, 3, 4, 5, 200}));
  EXPECT_EQ(valuesOf<float>(results[5]), (Floats{3, 4}));
}

TEST_F(HloBuilderTest, Convolves) {
  auto results = run([](HloBuilder &b) -> SmallVector<Value> {
    Value x = b.constant(Tensor::of<DType::F32>({1, 1, 4}, {1, 2, 3, 4}));
    Value kernel = b.constant(Tensor::of<DType::F32>({1, 1, 2}, {1, 10}));
    HloBuilder::Convolution padded, turned;
    padded.low = {1};
    turned.reverseKernel = true;
    HloBuilder::Window window;
    window.sizes = {1, 1, 2};
    window.strides = {1, 1, 2};
    return {b.convolution(x, kernel, padded), b.convolution(x, kernel, turned),
            b.reduceWindow(x, window, Fold::Max)};
  });
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(valuesOf<float>(results[0]), (Floats{10, 21, 32, 43}));
  EXPECT_EQ(valuesOf<float>(results[1]), (Floats{12, 23, 34}));
  EXPECT_EQ(valuesOf<float>(results[2]), (Floats{2, 4}));
}

TEST_F(HloBuilderTest, WritesRegionsAndComposites) {
  auto results = run([](HloBuilder &b) -> SmallVector<Value> {
    Value zero = b.splatInteger(0, b.i64()), ten = b.splatInteger(10, b.i64());
    SmallVector<Value> loop = b.whileLoop(
        {zero, zero}, [&](ValueRange v) { return b.less(v[0], ten); },
        [&](ValueRange v) -> SmallVector<Value> {
          return {b.add(v[0], b.splatInteger(1, b.i64())), b.add(v[1], v[0])};
        });
    SmallVector<Value> chosen = b.ifElse(
        b.greater(loop[1], ten), [&]() -> SmallVector<Value> { return {b.negate(loop[1])}; },
        [&]() -> SmallVector<Value> { return {zero}; });
    Value keys = b.constant(Tensor::of<DType::I64>({3}, {3, 1, 2}));
    SmallVector<Value> sorted = b.sort({keys, b.iota({3}, 0, b.i64())}, 0, true,
                                       [&](ValueRange v) { return b.less(v[0], v[1]); });
    SmallVector<Value> twice =
        b.composite("cupel.twice", {keys}, {}, [](HloBuilder &inner, ValueRange v) {
          return SmallVector<Value>{inner.multiply(v[0], inner.like(v[0], 2))};
        });
    return {loop[1], chosen[0], sorted[1], twice[0]};
  });
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(valuesOf<int64_t>(results[0]), (Ints{45}));
  EXPECT_EQ(valuesOf<int64_t>(results[1]), (Ints{-45}));
  EXPECT_EQ(valuesOf<int64_t>(results[2]), (Ints{1, 2, 0}));
  EXPECT_EQ(valuesOf<int64_t>(results[3]), (Ints{6, 2, 4}));
}

} // namespace
