// What the importer makes of models: the form of the program, names of weights, complaints. Values
// are compared with ONNX's own suite (tests/onnx) and with ONNX Runtime (tests/onnx_models).
#include "cupel/frontends/onnx/Import.h"

#include "cupel/ir/Dialects.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "onnx-ml.pb.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::frontends::onnx_import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using P = proto::TensorProto;

/// Models in few words.
struct Maker {
  proto::ModelProto model;
  proto::GraphProto &graph = *model.mutable_graph();

  explicit Maker(int64_t opset = 21) {
    model.set_ir_version(10);
    model.add_opset_import()->set_version(opset);
  }
  static proto::ValueInfoProto value(const std::string &name, int32_t type,
                                     std::vector<int64_t> dims) {
    proto::ValueInfoProto info;
    info.set_name(name);
    auto *tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (int64_t dim : dims)
      tensor->mutable_shape()->add_dim()->set_dim_value(dim);
    return info;
  }
  Maker &input(const std::string &name, std::vector<int64_t> dims, int32_t type = P::FLOAT) {
    *graph.add_input() = value(name, type, dims);
    return *this;
  }
  Maker &output(const std::string &name) {
    *graph.add_output() = value(name, P::FLOAT, {});
    return *this;
  }
  Maker &domain(const std::string &name) {
    auto *import = model.add_opset_import();
    import->set_domain(name);
    import->set_version(1);
    return *this;
  }
  static proto::TensorProto floats(const std::string &name, std::vector<int64_t> dims, float each) {
    proto::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(P::FLOAT);
    int64_t count = 1;
    for (int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= dim;
    }
    for (int64_t i = 0; i < count; ++i)
      tensor.add_float_data(each);
    return tensor;
  }
  Maker &integers(const std::string &name, std::vector<int64_t> values, bool scalar = false) {
    proto::TensorProto *tensor = graph.add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(P::INT64);
    if (!scalar)
      tensor->add_dims(int64_t(values.size()));
    for (int64_t number : values)
      tensor->add_int64_data(number);
    return *this;
  }
  static proto::NodeProto made(const std::string &op, std::vector<std::string> inputs,
                               std::vector<std::string> outputs, const std::string &domain = "") {
    proto::NodeProto node;
    node.set_op_type(op);
    node.set_name("my_" + op);
    node.set_domain(domain);
    for (const std::string &name : inputs)
      node.add_input(name);
    for (const std::string &name : outputs)
      node.add_output(name);
    return node;
  }
  proto::NodeProto &node(const std::string &op, std::vector<std::string> inputs,
                         std::vector<std::string> outputs, const std::string &domain = "") {
    return *graph.add_node() = made(op, inputs, outputs, domain);
  }
};

void setInteger(proto::NodeProto &node, const std::string &name, int64_t value) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(proto::AttributeProto::INT);
  attribute->set_i(value);
}
void setText(proto::NodeProto &node, const std::string &name, const std::string &value) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(proto::AttributeProto::STRING);
  attribute->set_s(value);
}
proto::GraphProto &setGraph(proto::NodeProto &node, const std::string &name) {
  auto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(proto::AttributeProto::GRAPH);
  return *attribute->mutable_g();
}

struct OnnxImport : testing::Test {
  OnnxImport() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    ir::registerAllDialects(registry);
    return registry;
  }

  /// The program's text; a complaint fails the test.
  std::string text(const Maker &maker) {
    imported = import(maker);
    EXPECT_TRUE(imported.has_value()) << (failure ? failure->message : "");
    if (!imported)
      return "";
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    imported->module->print(stream);
    return printed;
  }
  /// What is said against the model.
  std::string complaint(const Maker &maker) {
    EXPECT_FALSE(import(maker).has_value());
    return failure ? failure->message : std::string();
  }
  std::optional<ImportedModel> import(const Maker &maker) {
    model = std::make_unique<Result<Model>>(Model::parse(maker.model.SerializeAsString()));
    EXPECT_TRUE(bool(*model)) << model->message();
    failure.reset();
    Result<ImportedModel> made = importModel(**model, context, {});
    if (!made) {
      failure = made.error();
      return std::nullopt;
    }
    return std::move(*made);
  }
  /// The first result where it is a constant.
  mlir::DenseElementsAttr constant(const Maker &maker) {
    text(maker);
    if (!imported)
      return {};
    auto main = imported->module->lookupSymbol<mlir::func::FuncOp>("main");
    mlir::Value result = main.getBody().front().getTerminator()->getOperand(0);
    auto op = result.getDefiningOp<stablehlo::ConstantOp>();
    EXPECT_TRUE(bool(op)) << "the result is not folded";
    return op ? mlir::cast<mlir::DenseElementsAttr>(op.getValue()) : mlir::DenseElementsAttr();
  }

  mlir::MLIRContext context;
  std::unique_ptr<Result<Model>> model;
  std::optional<Error> failure;
  std::optional<ImportedModel> imported;
};

Maker loopOf(int64_t trips) {
  Maker maker;
  maker.input("x", {2}).output("y").output("all").integers("trips", {trips}, true);
  proto::NodeProto &loop = maker.node("Loop", {"trips", "", "x"}, {"y", "all"});
  proto::GraphProto &body = setGraph(loop, "body");
  *body.add_input() = Maker::value("i", P::INT64, {});
  *body.add_input() = Maker::value("go", P::BOOL, {});
  *body.add_input() = Maker::value("a", P::FLOAT, {2});
  *body.add_node() = Maker::made("Tanh", {"a"}, {"b"});
  *body.add_output() = Maker::value("go", P::BOOL, {});
  *body.add_output() = Maker::value("b", P::FLOAT, {2});
  *body.add_output() = Maker::value("b", P::FLOAT, {2});
  return maker;
}

TEST_F(OnnxImport, WritesFewTripsOutAndManyAsWhile) {
  std::string few = text(loopOf(3));
  EXPECT_THAT(few, testing::Not(HasSubstr("stablehlo.while")));
  std::string many = text(loopOf(1000000));
  EXPECT_THAT(many, AllOf(HasSubstr("stablehlo.while"), HasSubstr("tensor<1000000x2xf32>")));
  EXPECT_LT(many.size(), size_t(8000));
}

TEST_F(OnnxImport, MakesLongRecurrencesWhile) {
  Maker maker;
  maker.input("x", {500, 1, 3}).input("w", {1, 16, 3}).input("r", {1, 16, 4}).output("y");
  setInteger(maker.node("LSTM", {"x", "w", "r"}, {"y"}), "hidden_size", 4);
  EXPECT_THAT(text(maker), AllOf(HasSubstr("stablehlo.while"), HasSubstr("tensor<500x1x1x4xf32>")));
}

TEST_F(OnnxImport, KeepsAttentionRecognisable) {
  Maker maker(23);
  maker.input("q", {1, 2, 5, 8}).input("k", {1, 2, 5, 8}).input("v", {1, 2, 5, 8}).output("y");
  setInteger(maker.node("Attention", {"q", "k", "v"}, {"y"}), "is_causal", 1);
  EXPECT_THAT(text(maker), AllOf(HasSubstr("\"tenstorrent.scaled_dot_product_attention\""),
                                 HasSubstr("is_causal = true"), HasSubstr("scale = 0.35355")));
}

TEST_F(OnnxImport, KeepsFusedNormsRecognisable) {
  Maker maker;
  maker.input("x", {1, 2, 8}).input("s", {1, 2, 8}).input("g", {8}).output("y");
  maker.domain("com.microsoft");
  maker.node("SkipLayerNormalization", {"x", "s", "g"}, {"y"}, "com.microsoft");
  EXPECT_THAT(text(maker), HasSubstr("stablehlo.composite \"tenstorrent.layer_norm\""));
  Maker simple;
  simple.input("x", {1, 2, 8}).input("g", {8}).output("y");
  simple.node("SimplifiedLayerNormalization", {"x", "g"}, {"y"});
  EXPECT_THAT(text(simple), HasSubstr("stablehlo.composite \"tenstorrent.rms_norm\""));
}

TEST_F(OnnxImport, TellsWeightsOfOneNameApart) {
  Maker maker;
  maker.input("c", {}, P::BOOL).input("x", {2, 64}).output("y");
  proto::NodeProto &branch = maker.node("If", {"c"}, {"y"});
  int which = 1;
  for (std::string name : {"then_branch", "else_branch"}) {
    proto::GraphProto &graph = setGraph(branch, name);
    *graph.add_initializer() = Maker::floats("w", {64, 64}, float(which++));
    *graph.add_node() = Maker::made("MatMul", {"x", "w"}, {"r"});
    *graph.add_output() = Maker::value("r", P::FLOAT, {2, 64});
  }
  text(maker);
  ASSERT_TRUE(imported.has_value());
  ASSERT_EQ(imported->weights.size(), 2u);
  EXPECT_EQ(imported->weights[0].first, "w");
  EXPECT_EQ(imported->weights[1].first, "w_1");
  EXPECT_EQ(*imported->weights[0].second.dataAs<float>(), 1);
  EXPECT_EQ(*imported->weights[1].second.dataAs<float>(), 2);
}

TEST_F(OnnxImport, PassesLargeConstantNodesAsWeights) {
  Maker maker;
  maker.input("x", {64, 64}).output("y");
  proto::NodeProto &node = maker.node("Constant", {}, {"big"});
  auto *attribute = node.add_attribute();
  attribute->set_name("value");
  attribute->set_type(proto::AttributeProto::TENSOR);
  *attribute->mutable_t() = Maker::floats("", {64, 64}, 3);
  maker.node("Add", {"x", "big"}, {"s"});
  maker.node("Mul", {"s", "big"}, {"y"});
  text(maker);
  ASSERT_EQ(imported->weights.size(), 1u);
  EXPECT_EQ(imported->weights[0].first, "big");
}

TEST_F(OnnxImport, NamesTheNodeWhoseOperandsDoNotFit) {
  Maker maker;
  maker.input("x", {2, 3}).input("y", {4, 5}).output("z");
  maker.node("Add", {"x", "y"}, {"z"});
  EXPECT_THAT(complaint(maker), AllOf(HasSubstr("my_Add"), HasSubstr("opset 21"),
                                      HasSubstr("tensor<2x3xf32>"), HasSubstr("tensor<4x5xf32>")));
  Maker types;
  types.input("x", {2}).input("y", {2}, P::INT64).output("z");
  types.node("Sum", {"x", "y"}, {"z"});
  EXPECT_THAT(complaint(types), AllOf(HasSubstr("my_Sum"), HasSubstr("element type")));
  Maker norm;
  norm.input("x", {2, 3}, P::BOOL).output("y");
  norm.node("Exp", {"x"}, {"y"});
  EXPECT_THAT(complaint(norm), HasSubstr("my_Exp"));
}

TEST_F(OnnxImport, RefusesWhatIsUnknownByName) {
  Maker other;
  other.input("x", {2}).output("y").domain("com.example");
  other.node("Frobnicate", {"x"}, {"y"}, "com.example");
  EXPECT_THAT(complaint(other), HasSubstr("com.example.Frobnicate"));
  EXPECT_EQ(failure->code, ErrorCode::OtherDomain);
  Maker fused;
  fused.input("x", {2}).output("y").domain("com.microsoft");
  fused.node("BeamSearch", {"x"}, {"y"}, "com.microsoft");
  EXPECT_THAT(complaint(fused), HasSubstr("com.microsoft.BeamSearch"));
  EXPECT_EQ(failure->code, ErrorCode::OtherDomain);
  Maker newer(29);
  newer.input("x", {2}).output("y").node("Relu", {"x"}, {"y"});
  EXPECT_THAT(complaint(newer), HasSubstr("newer than 28"));
}

TEST_F(OnnxImport, TrainsBatchNormalizationOfOldOpsets) {
  // Nobody runs this form any more; by hand: mean 2, variance 1, momentum 0.9.
  for (int64_t opset : {6, 9}) {
    for (int output = 0; output < 5; ++output) {
      Maker maker(opset);
      proto::TensorProto x = Maker::floats("x", {2, 1, 1, 1}, 1);
      x.set_float_data(1, 3);
      *maker.graph.add_initializer() = x;
      int number = 1;
      for (std::string name : {"scale", "bias", "mean", "variance"})
        *maker.graph.add_initializer() = Maker::floats(name, {1}, float(number++));
      maker.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"},
                 {"r0", "r1", "r2", "r3", "r4"});
      maker.output("r" + std::to_string(output));
      auto made = constant(maker);
      ASSERT_TRUE(bool(made));
      const float expected[] = {1, 2.9f, 3.7f, 2, 1};
      EXPECT_NEAR(*made.value_begin<float>(), expected[output], 1e-4) << "result " << output;
    }
  }
}

TEST_F(OnnxImport, NamesTheNodeOfASubgraphThatDoesNotFit) {
  Maker maker = loopOf(3);
  maker.graph.mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_output(1)->set_name("no");
  EXPECT_THAT(complaint(maker), AllOf(HasSubstr("my_Loop"), HasSubstr("'no'")));
}

//===----------------------------------------------------------------------===//
// Floats that MLIR lacks
//===----------------------------------------------------------------------===//

/// Cast of the numbers to `type` and, if `back`, to float again.
Maker castOf(std::vector<float> numbers, int32_t type, const std::string &rounding, bool back) {
  Maker maker(24);
  proto::TensorProto *tensor = maker.graph.add_initializer();
  *tensor = Maker::floats("x", {int64_t(numbers.size())}, 0);
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor->set_float_data(int(i), numbers[i]);
  proto::NodeProto &to = maker.node("Cast", {"x"}, {"small"});
  setInteger(to, "to", type);
  setText(to, "round_mode", rounding);
  if (back)
    setInteger(maker.node("Cast", {"small"}, {"y"}), "to", P::FLOAT);
  maker.output(back ? "y" : "small");
  return maker;
}

/// Weights that are dequantized stay integers, and their scales constants, however many: devices multiply integers, by kernels that depend
/// on the scales.
TEST_F(OnnxImport, KeepsQuantizedWeights) {
  Maker maker;
  maker.input("x", {2, 3}).output("y");
  proto::TensorProto &weights = *maker.graph.add_initializer();
  weights.set_name("w");
  weights.set_data_type(P::INT8);
  weights.add_dims(3);
  weights.add_dims(1500);
  for (int i = 0; i < 4500; ++i)
    weights.add_int32_data(i % 100);
  *maker.graph.add_initializer() = Maker::floats("s", {1500}, 0.5f);
  maker.graph.mutable_initializer(1)->set_float_data(7, 0.25f);
  setInteger(maker.node("DequantizeLinear", {"w", "s"}, {"d"}), "axis", 1);
  maker.node("MatMul", {"x", "d"}, {"y"});
  std::string program = text(maker);
  ASSERT_TRUE(imported.has_value());
  ASSERT_EQ(imported->weights.size(), 1u);
  EXPECT_EQ(imported->weights[0].first, "w");
  EXPECT_THAT(program, HasSubstr("tensor<3x1500xi8>"));
}

TEST_F(OnnxImport, RoundsSmallFloatsHalfToEven) {
  constexpr int32_t kFloat4 = 23, kFloat6E2M3 = 27, kFloat6E3M2 = 28;
  auto cast = [&](std::vector<float> numbers, int32_t type) {
    auto made = constant(castOf(numbers, type, "up", true));
    return made ? std::vector<float>(made.value_begin<float>(), made.value_end<float>())
                : std::vector<float>();
  };
  EXPECT_THAT(cast({0.25f, 0.75f, 2.5f, 5, 100, -1.2f}, kFloat4), ElementsAre(0, 1, 2, 4, 6, -1));
  EXPECT_THAT(cast({7.5f, 100, 0.125f, 0.0625f, -3.3f}, kFloat6E2M3),
              ElementsAre(7.5f, 7.5f, 0.125f, 0, -3.25f));
  EXPECT_THAT(cast({28, 1000, 0.0625f, 0.03125f, 9}, kFloat6E3M2),
              ElementsAre(28, 28, 0.0625f, 0, 8));
}

TEST_F(OnnxImport, RoundsScalesAsAsked) {
  auto cast = [&](std::vector<float> numbers, const std::string &rounding) {
    auto made = constant(castOf(numbers, 24, rounding, false));
    std::vector<int> bits;
    if (made)
      for (const llvm::APInt &value : made.getValues<llvm::APInt>())
        bits.push_back(int(value.getZExtValue()));
    return bits;
  };
  EXPECT_THAT(cast({1, 3, 5, 0}, "up"), ElementsAre(127, 129, 130, 0));
  EXPECT_THAT(cast({1, 3, 5, 0}, "down"), ElementsAre(127, 128, 129, 0));
  EXPECT_THAT(cast({1, 3, 5, 6}, "nearest"), ElementsAre(127, 129, 129, 130));
  EXPECT_THAT(cast({3.4e38f}, "up"), ElementsAre(254));
}

TEST_F(OnnxImport, LetsOnlySomeOperatorsTakeSmallFloats) {
  Maker moved(24);
  moved.input("x", {2, 3}, 23).output("y");
  moved.node("Transpose", {"x"}, {"t"});
  setInteger(moved.node("Cast", {"t"}, {"y"}), "to", P::FLOAT);
  EXPECT_THAT(text(moved), HasSubstr("tensor<3x2xf32>"));
  Maker added(24);
  added.input("x", {2, 3}, 23).output("y");
  added.node("Add", {"x", "x"}, {"y"});
  EXPECT_THAT(complaint(added), AllOf(HasSubstr("my_Add"), HasSubstr("float4e2m1")));
}

} // namespace
} // namespace cupel::frontends::onnx_import
