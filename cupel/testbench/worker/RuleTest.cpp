// Which rule decides, and what is recorded of the other one.

#include "cupel/testbench/worker/Rule.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;

constexpr int kCount = 256;

Tensor wave(double scale, double noise = 0) {
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i)
    values[i] = float(scale * std::sin(i) * (1 + noise * std::cos(7 * i)));
  return Tensor::of<DType::F32>({kCount}, values);
}

class RuleTest : public testing::Test {
protected:
  results::ComparisonRecord judge(const Tensor &actual, uint32_t samples = 2) {
    NoiseSources sources;
    sources.isExpectedFromReference = true;
    sources.reference = [&](const Budget &budget) -> Result<TensorLists> {
      EXPECT_TRUE(budget.jitter.isOn());
      ++evaluations;
      if (referenceFails || (runsOutAfter && evaluations > runsOutAfter))
        return Error{whyItFails, "cannot"};
      return TensorLists{{wave(1, noise * (budget.jitter.seed % 2 ? 1 : -1))}};
    };
    if (deviceRuns)
      sources.device = [&](const TensorLists &inputs, const Budget &budget) -> Result<TensorLists> {
        ++runs;
        deviceHas = budget.secondsLeft();
        return inputs;
      };
    Prepared prepared = preparedTest();
    prepared.executeSeconds = executeSeconds;
    if (secondsLeft > 0)
      prepared.budget.deadline =
          std::chrono::steady_clock::now() + std::chrono::seconds(secondsLeft);
    if (testSecondsLeft > 0)
      prepared.deviceDeadline = std::chrono::steady_clock::now() + std::chrono::seconds(testSecondsLeft);
    TestNoise testNoise(prepared, *compare::DevicePrecision::parse("f32"), samples, sources);
    Result<results::ComparisonRecord> record =
        judgeOutput(3, 0, 0, actual, wave(1), Rule::of(request, workload, 0), testNoise);
    EXPECT_TRUE(record) << record.message();
    lackedTime = testNoise.lacksTime();
    if (!record)
      return {};
    results::TestRecord test;
    test.outcome = record->passed ? results::Outcome::Passed : results::Outcome::Failed;
    test.comparisons = {*record};
    isForTime = isForLackOfTime(test, testNoise);
    isForMemory = isForLackOfMemory(test, testNoise);
    return *record;
  }
  Prepared preparedTest() {
    auto read = reader.read(
        std::string("func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {\n") +
            (floatsDecide ? "  %0 = stablehlo.compare LT, %x, %x : (tensor<256xf32>, "
                            "tensor<256xf32>) -> tensor<256xi1>\n"
                            "  %1 = stablehlo.select %0, %x, %x : tensor<256xi1>, tensor<256xf32>\n"
                            "  return %1 : tensor<256xf32>\n}"
                          : "  return %x : tensor<256xf32>\n}"),
        "p.mlir");
    EXPECT_TRUE(read) << read.message();
    Prepared prepared{std::move(*read), {}, {}};
    // Nobody remembers the noise of this one.
    static std::random_device random;
    prepared.budget.seed = random();
    prepared.workload.inputs = {{wave(1)}};
    return prepared;
  }

  ProgramReader reader;
  Request request;
  workload::Workload workload;
  double noise = 1e-6;
  bool referenceFails = false, deviceRuns = false, lackedTime = false, isForTime = false, floatsDecide = false;
  ErrorCode whyItFails = ErrorCode::TimedOut;
  bool isForMemory = false;
  int runsOutAfter = 0;
  int secondsLeft = 0, testSecondsLeft = 0;
  double executeSeconds = 0, deviceHas = 0;
  int evaluations = 0, runs = 0;
};

TEST_F(RuleTest, WhereNobodyNamesAComparatorNoiseDecides) {
  results::ComparisonRecord wrong = judge(wave(1.001));
  EXPECT_EQ(wrong.rule, "strict");
  EXPECT_FALSE(wrong.passed);
  EXPECT_EQ(wrong.strictPassed, false);
  EXPECT_THAT(wrong.sentence, HasSubstr("beyond 8x noise"));
  EXPECT_GT(*wrong.worstInNoise, 8);
  EXPECT_EQ(evaluations, 2);
  results::ComparisonRecord right = judge(wave(1, 3e-6));
  EXPECT_TRUE(right.passed) << right.sentence;
  EXPECT_EQ(evaluations, 3) << "the first one lets it pass, and the second is not made";
  EXPECT_EQ(right.output, 3u);
  EXPECT_EQ(right.precision, "f32");
}

// A look gets two seconds. A device that is cut off in the middle of an execution answers nothing more
// in this process, and the next test waits for another one.
TEST_F(RuleTest, ADeviceThatMeasuresNoiseForALookHasTheTimeOfTheTest) {
  referenceFails = deviceRuns = true;
  secondsLeft = 2;
  testSecondsLeft = 1000;
  judge(wave(1.001));
  EXPECT_GT(runs, 0);
  EXPECT_GT(deviceHas, 900);
  // It is not begun with where the look has no time for it.
  runs = 0;
  executeSeconds = 10;
  judge(wave(1.001));
  EXPECT_EQ(runs, 0);
}

TEST_F(RuleTest, WhatNoMemoryWasLeftToMeasureIsNotCalledWrong) {
  referenceFails = true;
  whyItFails = ErrorCode::OutOfMemory;
  EXPECT_FALSE(judge(wave(1.001)).passed);
  EXPECT_TRUE(isForMemory);
  EXPECT_FALSE(isForTime);
  // What no noise would make right is wrong.
  EXPECT_FALSE(judge(wave(-1)).passed);
  EXPECT_FALSE(isForMemory);
  // One evaluation says how much rounding moves.
  referenceFails = false;
  runsOutAfter = 1;
  evaluations = 0;
  EXPECT_FALSE(judge(wave(1.001)).passed);
  EXPECT_FALSE(isForMemory);
}

TEST_F(RuleTest, NoiseThatCannotMatterIsNotMeasured) {
  EXPECT_TRUE(judge(wave(1)).passed);
  EXPECT_TRUE(judge(wave(1, 1e-7)).passed);
  EXPECT_EQ(evaluations, 0);
}

TEST_F(RuleTest, AComparatorThatIsNamedKeepsItsMeaningAndTheStrictWordStandsBeside) {
  request.item.expectation.requiredPcc = 0.97;
  results::ComparisonRecord record = judge(wave(1.5));
  EXPECT_EQ(record.rule, "configured");
  EXPECT_TRUE(record.passed);
  EXPECT_EQ(record.strictPassed, false);
  EXPECT_TRUE(record.passesOnlyAsConfigured());
  EXPECT_THAT(record.sentence, HasSubstr("pcc 1 >= 0.97; strict: "));
  EXPECT_THAT(record.strictSentence, HasSubstr("looks like: scaled by 1.5"));
  request.strict = true;
  record = judge(wave(1.5));
  EXPECT_EQ(record.rule, "strict");
  EXPECT_FALSE(record.passed);
}

TEST_F(RuleTest, WhatIsSwitchedOffIsConfiguredToo) {
  request.item.expectation.assertPcc = false;
  results::ComparisonRecord record = judge(wave(-1));
  EXPECT_EQ(record.rule, "configured");
  EXPECT_TRUE(record.passed);
  EXPECT_THAT(record.sentence, HasSubstr("nothing is asserted"));
  EXPECT_TRUE(record.passesOnlyAsConfigured());
}

TEST_F(RuleTest, UpstreamsDefaultIsThereForTheAsking) {
  request.comparison = "pcc";
  results::ComparisonRecord record = judge(wave(1.5));
  EXPECT_EQ(record.rule, "pcc");
  EXPECT_TRUE(record.passed);
  EXPECT_EQ(record.pccThreshold, 0.99);
  EXPECT_FALSE(judge(wave(-1)).passed);
}

TEST_F(RuleTest, BoundsOfTheCaseAreConfigured) {
  workload.tolerances = {compare::Tolerance::allclose(0.1, 0.1)};
  results::ComparisonRecord record = judge(wave(1.05));
  EXPECT_EQ(record.rule, "configured");
  EXPECT_TRUE(record.passed);
  EXPECT_EQ(record.strictPassed, false);
}

TEST_F(RuleTest, WithoutNoiseTheDeclaredPrecisionDecides) {
  results::ComparisonRecord record = judge(wave(1.001), 0);
  EXPECT_FALSE(record.passed);
  EXPECT_EQ(evaluations, 0);
  EXPECT_THAT(record.sentence, HasSubstr("limits from the declared precision f32 alone"));
}

TEST_F(RuleTest, WhereTheReferenceCannotTheDeviceMovesItsInputs) {
  referenceFails = deviceRuns = true;
  results::ComparisonRecord record = judge(wave(1.001));
  EXPECT_FALSE(record.passed);
  EXPECT_EQ(runs, 3);
  EXPECT_THAT(record.sentence, HasSubstr("noise from the device itself"));
  deviceRuns = false;
  record = judge(wave(1.001));
  EXPECT_THAT(record.sentence, HasSubstr("noise could not be measured (the reference"));
}

TEST_F(RuleTest, ADeviceIsNotBegunWithWhereTimeIsShort) {
  referenceFails = deviceRuns = true;
  secondsLeft = 10, executeSeconds = 6;
  results::ComparisonRecord record = judge(wave(1.001));
  EXPECT_EQ(runs, 0);
  EXPECT_THAT(record.sentence, HasSubstr("noise could not be measured (the reference"));
  EXPECT_TRUE(lackedTime);
  executeSeconds = 1;
  record = judge(wave(1.001));
  EXPECT_EQ(runs, 3);
  EXPECT_THAT(record.sentence, HasSubstr("noise from the device itself"));
  EXPECT_FALSE(lackedTime);
}

TEST_F(RuleTest, WhatWouldHaveBeenLookedAtLongerIsNotCalledWrongForLackOfTime) {
  // More evaluations could tell: this far off two have been too quiet by chance before.
  results::ComparisonRecord record = judge(wave(1, 1.4e-5));
  EXPECT_FALSE(record.passed);
  EXPECT_EQ(evaluations, 8);
  EXPECT_FALSE(isForTime) << "there was time, and it is wrong";
  runsOutAfter = 2, evaluations = 0;
  record = judge(wave(1, 1.4e-5));
  EXPECT_FALSE(record.passed);
  EXPECT_TRUE(isForTime);
  runsOutAfter = 1, evaluations = 0;
  EXPECT_FALSE(judge(wave(1, 1.4e-5)).passed);
  EXPECT_TRUE(isForTime);
  // So far off no number of them would let it pass.
  evaluations = 0;
  EXPECT_FALSE(judge(wave(1.001)).passed);
  EXPECT_FALSE(isForTime);
}

TEST_F(RuleTest, MovedInputsDoNotTellWhatRoundingDecides) {
  // For lack of time the device moved its inputs; equal numbers stay equal under that.
  referenceFails = deviceRuns = true;
  EXPECT_FALSE(judge(wave(-1)).passed);
  EXPECT_FALSE(isForTime) << "nothing decides here";
  floatsDecide = true;
  EXPECT_FALSE(judge(wave(-1)).passed);
  EXPECT_TRUE(isForTime);
  referenceFails = false;
  EXPECT_FALSE(judge(wave(-1)).passed);
  EXPECT_FALSE(isForTime) << "the reference had time";
}

} // namespace
} // namespace cupel::testbench::worker
