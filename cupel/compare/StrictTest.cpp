// The strict rule asks longer before it calls a result wrong, and is no softer on one that is.

#include "cupel/compare/Strict.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace cupel::compare {
namespace {

using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;

Tensor floats(const std::vector<float> &values) {
  return Tensor::of<DType::F32>({int64_t(values.size())}, std::span<const float>(values));
}
Tensor integers(const std::vector<int32_t> &values) {
  return Tensor::of<DType::I32>({int64_t(values.size())}, std::span<const int32_t>(values));
}

/// What is known of an output, and how often each was asked for.
struct Known {
  std::vector<Tensor> few = {}, more = {}, wider = {}, framework = {};
  std::optional<Tensor> center = {};
  std::vector<Tensor> reordered = {};
  std::map<NoiseLook, int> asked = {};

  NoiseOf asker() {
    return [this](NoiseLook look) {
      ++asked[look];
      Noise noise;
      auto add = [&](const std::vector<Tensor> &tensors) {
        noise.samples.insert(noise.samples.end(), tensors.begin(), tensors.end());
      };
      if (look == NoiseLook::First && few.size() == 2)
        noise.samples.push_back(few[0]);
      if (look == NoiseLook::Few || look == NoiseLook::More)
        add(few);
      add(look == NoiseLook::More        ? more
          : look == NoiseLook::Wider     ? wider
          : look == NoiseLook::Framework ? framework
          : look == NoiseLook::OtherOrder ? reordered
                                         : std::vector<Tensor>());
      if (look == NoiseLook::Framework)
        noise.precision = *DevicePrecision::parse("bf16");
      if (!noise.samples.empty())
        noise.center = center;
      return noise;
    };
  }
  StrictVerdict judge(const Tensor &actual, const Tensor &expected) {
    Result<StrictVerdict> verdict = checkStrictly(actual, expected, {}, asker());
    EXPECT_TRUE(verdict) << verdict.message();
    return verdict ? std::move(*verdict) : StrictVerdict();
  }
  bool mayDiffer(const Tensor &now, const Tensor &before) {
    Result<RepeatVerdict> verdict = checkRepeatedStrictly(now, before, {}, asker());
    EXPECT_TRUE(verdict) << verdict.message();
    return verdict && verdict->passed;
  }
};

/// One number whose evaluations are off by these shares of it.
std::vector<Tensor> offBy(std::initializer_list<double> shares) {
  std::vector<Tensor> samples;
  for (double share : shares)
    samples.push_back(floats({float(1 + share)}));
  return samples;
}

TEST(StrictTest, TwoEvaluationsThatWereQuietByChanceCallNothingWrong) {
  Known known{offBy({1e-5, -2e-5}), offBy({3e-4, -2e-4, 4e-4, 1e-4, -3e-4, 2e-4})};
  EXPECT_TRUE(known.judge(floats({1.0003f}), floats({1})).passed);
  EXPECT_EQ(known.asked[NoiseLook::More], 1);
  EXPECT_TRUE(known.mayDiffer(floats({1.0003f}), floats({1})));
  // As loud as they are, this is no rounding.
  EXPECT_FALSE(known.judge(floats({1.01f}), floats({1})).passed);
  // Evaluations that all are as quiet change nothing.
  Known quiet{offBy({1e-5, -2e-5}), offBy({1e-5, 2e-5, -1e-5, -2e-5, 1e-5, 2e-5})};
  EXPECT_FALSE(quiet.judge(floats({1.0003f}), floats({1})).passed);
  EXPECT_FALSE(quiet.mayDiffer(floats({1.0003f}), floats({1})));
}

TEST(StrictTest, WhereRoundingDecidesAnOutputFewElementsMayBeFartherOff) {
  // As of queries that rounding picks: each evaluation has others, and few have the large value.
  constexpr int kCount = 4096;
  auto drawn = [](unsigned seed, double spread, int large = 0, float value = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<float> numbers;
    std::vector<float> values(kCount);
    for (int i = 0; i < kCount; ++i)
      values[i] = float(std::sin(i)) + float(spread) * numbers(random);
    for (int i = 0; i < large; ++i)
      values[i * 97] = value;
    return floats(values);
  };
  auto known = [&](double spread) {
    return Known{.few = {drawn(1, spread), drawn(2, spread)}, .center = drawn(3, spread)};
  };
  Known decided = known(1);
  StrictVerdict verdict = decided.judge(drawn(4, 1), drawn(5, 1, 3, 24));
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_THAT(verdict.sentence, HasSubstr("of 4096 elements are beyond 8x noise"));
  EXPECT_THAT(verdict.note, HasSubstr("ill-conditioned"));
  EXPECT_EQ(decided.asked[NoiseLook::More], 0);
  // Too many of them, or too far, or not of a size with the output.
  EXPECT_FALSE(decided.judge(drawn(4, 1), drawn(5, 1, 40, 24)).passed);
  EXPECT_FALSE(decided.judge(drawn(4, 1), drawn(5, 1, 1, 400)).passed);
  EXPECT_FALSE(known(0.05).judge(drawn(4, 0.05), drawn(5, 0.05, 3, 2)).passed);
  // Nobody knows by one evaluation.
  EXPECT_FALSE((Known{.few = {drawn(1, 1)}, .center = drawn(3, 1)})
                   .judge(drawn(4, 1), drawn(5, 1, 3, 24))
                   .passed);
}

TEST(StrictTest, WhereEvaluationsAreBeyondEachOthersLimitsAResultMayBeAsFarOff) {
  // As gradients behind a norm of two samples: of other size in each evaluation, by orders.
  constexpr int kCount = 4096;
  auto drawn = [](unsigned seed, double size) {
    std::mt19937 random(seed);
    std::normal_distribution<float> numbers;
    std::vector<float> values(kCount);
    for (float &value : values)
      value = float(size) * numbers(random);
    return floats(values);
  };
  auto known = [&](std::initializer_list<double> sizes) {
    Known known{.center = drawn(1, 1)};
    unsigned seed = 2;
    for (double size : sizes)
      (known.few.size() < 2 ? known.few : known.more).push_back(drawn(seed++, size));
    return known;
  };
  Known wild = known({0.3, 2, 0.02, 40, 1, 0.1, 7, 0.5});
  StrictVerdict verdict = wild.judge(drawn(20, 3), drawn(21, 400));
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_THAT(verdict.sentence, HasSubstr("by orders of magnitude"));
  EXPECT_GE(verdict.noise, kDecided) << "whoever judges by pieces goes by it";
  // Not as far as nothing that was seen, and no number where there is none.
  EXPECT_FALSE(wild.judge(drawn(20, 1e5), drawn(21, 1)).passed);
  Tensor numberless = floats(std::vector<float>(kCount, std::nanf("")));
  EXPECT_FALSE(wild.judge(numberless, drawn(21, 400)).passed);
  // Evaluations that keep each other's limits have limits that hold.
  Known tame = known({1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_FALSE(tame.judge(drawn(20, 3), drawn(21, 400)).passed);
  // And where the output is far larger than its noise it says something, however that is spread.
  auto large = [&](unsigned seed, double size) {
    std::mt19937 random(seed);
    std::normal_distribution<float> numbers;
    std::vector<float> values(kCount);
    for (int i = 0; i < kCount; ++i)
      values[i] = 1000 * float(std::sin(i)) + float(size) * numbers(random);
    return floats(values);
  };
  Known told{.few = {large(2, 0.3), large(3, 2)}, .center = large(1, 0)};
  for (double size : {0.02, 40., 1., 0.1, 7., 0.5})
    told.more.push_back(large(unsigned(10 * size) + 40, size));
  EXPECT_FALSE(told.judge(large(20, 3), large(21, 400)).passed);
}

/// As gradients of a model whose one channel divides by what rounding leaves: all of an evaluation has
/// the size that this channel has, in directions of their own.
class OrdersTest : public testing::Test {
protected:
  static Tensor drawn(unsigned seed, double size, int count = 4096, double around = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<float> numbers;
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values)
      value = float(around) + float(size) * numbers(random);
    return floats(values);
  }
  static Known known(std::initializer_list<double> sizes, double around = 0) {
    Known known{.center = drawn(1, 1, 4096, around)};
    unsigned seed = 2;
    for (double size : sizes)
      (known.few.size() < 2 ? known.few : known.more).push_back(drawn(seed++, size, 4096, around));
    return known;
  }
  /// The sizes that gradients of a speech model had, whose evaluations kept each other's limits in part.
  static constexpr std::initializer_list<double> kSizes = {0.73, 4.9, 0.12, 0.033,
                                                           0.011, 7.1, 0.026, 0.83};
};

TEST_F(OrdersTest, WhereEvaluationsAreScatteredOverOrdersAResultIsADrawThatTellsNothing) {
  StrictVerdict verdict = known(kSizes).judge(drawn(20, 400), drawn(21, 4));
  EXPECT_FALSE(verdict.passed) << "pieces have to say that it is right";
  EXPECT_TRUE(verdict.isScattered) << verdict.sentence;
  EXPECT_GE(verdict.noise, kDecided) << "whoever judges by pieces goes by it";
  EXPECT_THAT(verdict.sentence, HasSubstr("evaluations are scattered over orders"));
}

TEST_F(OrdersTest, OrdersBeyondAllOfThemOrWithoutANumberItIsNoDraw) {
  EXPECT_FALSE(known(kSizes).judge(drawn(20, 1e5), drawn(21, 4)).isScattered);
  Tensor numberless = floats(std::vector<float>(4096, std::nanf("")));
  EXPECT_FALSE(known(kSizes).judge(numberless, drawn(21, 4)).isScattered);
}

TEST_F(OrdersTest, WhatNobodyWroteIsNoDraw) {
  // Memory that was cleared, or holds what is small: from all evaluations as far as they are from each other.
  EXPECT_FALSE(known(kSizes).judge(drawn(20, 0), drawn(21, 4)).isScattered);
  EXPECT_FALSE(known(kSizes).judge(drawn(20, 1e-6), drawn(21, 4)).isScattered);
  EXPECT_FALSE(known(kSizes).judge(drawn(20, 400), drawn(21, 0)).isScattered);
  EXPECT_TRUE(known(kSizes).judge(drawn(20, 400), drawn(21, 0.01)).isScattered);
}

TEST_F(OrdersTest, WhatIsExpectedHasToBeSuchADrawToo) {
  // Else it is another program that was made of the model, and no piece of it is wrong.
  EXPECT_FALSE(known(kSizes).judge(drawn(20, 400), drawn(21, 1000)).isScattered);
}

TEST_F(OrdersTest, EvaluationsOfOneSizeSayWhereTheNextOneIs) {
  EXPECT_FALSE(known({1, 1, 1, 1, 1, 1, 1, 1}).judge(drawn(20, 400), drawn(21, 1)).isScattered);
  EXPECT_FALSE(known({1, 2, 0.5, 1.5, 0.7, 1, 3, 2}).judge(drawn(20, 400), drawn(21, 1)).isScattered);
  // Where one of them went another way, or half of them did: a decision has ends.
  EXPECT_FALSE(known({0.01, 0.01, 0.01, 0.01, 9, 0.01, 0.01, 0.01}).judge(drawn(20, 400), drawn(21, 1)).isScattered);
  EXPECT_FALSE(known({0.01, 9, 0.01, 9, 9, 0.01, 9, 0.01}).judge(drawn(20, 400), drawn(21, 1)).isScattered);
  // And where the output is far larger than its noise it says something, however that is spread.
  EXPECT_FALSE(known(kSizes, 1000).judge(drawn(20, 400, 4096, 1000), drawn(21, 4, 4096, 1000)).isScattered);
}

TEST(StrictTest, NobodyLooksLongerThanHeMust) {
  Known known{offBy({1e-4, -2e-4}), offBy({1e-4}), offBy({4e-4})};
  EXPECT_TRUE(known.judge(floats({1}), floats({1})).passed);
  EXPECT_TRUE(known.asked.empty());
  EXPECT_TRUE(known.judge(floats({1.0002f}), floats({1})).passed);
  EXPECT_EQ(known.asked.size(), 2u) << "of one element the first evaluation is no measure";
  EXPECT_FALSE(known.judge(floats({2}), floats({1})).passed);
  EXPECT_EQ(known.asked[NoiseLook::More], 0) << "far beyond what chance explains";
}

/// Numbers around what is expected of them, each off by this share of a wave.
Tensor around(unsigned seed, double share, int count = 512) {
  std::mt19937 random(seed);
  std::normal_distribution<float> numbers;
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i)
    values[i] = float(std::sin(i)) + float(share) * numbers(random);
  return floats(values);
}

TEST(StrictTest, WhatTheFirstEvaluationLetsPassNeedsNoOther) {
  Known known{.few = {around(1, 1e-3), around(2, 1e-3)}, .center = around(0, 0)};
  EXPECT_TRUE(known.judge(around(3, 1e-3), around(0, 0)).passed);
  EXPECT_EQ(known.asked[NoiseLook::Few], 0);
  // Off by more than the first has it, and not by more than the second.
  Known louder{.few = {around(1, 1e-4), around(2, 1e-3)}, .center = around(0, 0)};
  EXPECT_TRUE(louder.judge(around(3, 1e-3), around(0, 0)).passed);
  EXPECT_EQ(louder.asked[NoiseLook::Few], 1);
}

TEST(StrictTest, AnEvaluationThatMovedNothingIsNoMeasure) {
  // The precision of f32 stands for noise that nobody saw: here that would let pass what the second
  // evaluation says is too far off.
  Known known{.few = {around(0, 0), around(2, 1e-9)}, .center = around(0, 0)};
  known.judge(around(3, 1e-6), around(0, 0));
  EXPECT_EQ(known.asked[NoiseLook::Few], 1);
}

TEST(StrictTest, ASecondEvaluationMakesNothingWrongThatPassedByTheFirst) {
  int byFirst = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    auto share = [&] { return std::exp2(-double(random() % 24)); };
    Known both{.few = {around(seed + 1, share()), around(seed + 2, share())},
               .center = around(seed + 3, random() % 2 ? 0 : share())};
    Tensor actual = around(seed + 4, share()),
           expected = around(seed + 5, random() % 2 ? 0 : share());
    bool passed = both.judge(actual, expected).passed;
    if (both.asked[NoiseLook::Few] > 0 || !both.asked.contains(NoiseLook::First))
      continue;
    ++byFirst;
    Noise all{.samples = both.few, .center = both.center};
    Result<NoiseVerdict> byAll = checkByNoise(actual, expected, all);
    EXPECT_TRUE(passed && byAll && byAll->passed) << seed;
  }
  EXPECT_GT(byFirst, 100);
}

std::vector<int32_t> sorted() { return {4, 2, 7, 1, 0, 5, 3, 6}; }
std::vector<int32_t> with(std::vector<int32_t> values, size_t at, int32_t value) {
  values[at] = value;
  return values;
}

TEST(StrictTest, ATieWithinTheNoiseIsNoErrorAndAWrongIndexIs) {
  // The third and the fourth are nearly the same: wider evaluations have them either way.
  std::vector<int32_t> swapped = with(with(sorted(), 2, 1), 3, 7);
  Known known{{integers(sorted()), integers(sorted())}, {}, {integers(sorted()), integers(swapped)}};
  StrictVerdict tie = known.judge(integers(swapped), integers(sorted()));
  EXPECT_TRUE(tie.passed) << tie.sentence;
  EXPECT_THAT(tie.sentence, HasSubstr("2 of 8 elements are different, as rounding decides them"));
  EXPECT_TRUE(known.mayDiffer(integers(swapped), integers(sorted())));
  EXPECT_TRUE(known.mayDiffer(integers(sorted()), integers(swapped)));
  // Another place; the place of the tie, but no index that ties; both at once.
  for (const std::vector<int32_t> &wrong :
       {with(sorted(), 6, 2), with(sorted(), 2, 5), with(swapped, 6, 2)}) {
    StrictVerdict verdict = known.judge(integers(wrong), integers(sorted()));
    EXPECT_FALSE(verdict.passed) << verdict.sentence;
    EXPECT_THAT(verdict.sentence, HasSubstr("are as no evaluation moved by up to 4 roundings"));
    EXPECT_FALSE(known.mayDiffer(integers(wrong), integers(sorted())));
  }
}

TEST(StrictTest, AsManyAsChangeAreStillWrongInOtherPlaces) {
  Known known{{integers(with(sorted(), 1, 9)), integers(sorted())}, {}, {integers(sorted())}};
  EXPECT_TRUE(known.judge(integers(with(sorted(), 1, 9)), integers(sorted())).passed);
  EXPECT_FALSE(known.judge(integers(with(sorted(), 5, 9)), integers(sorted())).passed);
  // Where only the number is known it decides.
  known.wider.clear();
  EXPECT_TRUE(known.judge(integers(with(sorted(), 5, 9)), integers(sorted())).passed);
}

TEST(StrictTest, WhatEveryEvaluationGivesOtherwiseRoundingAloneDecides) {
  Known known{{integers(sorted()), integers(with(sorted(), 0, 10))}, {}, {}};
  for (int32_t value : {11, 12, 13})
    known.wider.push_back(integers(with(sorted(), 0, value)));
  EXPECT_TRUE(known.judge(integers(with(sorted(), 0, 99)), integers(sorted())).passed);
  EXPECT_FALSE(known.judge(integers(with(sorted(), 1, 99)), integers(sorted())).passed);
}

TEST(StrictTest, WhatFollowsFromManyDecisionsMayBeAsNoEvaluationHasIt) {
  // Steps of a quantized layer behind another one: each evaluation has some that no other one has.
  std::mt19937 random(3);
  std::vector<int32_t> expected(512);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = int32_t(random() % 200) - 100;
  // Half of the first places are the next step, and so many where hardly ever one is.
  auto moved = [&](int seldom) {
    std::vector<int32_t> values = expected;
    for (size_t i = 0; i < 64; ++i)
      values[i] += int32_t(random() % 2);
    for (int i = 0; i < seldom; ++i)
      values[64 + random() % 448] += 1;
    return values;
  };
  Known known{{integers(moved(2)), integers(moved(2))}};
  for (int i = 0; i < 8; ++i)
    known.wider.push_back(integers(moved(12)));
  std::vector<int32_t> right = moved(4);
  StrictVerdict verdict = known.judge(integers(right), integers(expected));
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  // Farther off than any, or more of them than any.
  EXPECT_FALSE(known.judge(integers(with(right, 300, expected[300] + 40)), integers(expected)).passed);
  EXPECT_FALSE(known.judge(integers(moved(40)), integers(expected)).passed);
  // Where evaluations agree with each other there is no such excuse.
  Known sure{{integers(expected), integers(expected)}};
  std::vector<int32_t> either = moved(0);
  sure.wider.assign(8, integers(either));
  EXPECT_TRUE(sure.judge(integers(either), integers(expected)).passed);
  std::vector<int32_t> wrong = either;
  for (size_t i = 100; i < 106; ++i)
    wrong[i] += 1;
  EXPECT_FALSE(sure.judge(integers(wrong), integers(expected)).passed);
}

TEST(StrictTest, AnElementThatWasChosenOtherwiseIsNoErrorAndAWrongOneIs) {
  // Row 2 was chosen by an order that rounding decides; wider evaluations choose another.
  std::vector<float> expected, other;
  for (int i = 0; i < 256; ++i)
    expected.push_back(float(std::sin(i)));
  other = expected;
  for (int i = 64; i < 96; ++i)
    other[i] = float(std::cos(3 * i));
  Known known{{floats(expected), floats(expected)}, {}, {floats(expected), floats(other)}};
  StrictVerdict chosen = known.judge(floats(other), floats(expected));
  EXPECT_TRUE(chosen.passed) << chosen.sentence;
  EXPECT_THAT(chosen.sentence, HasSubstr("as rounding decides them"));
  for (int at : {3, 70}) {
    std::vector<float> wrong = other;
    wrong[at] += 0.5f;
    EXPECT_FALSE(known.judge(floats(wrong), floats(expected)).passed) << at;
  }
  std::vector<float> zeroed = expected;
  std::fill(zeroed.begin() + 64, zeroed.begin() + 96, 0.0f);
  EXPECT_FALSE(known.judge(floats(zeroed), floats(expected)).passed);
}

/// The gradient behind a ReLU is itself or zero, and many are no larger than some noise of the others.
TEST(StrictTest, NearWaysAreTellableWhereNoEvaluationIsBetween) {
  constexpr int kCount = 1000, kAt = 5;
  auto moved = [](double by, int seed, float at) {
    std::vector<float> values(kCount);
    for (int i = 0; i < kCount; ++i)
      values[size_t(i)] = float(1 + (i == kAt ? 0.001 : by) * ((i * 7 + seed * 5) % 3 - 1));
    if (at)
      values[kAt] = at;
    return floats(values);
  };
  auto judge = [&](std::vector<float> atOfWider, int wrongAt) {
    Known known{{moved(0.02, 1, 0), moved(0.02, 2, 0)}};
    for (size_t k = 0; k < atOfWider.size(); ++k)
      known.wider.push_back(moved(0.08, int(k), atOfWider[k]));
    std::vector<float> result(kCount, 1.0f);
    result[size_t(wrongAt)] = 0.7f;
    return known.judge(floats(result), floats(std::vector<float>(kCount, 1.0f)));
  };
  const float none = 0; // As moved.
  StrictVerdict verdict = judge({none, none, none, 0.7f, none, 0.701f, none, none}, kAt);
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_THAT(verdict.sentence, testing::HasSubstr("1 elements as rounding decides them"));
  // So it was beyond its limits, and not so far that a wider evaluation is elsewhere by itself.
  verdict = judge({none, none, none, none, none, none, none, none}, kAt);
  EXPECT_FALSE(verdict.passed);
  EXPECT_GT(verdict.worst, 8);
  EXPECT_LT(verdict.worst, 32);
  EXPECT_FALSE(judge({none, none, none, 0.7f, none, none, none, none}, kAt + 1).passed) << "another element";
  EXPECT_FALSE(judge({none, none, none, 0.7f, none, 0.85f, none, none}, kAt).passed) << "one is between: they are moved";
  EXPECT_FALSE(judge({none, none, none, 0.6f, none, none, none, none}, kAt).passed) << "a third way";
  EXPECT_FALSE(judge({none, 0.7f, none}, kAt).passed) << "three and two may leave the middle empty by chance";
}

TEST(StrictTest, WhatComesLastWhereUpdatesMeetIsNoErrorHoweverNearItIsToTheOthers) {
  Known known{{floats({1.001f, 2.002f}), floats({0.999f, 1.998f})}};
  const Tensor expected = floats({1, 2}), other = floats({1.02f, 2});
  EXPECT_FALSE(known.judge(other, expected).passed);
  known.wider = {floats({1.0201f, 1.999f})}; // So far away four roundings may take it.
  EXPECT_FALSE(known.judge(other, expected).passed);
  known.reordered = {floats({1.0005f, 1.999f}), floats({1.0201f, 1.999f})};
  StrictVerdict met = known.judge(other, expected);
  EXPECT_TRUE(met.passed) << met.sentence;
  EXPECT_THAT(met.sentence, HasSubstr("1 elements as the order of updates that meet decides them"));
  EXPECT_TRUE(known.mayDiffer(other, expected));
  EXPECT_FALSE(known.judge(floats({1.02f, 2.03f}), expected).passed);
  EXPECT_FALSE(known.judge(floats({1.035f, 2}), expected).passed);
}

TEST(StrictTest, WhatTheProgramComputesOtherwiseThanExpectedIsNoTie) {
  // The frontend made another program: the reference and the device agree, always.
  std::vector<int32_t> program = with(sorted(), 4, 8);
  Known known{{integers(program), integers(program)}, {}, {integers(program)}, {}, integers(program)};
  StrictVerdict verdict = known.judge(integers(program), integers(sorted()));
  EXPECT_FALSE(verdict.passed);
  EXPECT_TRUE(verdict.isExpectedOff);
  // Where an evaluation gives what is expected, it is one.
  known.wider.push_back(integers(sorted()));
  EXPECT_TRUE(known.judge(integers(program), integers(sorted())).passed);
}

TEST(StrictTest, ExpectedValuesThatAreRougherThanTheProgramAreNotTheDevicesFault) {
  // A sum that cancels: the framework keeps its terms in bf16, the program does not.
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  auto draw = [&](double size) {
    std::vector<float> values(64);
    for (float &x : values)
      x = float(size * normal(random));
    return values;
  };
  std::vector<float> program = draw(1e-5);
  auto moved = [&](double size) {
    std::vector<float> values = program;
    std::vector<float> by = draw(size);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += by[i];
    return floats(values);
  };
  Known known{{moved(1e-6), moved(1e-6)}, {}, {}, {}, floats(program)};
  Tensor expected = moved(1e-4), actual = moved(1e-6);
  StrictVerdict off = known.judge(actual, expected);
  EXPECT_FALSE(off.passed);
  EXPECT_TRUE(off.isExpectedOff);
  known.framework = {moved(1e-4), moved(1e-4)};
  StrictVerdict verdict = known.judge(actual, expected);
  EXPECT_TRUE(verdict.passed) << verdict.sentence;
  EXPECT_THAT(verdict.sentence, HasSubstr("what is expected was rounded to bf16 more often"));
  // A device that is off from the reference has no such excuse.
  StrictVerdict wrong = known.judge(moved(1e-4), expected);
  EXPECT_FALSE(wrong.passed);
  EXPECT_FALSE(wrong.isExpectedOff);
}

} // namespace
} // namespace cupel::compare
