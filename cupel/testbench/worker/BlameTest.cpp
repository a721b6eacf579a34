// The operation that is to blame is found, on devices that are wrong in a planted way.

#include "cupel/testbench/worker/Blame.h"

#include <gtest/gtest.h>
#include <mlir/IR/BuiltinOps.h>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

/// Forty operations one after another; every fifth is a tanh, the 18th an exponential.
std::string chain() {
  std::string text = "func.func @main(%v0: tensor<4xf32>) -> tensor<4xf32> {\n";
  for (int i = 0; i < 40; ++i) {
    std::string op = i == 17 ? "exponential" : i % 5 == 4 ? "tanh" : i % 2 ? "negate" : "abs";
    text += "  %v" + std::to_string(i + 1) + " = stablehlo." + op + " %v" + std::to_string(i) +
            " : tensor<4xf32>\n";
  }
  return text + "  return %v40 : tensor<4xf32>\n}\n";
}

/// A device that fails every piece in which these operations stand next to each other.
class BlameTest : public testing::Test {
protected:
  void SetUp() override { reference = std::move(*openDevice("reference")); }

  Result<Blame> search(std::vector<std::string> wrong, uint32_t count = 6) {
    auto read = reader.read(chain(), "chain.mlir");
    EXPECT_TRUE(read) << read.message();
    whole = Prepared{std::move(*read), {}, {}};
    whole->workload.inputs.push_back({Tensor::of<DType::F32>({4}, {0.1f, -0.2f, 0.3f, 0.4f})});
    BlameSeams seams;
    seams.evaluate = [&](Prepared &piece) -> Result<TensorLists> {
      auto executable = reference->compile(piece.program(), piece.budget);
      EXPECT_TRUE(executable) << executable.message();
      auto outputs = (*executable)->run(piece.workload.inputs, piece.budget);
      EXPECT_TRUE(outputs) << outputs.message();
      return TensorLists{*outputs};
    };
    seams.tryOnDevice = [&, wrong](Prepared &piece) -> Result<TriedPiece> {
      EXPECT_FALSE(piece.workload.expected.empty());
      std::vector<std::string> names;
      std::vector<mlir::Operation *> operations;
      mlir::Operation *end = nullptr;
      piece.program().module->walk([&](mlir::Operation *op) {
        if (op->getName().getStringRef() == "func.return")
          end = op;
        if (op->getDialect()->getNamespace() != "stablehlo")
          return;
        names.push_back(op->getName().stripDialect().str());
        operations.push_back(op);
      });
      auto at = std::search(names.begin(), names.end(), wrong.begin(), wrong.end());
      bool found = at != names.end() && !wrong.empty();
      TriedPiece tried{!found, found ? "off by much" : "right"};
      // Wrong is what the last of them gives, and what follows from it.
      if (found) {
        mlir::Operation *guilty = operations[size_t(at - names.begin()) + wrong.size() - 1];
        for (unsigned i = 0; i < end->getNumOperands(); ++i)
          if (end->getOperand(i).getDefiningOp() == guilty)
            tried.output = i;
      }
      return tried;
    };
    return findBlame(*whole, seams, count);
  }

  ProgramReader reader;
  std::optional<Prepared> whole;
  std::unique_ptr<Device> reference;
};

TEST_F(BlameTest, FindsAnOperationThatFailsAlone) {
  for (uint32_t count : {1u, 4u, 24u, 100u}) {
    Result<Blame> blame = search({"exponential"}, count);
    ASSERT_TRUE(blame) << blame.message();
    EXPECT_EQ(describe(*blame), "stablehlo.exponential (chain.mlir:19:10) : (tensor<4xf32>) -> "
                                "tensor<4xf32> alone is wrong: off by much");
    ASSERT_TRUE(blame->program);
    EXPECT_EQ(blame->program->workload.expected.front().size(), 1u);
    EXPECT_LE(blame->probes, 46u);
  }
}

TEST_F(BlameTest, BlamesTheFirstOfSeveral) {
  Result<Blame> blame = search({"tanh"});
  ASSERT_TRUE(blame) << blame.message();
  ASSERT_EQ(blame->operations.size(), 1u);
  EXPECT_EQ(blame->operations[0].place, "chain.mlir:6:9");
}

TEST_F(BlameTest, FindsTheSmallestGroup) {
  Result<Blame> blame = search({"exponential", "abs", "tanh"}, 2);
  ASSERT_TRUE(blame) << blame.message();
  EXPECT_EQ(blame->kind, Blame::Kind::Group);
  ASSERT_EQ(blame->operations.size(), 3u) << describe(*blame);
  EXPECT_EQ(blame->operations[0].name, "stablehlo.exponential");
  EXPECT_EQ(blame->operations[2].name, "stablehlo.tanh");
  EXPECT_EQ(blame->sentence, "off by much");
}

TEST_F(BlameTest, FindsAGroupWherePiecesMeet) {
  Result<Blame> blame = search({"exponential", "abs"}, 100);
  ASSERT_TRUE(blame) << blame.message();
  EXPECT_EQ(blame->kind, Blame::Kind::Group);
  ASSERT_EQ(blame->operations.size(), 2u) << describe(*blame);
  EXPECT_EQ(blame->operations[0].place, "chain.mlir:19:10");
}

TEST_F(BlameTest, BlamesNobodyWhereAllPiecesAreRight) {
  Result<Blame> blame = search({});
  ASSERT_TRUE(blame) << blame.message();
  EXPECT_EQ(blame->kind, Blame::Kind::Accumulation);
  EXPECT_TRUE(blame->operations.empty());
  EXPECT_FALSE(blame->program);
  EXPECT_EQ(blame->probes, 10u); // Six pieces, three others, and the whole once more.
}

} // namespace
} // namespace cupel::testbench::worker
