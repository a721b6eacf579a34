// What each layer is written as: name, operands and attributes as the table has them, and
// decompositions in place where composites are not kept.

#include "cupel/frontends/math/Composites.h"
#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/math/Attention.h"
#include "cupel/frontends/math/Normalization.h"
#include "cupel/ir/Dialects.h"

#include "mlir/IR/Verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::frontends;
using namespace mlir;
using stablehlo::Composite;
using testing::HasSubstr;
using testing::Not;

namespace {

class Composites : public testing::Test {
protected:
  Composites() {
    DialectRegistry registry;
    ir::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The text of a module whose @main is `write` on f32 arguments of these shapes.
  std::string text(ArrayRef<Dims> shapes,
                   const std::function<Value(HloBuilder &, ValueRange)> &write, bool keep = true) {
    OpBuilder ops(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(ops.getUnknownLoc());
    ops.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> types;
    for (const Dims &shape : shapes)
      types.push_back(RankedTensorType::get(shape, ops.getF32Type()));
    auto function =
        ops.create<func::FuncOp>(ops.getUnknownLoc(), "main", ops.getFunctionType(types, {}));
    function.addEntryBlock();
    HloBuilder b(function);
    b.keepComposites(keep);
    Value result = write(b, function.getArguments());
    problem = b.problem();
    b.builder().create<func::ReturnOp>(b.location(), ValueRange{result});
    function.setFunctionType(ops.getFunctionType(types, {result.getType()}));
    EXPECT_TRUE(succeeded(verify(*module)));
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    module->print(stream);
    return printed;
  }

  MLIRContext context;
  std::string problem;
};

NormTypes allOf(Type type) { return {type, type, type}; }

TEST_F(Composites, NormsCarryTheirShape) {
  auto write = [](HloBuilder &b, ValueRange v) {
    return layerNorm(b, v[0], v[1], v[2], 1, 1e-5, allOf(b.f32()));
  };
  std::string made = text({{4, 2, 8}, {2, 8}, {8}}, write);
  EXPECT_THAT(made, HasSubstr("stablehlo.composite \"tenstorrent.layer_norm\" %arg0, %arg1"));
  EXPECT_THAT(made, HasSubstr("epsilon = 9.99999974E-6 : f32, "
                              "normalized_shape = dense<[2, 8]> : tensor<2xi64>"));
  // The bias is broadcast to the normalized shape.
  EXPECT_THAT(made, HasSubstr("(tensor<4x2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)"));
  EXPECT_THAT(text({{4, 2, 8}, {2, 8}, {8}}, write, false), Not(HasSubstr("composite")));
}

TEST_F(Composites, MishIsOneExponentialAndAQuotient) {
  std::string made = text({{8}}, [](HloBuilder &b, ValueRange v) { return mish(b, v[0]); });
  EXPECT_THAT(made, HasSubstr("stablehlo.exponential"));
  EXPECT_EQ(made.find("stablehlo.exponential"), made.rfind("stablehlo.exponential"));
  EXPECT_THAT(made, Not(HasSubstr("stablehlo.tanh")));
  EXPECT_THAT(made, Not(HasSubstr("stablehlo.log")));
}

TEST_F(Composites, ABiasAloneGetsAWeightOfOnes) {
  std::string made = text({{4, 8}, {8}}, [](HloBuilder &b, ValueRange v) {
    return layerNorm(b, v[0], {}, v[1], 1, 1e-5, allOf(b.f32()));
  });
  EXPECT_THAT(made, HasSubstr("\"tenstorrent.layer_norm\" %arg0, %cst, %arg1"));
}

TEST_F(Composites, GroupsCarryTheirNumber) {
  EXPECT_THAT(text({{2, 6, 3}, {6}},
                   [](HloBuilder &b, ValueRange v) {
                     return groupNorm(b, v[0], v[1], {}, 3, 0.5, allOf(b.f32()));
                   }),
              HasSubstr("\"tenstorrent.group_norm\" %arg0, %arg1 {composite_attributes = "
                        "{channel_dim = 1 : i64, epsilon = 5.000000e-01 : f32, "
                        "num_groups = 3 : i64}"));
}

TEST_F(Composites, AttentionThatAsksForMoreIsAnother) {
  auto write = [](double softcap) {
    return [=](HloBuilder &b, ValueRange v) {
      AttentionForm form;
      form.q = v[0];
      form.k = form.v = v[1];
      form.scale = 0.5;
      form.causal = true;
      form.softcap = softcap;
      return attention(b, form).y;
    };
  };
  std::string plain = text({{1, 4, 3, 8}, {1, 2, 5, 8}}, write(0));
  EXPECT_THAT(plain, HasSubstr("\"tenstorrent.scaled_dot_product_attention\" %arg0, %arg1, %arg1 "
                               "{composite_attributes = {is_causal = true, "
                               "scale = 5.000000e-01 : f32}"));
  std::string more = text({{1, 4, 3, 8}, {1, 2, 5, 8}}, write(30));
  EXPECT_THAT(more, HasSubstr("\"cupel.attention\""));
  EXPECT_THAT(more, HasSubstr("softcap = 3.000000e+01 : f32"));
}

TEST_F(Composites, ScalarsAreVectorsOfOne) {
  EXPECT_THAT(text({{}},
                   [](HloBuilder &b, ValueRange v) {
                     return softmaxLayer(b, v[0], 0, true, b.f32());
                   }),
              HasSubstr("\"cupel.log_softmax\""));
}

TEST_F(Composites, OtherAttributesThanTheTablesAreAProblem) {
  auto body = [](HloBuilder &, ValueRange v) -> SmallVector<Value> { return {v[0]}; };
  text({{3}}, [&](HloBuilder &b, ValueRange v) {
    return composite(b, Composite::Softmax, v, {{"axes", int64_t{0}}}, body)[0];
  });
  EXPECT_THAT(problem, HasSubstr("other attributes than its table has"));
  text({{3}}, [&](HloBuilder &b, ValueRange v) {
    return composite(b, Composite::Softmax, v, {{"axis", int64_t{0}}}, body)[0];
  });
  EXPECT_EQ(problem, "");
}

} // namespace
