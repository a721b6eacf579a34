#include "cupel/ir/vhlo/Builtin.h"
#include "cupel/ir/vhlo/Defaults.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace cupel::vhlo;

namespace {

class VhloTest : public testing::Test {
protected:
  VhloTest()
      : context(MLIRContext::Threading::DISABLED), handler(&context, [this](Diagnostic &d) {
          errors += d.str() + "\n";
          return success();
        }) {
    context.loadDialect<VhloDialect>();
  }

  template <typename T> static std::string text(T value) {
    std::string result;
    llvm::raw_string_ostream os(result);
    value.print(os);
    return result;
  }

  OwningOpRef<ModuleOp> parse(StringRef program) {
    return parseSourceString<ModuleOp>(program, ParserConfig(&context));
  }

  std::string write(ModuleOp module, int64_t level) {
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    BytecodeWriterConfig config("test");
    config.setDesiredBytecodeVersion(level);
    EXPECT_TRUE(succeeded(writeBytecodeToFile(module, os, config)));
    return bytes;
  }

  OwningOpRef<ModuleOp> read(StringRef bytes) {
    Block block;
    ParserConfig config(&context);
    if (failed(readBytecodeFile(llvm::MemoryBufferRef(bytes, "test"), &block, config)) ||
        block.empty())
      return {};
    auto module = llvm::dyn_cast<ModuleOp>(block.front());
    if (module)
      module->remove();
    return module;
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
};

const char *const kTypes[] = {
    "!vhlo.bool_v1",
    "!vhlo.i2_v1",
    "!vhlo.ui64_v1",
    "!vhlo.f32_v1",
    "!vhlo.tf31_v1",
    "!vhlo.f4E2M1FN_v1",
    "!vhlo.f6E2M3FN_v1",
    "!vhlo.f6E3M2FN_v1",
    "!vhlo.f8E3M4_v1",
    "!vhlo.f8E8M0FNU_v1",
    "!vhlo.index_v1",
    "!vhlo.token_v1",
    "!vhlo.witness_v1",
    "!vhlo.none_v1",
    "!vhlo.complex_v1<!vhlo.f64_v1>",
    "!vhlo.tensor_v1<!vhlo.f32_v1>",
    "!vhlo.tensor_v1<1x?x!vhlo.f32_v1>",
    "!vhlo.tensor_v1<?x?x!vhlo.f32_v1, #vhlo.type_extensions_v1<bounds = [16, ?]>>",
    "!vhlo.unranked_tensor_v1<!vhlo.i8_v1>",
    "!vhlo.buffer_v1<2x!vhlo.f32_v1>",
    "!vhlo.tuple_v1<>",
    "!vhlo.tuple_v1<!vhlo.token_v1, !vhlo.tensor_v1<!vhlo.i1_v1>>",
    "!vhlo.future_v1<!vhlo.tensor_v1<!vhlo.f32_v1>>",
    "!vhlo.func_v1<(()) -> ()>",
    "!vhlo.func_v1<(!vhlo.f32_v1, !vhlo.f64_v1) -> !vhlo.i8_v1>",
    "!vhlo.quant_v1<!vhlo.i8_v1:!vhlo.f32_v1, 3.400000e+01:16, -128:127, 1>",
    ("!vhlo.quant_per_axis_v1<!vhlo.i8_v1:!vhlo.f32_v1, 0, [3.400000e+01, 1.000000e-01], [16, -3], "
     "-128:127, 1>"),
};

const char *const kAttributes[] = {
    "#vhlo<comparison_direction_v1 LT>",
    "#vhlo<comparison_type_v1 TOTALORDER>",
    "#vhlo<api_version_v1 API_VERSION_TYPED_FFI>",
    "#vhlo<fft_type_v1 IRFFT>",
    "#vhlo<precision_v1 HIGHEST>",
    "#vhlo<rng_algorithm_v1 PHILOX>",
    "#vhlo<rng_distribution_v1 UNIFORM>",
    "#vhlo<transpose_v1 ADJOINT>",
    "#vhlo<result_accuracy_mode_v1 TOLERANCE>",
    "#vhlo.array_v1<[]>",
    "#vhlo.array_v1<[#vhlo.bool_v1<true>, #vhlo.string_v1<\"a \\22quoted\\22 one\">]>",
    "#vhlo.dict_v1<{#vhlo.string_v1<\"k\"> = #vhlo.integer_v1<-1 : i32>}>",
    "#vhlo.float_v1<1.000000e-03 : !vhlo.f32_v1>",
    "#vhlo.float_v1<-2.500000e+00 : !vhlo.bf16_v1>",
    "#vhlo.integer_v1<255 : ui8>",
    "#vhlo.integer_v1<-5 : i4>",
    "#vhlo.integer_v1<7 : index>",
    ("#vhlo.output_operand_alias_v1<outputTupleIndices = [0], operandIndex = 1, "
     "operandTupleIndices "
     "= []>"),
    "#vhlo.tensor_v1<dense<[1, 2]> : tensor<2xi64>>",
    "#vhlo.tensor_v1<dense<> : tensor<0xi64>>",
    "#vhlo.tensor_v1<dense<[true, false, true]> : tensor<3xi1>>",
    "#vhlo.tensor_v1<dense<(1.000000e+00,-2.000000e+00)> : tensor<2xcomplex<f32>>>",
    "#vhlo.tensor_v1<\"0x0102\" : !vhlo.tensor_v1<2x!vhlo.f8E3M4_v1>>",
    "#vhlo.type_v1<!vhlo.none_v1>",
    "#vhlo.type_extensions_v1<bounds = [?, 3]>",
    ("#vhlo.result_accuracy_v1<atol = 1.000000e-05, rtol = 0.000000e+00, ulps = 1, mode = "
     "#vhlo<result_accuracy_mode_v1 TOLERANCE>>"),
    ("#vhlo.axis_ref_v1<name = #vhlo.string_v1<\"x\">, sub_axis_info = "
     "#vhlo.sub_axis_info_v1<pre_size = 1, size = 2>>"),
    "#vhlo.axis_ref_v1<name = #vhlo.string_v1<\"x\">>",
    "#vhlo.replica_group_mesh_axes_v1<mesh = #vhlo.string_v1<\"mesh\">, axes = #vhlo.array_v1<[]>>",
    ("#vhlo.mesh_v1<axes = #vhlo.array_v1<[#vhlo.mesh_axis_v1<name = #vhlo.string_v1<\"x\">, size "
     "= "
     "2>]>, device_ids = #vhlo.tensor_v1<dense<[1, 0]> : tensor<2xi64>>>"),
    "#vhlo.mesh_v1<axes = #vhlo.array_v1<[]>>",
};

TEST_F(VhloTest, TypesAreReadAndPrintedAlike) {
  for (const char *type : kTypes) {
    if (StringRef(type).contains("i1_v1"))
      continue;
    Type parsed = parseType(type, &context);
    ASSERT_TRUE(parsed) << type << "\n" << errors;
    EXPECT_EQ(text(parsed), type);
  }
}

TEST_F(VhloTest, AttributesAreReadAndPrintedAlike) {
  for (const char *attr : kAttributes) {
    Attribute parsed = parseAttribute(attr, &context);
    ASSERT_TRUE(parsed) << attr << "\n" << errors;
    EXPECT_EQ(text(parsed), attr);
  }
}

TEST_F(VhloTest, MalformedTextIsRefusedWithAReason) {
  for (const char *type : {"!vhlo.i1_v1", "!vhlo.tensor_v1<2x>", "!vhlo.complex_v1<>",
                           "!vhlo.quant_v1<!vhlo.i8_v1>", "!vhlo.func_v1<() -> ()"}) {
    errors.clear();
    EXPECT_FALSE(parseType(type, &context)) << type;
    EXPECT_FALSE(errors.empty()) << type;
  }
  for (const char *attr :
       {"#vhlo<comparison_direction_v1 XX>", "#vhlo.nothing_v1<1>", "#vhlo.bool_v1<1>",
        "#vhlo.integer_v1<1 : i3>", "#vhlo.tensor_v1<\"0x01\" : !vhlo.tensor_v1<9x!vhlo.i64_v1>>",
        "#vhlo.tensor_v1<dense<1> : tensor<2xi3>>", "#vhlo.float_v1<1.0 : !vhlo.i8_v1>"}) {
    errors.clear();
    EXPECT_FALSE(parseAttribute(attr, &context)) << attr;
    EXPECT_FALSE(errors.empty()) << attr;
  }
}

TEST_F(VhloTest, EverythingSurvivesBytecodeOfEveryLevel) {
  std::string program = "module attributes {test.attrs = [";
  llvm::raw_string_ostream os(program);
  llvm::interleaveComma(kAttributes, os);
  for (const char *type : kTypes)
    if (!StringRef(type).contains("i1_v1"))
      os << ", " << type;
  os << "]} {\n";
  os << "  vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<!vhlo.f32_v1>) -> "
        "(!vhlo.tensor_v1<!vhlo.f32_v1>) {\n"
        "    %0 = \"vhlo.exponential_v2\"(%arg0) <{result_accuracy = #vhlo.string_v1<\"any\">}> "
        "{extra = #vhlo.bool_v1<true>} : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> "
        "!vhlo.tensor_v1<!vhlo.f32_v1>\n"
        "    \"vhlo.return_v1\"(%0) : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> ()\n"
        "  } {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = "
        "#vhlo.string_v1<\"\">}\n}\n";
  OwningOpRef<ModuleOp> module = parse(program);
  ASSERT_TRUE(module) << errors;
  std::string expected = text(*module);
  for (int64_t level : {0, 1, 3, 4, 6}) {
    OwningOpRef<ModuleOp> back = read(write(*module, level));
    ASSERT_TRUE(back) << "level " << level << "\n" << errors;
    EXPECT_EQ(text(*back), expected) << "level " << level;
  }
}

TEST_F(VhloTest, OperationsAreVerifiedAgainstTheTable) {
  struct Case {
    const char *op, *error;
  } cases[] = {
      {"\"vhlo.replica_id_v1\"() : () -> ()", "expects 1 result, found 0"},
      {"%0 = \"vhlo.iota_v1\"() : () -> !vhlo.f32_v1", "lacks its attribute 'iota_dimension'"},
      {"%0 = \"vhlo.iota_v1\"() <{no = 1}> : () -> !vhlo.f32_v1", "has no attribute 'no'"},
      {"\"vhlo.if_v1\"() : () -> ()", "expects 1 operand, found 0"},
      {"\"vhlo.return_v1\"() : () -> () \"vhlo.return_v1\"() : () -> ()", "must be the last"},
      {"vhlo.replica_id_v1", "is written in its generic form"},
  };
  for (const Case &test : cases) {
    errors.clear();
    EXPECT_FALSE(parse(std::string("module {\n") + test.op + "\n}")) << test.op;
    EXPECT_NE(errors.find(test.error), std::string::npos) << test.op << "\n" << errors;
  }
}

TEST_F(VhloTest, BooleansAreReadInEveryPacking) {
  auto tensor = [&](int64_t count, std::vector<uint8_t> bytes) {
    auto type = RankedV1Type::get(&context, TypeCode::RankedTensor, {count},
                                  ScalarV1Type::get(&context, TypeCode::Bool), Attribute());
    return TensorV1Attr::get(&context, type,
                             ArrayRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()));
  };
  auto values = [&](TensorV1Attr attr) {
    std::string result;
    DenseElementsAttr elements = tensorToElements(attr);
    if (!elements)
      return std::string("malformed");
    for (bool value : elements.getValues<bool>())
      result += value ? '1' : '0';
    return result;
  };
  EXPECT_EQ(values(tensor(3, {0xFF})), "111");
  EXPECT_EQ(values(tensor(3, {0x00})), "000");
  EXPECT_EQ(values(tensor(3, {0x05})), "101");
  EXPECT_EQ(values(tensor(1, {0x01})), "1");
  EXPECT_EQ(values(tensor(8, {0x01})), "10000000");
  EXPECT_EQ(values(tensor(9, {0x01, 0x01})), "100000001");
  EXPECT_EQ(values(tensor(9, {1, 0, 0, 0, 0, 0, 0, 0, 1})), "100000001");
  EXPECT_EQ(values(tensor(100, {0xFF})), std::string(100, '1'));
  EXPECT_EQ(values(tensor(9, {1, 0, 0})), "malformed");
}

TEST_F(VhloTest, TensorsOfHostileSizeAreRefused) {
  auto i64 = ScalarV1Type::get(&context, TypeCode::SI64);
  char bytes[8] = {};
  auto tensor = [&](ArrayRef<int64_t> shape) {
    auto type = RankedV1Type::get(&context, TypeCode::RankedTensor, shape, i64, Attribute());
    return TensorV1Attr::get(&context, type, bytes);
  };
  EXPECT_TRUE(isWellFormed(tensor({1})));
  EXPECT_TRUE(isWellFormed(tensor({1000})));
  EXPECT_FALSE(isWellFormed(tensor({int64_t(1) << 62, 4, 4})));
  EXPECT_FALSE(isWellFormed(tensor({ShapedType::kDynamic})));
  EXPECT_FALSE(isWellFormed(TensorV1Attr::get(&context, i64, bytes)));
}

TEST_F(VhloTest, EveryDefaultIsRecognised) {
  for (const OpInfo &info : allOps()) {
    SmallVector<Attribute> attributes(info.attributes.size());
    // What windows depend on.
    for (StringRef name : {"window_dimensions", "input_spatial_dimensions"})
      if (int index = info.attributeIndex(name); index >= 0)
        attributes[index] = integersAttr({2, 2}, &context);
    for (auto [index, slot] : llvm::enumerate(info.attributes)) {
      if (slot.missing == Default::Required)
        continue;
      Attribute value = defaultValue(info, index, attributes, &context);
      ASSERT_TRUE(value) << info.name.str() << " " << slot.name.str();
      EXPECT_TRUE(isDefault(slot.missing, value)) << info.name.str() << " " << slot.name.str();
      EXPECT_FALSE(isDefault(slot.missing, StringV1Attr::get(&context, "other")));
    }
  }
}

} // namespace
