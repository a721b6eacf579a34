#include "cupel/ir/portable/Portable.h"
#include "cupel/ir/vhlo/Defaults.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace cupel;
using portable::Version;

namespace {

class ConvertVersionTest : public testing::Test {
protected:
  ConvertVersionTest()
      : context(MLIRContext::Threading::DISABLED), handler(&context, [this](Diagnostic &d) {
          errors += d.str() + "\n";
          for (Diagnostic &note : d.getNotes())
            errors += note.str() + "\n";
          return success();
        }) {
    portable::loadDialects(context);
  }

  std::string text(Operation *op) {
    std::string result;
    llvm::raw_string_ostream os(result);
    op->print(os, OpPrintingFlags().printGenericOpForm());
    return result;
  }

  /// A module with one operation of a form, with as many operands and results as it must have (one
  /// for what is variadic), and attributes that mean nothing unless they have a default.
  OwningOpRef<ModuleOp> moduleWith(const vhlo::OpInfo &info) {
    Location loc = UnknownLoc::get(&context);
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    Type type = vhlo::RankedV1Type::get(&context, vhlo::TypeCode::RankedTensor, {},
                                        vhlo::ScalarV1Type::get(&context, vhlo::TypeCode::F32),
                                        Attribute());
    OpBuilder builder = OpBuilder::atBlockBegin(module->getBody());
    OperationState source(loc, vhlo::operationName(*vhlo::findOp("create_token_v1"), &context));
    source.addTypes(type);
    Value operand = builder.create(source)->getResult(0);

    OperationState state(loc, vhlo::operationName(info, &context));
    for (size_t i = 0; i != info.operands.size(); ++i)
      state.addOperands(operand);
    for (size_t i = 0; i != info.results.size(); ++i)
      state.addTypes(type);
    for (const vhlo::Slot &region : info.regions)
      if (!region.variadic)
        state.addRegion();
    auto &values = state.getOrAddProperties<vhlo::OpAttributes>().values;
    values.resize(info.attributes.size());
    for (auto [slot, value] : llvm::zip(info.attributes, values))
      value = StringRef(slot.name).contains("spatial")
                  ? vhlo::integersAttr({1, 2}, &context)
                  : Attribute(vhlo::StringV1Attr::get(&context, slot.name));
    for (unsigned index = 0; index != values.size(); ++index)
      if (Attribute value = vhlo::defaultValue(info, index, values, &context))
        values[index] = value;
    state.addAttribute("kept", vhlo::BooleanV1Attr::get(&context, true));
    builder.create(state);
    return module;
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
};

TEST_F(ConvertVersionTest, EveryOldFormIsUpgradedAndComesBack) {
  unsigned count = 0;
  for (const vhlo::OpInfo &info : vhlo::allOps()) {
    if (info.until == vhlo::kCurrentVersion)
      continue;
    ++count;
    SCOPED_TRACE(info.name.str());
    OwningOpRef<ModuleOp> module = moduleWith(info);
    std::string before = text(*module);
    ASSERT_TRUE(succeeded(portable::upgrade(*module))) << errors;
    ASSERT_TRUE(succeeded(verify(*module))) << errors;
    Operation *op = &module->getBody()->back();
    const vhlo::OpInfo *newest = vhlo::newestRevision(info.base);
    EXPECT_EQ(vhlo::infoOf(op), newest);
    EXPECT_TRUE(op->hasAttr("kept"));
    for (auto [slot, value] : llvm::zip_equal(newest->attributes, vhlo::attributesOf(op)))
      if (info.attributeIndex(slot.name) < 0) {
        EXPECT_TRUE(vhlo::isDefault(slot.missing, value)) << slot.name.str();
      }
    ASSERT_TRUE(succeeded(portable::downgrade(*module, info.until))) << errors;
    EXPECT_EQ(text(*module), before);
  }
  EXPECT_EQ(count, 25u);
}

TEST_F(ConvertVersionTest, WhatARevisionAddedMustHaveItsDefault) {
  for (const vhlo::OpInfo &info : vhlo::allOps()) {
    if (info.revision == 1)
      continue;
    const vhlo::OpInfo *older = vhlo::findRevision(info.base, info.revision - 1);
    for (auto [index, slot] : llvm::enumerate(info.attributes)) {
      if (older->attributeIndex(slot.name) >= 0)
        continue;
      SCOPED_TRACE(info.name.str() + " " + slot.name.str());
      OwningOpRef<ModuleOp> module = moduleWith(info);
      Operation *op = &module->getBody()->back();
      op->setAttr(slot.name, vhlo::StringV1Attr::get(&context, "not the default"));
      errors.clear();
      EXPECT_TRUE(failed(portable::downgrade(*module, older->until)));
      EXPECT_NE(errors.find("failed to legalize operation 'vhlo." + info.name.str() +
                            "' that was explicitly marked illegal"),
                std::string::npos)
          << errors;
      EXPECT_NE(errors.find("its attribute '" + slot.name.str() + "' is not the default"),
                std::string::npos)
          << errors;
      EXPECT_NE(errors.find("exists since version " + info.since.str()), std::string::npos)
          << errors;
      EXPECT_NE(errors.find("failed to convert VHLO to v" + older->until.str()), std::string::npos)
          << errors;
    }
  }
}

TEST_F(ConvertVersionTest, SeveralOperandsNeedTheVariadicForm) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(R"(
    %0:2 = "vhlo.rng_bit_generator_v1"(%1) <{rng_algorithm = 1}> :
        (!vhlo.token_v1) -> (!vhlo.token_v1, !vhlo.token_v1)
    %1 = "vhlo.create_token_v1"() : () -> !vhlo.token_v1
    %2:2 = "vhlo.all_gather_v2"(%0#0, %0#1) <{all_gather_dim = 1, channel_id = 1,
        replica_groups = 1, use_global_device_ids = 1}> :
        (!vhlo.token_v1, !vhlo.token_v1) -> (!vhlo.token_v1, !vhlo.token_v1)
  )",
                                                             ParserConfig(&context));
  ASSERT_TRUE(module) << errors;
  EXPECT_TRUE(failed(portable::downgrade(*module, {1, 4, 0})));
  EXPECT_NE(errors.find("it has 2 operands and 2 results"), std::string::npos) << errors;
}

TEST_F(ConvertVersionTest, TypesAndAttributesHaveAFirstVersion) {
  struct Case {
    const char *type;
    Version last;
    const char *error;
  } cases[] = {
      {"!vhlo.tensor_v1<!vhlo.f8E4M3FNUZ_v1>",
       {0, 9, 0},
       "type 'f8E4M3FNUZ' exists since version 0.10.0"},
      {"!vhlo.tuple_v1<!vhlo.tensor_v1<!vhlo.i2_v1>>",
       {1, 1, 0},
       "type 'i2' exists since version 1.2.0"},
      {"!vhlo.tensor_v1<!vhlo.f8E8M0FNU_v1>",
       {1, 7, 0},
       "type 'f8E8M0FNU' exists since version 1.8.0"},
      {"!vhlo.buffer_v1<!vhlo.f32_v1>", {1, 12, 0}, "type 'buffer' exists since version 1.13.0"},
      {"!vhlo.future_v1<!vhlo.token_v1>", {1, 14, 0}, "type 'future' exists since version 1.15.0"},
  };
  for (const Case &test : cases) {
    errors.clear();
    std::string program = std::string("%0 = \"vhlo.create_token_v1\"() : () -> ") + test.type;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, ParserConfig(&context));
    ASSERT_TRUE(module) << errors;
    EXPECT_TRUE(failed(portable::downgrade(*module, test.last)));
    EXPECT_NE(errors.find(test.error), std::string::npos) << errors;
    Version next = {test.last.major, test.last.minor + 1, 0};
    EXPECT_TRUE(succeeded(portable::downgrade(*module, next)));
  }
}

} // namespace
