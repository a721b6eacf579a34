// Programs on whole tensors of which devices hold pieces: pieces become whole values and pieces again,
// parts lie as the whole does, and copies that differ are seen.

#include "cupel/testbench/worker/Spread.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/testbench/worker/Intermediates.h"

#include <cstring>
#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Shards;
using tensor::Tensor;

constexpr const char *kSpreadProgram = R"(
module @spread attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                  %w: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<4x4xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.tanh %0 : tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
}
)";

Tensor countUp(tensor::Shape shape) {
  Tensor made = *Tensor::uninitialized(DType::F32, std::move(shape));
  for (int64_t i = 0; i < made.size(); ++i)
    made.mutableAs<float>()[i] = 0.05f * float(i) - 0.3f;
  return made;
}

bool haveSameBytes(const Tensor &a, const Tensor &b) {
  Tensor x = *a.contiguous(), y = *b.contiguous();
  return x.byteSize() == y.byteSize() && std::memcmp(x.data(), y.data(), size_t(x.byteSize())) == 0;
}

class SpreadTest : public testing::Test {
protected:
  void SetUp() override {
    auto read = reader.read(kSpreadProgram, "spread.mlir");
    ASSERT_TRUE(read) << read.message();
    test = Prepared{std::move(*read), {}, {}};
    test->isComplete = true;
    test->workload.options.partitions = 4;
    test->workload.options.useSpmd = true;
    Result<Spread> spread = spreadOf(*test->read->module, 4);
    ASSERT_TRUE(spread) << spread.message();
    Result<TensorLists> pieces = scattered(whole, spread->arguments, 4);
    ASSERT_TRUE(pieces) << pieces.message();
    test->workload.inputs = *pieces;
  }

  ProgramReader reader;
  std::optional<Prepared> test;
  const std::vector<Tensor> whole = {countUp({4, 4}), countUp({4, 4})};
};

TEST_F(SpreadTest, PiecesBecomeWholeValues) {
  EXPECT_EQ(test->workload.inputs.size(), 4u);
  EXPECT_EQ(test->workload.inputs[3][0].dim(0), 2);
  EXPECT_EQ(test->workload.inputs[3][1].dim(1), 2);
  ASSERT_TRUE(isSpread(*test));
  Result<Prepared> made = gathered(*test);
  ASSERT_TRUE(made) << made.message();
  EXPECT_FALSE(isSpread(*made));
  EXPECT_EQ(made->program().spreadOver, 4u);
  EXPECT_EQ(made->program().partitions, 1u);
  ASSERT_EQ(made->workload.inputs.size(), 1u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_TRUE(haveSameBytes(made->workload.inputs.front()[i], whole[i]));
}

TEST_F(SpreadTest, TheReferenceEvaluatesWholeValues) {
  auto reference = std::move(*openDevice("reference"));
  Result<Prepared> plain = gathered(*test);
  ASSERT_TRUE(plain) << plain.message();
  auto executable = std::move(*reference->compile(plain->program(), plain->budget));
  const std::vector<Tensor> expected = *executable->run(plain->workload.inputs, plain->budget);
  Result<RunWorkload> run = evaluatedWhole(*reference, *test);
  ASSERT_TRUE(run) << run.message();
  // Of a result that nothing is said of every device holds all.
  Result<TensorLists> outputs = (*run)(test->workload.inputs, test->budget);
  ASSERT_TRUE(outputs) << outputs.message();
  ASSERT_EQ(outputs->size(), 1u);
  EXPECT_TRUE(haveSameBytes(outputs->front()[0], expected[0]));
  // With other inputs it gives something else.
  TensorLists others = test->workload.inputs;
  others[2][0] = others[3][0] = countUp({2, 4}); // Rows 2 and 3 as the first two are.
  EXPECT_FALSE(haveSameBytes((*(*run)(others, test->budget))[0][0], expected[0]));
}

TEST_F(SpreadTest, DevicesGetTheirPiecesOfWhatTheReferenceGives) {
  std::string text = kSpreadProgram;
  const std::string plain = "-> tensor<4x4xf32> {\n    %0";
  text.replace(text.find(plain), plain.size(),
               "-> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {\"y\"}]>}) {\n    %0");
  auto read = reader.read(text, "pieces.mlir");
  ASSERT_TRUE(read) << read.message();
  auto reference = std::move(*openDevice("reference"));
  const Tensor expected = (*(*evaluatedWhole(*reference, *test))(test->workload.inputs, test->budget))[0][0];
  test->read = std::move(*read);
  Result<RunWorkload> run = evaluatedWhole(*reference, *test);
  ASSERT_TRUE(run) << run.message();
  Result<TensorLists> outputs = (*run)(test->workload.inputs, test->budget);
  ASSERT_TRUE(outputs) << outputs.message();
  ASSERT_EQ(outputs->size(), 4u);
  Result<Spread> spread = spreadOf(*test->read->module, 4);
  for (int64_t d = 0; d < 4; ++d)
    EXPECT_TRUE(haveSameBytes((*outputs)[size_t(d)][0], *spread->results[0].piece(expected, d)));
}

TEST_F(SpreadTest, CopiesStayCopiesWhereInputsAreChanged) {
  std::optional<TensorLists> others = nearbyPieces(*test, 1);
  ASSERT_TRUE(others);
  ASSERT_EQ(others->size(), 4u);
  // Of the mesh of two by two, devices 0 and 1 hold the same rows, and 0 and 2 the same columns.
  EXPECT_FALSE(haveSameBytes((*others)[0][0], test->workload.inputs[0][0]));
  EXPECT_TRUE(haveSameBytes((*others)[0][0], (*others)[1][0]));
  EXPECT_FALSE(haveSameBytes((*others)[0][0], (*others)[2][0]));
  EXPECT_TRUE(haveSameBytes((*others)[0][1], (*others)[2][1]));
  EXPECT_FALSE(haveSameBytes((*others)[0][1], (*others)[1][1]));
}

TEST_F(SpreadTest, PartsLieAsTheWholeDoes) {
  Result<Prepared> made = gathered(*test);
  ASSERT_TRUE(made) << made.message();
  auto reference = std::move(*openDevice("reference"));
  auto evaluate = [&](Prepared &piece) -> Result<TensorLists> {
    auto executable = reference->compile(piece.program(), piece.budget);
    if (!executable)
      return executable.error();
    auto outputs = (*executable)->run(piece.workload.inputs, piece.budget);
    return outputs ? Result<TensorLists>(TensorLists{*outputs}) : Result<TensorLists>(outputs.error());
  };
  Result<Intermediates> all = Intermediates::of(*made, evaluate, 0);
  ASSERT_TRUE(all) << all.message();
  ASSERT_EQ(all->size(), 2u);
  Result<Prepared> tanh = all->select({1});
  ASSERT_TRUE(tanh) << tanh.message();
  EXPECT_EQ(tanh->program().spreadOver, 4u);
  // Rows by x, columns by y: what the product's sharding follows from.
  Result<Spread> spread = spreadOf(*tanh->read->module, 4);
  ASSERT_TRUE(spread) << spread.message();
  EXPECT_EQ(spread->arguments[0].tiles, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(spread->results[0].tiles, (std::vector<int64_t>{2, 2}));
}

TEST_F(SpreadTest, CopiesThatDifferAreSeen) {
  const std::vector<Shards> rows = {Shards::tiled({2, 1}, {0, 1, 2, 3})};
  const std::vector<ValueType> types(1, ValueType{true, {DType::F32}, {4, 4}, ""});
  TensorLists given = *scattered({whole[0]}, rows, 4);
  Result<std::vector<Tensor>> same = assembled(given, rows, types);
  ASSERT_TRUE(same) << same.message();
  ASSERT_EQ(same->size(), 1u);
  EXPECT_TRUE(haveSameBytes(same->front(), whole[0]));
  // Devices 2 and 3 hold the same rows; the second of them has others.
  given[3][0] = countUp({2, 4});
  Result<std::vector<Tensor>> both = assembled(given, rows, types);
  ASSERT_TRUE(both) << both.message();
  ASSERT_EQ(both->size(), 2u);
  EXPECT_TRUE(haveSameBytes((*both)[0], whole[0]));
  EXPECT_FALSE(haveSameBytes((*both)[1], whole[0]));
}

TEST_F(SpreadTest, UnevenPiecesAreRefused) {
  std::string text = kSpreadProgram;
  for (size_t at; (at = text.find("4x4")) != std::string::npos;)
    text.replace(at, 3, "3x3");
  auto read = reader.read(text, "uneven.mlir");
  ASSERT_TRUE(read) << read.message();
  Result<Spread> spread = spreadOf(*(*read)->module, 4);
  ASSERT_FALSE(spread);
  EXPECT_NE(spread.message().find("even"), std::string::npos) << spread.message();
}

} // namespace
} // namespace cupel::testbench::worker
