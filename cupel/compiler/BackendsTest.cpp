// What every backend must do, asked of all that are registered: right values or a refusal that
// names what is missing, saved forms that load, arguments that are checked, results that last.

#include "cupel/compiler/Backends.h"
#include "cupel/compiler/Compile.h"
#include "cupel/runtime/Options.h"

#include <gtest/gtest.h>

#include <thread>

namespace cupel::compiler {
namespace {

using runtime::ProcessTensors;
using tensor::DType;
using tensor::Tensor;

Tensor floats(std::vector<float> values) {
  return Tensor::of<DType::F32>({static_cast<int64_t>(values.size())}, values);
}

std::vector<float> valuesOf(const Tensor &tensor) {
  const float *data = tensor.dataAs<float>();
  return {data, data + tensor.size()};
}

/// A program on vectors, with what each device gives and what it should get.
struct Case {
  const char *name;
  std::string text;
  std::vector<std::vector<std::vector<float>>> arguments, results;
  CompileOptions options = {};
};

CompileOptions onDevices(int64_t replicas, int64_t partitions) {
  CompileOptions options;
  options.replicas = replicas;
  options.partitions = partitions;
  options.propagateToResults = {true};
  return options;
}

constexpr const char *kMesh = "sdy.mesh @mesh = <[\"x\"=2]>\n";
constexpr const char *kSplit = "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}]>}";

const std::vector<Case> &cases() {
  static const std::vector<Case> all = {
      {"identity",
       "func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> { return %a : tensor<3xf32> }",
       {{{1, 2, 3}}},
       {{{1, 2, 3}}}},
      {"exchange",
       R"(func.func @main(%a: tensor<1xf32>, %b: tensor<2xf32>)
              -> (tensor<2xf32>, tensor<1xf32>, tensor<2xf32>) {
            return %b, %a, %b : tensor<2xf32>, tensor<1xf32>, tensor<2xf32>
          })",
       {{{1}, {2, 3}}},
       {{{2, 3}, {1}, {2, 3}}}},
      {"identity on pieces",
       kMesh + std::string("func.func @main(%a: tensor<4xf32> ") + kSplit +
           ") -> (tensor<4xf32> " + kSplit + ") { return %a : tensor<4xf32> }",
       {{{1, 2}}, {{3, 4}}},
       {{{1, 2}}, {{3, 4}}},
       onDevices(1, 2)},
      {"gathered",
       kMesh + std::string("func.func @main(%a: tensor<4xf32> ") + kSplit +
           ") -> (tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) "
           "{ return %a : tensor<4xf32> }",
       {{{1, 2}}, {{3, 4}}},
       {{{1, 2, 3, 4}}, {{1, 2, 3, 4}}},
       onDevices(1, 2)},
      {"add",
       R"(func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
            %0 = stablehlo.add %a, %b : tensor<3xf32>
            return %0 : tensor<3xf32>
          })",
       {{{1, 2, 3}, {10, 20, 30}}},
       {{{11, 22, 33}}}},
      {"chlo",
       R"(func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
            %0 = chlo.square %a : tensor<2xf32> -> tensor<2xf32>
            return %0 : tensor<2xf32>
          })",
       {{{3, -4}}},
       {{{9, 16}}}},
      {"loop",
       R"(func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
            %limit = stablehlo.constant dense<100.0> : tensor<1xf32>
            %0 = stablehlo.while(%x = %a) : tensor<1xf32> cond {
              %less = stablehlo.compare LT, %x, %limit : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
              %one = stablehlo.reshape %less : (tensor<1xi1>) -> tensor<i1>
              stablehlo.return %one : tensor<i1>
            } do {
              %twice = stablehlo.add %x, %x : tensor<1xf32>
              stablehlo.return %twice : tensor<1xf32>
            }
            return %0 : tensor<1xf32>
          })",
       {{{3}}},
       {{{192}}}},
      {"sum over pieces",
       kMesh + std::string("func.func @main(%a: tensor<4xf32> ") + kSplit + R"() -> tensor<f32> {
            %zero = stablehlo.constant dense<0.0> : tensor<f32>
            %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
                : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
            return %0 : tensor<f32>
          })",
       {{{1, 2}}, {{3, 4}}},
       {{{10}}, {{10}}},
       onDevices(1, 2)},
      {"sum over replicas",
       R"(func.func @main(%a: tensor<1xf32>) -> tensor<1xf32> {
            %0 = "stablehlo.all_reduce"(%a) ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %sum = stablehlo.add %x, %y : tensor<f32>
              stablehlo.return %sum : tensor<f32>
            }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1xf32>) -> tensor<1xf32>
            return %0 : tensor<1xf32>
          })",
       {{{1}}, {{2}}},
       {{{3}}, {{3}}},
       onDevices(2, 1)},
  };
  return all;
}

/// Backends that run some of the cases only, and which; all others run all of them.
const std::map<std::string_view, std::set<std::string_view>> kRunsOnly = {
    {"null", {"identity", "exchange", "identity on pieces"}},
};

class BackendsTest : public testing::TestWithParam<const Backend *> {
protected:
  const Backend &backend() const { return *GetParam(); }

  bool shouldRun(const Case &one) const {
    auto few = kRunsOnly.find(backend().name());
    return few == kRunsOnly.end() || few->second.contains(one.name);
  }

  Result<ExecutablePointer> compiled(const Case &one) const {
    CompileOptions options = one.options;
    options.backend = backend().name();
    return compile(one.text, options);
  }

  static ProcessTensors argumentsOf(const Case &one) {
    ProcessTensors arguments;
    for (const auto &own : one.arguments) {
      auto &list = arguments.emplace_back();
      for (const std::vector<float> &values : own)
        list.push_back(floats(values));
    }
    return arguments;
  }

  static void expectRight(const Case &one, Result<ProcessTensors> results) {
    ASSERT_TRUE(results) << one.name << ": " << results.message();
    ASSERT_EQ(results->size(), one.results.size()) << one.name;
    for (size_t process = 0; process < results->size(); ++process) {
      ASSERT_EQ((*results)[process].size(), one.results[process].size()) << one.name;
      for (size_t i = 0; i < (*results)[process].size(); ++i)
        EXPECT_EQ(valuesOf((*results)[process][i]), one.results[process][i])
            << one.name << ", result " << i << " of process " << process;
    }
  }
};

TEST_P(BackendsTest, ComputesRightOrRefusesByName) {
  for (const Case &one : cases()) {
    Result<ExecutablePointer> made = compiled(one);
    EXPECT_EQ(bool(made), shouldRun(one)) << one.name << ": " << (made ? "runs" : made.message());
    if (made) {
      expectRight(one, (*made)->execute(argumentsOf(one)));
      continue;
    }
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported) << one.name;
    EXPECT_FALSE(made.error().place.operation.empty()) << one.name << ": " << made.message();
    EXPECT_NE(made.message().find(made.error().place.operation), std::string::npos);
  }
}

TEST_P(BackendsTest, WhatItSavesLoads) {
  for (const Case &one : cases()) {
    if (!shouldRun(one))
      continue;
    Result<ExecutablePointer> made = compiled(one);
    ASSERT_TRUE(made) << made.message();
    std::string bytes = (*made)->serialize();
    Result<SavedExecutable> saved = parseSavedForm(bytes);
    ASSERT_TRUE(saved) << saved.message();
    EXPECT_EQ(saved->backend, backend().name());
    Result<ExecutablePointer> loaded = deserialize(bytes);
    ASSERT_TRUE(loaded) << one.name << ": " << loaded.message();
    EXPECT_EQ((*loaded)->info().fingerprint, (*made)->info().fingerprint);
    expectRight(one, (*loaded)->execute(argumentsOf(one)));
    EXPECT_FALSE(backend().load("no saved form", nullptr));
  }
}

TEST_P(BackendsTest, TellsAboutPrograms) {
  Result<ExecutablePointer> made = compiled(cases()[1]);
  ASSERT_TRUE(made) << made.message();
  const runtime::ProgramInfo &info = (*made)->info();
  EXPECT_EQ(info.arguments.size(), 2u);
  ASSERT_EQ(info.results.size(), 3u);
  EXPECT_EQ(info.results[0].shape, tensor::Shape{2});
  EXPECT_NE((*made)->text().find("func.func"), std::string::npos) << (*made)->text();
  EXPECT_EQ((*made)->text().find("cupel."), std::string::npos) << (*made)->text();
}

TEST_P(BackendsTest, ChecksArguments) {
  Result<ExecutablePointer> made = compiled(cases()[0]);
  ASSERT_TRUE(made) << made.message();
  for (const ProcessTensors &wrong :
       {ProcessTensors{}, ProcessTensors{{}}, ProcessTensors{{floats({1, 2})}},
        ProcessTensors{{Tensor::of<DType::I32>({3}, std::vector<int32_t>{1, 2, 3})}}}) {
    Result<ProcessTensors> results = (*made)->execute(wrong);
    ASSERT_FALSE(results);
    EXPECT_EQ(results.error().code, ErrorCode::InvalidArgument) << results.message();
  }
}

TEST_P(BackendsTest, ResultsAreTheirOwnAndLast) {
  Result<ExecutablePointer> made = compiled(cases()[0]);
  ASSERT_TRUE(made) << made.message();
  Tensor argument = floats({1, 2, 3});
  Result<ProcessTensors> results = (*made)->execute({{argument}});
  ASSERT_TRUE(results) << results.message();
  Tensor result = (*results)[0][0];
  EXPECT_NE(result.data(), argument.data());
  *made = nullptr;
  *results = {};
  EXPECT_EQ(valuesOf(result), (std::vector<float>{1, 2, 3}));
}

TEST_P(BackendsTest, RunsFromManyThreads) {
  Result<ExecutablePointer> made = compiled(cases()[1]);
  ASSERT_TRUE(made) << made.message();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < 50; ++run)
        expectRight(cases()[1], (*made)->execute(argumentsOf(cases()[1])));
    });
  for (std::thread &thread : threads)
    thread.join();
}

INSTANTIATE_TEST_SUITE_P(All, BackendsTest,
                         testing::ValuesIn(backends().begin(), backends().end()),
                         [](const auto &info) { return std::string(info.param->name()); });

TEST(FindBackendTest, NamesTheNearest) {
  EXPECT_TRUE(findBackend("reference"));
  Result<const Backend *> near = findBackend("referense");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.message(), "there is no backend 'referense'; the nearest is 'reference'");
  Result<const Backend *> far = findBackend("quantum");
  ASSERT_FALSE(far);
  EXPECT_EQ(far.message(), "there is no backend 'quantum'; there are 'reference', 'cpu', 'null'");
}

TEST(FindBackendTest, TheTableOfOptionsNamesAll) {
  for (const Backend *one : backends()) {
    runtime::Options options(runtime::OptionScope::Program);
    EXPECT_TRUE(options.set("backend", std::string(one->name()))) << one->name();
    EXPECT_EQ(options.string("backend"), one->name());
  }
}

TEST(FindBackendTest, SavedFormsOfOthersAreRefused) {
  Result<ExecutablePointer> unknown = deserialize(savedForm("referense", "1 1 native  \n"));
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.message().find("the nearest is 'reference'"), std::string::npos);
  EXPECT_FALSE(deserialize("cupel executable 2\n1 1 native  \n"));
}

} // namespace
} // namespace cupel::compiler
