#include "cupel/ir/portable/Portable.h"
#include "cupel/ir/portable/PrintProgram.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace cupel;
using portable::Version;

namespace {

class PortableTest : public testing::Test {
protected:
  PortableTest()
      : context(MLIRContext::Threading::DISABLED), handler(&context, [this](Diagnostic &d) {
          messages += d.str() + "\n";
          for (Diagnostic &note : d.getNotes())
            messages += note.str() + "\n";
          return success();
        }) {
    context.allowUnregisteredDialects();
    portable::loadDialects(context);
  }

  OwningOpRef<ModuleOp> parse(StringRef program) {
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(program, ParserConfig(&context), "program.mlir");
    EXPECT_TRUE(module) << messages;
    return module;
  }

  std::string write(ModuleOp module, Version version = vhlo::kCurrentVersion,
                    portable::WriteOptions options = {}) {
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    return succeeded(portable::writePortable(module, version, os, options)) ? bytes : "";
  }

  OwningOpRef<ModuleOp> read(const std::string &bytes, portable::ReadOptions options = {}) {
    return portable::readPortable(llvm::MemoryBufferRef(bytes, "program.mlirbc"), &context,
                                  options);
  }

  static std::string text(Operation *op) {
    std::string result;
    llvm::raw_string_ostream os(result);
    op->print(os);
    return result;
  }

  bool said(StringRef what) { return StringRef(messages).contains(what); }

  MLIRContext context;
  std::string messages;
  ScopedDiagnosticHandler handler;
};

TEST_F(PortableTest, ProgramsComeBackFromEveryVersion) {
  OwningOpRef<ModuleOp> module = parse(R"(
    module @named attributes {mhlo.num_partitions = 1 : i32} {
      func.func public @main(%arg0: tensor<2xf32> {jax.arg_info = "x"}) -> (tensor<2xf32> {jax.result_info = "y"}) {
        %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %1 = stablehlo.add %arg0, %0 {note = "kept"} : tensor<2xf32>
        %2 = func.call @double(%1) : (tensor<2xf32>) -> tensor<2xf32>
        return %2 : tensor<2xf32>
      }
      func.func private @double(%arg0: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.exponential %arg0 : tensor<2xf32>
        return %0 : tensor<2xf32>
      }
    })");
  std::string expected = text(*module);
  for (unsigned minor = 9; minor <= 20; ++minor) {
    std::string bytes = write(*module, {0, minor, 0});
    EXPECT_EQ(portable::artifactVersion(bytes), (Version{0, minor, 0}));
    OwningOpRef<ModuleOp> back = read(bytes);
    ASSERT_TRUE(back) << messages;
    EXPECT_EQ(text(*back), expected) << minor;
  }
  for (unsigned minor = 0; minor <= 20; ++minor) {
    OwningOpRef<ModuleOp> back = read(write(*module, {1, minor, 3}));
    ASSERT_TRUE(back) << messages;
    EXPECT_EQ(text(*back), expected) << minor;
  }
  EXPECT_EQ(text(*module), expected) << "writing must not change the program";
}

TEST_F(PortableTest, OnlyArtifactsHaveAVersion) {
  OwningOpRef<ModuleOp> module = parse("module {}");
  std::string bytes = write(*module, {1, 13, 7});
  EXPECT_EQ(portable::artifactVersion(bytes), (Version{1, 13, 7}));
  for (size_t length : {0, 1, 4, 5, 8, 20})
    EXPECT_FALSE(portable::artifactVersion(StringRef(bytes).take_front(length))) << length;
  EXPECT_FALSE(portable::artifactVersion("module {}"));
  EXPECT_FALSE(read("module {}"));
  EXPECT_TRUE(said("is not a portable artifact"));
}

TEST_F(PortableTest, CutArtifactsAreRefusedWithAReason) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%arg0: tensor<4xi1>) -> tensor<4xi1> {
      %0 = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
      %1 = stablehlo.and %arg0, %0 : tensor<4xi1>
      return %1 : tensor<4xi1>
    })");
  std::string bytes = write(*module);
  ASSERT_TRUE(read(bytes)) << messages;
  for (size_t length = 0; length != bytes.size(); ++length) {
    messages.clear();
    EXPECT_FALSE(read(bytes.substr(0, length))) << length;
    EXPECT_FALSE(messages.empty()) << length;
  }
}

TEST_F(PortableTest, OtherDialectsStandBetweenCasts) {
  OwningOpRef<ModuleOp> module = parse(R"(
    module {
      "other.declaration"() : () -> ()
      func.func @main(%arg0: tensor<2xf32> {other.flag}) -> tensor<2xf32> {
        %0 = stablehlo.negate %arg0 : tensor<2xf32>
        %1 = "other.region"(%0) ({
        ^bb0(%arg1: tensor<2xf32>):
          %2 = stablehlo.abs %arg1 {other.unit} : tensor<2xf32>
          "other.yield"(%2) : (tensor<2xf32>) -> ()
        }) {other.attribute = affine_map<(d0) -> (d0)>} : (tensor<2xf32>) -> tensor<2xf32>
        return %1 : tensor<2xf32>
      }
    })");
  std::string expected = text(*module);
  for (Version version : {Version{0, 9, 0}, Version{1, 0, 0}, vhlo::kCurrentVersion}) {
    OwningOpRef<ModuleOp> back = read(write(*module, version));
    ASSERT_TRUE(back) << messages;
    EXPECT_EQ(text(*back), expected);
  }
  EXPECT_EQ(write(*module, vhlo::kCurrentVersion, {.allowOtherDialects = false}), "");
  EXPECT_TRUE(said("failed to legalize operation 'other.declaration'")) << messages;
}

TEST_F(PortableTest, AttributesWithoutPortableFormAreNamed) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.negate %arg0 {test.unit} : tensor<f32>
      return %0 : tensor<f32>
    })");
  EXPECT_EQ(write(*module, {1, 0, 0}, {.allowOtherDialects = false}), "");
  EXPECT_TRUE(said("in its attribute 'test.unit': attribute 'unit' has no portable form"))
      << messages;
}

TEST_F(PortableTest, TypesThatMlirLacksComeAndGo) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%arg0: tensor<2x!stablehlo.f8E3M4>) -> tensor<2x!stablehlo.f4E2M1FN> {
      %0 = stablehlo.constant #stablehlo.bits<dense<[1, 15]> : tensor<2xui8>> : tensor<2x!stablehlo.f4E2M1FN>
      %1 = stablehlo.convert %arg0 : (tensor<2x!stablehlo.f8E3M4>) -> tensor<2x!stablehlo.f4E2M1FN>
      %2 = stablehlo.add %0, %1 : tensor<2x!stablehlo.f4E2M1FN>
      %3 = stablehlo.constant #stablehlo.bits<dense<127> : tensor<4xui8>> : tensor<4x!stablehlo.f8E8M0FNU>
      return %2 : tensor<2x!stablehlo.f4E2M1FN>
    }
  )");
  ASSERT_TRUE(module) << messages;
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  ASSERT_TRUE(succeeded(portable::writePortable(*module, vhlo::kCurrentVersion, os))) << messages;
  OwningOpRef<ModuleOp> back = read(bytes);
  ASSERT_TRUE(back) << messages;
  EXPECT_EQ(text(*back), text(*module));
  // For others the names are plain, and the numbers are numbers.
  std::string printed;
  llvm::raw_string_ostream out(printed);
  ir::printProgram(*module, out);
  EXPECT_NE(printed.find("dense<[5.000000e-01, -6.000000e+00]> : tensor<2xf4E2M1FN>"),
            std::string::npos)
      << printed;
  EXPECT_NE(printed.find("dense<1.000000e+00> : tensor<4xf8E8M0FNU>"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("!stablehlo"), std::string::npos) << printed;
  // Before 1.8.0 the format has no such type.
  std::string old;
  llvm::raw_string_ostream oldOs(old);
  EXPECT_FALSE(succeeded(portable::writePortable(*module, vhlo::Version{1, 7, 0}, oldOs)));
  EXPECT_TRUE(said("exists since version 1.8.0")) << messages;
}

TEST_F(PortableTest, ValuesThatNeedAVersionAreNamed) {
  OwningOpRef<ModuleOp> module = parse(R"(
    func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.custom_call @foo(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i32}} : (tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    })");
  EXPECT_NE(write(*module, {1, 3, 0}), "");
  EXPECT_EQ(write(*module, {1, 2, 0}), "");
  EXPECT_TRUE(said("custom calls (api_version 4) exists since version 1.3.0")) << messages;
}

TEST_F(PortableTest, MalformedAttributesAreNamed) {
  struct Case {
    const char *op, *error;
  } cases[] = {
      {"%0 = \"vhlo.iota_v1\"() <{iota_dimension = #vhlo.string_v1<\"a\">}> : () -> "
       "!vhlo.tensor_v1<2x!vhlo.f32_v1>",
       "iota"},
      {"\"vhlo.call_v1\"() <{callee = #vhlo.bool_v1<true>}> : () -> ()",
       "attribute 'callee': a string was expected"},
      {"%0 = \"vhlo.create_token_v1\"() : () -> !vhlo.complex_v1<!vhlo.token_v1>",
       "is not a type of a program"},
      {"%0 = \"vhlo.create_token_v1\"() : () -> !vhlo.tensor_v1<!vhlo.quant_v1<!vhlo.i8_v1:"
       "!vhlo.f32_v1, 1.0:16, 5:-5, 1>>",
       "is malformed"},
  };
  for (const Case &test : cases) {
    OwningOpRef<ModuleOp> module = parse(test.op);
    messages.clear();
    EXPECT_TRUE(failed(portable::convertFromVhlo(*module)) || failed(verify(*module))) << test.op;
    EXPECT_TRUE(said(test.error)) << test.op << "\n" << messages;
  }
}

} // namespace
