#include "cupel/testbench/worker/ExtractCases.h"

#include "cupel/testbench/opcases/Writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

namespace torch = frontends::torch_import;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using torch::Name;

torch::TensorMeta meta(tensor::DType type, std::vector<int64_t> sizes,
                       std::vector<int64_t> strides) {
  torch::TensorMeta made;
  made.type = type;
  for (int64_t size : sizes)
    made.sizes.push_back({size, "", true});
  for (int64_t stride : strides)
    made.strides.push_back({stride, "", true});
  return made;
}

torch::GraphNode call(std::string target, std::vector<torch::NamedArgument> inputs) {
  torch::GraphNode node;
  node.target = "torch.ops.aten." + std::move(target);
  node.inputs = std::move(inputs);
  return node;
}

torch::Program program() {
  torch::Program made;
  auto &tensors = made.graph.tensors;
  tensors["x"] = meta(tensor::DType::BF16, {2, 8}, {8, 1});
  tensors["t"] = meta(tensor::DType::BF16, {8, 2}, {1, 8});
  tensors["w"] = meta(tensor::DType::BF16, {100, 8}, {8, 1});
  tensors["ids"] = meta(tensor::DType::I64, {2, 3}, {3, 1});
  tensors["at"] = meta(tensor::DType::I64, {2}, {1});
  torch::GraphNode linear = call("matmul.default", {{"self", {Name{"x"}}}, {"other", {Name{"t"}}}});
  linear.stackTrace =
      "  File \"/home/a/lib/models/block.py\", line 41, in forward\n    y = x @ x.T\n"
      "  File \"/usr/lib/torch/nn/modules/x.py\", line 2, in call\n    z()\n";
  made.graph.nodes = {
      linear,
      linear,
      call("embedding.default", {{"weight", {Name{"w"}}}, {"indices", {Name{"ids"}}}}),
      call("view.default", {{"self", {Name{"x"}}}, {"size", {std::vector<int64_t>{4, -1}}}}),
      call("to.dtype", {{"self", {Name{"x"}}}, {"dtype", {tensor::DType::F32}}}),
      call("index_put.default",
           {{"self", {Name{"w"}}},
            {"indices", {torch::Argument::OptionalNames{std::nullopt, Name{"at"}}}},
            {"values", {Name{"x"}}}}),
      call("add.Tensor",
           {{"self", {Name{"x"}}}, {"other", {torch::SymNumber{Name{"s0"}}}}, {"alpha", {2.5}}}),
      call("_assert_tensor_metadata.default", {{"a", {Name{"x"}}}}),
      call("full.default",
           {{"size", {std::vector<int64_t>{2}}}, {"fill_value", {std::complex<double>(1, 2)}}}),
  };
  made.graph.symbols["s0"] = {7, "s0", true};
  return made;
}

TEST(ExtractCases, DistinctCallsBecomeCases) {
  ExtractedCases made = extractCases(program(), "m");
  EXPECT_EQ(made.calls, 8u);
  EXPECT_THAT(made.leftOut, ElementsAre(HasSubstr("full.default: the argument 'fill_value'")));
  ASSERT_EQ(made.file.cases.size(), 6u);
  EXPECT_EQ(made.defaults.dtype, "bfloat16");
  const opcases::Case &product = made.file.cases[0];
  EXPECT_EQ(product.name, "matmul_1");
  EXPECT_EQ(product.op, "torch.ops.aten.matmul.default");
  EXPECT_EQ(product.description, "File: models/block.py:41\nCode: y = x @ x.T\nCalls: 2\n");
  EXPECT_EQ(product.inputs[1].tensors[0].preset, "strided");
  EXPECT_EQ(made.file.cases[1].inputs[1].tensors[0].high, 100);
  EXPECT_EQ(made.file.cases[2].attrs[0].second.value.str(), "[4, -1]");
  EXPECT_EQ(made.file.cases[3].attrs[0].second.value.text, "torch.float32");
  EXPECT_TRUE(made.file.cases[4].inputs[1].tensors[0].isNone);
  EXPECT_EQ(made.file.cases[4].inputs[1].tensors[1].init, "arange");
  EXPECT_EQ(made.file.cases[5].attrs[0].second.value.integer, 7);
}

TEST(ExtractCases, WhatIsExtractedCanBeRead) {
  ExtractedCases made = extractCases(program(), "m");
  std::string text = opcases::toYaml(made.file, made.defaults, "of m.pt2");
  std::vector<config::Diagnostic> diagnostics;
  config::YamlFile yaml("m.yaml", text, diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty());
  opcases::CaseFile read = opcases::readCases(yaml);
  ASSERT_THAT(read.problems, IsEmpty()) << read.problems[0].message << "\n" << text;
  ASSERT_EQ(read.cases.size(), made.file.cases.size());
  for (size_t i = 0; i < read.cases.size(); ++i)
    EXPECT_EQ(read.cases[i].key(), made.file.cases[i].key()) << text;
}

} // namespace
} // namespace cupel::testbench::worker
