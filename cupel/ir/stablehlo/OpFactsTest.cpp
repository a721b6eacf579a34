// What can be told of an operation's facts from its form: a record that forgets one fails here.

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

namespace cupel::stablehlo {

using namespace mlir;

namespace {

class OpFactsTest : public ::testing::Test {
protected:
  OpFactsTest() { context.loadDialect<StablehloDialect>(); }

  std::vector<RegisteredOperationName> operations() {
    std::vector<RegisteredOperationName> found;
    for (RegisteredOperationName name : context.getRegisteredOperations())
      if (name.getDialectNamespace() == "stablehlo")
        found.push_back(name);
    return found;
  }

  MLIRContext context;
};

TEST_F(OpFactsTest, WhatNamesOtherProcessesWaitsForThem) {
  std::vector<std::string> collectives;
  for (RegisteredOperationName name : operations()) {
    bool namesOthers = llvm::any_of(name.getAttributeNames(), [](StringAttr attribute) {
      return attribute == "replica_groups" || attribute == "source_target_pairs" ||
             attribute == "channel_handle";
    });
    EXPECT_EQ(namesOthers, name.hasTrait<Collective>()) << name.getStringRef().str();
    // One of no effect could be left out by some processes and not by others.
    if (namesOthers)
      EXPECT_FALSE(name.hasTrait<OpTrait::AlwaysSpeculatableImplTrait>())
          << name.getStringRef().str();
    if (namesOthers)
      collectives.push_back(name.stripDialect().str());
  }
  EXPECT_EQ(collectives.size(), 10u);
}

TEST_F(OpFactsTest, ElementwiseIsWhateverWorksOnOneShapeElementByElement) {
  unsigned count = 0;
  for (RegisteredOperationName name : operations()) {
    std::string text = name.getStringRef().str();
    if (name.hasTrait<OpTrait::Elementwise>() || name.hasTrait<Transcendental>())
      EXPECT_TRUE(name.hasTrait<Elementwise>()) << text;
    if (name.hasTrait<Elementwise>())
      EXPECT_FALSE(name.hasTrait<MovesElements>() || name.hasTrait<Collective>()) << text;
    count += name.hasTrait<Elementwise>();
  }
  EXPECT_EQ(count, 48u); // uniform_quantize and uniform_dequantize are two of them.
}

TEST_F(OpFactsTest, WhatTakesAShapeAsValuesSaysSo) {
  for (StringRef text : {"dynamic_broadcast_in_dim", "dynamic_conv", "dynamic_gather",
                         "dynamic_iota", "dynamic_pad", "dynamic_reshape", "real_dynamic_slice"})
    EXPECT_TRUE(OperationName(("stablehlo." + text).str(), &context).hasTrait<ShapeFromValues>())
        << text.str();
  EXPECT_FALSE(OperationName("stablehlo.dynamic_slice", &context).hasTrait<ShapeFromValues>());
}

} // namespace

} // namespace cupel::stablehlo
