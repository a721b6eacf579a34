// A program that is put into a loop, a branch, a function or beside donated arguments computes what
// it computed in the open, and constants of an operation are told apart from it.

#include "cupel/testbench/worker/Surroundings.h"

#include "cupel/testbench/worker/DeviceProgram.h"

#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr const char *kSurrounded = R"(
func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xi1>) {
  %c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %s = stablehlo.multiply %x, %c : tensor<3xf32>
  %l = stablehlo.compare LT, %s, %y, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  return %s, %l : tensor<3xf32>, tensor<3xi1>
}
)";

class SurroundingsTest : public testing::Test {
protected:
  void SetUp() override {
    reference = std::move(*openDevice("reference"));
    auto read = reader.read(kSurrounded, "program.mlir");
    ASSERT_TRUE(read) << read.message();
    program = Prepared{std::move(*read), {}, {}};
    program->workload.inputs.push_back({Tensor::of<DType::F32>({3}, {1, 5, -1}),
                                        Tensor::of<DType::F32>({3}, {2, 2, 2})});
    program->workload.expected = run(*program);
  }

  TensorLists run(const Prepared &one) {
    auto executable = reference->compile(one.program(), one.budget);
    EXPECT_TRUE(executable) << executable.message();
    auto outputs = (*executable)->run(one.workload.inputs, one.budget);
    EXPECT_TRUE(outputs) << outputs.message();
    return TensorLists{*outputs};
  }

  /// Blames what a device does wrong that fails wherever `isWrong` holds of an operation.
  Blame blameFor(const std::function<bool(mlir::Operation *)> &isWrong) {
    BlameSeams seams;
    seams.evaluate = [this](Prepared &piece) -> Result<TensorLists> { return run(piece); };
    seams.tryOnDevice = [&](Prepared &piece) -> Result<TriedPiece> {
      TriedPiece tried{.passed = true};
      piece.program().module->walk([&](mlir::Operation *op) { tried.passed &= !isWrong(op); });
      return tried;
    };
    Result<Blame> blame = findBlame(*program, seams, 4);
    EXPECT_TRUE(blame) << blame.message();
    return blame ? std::move(*blame) : Blame();
  }

  static bool isNamed(mlir::Operation *op, llvm::StringRef name) {
    return op->getName().getStringRef() == name;
  }

  ProgramReader reader;
  std::unique_ptr<Device> reference;
  std::optional<Prepared> program;
};

TEST_F(SurroundingsTest, ChangeNothing) {
  for (Surrounding around : {Surrounding::Call, Surrounding::Loop, Surrounding::If,
                             Surrounding::Case, Surrounding::DonatedArguments}) {
    Result<Prepared> there = placedIn(*program, around);
    ASSERT_TRUE(there) << name(around) << ": " << there.message();
    TensorLists given = run(*there);
    ASSERT_EQ(given.front().size(), 2u) << name(around);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_EQ(std::memcmp(given.front()[i].data(), program->workload.expected.front()[i].data(),
                            size_t(given.front()[i].byteSize())),
                0)
          << name(around);
  }
}

TEST_F(SurroundingsTest, AProgramWithoutOperationsHandsResultsOn) {
  Result<Prepared> all = handsOn(*program, {});
  ASSERT_TRUE(all) << all.message();
  EXPECT_TRUE(operationsOf(all->program()).empty());
  EXPECT_EQ(run(*all).front().size(), 2u);
  Result<Prepared> second = handsOn(*program, 1);
  ASSERT_TRUE(second) << second.message();
  EXPECT_EQ(second->program().results[0].shape, (tensor::Shape{3}));
  EXPECT_EQ(second->workload.expected.front().size(), 1u);
}

TEST_F(SurroundingsTest, ConstantsAreBlamedWhereTheyAreWrong) {
  Blame blame = blameFor([](mlir::Operation *op) { return isNamed(op, "stablehlo.constant"); });
  ASSERT_EQ(blame.operations.size(), 1u);
  EXPECT_EQ(blame.operations[0].name, "stablehlo.constant");
  EXPECT_EQ(blame.kind, Blame::Kind::Operation);
}

TEST_F(SurroundingsTest, AnOperationIsBlamedTogetherWithItsConstant) {
  Blame blame = blameFor([](mlir::Operation *op) {
    return isNamed(op, "stablehlo.multiply") && op->getOperand(1).getDefiningOp();
  });
  ASSERT_EQ(blame.operations.size(), 2u);
  EXPECT_EQ(blame.operations[0].name, "stablehlo.constant");
  EXPECT_EQ(blame.operations[1].name, "stablehlo.multiply");
  EXPECT_EQ(blame.kind, Blame::Kind::Group);
}

TEST_F(SurroundingsTest, FindsWhatFailsInCalledFunctionsOnly) {
  Result<Prepared> called = placedIn(*program, Surrounding::Call);
  ASSERT_TRUE(called) << called.message();
  program = std::move(*called);
  Blame blame = blameFor([](mlir::Operation *op) {
    auto function = op->getParentOfType<mlir::func::FuncOp>();
    return isNamed(op, "stablehlo.compare") && function && function.isPrivate();
  });
  ASSERT_EQ(blame.operations.size(), 1u);
  EXPECT_EQ(blame.operations[0].name, "stablehlo.compare");
  EXPECT_EQ(blame.onlyIn, "in a function that is called");
}

TEST_F(SurroundingsTest, BlamesTheLoopWhereAnyLoopFails) {
  Result<Prepared> loop = placedIn(*program, Surrounding::Loop);
  ASSERT_TRUE(loop) << loop.message();
  program = std::move(*loop);
  Blame blame = blameFor([](mlir::Operation *op) { return isNamed(op, "stablehlo.while"); });
  ASSERT_EQ(blame.operations.size(), 1u);
  EXPECT_EQ(blame.operations[0].name, "stablehlo.while");
  EXPECT_TRUE(blame.onlyIn.empty());
}

TEST_F(SurroundingsTest, FindsWhatFailsInLoopsOnly) {
  Result<Prepared> loop = placedIn(*program, Surrounding::Loop);
  ASSERT_TRUE(loop) << loop.message();
  program = std::move(*loop);
  Blame blame = blameFor([](mlir::Operation *op) {
    return isNamed(op, "stablehlo.multiply") && isNamed(op->getParentOp(), "stablehlo.while");
  });
  ASSERT_EQ(blame.operations.size(), 1u);
  EXPECT_EQ(blame.operations[0].name, "stablehlo.multiply");
  EXPECT_EQ(blame.onlyIn, "in a loop");
}

} // namespace
} // namespace cupel::testbench::worker
