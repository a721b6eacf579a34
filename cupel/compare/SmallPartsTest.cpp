// Small parts beside large ones: within limits of the whole, and beyond their own.

#include "cupel/compare/SmallParts.h"

#include "cupel/compare/TestTensors.h"

#include <cmath>
#include <gtest/gtest.h>

namespace cupel::compare {
namespace {

using tensor::DType;
using tensor::Tensor;

constexpr int64_t kRows = 64, kColumns = 12, kBoxes = 4;

/// Columns of hundreds, and others of about one, which are times `factor`; each moved by `moved` of its size.
Tensor heads(float factor, float moved = 0, uint32_t seed = 1) {
  Tensor made = *Tensor::uninitialized(DType::F32, {kRows, kColumns});
  float *values = made.mutableAs<float>();
  for (int64_t i = 0; i < made.size(); ++i) {
    const bool isBox = i % kColumns < kBoxes;
    seed = seed * 1664525 + 1013904223;
    const float shift = 1 + moved * (float(seed >> 8) / float(1 << 23) - 1);
    values[i] = std::sin(float(i) * 1.7f) * (isBox ? 300.f : factor) * shift;
  }
  return made;
}

NoiseOf noiseOf(float moved) {
  return [moved](NoiseLook) {
    return Noise{.precision = {}, .samples = {heads(1, moved, 7), heads(1, moved, 8)}};
  };
}

bool areOff(const Tensor &actual, const NoiseOf &noise) {
  const Tensor expected = heads(1);
  Result<StrictVerdict> whole = checkStrictly(actual, expected, {}, noise);
  EXPECT_TRUE(whole) << whole.message();
  EXPECT_TRUE(whole->passed) << whole->sentence;
  Result<bool> off = areSmallPartsOff(actual, expected, {}, whole->noise, noise);
  EXPECT_TRUE(off) << off.message();
  return *off;
}

TEST(SmallParts, AreJudgedByNoiseOfTheirOwn) {
  const NoiseOf noise = noiseOf(0.01f);
  EXPECT_FALSE(areOff(heads(1, 0.01f, 3), noise));
  EXPECT_TRUE(areOff(heads(-1, 0.01f, 3), noise));
  EXPECT_TRUE(areOff(heads(1.25f, 0.01f, 3), noise));
  EXPECT_TRUE(areOff(heads(0, 0.01f, 3), noise));
}

TEST(SmallParts, AreLeftAloneWhereLimitsOfTheWholeShowThem) {
  // What is off by so little that a factor is seen in them anyway is no doubt.
  const NoiseOf exact = [](NoiseLook) { return Noise{}; };
  Result<bool> off = areSmallPartsOff(heads(1.00001f), heads(1), {}, 0, exact);
  ASSERT_TRUE(off);
  EXPECT_FALSE(*off);
}

TEST(SmallParts, NobodyIsDoubtedWhereNothingIsKnownOfNoise) {
  const NoiseOf none = [](NoiseLook) { return Noise{}; };
  Result<bool> off = areSmallPartsOff(heads(-1), heads(1), {}, 0.01, none);
  ASSERT_TRUE(off);
  EXPECT_FALSE(*off);
}

} // namespace
} // namespace cupel::compare
