// The tables of suites and kinds are one list.

#include "cupel/results/Suites.h"
#include "cupel/testbench/Kinds.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::testbench;

TEST(Kinds, EverySuiteIsAKind) {
  ASSERT_EQ(kinds().size(), results::suites().size());
  for (size_t i = 0; i < kinds().size(); ++i) {
    const Kind &kind = kinds()[i];
    EXPECT_EQ(kind.suite, results::suites()[i].name);
    EXPECT_EQ(&kindOf(kind.suite), &kind);
    // Somebody runs it, or it says what it waits for.
    EXPECT_NE(kind.steps.empty(), kind.missing.empty()) << kind.suite;
    for (const Step &step : kind.steps)
      EXPECT_FALSE(step.stages.empty()) << kind.suite;
    if (!kind.steps.empty())
      EXPECT_EQ(kind.steps.back().server, Server::Worker) << kind.suite;
    // Whoever has steps is served, and what Python begins with is prepared.
    EXPECT_EQ(kind.steps.empty(), kind.service == Service::None) << kind.suite;
    bool beginsInPython = !kind.steps.empty() && kind.steps.front().server == Server::Python;
    EXPECT_EQ(beginsInPython, kind.preparation != Preparation::None) << kind.suite;
  }
}

TEST(Kinds, FilesSayWhatTheyAre) {
  EXPECT_EQ(kindOfFile("a.mlir")->suite, "programs");
  EXPECT_EQ(kindOfFile("a.mlir.bc")->suite, "programs");
  EXPECT_EQ(kindOfFile("loader.py")->suite, "models");
  EXPECT_EQ(kindOfFile("workload.json")->suite, "workloads");
  EXPECT_EQ(kindOfFile("manifest.json")->suite, "generated");
  EXPECT_EQ(kindOfFile("other.py"), nullptr);
  EXPECT_EQ(kindOfFile("other.bc"), nullptr);
}

TEST(Kinds, AFrameworkOfLoadersIsNoOtherSuite) {
  TestItem item;
  item.suite = "onnx";
  EXPECT_EQ(kindOf(item).suite, "onnx");
  item.modelPath = "resnet/onnx";
  EXPECT_EQ(kindOf(item).suite, "models");
  item.suite = "paddlepaddle";
  EXPECT_EQ(kindOf(item).suite, "models");
}

TEST(Kinds, PytestFunctionsStandForSuites) {
  for (const results::PytestFunction &function : results::pytestFunctions())
    EXPECT_TRUE(results::findSuite(function.suite)) << function.name;
}
