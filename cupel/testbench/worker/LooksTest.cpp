#include "cupel/testbench/worker/Looks.h"

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Fill.h"
#include "cupel/testbench/worker/NearbyInputs.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace cupel::testbench::worker {
namespace {

using tensor::DType;
using tensor::Tensor;

Tensor floats(std::initializer_list<float> values) {
  return Tensor::of<DType::F32>({int64_t(values.size())}, values);
}

/// A device that doubles its input, and may do something else in an execution of its choice.
struct Doubler {
  std::function<std::optional<TensorLists>(uint32_t execution)> fault;
  uint32_t executions = 1; ///< The first has been.
  std::string_view wrongFor = "wrong_result"; ///< Why one that is not right is said not to be.

  static TensorLists right(const TensorLists &inputs) {
    Tensor result = *Tensor::uninitialized(DType::F32, {inputs[0][0].size()});
    float *to = result.mutableAs<float>();
    for (int64_t i = 0; i < result.size(); ++i)
      to[i] = 2 * inputs[0][0].dataAs<float>()[i];
    TensorLists results = {{result}};
    results[0].insert(results[0].end(), inputs[0].begin() + 1, inputs[0].end()); // As they are.
    return results;
  }

  Looks look(const LookOptions &options = {.executions = 5}) {
    TensorLists inputs = {{floats({1, 2, 3, 4})}};
    TensorLists first = right(inputs);
    auto verdict = [this](bool isRight) {
      return LookVerdict{isRight, std::string(isRight ? "" : wrongFor), isRight ? "" : "it is wrong"};
    };
    LookSeams seams;
    seams.execute = [&](const TensorLists &given) -> Result<TensorLists> {
      std::optional<TensorLists> wrong = fault ? fault(++executions) : std::nullopt;
      return wrong ? *wrong : right(given);
    };
    seams.judge = [&](const TensorLists &outputs) { return verdict(areSame(outputs, first)); };
    seams.judgeOther = [&](const TensorLists &given, const TensorLists &outputs) {
      return std::optional(verdict(areSame(outputs, right(given))));
    };
    seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
    return lookAgain(seams, inputs, first, 0.001, options);
  }
};

TEST(Looks, ARightDevicePasses) {
  Doubler doubler;
  Looks looks = doubler.look();
  EXPECT_TRUE(looks.verdict.passed) << looks.verdict.message;
  EXPECT_EQ(looks.executions, 5u);
  EXPECT_GE(doubler.look({}).executions, 3u);
  EXPECT_EQ(doubler.look({.executions = 1}).executions, 1u);
  EXPECT_EQ(doubler.look({.executions = {}, .cheapSeconds = 0.0001}).executions, 1u);
}

TEST(Looks, TheResultOfTheRunBeforeIsStale) {
  Doubler doubler{[](uint32_t) { return TensorLists{{floats({2, 4, 6, 8})}}; }};
  LookVerdict verdict = doubler.look().verdict;
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.errorClass, kStaleResult);
  EXPECT_NE(verdict.message.find("4 of 4 elements of output 0"), std::string::npos)
      << verdict.message;
}

TEST(Looks, WhatShouldHaveChangedAndDidNotIsStaleHoweverWideTheLimitsAre) {
  TensorLists inputs = {{floats({1, 2, 3, 4})}};
  TensorLists first = Doubler::right(inputs);
  bool isStale = true;
  LookSeams seams;
  seams.execute = [&](const TensorLists &given) -> Result<TensorLists> {
    return isStale ? first : Doubler::right(given);
  };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.judgeOther = [](const TensorLists &given, const TensorLists &) {
    LookVerdict verdict;
    verdict.expected = Doubler::right(given);
    return std::optional(verdict);
  };
  seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
  seams.expected = &first;
  LookVerdict verdict = lookAgain(seams, inputs, first, 0.001, {.executions = 3}).verdict;
  EXPECT_EQ(verdict.errorClass, kStaleResult) << verdict.message;
  // Nobody expects a device that computes so coarsely to see the difference.
  seams.step = 1;
  EXPECT_TRUE(lookAgain(seams, inputs, first, 0.001, {.executions = 3}).verdict.passed);
  isStale = false;
  seams.step = 0;
  // Where there is nothing, nothing is stale.
  for (TensorLists *lists : {&inputs, &first})
    lists->front().push_back(*Tensor::uninitialized(DType::F32, {0}));
  EXPECT_TRUE(lookAgain(seams, inputs, first, 0.001, {.executions = 3}).verdict.passed);
}

TEST(Looks, WhatIsJustWhatIsExpectedIsNotStale) {
  // Equal keys: what was expected at first is another order of them than the device's, and as right.
  auto numbers = [](std::initializer_list<int64_t> values) {
    return Tensor::of<DType::I64>({int64_t(values.size())}, values);
  };
  TensorLists inputs = {{floats({1, 1, 1, 1, 1})}};
  TensorLists own = {{numbers({0, 1, 2, 3, 4})}}, expected = {{numbers({4, 3, 1, 0, 2})}};
  TensorLists ownFloats = {{floats({0, 1, 2, 3, 4})}}, expectedFloats = {{floats({4, 3, 1, 0, 2})}};
  for (auto [given, then] : {std::pair(&own, &expected), std::pair(&ownFloats, &expectedFloats)}) {
    TensorLists now = *given;
    LookSeams seams;
    seams.execute = [&](const TensorLists &) -> Result<TensorLists> { return *given; };
    seams.judge = [](const TensorLists &) { return LookVerdict{}; };
    seams.judgeOther = [&](const TensorLists &, const TensorLists &) {
      LookVerdict verdict;
      verdict.expected = now;
      return std::optional(verdict);
    };
    seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
    seams.expected = then;
    LookVerdict verdict = lookAgain(seams, inputs, *given, 0.001, {.executions = 3}).verdict;
    EXPECT_TRUE(verdict.passed) << verdict.message;
    now = *then; // What is expected now is what was then, and not what the device gives.
    TensorLists before = *given;
    seams.expected = &before;
    EXPECT_EQ(lookAgain(seams, inputs, *given, 0.001, {.executions = 3}).verdict.errorClass,
              kStaleResult);
  }
}

TEST(Looks, APartThatWasNotWrittenIsStale) {
  std::vector<float> numbers(64);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = float(i) + 1;
  TensorLists inputs = {{Tensor::of<DType::F32>({64}, numbers)}};
  TensorLists first = Doubler::right(inputs);
  int64_t written = 40;
  LookSeams seams;
  seams.execute = [&](const TensorLists &given) -> Result<TensorLists> {
    TensorLists results = Doubler::right(given);
    std::copy(first[0][0].dataAs<float>() + written, first[0][0].dataAs<float>() + 64,
              results[0][0].mutableAs<float>() + written);
    return results;
  };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.judgeOther = [](const TensorLists &given, const TensorLists &) {
    LookVerdict verdict;
    verdict.expected = Doubler::right(given);
    return std::optional(verdict);
  };
  seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
  seams.expected = &first;
  LookVerdict verdict = lookAgain(seams, inputs, first, 0.001, {.executions = 2}).verdict;
  EXPECT_EQ(verdict.errorClass, kStaleResult) << verdict.message;
  EXPECT_NE(verdict.message.find("24 of 64 elements"), std::string::npos) << verdict.message;
  written = 56; // Too few to be sure.
  EXPECT_TRUE(lookAgain(seams, inputs, first, 0.001, {.executions = 2}).verdict.passed);
  // Unless rounding could not have kept them from changing, and nothing else says how far they are off.
  seams.step = 0x1p-8;
  verdict = lookAgain(seams, inputs, first, 0.001, {.executions = 2}).verdict;
  EXPECT_EQ(verdict.errorClass, kStaleResult) << verdict.message;
  written = 62;
  EXPECT_TRUE(lookAgain(seams, inputs, first, 0.001, {.executions = 2}).verdict.passed);
}

/// Every look after the first expects one thing and is given another; all of it outlives the seams.
LookSeams seamsThatExpect(const TensorLists &expected, const TensorLists &given, const TensorLists &first) {
  LookSeams seams;
  seams.execute = [&given](const TensorLists &) -> Result<TensorLists> { return given; };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.judgeOther = [&expected](const TensorLists &, const TensorLists &) {
    LookVerdict verdict;
    verdict.expected = expected;
    return std::optional(verdict);
  };
  seams.otherInputs = [&first](uint32_t) { return std::optional(first); };
  seams.expected = &first;
  return seams;
}

TEST(Looks, OneNumberThatRoundsToWhatItWasIsNotStale) {
  // A sum of the same numbers in another order: what is expected moves by a few steps, and no more than noise.
  TensorLists first = {{floats({26.5796f})}}, expected = {{floats({26.57961f})}};
  LookSeams seams = seamsThatExpect(expected, first, first);
  EXPECT_FALSE(lookAgain(seams, first, first, 0.001, {.executions = 2}).verdict.passed);
  double noise = 1e-5;
  seams.noiseOf = [&](size_t, size_t) { return noise; };
  EXPECT_TRUE(lookAgain(seams, first, first, 0.001, {.executions = 2}).verdict.passed);
  noise = 1e-6;
  EXPECT_FALSE(lookAgain(seams, first, first, 0.001, {.executions = 2}).verdict.passed);
}

TEST(Looks, ANumberThatIsRepeatedIsOne) {
  // Eight copies of one number that rounds to what it was are chance; eight numbers are not.
  for (bool areCopies : {true, false}) {
    std::vector<uint16_t> numbers(32);
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = areCopies ? 0x3f80 : uint16_t(0x3f80 + i);
    Tensor then = Tensor::of<DType::BF16>({32}, numbers);
    std::vector<uint16_t> moved = numbers, kept = numbers;
    for (uint16_t &bits : moved)
      bits += 6;
    for (size_t i = 12; i < numbers.size(); ++i)
      kept[i] = moved[i];
    TensorLists first = {{then}}, expected = {{Tensor::of<DType::BF16>({32}, moved)}};
    TensorLists given = {{Tensor::of<DType::BF16>({32}, kept)}};
    LookSeams seams = seamsThatExpect(expected, given, first);
    seams.step = 0x1p-8;
    LookVerdict verdict = lookAgain(seams, first, first, 0.001, {.executions = 2}).verdict;
    EXPECT_EQ(verdict.passed, areCopies) << verdict.message;
  }
}

TEST(Looks, WhatVariesWithinLimitsIsNotStale) {
  std::vector<float> numbers(64);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = (float(i) + 1) / 3;
  TensorLists inputs = {{Tensor::of<DType::F32>({64}, numbers)}};
  TensorLists first = Doubler::right(inputs);
  LookSeams seams;
  // Sums in another order than the first time, and in that one ever after.
  seams.execute = [&](const TensorLists &given) -> Result<TensorLists> {
    TensorLists results = Doubler::right(given);
    for (float &value : std::span(results[0][0].mutableAs<float>(), 20))
      value = std::nextafter(value, 0.0f);
    return results;
  };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.judgeOther = [](const TensorLists &, const TensorLists &) {
    return std::optional(LookVerdict{});
  };
  seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
  Looks looks = lookAgain(seams, inputs, first, 0.001, {.executions = 9});
  EXPECT_TRUE(looks.verdict.passed) << looks.verdict.message;
  EXPECT_EQ(looks.executions, 9u);
}

TEST(Looks, APartOfTheRunBeforeIsKnownThoughAllIsWithinLimits) {
  std::vector<float> numbers(64);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = std::sqrt(float(i) + 1);
  TensorLists inputs = {{Tensor::of<DType::F32>({64}, numbers)}};
  TensorLists first = Doubler::right(inputs);
  LookSeams seams;
  seams.execute = [&, given = first](const TensorLists &taken) mutable -> Result<TensorLists> {
    TensorLists results = Doubler::right(taken);
    if (taken[0][0].dataAs<float>()[0] == 1) // What was given last still lies there.
      std::copy(given[0][0].dataAs<float>() + 40, given[0][0].dataAs<float>() + 64,
                results[0][0].mutableAs<float>() + 40);
    given = results;
    return results;
  };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.judgeOther = [](const TensorLists &, const TensorLists &) {
    return std::optional(LookVerdict{});
  };
  seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
  LookVerdict verdict = lookAgain(seams, inputs, first, 0.001, {.executions = 5}).verdict;
  EXPECT_EQ(verdict.errorClass, kStaleResult) << verdict.message;
}

TEST(Looks, ExecutionsAreComparedWithEachOther) {
  TensorLists inputs = {{floats({1, 2, 3, 4})}};
  TensorLists first = Doubler::right(inputs);
  int executions = 1;
  LookSeams seams;
  seams.execute = [&](const TensorLists &given) -> Result<TensorLists> {
    TensorLists results = Doubler::right(given);
    if (++executions == 5)
      results[0][0].mutableAs<float>()[2] += 1;
    return results;
  };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; }; // All is well, it says.
  seams.judgeOther = [](const TensorLists &, const TensorLists &) {
    return std::optional(LookVerdict{});
  };
  seams.otherInputs = [](uint32_t) { return std::optional<TensorLists>(); };
  EXPECT_TRUE(lookAgain(seams, inputs, first, 0.001, {.executions = 14}).verdict.passed);
  executions = 1;
  seams.judgeRepeat = [](const TensorLists &, const TensorLists &) {
    return LookVerdict{false, std::string(kNotDeterministic), "apart by more than noise"};
  };
  LookVerdict verdict = lookAgain(seams, inputs, first, 0.001, {.executions = 14}).verdict;
  EXPECT_EQ(verdict.errorClass, kNotDeterministic) << verdict.message;
  EXPECT_NE(verdict.message.find("apart by more than noise"), std::string::npos) << verdict.message;
}

TEST(Looks, WhatConfiguredComparatorsLetPassIsToldBeside) {
  TensorLists inputs = {{floats({1, 2, 3, 4})}};
  TensorLists first = Doubler::right(inputs);
  bool isFlaky = true;
  LookSeams seams;
  seams.execute = [&, executions = 1](const TensorLists &given) mutable -> Result<TensorLists> {
    TensorLists results = Doubler::right(given);
    if (++executions % 2 == 1 && isFlaky)
      results[0][0].mutableAs<float>()[2] += 1;
    return results;
  };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.otherInputs = [](uint32_t) { return std::optional<TensorLists>(); };
  seams.judgeRepeat = [](const TensorLists &, const TensorLists &) {
    LookVerdict verdict;
    verdict.strictly = "apart by more than noise";
    verdict.output = 3;
    return verdict;
  };
  Looks looks = lookAgain(seams, inputs, first, 0.001, {.executions = 7});
  EXPECT_TRUE(looks.verdict.passed);
  EXPECT_EQ(looks.strictly, "the same inputs gave another result in execution 3: apart by more "
                            "than noise");
  EXPECT_EQ(looks.strictOutput, 3u);
  isFlaky = false;
  EXPECT_EQ(lookAgain(seams, inputs, first, 0.001, {.executions = 7}).strictly, "");
}

TEST(Looks, WrongNowAndThenWithOtherInputsIsNotDeterministic) {
  Doubler doubler;
  doubler.fault = [](uint32_t execution) -> std::optional<TensorLists> {
    return execution == 2 ? std::optional(TensorLists{{floats({9, 9, 9, 9})}}) : std::nullopt;
  };
  LookVerdict verdict = doubler.look().verdict;
  EXPECT_EQ(verdict.errorClass, kNotDeterministic) << verdict.message;
  // Wrong in the same way each time.
  Doubler other{[](uint32_t) { return std::optional(TensorLists{{floats({9, 9, 9, 9})}}); }};
  EXPECT_EQ(other.look().verdict.errorClass, "wrong_result");
}

/// What a device is given for a look is its own: one that spoils it is judged by what it should have been.
TEST(Looks, TheJudgeGetsInputsOfHisOwn) {
  TensorLists inputs = {{floats({1, 2, 3, 4})}}, first = Doubler::right(inputs);
  LookSeams seams;
  int spoiled = 0;
  seams.execute = [&](TensorLists given) -> Result<TensorLists> {
    if (std::byte *memory = given[0][0].mutableData()) { // Nobody else has it.
      std::memset(memory, 0, size_t(given[0][0].byteSize()));
      ++spoiled;
    }
    return Doubler::right(given);
  };
  seams.judgeOther = [&](const TensorLists &given, const TensorLists &outputs) {
    bool isRight = areSame(outputs, Doubler::right(given));
    return std::optional(LookVerdict{isRight, isRight ? "" : "wrong_result", ""});
  };
  seams.otherInputs = [&](uint32_t look) { return nearbyInputs(inputs, SIZE_MAX, look); };
  EXPECT_EQ(lookAgain(seams, inputs, first, 0.001, {.executions = 2}).verdict.errorClass, "wrong_result");
  EXPECT_EQ(spoiled, 2); // Once more to tell whether it is always so.
}

TEST(Looks, NearbyInputsAreTheSameEachTimeAndElsewhereInEveryElement) {
  for (DType type : {DType::F64, DType::F32, DType::BF16, DType::F16, DType::C64, DType::C128}) {
    Tensor given = *tensor::randomTensor(type, {3, 300007}, tensor::Uniform{1, 2}, {1, 2});
    TensorLists once = *nearbyInputs({{given}}, SIZE_MAX, 1), again = *nearbyInputs({{given}}, SIZE_MAX, 1),
                other = *nearbyInputs({{given}}, SIZE_MAX, 2);
    EXPECT_TRUE(areSame(once, again));
    EXPECT_FALSE(areSame(once, other));
    const bool isComplex = tensor::isComplex(type);
    Tensor before = *tensor::convert(given, isComplex ? DType::C128 : DType::F64);
    Tensor after = *tensor::convert(once[0][0], isComplex ? DType::C128 : DType::F64);
    double least = 1, most = 0, sum = 0;
    for (int64_t i = 0; i < before.byteSize() / 8; ++i) {
      double share = after.dataAs<double>()[i] / before.dataAs<double>()[i] - 1;
      least = std::min(least, std::abs(share)), most = std::max(most, std::abs(share)), sum += share;
    }
    Tensor drawn = *tensor::randomTensor(DType::F64, {before.byteSize() / 8}, tensor::Uniform{-1, 1}, {1, 0});
    for (int64_t i : {int64_t{0}, int64_t{4097}, int64_t{900020}}) {
      double u = drawn.dataAs<double>()[i], factor = 1 + (u < 0 ? u - 1 : u + 1) / 32;
      EXPECT_NEAR(after.dataAs<double>()[i] / before.dataAs<double>()[i], factor, 1.0 / 256) << tensor::info(type).name;
    }
    EXPECT_GT(least, 0) << tensor::info(type).name;
    EXPECT_LE(most, 1.0 / 16 + 1.0 / 256) << tensor::info(type).name; // And the rounding of a narrow type.
    EXPECT_LT(std::abs(sum) / double(before.byteSize() / 8), 1e-3) << tensor::info(type).name;
  }
}

TEST(Looks, NearbyInputsAreThoseOfTheGeneratorToTheBit) {
  // Odd counts and those of no whole vector too; the second tensor has a stream of its own.
  for (int64_t count : {1, 2, 3, 17, 4095, 4096, 4097, 262145}) {
    Tensor ones = *tensor::convert(*tensor::randomTensor(DType::F64, {count}, tensor::Uniform{1, 1}, {}), DType::F64);
    TensorLists moved = *nearbyInputs({{ones, ones}}, SIZE_MAX, 5);
    for (uint64_t stream : {0, 1}) {
      Tensor drawn = *tensor::randomTensor(DType::F64, {count}, tensor::Uniform{-1, 1}, {5, stream});
      int64_t wrong = 0;
      for (int64_t i = 0; i < count; ++i) {
        double u = drawn.dataAs<double>()[i];
        wrong += moved[0][stream].dataAs<double>()[i] != 1 + (u < 0 ? u - 1 : u + 1) / 32;
      }
      EXPECT_EQ(wrong, 0) << count << " of stream " << stream;
    }
  }
}

TEST(Looks, StaleIsSeenWithTheFirstInputsToo) {
  TensorLists others;
  Doubler doubler;
  doubler.fault = [&](uint32_t execution) -> std::optional<TensorLists> {
    if (execution != 3)
      return std::nullopt;
    return Doubler::right(*nearbyInputs({{floats({1, 2, 3, 4})}}, SIZE_MAX, 1));
  };
  LookVerdict verdict = doubler.look().verdict;
  EXPECT_EQ(verdict.errorClass, kStaleResult) << verdict.message;
}

TEST(Looks, NowAndThenIsNotDeterministic) {
  Doubler doubler{[](uint32_t execution) -> std::optional<TensorLists> {
    return execution == 5 ? std::optional(TensorLists{{floats({2, 4, 6.5, 8})}}) : std::nullopt;
  }};
  LookVerdict verdict = doubler.look().verdict;
  EXPECT_EQ(verdict.errorClass, kNotDeterministic) << verdict.message;
  EXPECT_NE(verdict.message.find("in execution 5: 1 of 4 elements of output 0, the first at [2]"),
            std::string::npos)
      << verdict.message;
}

TEST(Looks, WrongForOtherInputsIsWrong) {
  Doubler doubler{[](uint32_t execution) -> std::optional<TensorLists> {
    // Each time that these inputs come; once alone would be now and then.
    return execution <= 3 ? std::optional(TensorLists{{floats({1, 1, 1, 1})}}) : std::nullopt;
  }};
  LookVerdict verdict = doubler.look().verdict;
  EXPECT_EQ(verdict.errorClass, "wrong_result");
  EXPECT_EQ(verdict.message, "with other inputs: it is wrong");
}

TEST(Looks, TooLittleTimeForOtherInputsIsNoFault) {
  Doubler doubler;
  doubler.wrongFor = name(ErrorCode::TimedOut);
  doubler.fault = [](uint32_t execution) -> std::optional<TensorLists> {
    return execution == 2 ? std::optional(TensorLists{{floats({1, 1, 1, 1})}}) : std::nullopt;
  };
  Looks looks = doubler.look({.executions = 3});
  EXPECT_TRUE(looks.verdict.passed) << looks.verdict.message;
  EXPECT_EQ(looks.note, "with other inputs nobody could say in time whether it is right");
}

TEST(Looks, WhatNobodyCanJudgeInTimeIsNotMadeForAJudge) {
  TensorLists inputs = {{floats({1, 2, 3, 4})}}, first = Doubler::right(inputs);
  uint32_t made = 0, judged = 0;
  LookSeams seams;
  seams.execute = [](const TensorLists &given) -> Result<TensorLists> { return Doubler::right(given); };
  seams.judge = [](const TensorLists &) { return LookVerdict{}; };
  seams.judgeOther = [&](const TensorLists &, const TensorLists &) {
    ++judged;
    return std::optional(LookVerdict{});
  };
  seams.otherInputs = [&](uint32_t look) {
    ++made;
    return nearbyInputs(inputs, SIZE_MAX, look);
  };
  seams.isOtherTooLong = true;
  Looks looks = lookAgain(seams, inputs, first, 0.001, {.executions = 3});
  EXPECT_TRUE(looks.verdict.passed) << looks.verdict.message;
  EXPECT_EQ(looks.note, "with other inputs nobody could say in time whether it is right");
  EXPECT_EQ(looks.executions, 3u); // The device still runs them, and the first ones after them.
  EXPECT_EQ(made, 1u);
  EXPECT_EQ(judged, 0u);
}

TEST(Looks, IsInVainWhereNeitherReferenceNorDeviceTellNoiseInTime) {
  auto isInVain = [](double plain, double moved, double execute) {
    return Hurry{2, plain, moved, execute, 0.4}.isInVain();
  };
  EXPECT_FALSE(isInVain(0.1, 0.2, 0.5)); // The reference has the time,
  EXPECT_FALSE(isInVain(1.0, 5, 0.1));   // the device has it,
  EXPECT_TRUE(isInVain(1.0, 5, 0.5));    // nobody has,
  EXPECT_TRUE(isInVain(2.5, 0.1, 0.1));  // and nothing is left.
  EXPECT_FALSE(isInVain(0, 0.5, 5));     // What is remembered takes no time.
}

TEST(Looks, NearbyInputsKeepWhatMatters) {
  float infinity = std::numeric_limits<float>::infinity();
  TensorLists inputs = {{floats({0, 1, -2, infinity, -infinity}),
                         Tensor::of<DType::I32>({3}, {4, 5, 6}), Tensor::of<DType::I1>({}, {1}),
                         floats({7, 8})}};
  std::optional<TensorLists> others = nearbyInputs(inputs, 3, 1);
  ASSERT_TRUE(others);
  const float *moved = (*others)[0][0].dataAs<float>();
  EXPECT_EQ(moved[0], 0);
  EXPECT_NE(moved[1], 1);
  EXPECT_NEAR(moved[1], 1, 0.07);
  EXPECT_NEAR(moved[2], -2, 0.14);
  EXPECT_EQ(moved[3], infinity);
  EXPECT_EQ(moved[4], -infinity);
  EXPECT_EQ((*others)[0][1].dataAs<int32_t>()[0], 4); // Numbers that may be sizes stay.
  EXPECT_EQ((*others)[0][2].dataAs<uint8_t>()[0], 0);
  EXPECT_EQ((*others)[0][3].dataAs<float>()[0], 7); // A weight.
  others = nearbyInputs({{Tensor::of<DType::I32>({3}, {4, 5, 6})}}, SIZE_MAX, 1);
  ASSERT_TRUE(others);
  EXPECT_EQ((*others)[0][0].dataAs<int32_t>()[0], 5);
  EXPECT_FALSE(nearbyInputs({{floats({0, 0})}}, SIZE_MAX, 1));
}

TEST(Looks, ResultsThatTellNothing) {
  float nan = std::nanf("");
  EXPECT_EQ(describeVacuous({{floats({nan, nan})}}), "every output is NaN throughout");
  EXPECT_EQ(describeVacuous({{floats({2, 2})}}), "every output is one value throughout");
  EXPECT_EQ(describeVacuous({{floats({2, 2}), floats({nan})}}),
            "every output is NaN or one value throughout");
  EXPECT_EQ(describeVacuous({{floats({2, 2}), floats({1, nan})}}), "");
  EXPECT_EQ(describeVacuous({{floats({2})}}), "");
  EXPECT_EQ(describeVacuous({}), "");
}

TEST(Looks, WhatHoldsNoNumberIsTold) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(describeNumberless({{floats({nan, nan}), floats({})}}),
            "every expected output is NaN throughout");
  EXPECT_EQ(describeNumberless({{floats({})}}), "no expected output has an element");
  EXPECT_EQ(describeNumberless({{floats({nan, 1})}}), "");
  EXPECT_EQ(describeNumberless({{floats({nan}), floats({2, 2})}}), "");
  EXPECT_EQ(describeNumberless({{Tensor::of<DType::I32>({1}, {7})}}), "");
}

TEST(Looks, WhatUnwrittenMemoryGivesTooIsTold) {
  EXPECT_TRUE(areZeroThroughout({{floats({0, -0.0f}), floats({})}}));
  EXPECT_TRUE(areZeroThroughout({{floats({0})}, {Tensor::of<DType::I32>({2}, {0, 0})}}));
  EXPECT_FALSE(areZeroThroughout({{floats({0, 0, 1e-30f})}}));
  EXPECT_FALSE(areZeroThroughout({{floats({0, 0}), Tensor::of<DType::I32>({2}, {0, 256})}}));
  EXPECT_FALSE(areZeroThroughout({{floats({0, std::numeric_limits<float>::quiet_NaN()})}}));
  EXPECT_FALSE(areZeroThroughout({{floats({2, 2})}})) << "a wrong constant is seen";
  EXPECT_FALSE(areZeroThroughout({{floats({})}}));
  EXPECT_FALSE(areZeroThroughout({}));
}

} // namespace
} // namespace cupel::testbench::worker
