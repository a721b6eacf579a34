// What is recognised in bodies: an error function as lower-chlo writes it today.

#include "cupel/compiler/codegen/BodyOps.h"
#include "cupel/compiler/brief/KernelTesting.h"
#include "cupel/compiler/passes/LowerChlo.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cmath>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace {

mlir::Operation *lastOf(mlir::Block *body) {
  return body->getTerminator()->getOperand(0).getDefiningOp();
}

class BodyOpsTest : public testing::Test {
protected:
  /// A body whose chlo operations have been decomposed.
  mlir::Block *lowered(const std::string &text) {
    mlir::Block *body = bodies.parse(text);
    auto module = body->getParentOp()->getParentOfType<mlir::ModuleOp>();
    EXPECT_TRUE(mlir::succeeded(compiler::lowerChlo(module)));
    return body;
  }
  Bodies bodies;
};

TEST_F(BodyOpsTest, TheDecomposedErrorFunctionIsOneOperation) {
  mlir::Block *body = lowered(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %r = chlo.erf %x : tensor<f32> -> tensor<f32> return %r : tensor<f32> })");
  EXPECT_GT(body->getOperations().size(), 40u);
  EXPECT_EQ(matchLoweredErf(lastOf(body)), body->getArgument(0))
      << "LowerChloErrorFunctions.cpp writes another erf; its shape is now "
      << shapeOfFunction(lastOf(body), body->getArgument(0));
  EXPECT_EQ(BodyOps(*body).operations().size(), 1u);

  // It is computed as chlo.erf itself.
  constexpr int64_t n = 1001;
  View view = View::contiguous(DType::F32, {n});
  auto fromParts = make(MapKernel{{n}, {view}, {view}, body});
  auto whole = make(MapKernel{
      {n}, {view}, {view}, bodies.parse(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
        %r = chlo.erf %x : tensor<f32> -> tensor<f32> return %r : tensor<f32> })")});
  ASSERT_TRUE(fromParts && whole);
  GuardedBytes x(n * 4), a(n * 4), b(n * 4);
  for (int64_t i = 0; i < n; ++i)
    x.as<float>()[i] = static_cast<float>(i - n / 2) * 0.01f;
  runInPieces(*fromParts, {x.data()}, {a.data()}, 1);
  runInPieces(*whole, {x.data()}, {b.data()}, 1);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size), 0);
  for (int64_t i = 0; i < n; ++i)
    ASSERT_NEAR(a.as<float>()[i], std::erf(static_cast<double>(x.as<float>()[i])), 1e-7);
}

TEST_F(BodyOpsTest, GatesScaleAndDoNothingElse) {
  auto isGate = [&](const std::string &rest) {
    mlir::Block *body = bodies.parse("func.func @f(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) { %l = stablehlo.logistic %x : tensor<f32> " +
                                     rest + " : tensor<f32>, tensor<f32> }");
    return BodyOps(*body).isGate(&body->front());
  };
  EXPECT_TRUE(isGate("%r = stablehlo.multiply %x, %l : tensor<f32> return %r, %x"));
  EXPECT_TRUE(isGate("%r = stablehlo.multiply %l, %y : tensor<f32> %s = stablehlo.multiply %x, %l : tensor<f32> return %r, %s"));
  EXPECT_FALSE(isGate("%r = stablehlo.multiply %l, %y : tensor<f32> return %r, %l"));
  EXPECT_FALSE(isGate("%r = stablehlo.multiply %l, %y : tensor<f32> %s = stablehlo.add %x, %l : tensor<f32> return %r, %s"));
  EXPECT_FALSE(isGate("%r = stablehlo.multiply %l, %l : tensor<f32> return %r, %x"));
  EXPECT_FALSE(isGate("%m = stablehlo.logistic %y : tensor<f32> %r = stablehlo.multiply %l, %m : tensor<f32> return %r, %x"));
}

TEST_F(BodyOpsTest, InRowsToo) {
  mlir::Block *body = lowered(R"(func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %s = stablehlo.add %x, %y : tensor<8xf32>
    %r = chlo.erf %s : tensor<8xf32> -> tensor<8xf32> return %r : tensor<8xf32> })");
  EXPECT_EQ(matchLoweredErf(lastOf(body)), body->front().getResult(0));
  EXPECT_EQ(BodyOps(*body).operations().size(), 2u);
}

TEST_F(BodyOpsTest, WhatOnlyLooksLikeItIsNot) {
  const char *text = R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %r = chlo.erf %x : tensor<f32> -> tensor<f32> return %r : tensor<f32> })";
  // One other constant, anywhere.
  int constants = 0;
  for (int i = 0;; ++i) {
    mlir::Block *body = lowered(text);
    auto all = llvm::to_vector(body->getOps<stablehlo::ConstantOp>());
    if (i == static_cast<int>(all.size()))
      break;
    auto value = mlir::cast<mlir::DenseElementsAttr>(all[i].getValue());
    float changed = value.getSplatValue<float>() + 0.25f;
    all[i]->setAttr("value", mlir::DenseElementsAttr::get(value.getType(), changed));
    EXPECT_FALSE(matchLoweredErf(lastOf(body))) << i;
    ++constants;
  }
  EXPECT_GT(constants, 20);
  // erfc, f64, and another value in its middle.
  EXPECT_FALSE(matchLoweredErf(lastOf(lowered(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %r = chlo.erfc %x : tensor<f32> -> tensor<f32> return %r : tensor<f32> })"))));
  EXPECT_FALSE(matchLoweredErf(lastOf(lowered(R"(func.func @f(%x: tensor<f64>) -> tensor<f64> {
    %r = chlo.erf %x : tensor<f64> -> tensor<f64> return %r : tensor<f64> })"))));
  mlir::Block *body = lowered(R"(func.func @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
    %r = chlo.erf %x : tensor<f32> -> tensor<f32> return %r : tensor<f32> })");
  for (mlir::Operation &op : body->without_terminator())
    if (mlir::isa<stablehlo::SignOp>(op))
      op.setOperand(0, body->getArgument(1));
  EXPECT_FALSE(matchLoweredErf(lastOf(body)));
}

TEST_F(BodyOpsTest, WhatNobodyNeedsIsLeftOut) {
  mlir::Block *body = bodies.parse(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %unused = stablehlo.tanh %x : tensor<f32>
    %r = stablehlo.abs %x : tensor<f32> return %r : tensor<f32> })");
  EXPECT_EQ(BodyOps(*body).operations().size(), 1u);
}

} // namespace
