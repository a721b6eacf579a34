// Expected values are worked out by hand or by NumPy (where said); random cases are checked against
// an oracle that walks the input in row-major order, as the specification's reference does.

#include "cupel/reference/Reductions.h"
#include "cupel/reference/KernelTesting.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace cupel::reference {
namespace {

using I64s = std::vector<int64_t>;
using I32s = std::vector<int32_t>;
using Floats = std::vector<float>;
constexpr DType I32 = DType::I32, F32 = DType::F32;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Accumulate kModes[] = {Accumulate::Wide, Accumulate::Native};

template <DType type> Tensor scalar(Storage<type> value) { return Tensor::of<type>({}, {value}); }

Result<Tensor> reduceOne(const Tensor &input, const Tensor &init, I64s dimensions,
                         const ElementFunction &body, Accumulate accumulate) {
  Result<std::vector<Tensor>> result =
      reduce(std::span(&input, 1), std::span(&init, 1), dimensions, body, accumulate);
  if (!result)
    return result.error();
  return (*result)[0];
}

/// A body that claims to be known and would fail if it were called.
template <DType type> TestFunction onlyKnown(KnownFunction known) {
  TestFunction function = binary<type>([](auto a, auto) { return a; }, known);
  function.failing = true;
  return function;
}

TEST(Reductions, RowsColumnsAndAll) {
  Tensor a = counting({2, 3});
  for (Accumulate mode : kModes) {
    TestFunction add = onlyKnown<I32>(KnownFunction::Add);
    EXPECT_EQ(valuesOf<I32>(reduceOne(a, scalar<I32>(10), {1}, add, mode)), (I32s{13, 22}));
    EXPECT_EQ(valuesOf<I32>(reduceOne(a, scalar<I32>(10), {0}, add, mode)), (I32s{13, 15, 17}));
    EXPECT_EQ(valuesOf<I32>(reduceOne(a, scalar<I32>(10), {1, 0}, add, mode)), (I32s{25}));
    EXPECT_EQ(valuesOf<I32>(reduceOne(a, scalar<I32>(10), {}, add, mode)),
              (I32s{10, 11, 12, 13, 14, 15}));
    // Nothing to fold: the initial value; nothing to give: nothing.
    EXPECT_EQ(valuesOf<I32>(reduceOne(counting({2, 0}), scalar<I32>(7), {1}, add, mode)),
              (I32s{7, 7}));
    EXPECT_EQ(valuesOf<I32>(reduceOne(counting({2, 0}), scalar<I32>(7), {0}, add, mode)), I32s{});
    EXPECT_EQ(valuesOf<I32>(reduceOne(counting({}), scalar<I32>(7), {}, add, mode)), (I32s{7}));
    EXPECT_FALSE(reduceOne(a, scalar<I32>(0), {2}, add, mode));
    EXPECT_FALSE(reduceOne(a, scalar<I32>(0), {0, 0}, add, mode));
    EXPECT_FALSE(reduceOne(a, scalar<F32>(0), {0}, add, mode));
    EXPECT_FALSE(reduceOne(a, counting({2}), {0}, add, mode));
  }
}

TEST(Reductions, WideRoundsOnceAndNativeEachTime) {
  // NumPy: cumsum and cumprod in the type itself, and sums in float64.
  std::vector<float> harmonic;
  for (int i = 1; i <= 1000; ++i)
    harmonic.push_back(1.0f / static_cast<float>(i));
  Tensor x = Tensor::of<F32>({1000}, harmonic);
  TestFunction add = onlyKnown<F32>(KnownFunction::Add);
  EXPECT_EQ(valuesOf<F32>(reduceOne(x, scalar<F32>(0), {0}, add, Accumulate::Native))[0],
            0x1.df12140000000p+2f);
  EXPECT_EQ(valuesOf<F32>(reduceOne(x, scalar<F32>(0), {0}, add, Accumulate::Wide))[0],
            0x1.df11f40000000p+2f);
  std::vector<uint16_t> halves;
  for (float value : harmonic)
    halves.push_back(tensor::fromFloat<DType::F16>(value));
  Tensor h = Tensor::of<DType::F16>({1000}, halves);
  TestFunction addHalf = onlyKnown<DType::F16>(KnownFunction::Add);
  EXPECT_EQ(valuesOf<DType::F16>(
                reduceOne(h, scalar<DType::F16>(0), {0}, addHalf, Accumulate::Native))[0],
            0x4716);
  EXPECT_EQ(
      valuesOf<DType::F16>(reduceOne(h, scalar<DType::F16>(0), {0}, addHalf, Accumulate::Wide))[0],
      0x477c);
  std::vector<float> factors;
  for (int i = 0; i < 64; ++i)
    factors.push_back(1 + harmonic[i] / 64);
  Tensor y = Tensor::of<F32>({64}, factors);
  TestFunction multiply = onlyKnown<F32>(KnownFunction::Multiply);
  EXPECT_EQ(valuesOf<F32>(reduceOne(y, scalar<F32>(1), {0}, multiply, Accumulate::Native))[0],
            0x1.13a4720000000p+0f);
  EXPECT_EQ(valuesOf<F32>(reduceOne(y, scalar<F32>(1), {0}, multiply, Accumulate::Wide))[0],
            0x1.13a46c0000000p+0f);
  // 2^24 + 1 + 1 in f32: each step ties to even; and overflow on the way (f16: 65504 + 65504 -
  // 65504).
  Tensor large = Tensor::of<F32>({3}, {16777216.0f, 1.0f, 1.0f});
  EXPECT_EQ(valuesOf<F32>(reduceOne(large, scalar<F32>(0), {0}, add, Accumulate::Native))[0],
            16777216.0f);
  EXPECT_EQ(valuesOf<F32>(reduceOne(large, scalar<F32>(0), {0}, add, Accumulate::Wide))[0],
            16777218.0f);
  Tensor top = Tensor::of<DType::F16>({3}, {0x7bff, 0x7bff, 0xfbff});
  EXPECT_EQ(valuesOf<DType::F16>(
                reduceOne(top, scalar<DType::F16>(0), {0}, addHalf, Accumulate::Native))[0],
            0x7c00);
  EXPECT_EQ(valuesOf<DType::F16>(
                reduceOne(top, scalar<DType::F16>(0), {0}, addHalf, Accumulate::Wide))[0],
            0x7bff);
}

TEST(Reductions, MaximumPropagatesNanAndOrdersZeros) {
  for (Accumulate mode : kModes)
    for (int64_t padding : {0, 200}) { // short rows and those with partial results
      auto fold = [&](KnownFunction function, float init, std::vector<float> values) {
        values.resize(values.size() + static_cast<size_t>(padding), values[0]);
        auto count = static_cast<int64_t>(values.size());
        return valuesOf<F32>(reduceOne(Tensor::of<F32>({count}, values), scalar<F32>(init), {0},
                                       onlyKnown<F32>(function), mode))[0];
      };
      EXPECT_TRUE(std::isnan(fold(KnownFunction::Maximum, 0, {1, kNan, 2})));
      EXPECT_TRUE(std::isnan(fold(KnownFunction::Maximum, 0, {1, -kNan, 2})));
      EXPECT_TRUE(std::isnan(fold(KnownFunction::Minimum, 0, {1, kNan, 2})));
      EXPECT_TRUE(std::isnan(fold(KnownFunction::Minimum, kNan, {1, 2})));
      EXPECT_FALSE(std::signbit(fold(KnownFunction::Maximum, -1, {-0.0f, 0.0f, -0.0f})));
      EXPECT_TRUE(std::signbit(fold(KnownFunction::Maximum, -1, {-0.0f, -0.0f})));
      EXPECT_TRUE(std::signbit(fold(KnownFunction::Minimum, 1, {0.0f, -0.0f, 0.0f})));
      EXPECT_EQ(fold(KnownFunction::Maximum, -5, {-7, -6}), -5);
    }
}

TEST(Reductions, NarrowIntegersWrapAndBooleansAreLogical) {
  for (Accumulate mode : kModes) {
    EXPECT_EQ(
        valuesOf<DType::I4>(reduceOne(Tensor::of<DType::I4>({3}, {7, 7, 1}), scalar<DType::I4>(0),
                                      {0}, onlyKnown<DType::I4>(KnownFunction::Add), mode)),
        (std::vector<int8_t>{-1}));
    EXPECT_EQ(
        valuesOf<DType::I2>(reduceOne(Tensor::of<DType::I2>({2}, {-2, 1}), scalar<DType::I2>(0),
                                      {0}, onlyKnown<DType::I2>(KnownFunction::Maximum), mode)),
        (std::vector<int8_t>{1}));
    EXPECT_EQ(
        valuesOf<DType::I8>(reduceOne(Tensor::of<DType::I8>({2}, {100, 100}), scalar<DType::I8>(0),
                                      {0}, onlyKnown<DType::I8>(KnownFunction::Add), mode)),
        (std::vector<int8_t>{-56}));
    Tensor bits = Tensor::of<DType::I1>({2, 2}, {1, 1, 0, 1});
    auto both = [&](KnownFunction function, uint8_t init) {
      return valuesOf<DType::I1>(
          reduceOne(bits, scalar<DType::I1>(init), {1}, onlyKnown<DType::I1>(function), mode));
    };
    EXPECT_EQ(both(KnownFunction::Add, 0), (std::vector<uint8_t>{1, 1}));
    EXPECT_EQ(both(KnownFunction::Multiply, 1), (std::vector<uint8_t>{1, 0}));
    EXPECT_EQ(both(KnownFunction::And, 1), (std::vector<uint8_t>{1, 0}));
    EXPECT_EQ(both(KnownFunction::Minimum, 1), (std::vector<uint8_t>{1, 0}));
    EXPECT_EQ(both(KnownFunction::Xor, 0), (std::vector<uint8_t>{0, 1}));
  }
}

TEST(Reductions, ComplexSumsAndProducts) {
  using C = std::complex<float>;
  Tensor x = Tensor::of<DType::C64>({3}, {C(1, 2), C(3, -1), C(0, 1)});
  for (Accumulate mode : kModes) {
    EXPECT_EQ(valuesOf<DType::C64>(reduceOne(x, scalar<DType::C64>(C(0, 0)), {0},
                                             onlyKnown<DType::C64>(KnownFunction::Add), mode))[0],
              C(4, 2));
    // (1 + 2i)(3 - i) = 5 + 5i; times i = -5 + 5i.
    EXPECT_EQ(
        valuesOf<DType::C64>(reduceOne(x, scalar<DType::C64>(C(1, 0)), {0},
                                       onlyKnown<DType::C64>(KnownFunction::Multiply), mode))[0],
        C(-5, 5));
  }
}

/// Every known function on a type against the oracle, over random shapes and views.
template <DType type> void checkKnown(std::mt19937 &random) {
  struct Case {
    KnownFunction function;
    std::function<Storage<type>(Storage<type>, Storage<type>)> apply;
  };
  using S = Storage<type>;
  std::vector<Case> cases{{KnownFunction::Add, [](S a, S b) { return static_cast<S>(a + b); }},
                          {KnownFunction::Minimum, [](S a, S b) { return b < a ? b : a; }},
                          {KnownFunction::Maximum, [](S a, S b) { return a < b ? b : a; }}};
  if constexpr (std::is_integral_v<S>) {
    cases.push_back({KnownFunction::Multiply, [](S a, S b) {
                       return static_cast<S>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
                     }});
    cases.push_back({KnownFunction::And, [](S a, S b) { return static_cast<S>(a & b); }});
    cases.push_back({KnownFunction::Or, [](S a, S b) { return static_cast<S>(a | b); }});
    cases.push_back({KnownFunction::Xor, [](S a, S b) { return static_cast<S>(a ^ b); }});
  }
  for (Shape shape : {Shape{7}, Shape{300}, Shape{5, 40}, Shape{40, 5}, Shape{3, 9, 33},
                      Shape{2, 17, 3, 8}, Shape{1, 64, 1}, Shape{11, 2, 19}})
    for (unsigned mask = 0; mask < (1u << shape.size()); ++mask)
      for (int view = 0; view < 3; ++view) {
        Tensor input = randomTensor<type>(random, shape, std::is_signed_v<S> ? -8 : 0, 8);
        I64s dimensions;
        Shape kept;
        for (size_t d = 0; d < shape.size(); ++d)
          if (mask >> d & 1)
            dimensions.push_back(static_cast<int64_t>(d));
          else
            kept.push_back(shape[d]);
        const Case &c = cases[random() % cases.size()];
        S init = 3;
        std::vector<S> expected(static_cast<size_t>(*tensor::elementCount(kept)), init);
        std::vector<S> flat = valuesOf<type>(input);
        size_t at = 0;
        forEachIndex(shape, [&](const I64s &index) {
          I64s place;
          for (size_t d = 0; d < shape.size(); ++d)
            if (!(mask >> d & 1))
              place.push_back(index[d]);
          S &target = expected[flatIndex(kept, place)];
          target = c.apply(target, flat[at++]);
        });
        for (Accumulate mode : kModes) {
          Tensor viewed = asView(input, view);
          Result<Tensor> known =
              reduceOne(viewed, scalar<type>(init), dimensions, onlyKnown<type>(c.function), mode);
          ASSERT_TRUE(known);
          ASSERT_EQ(shapeOf(*known), kept);
          ASSERT_EQ(valuesOf<type>(*known), expected);
          ASSERT_EQ(valuesOf<type>(reduceOne(viewed, scalar<type>(init), dimensions,
                                             binary<type>(c.apply), mode)),
                    expected);
        }
      }
}

TEST(Reductions, KnownAndUnknownBodiesAgreeWithTheRowMajorWalk) {
  std::mt19937 random(5);
  checkKnown<DType::I8>(random);
  checkKnown<DType::U8>(random);
  checkKnown<DType::I16>(random);
  checkKnown<DType::U16>(random);
  checkKnown<DType::I32>(random);
  checkKnown<DType::U32>(random);
  checkKnown<DType::I64>(random);
  checkKnown<DType::U64>(random);
  checkKnown<DType::F32>(random);
  checkKnown<DType::F64>(random);
}

TEST(Reductions, NativeKeepsTheOrderOfUnknownBodies) {
  auto apply = [](int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) * 31u + static_cast<uint32_t>(b));
  };
  std::mt19937 random(6);
  Tensor x = randomTensor<I32>(random, {5000});
  int32_t expected = 1;
  for (int32_t value : valuesOf<I32>(x))
    expected = apply(expected, value);
  EXPECT_EQ(
      valuesOf<I32>(reduceOne(x, scalar<I32>(1), {0}, binary<I32>(apply), Accumulate::Native)),
      (I32s{expected}));
}

/// The usual arg-max body: larger value first, then smaller index.
TestFunction argMax() {
  return TestFunction({F32, I32, F32, I32}, {F32, I32}, std::nullopt,
                      [](auto in, auto out, int64_t i) {
                        float a = static_cast<const float *>(in[0])[i];
                        float b = static_cast<const float *>(in[2])[i];
                        int32_t x = static_cast<const int32_t *>(in[1])[i];
                        int32_t y = static_cast<const int32_t *>(in[3])[i];
                        bool first = a > b || (a == b && x < y);
                        static_cast<float *>(out[0])[i] = first ? a : b;
                        static_cast<int32_t *>(out[1])[i] = first ? x : y;
                      });
}

TEST(Reductions, NativeSumsOfManyRowsKeepTheOrderOfEach) {
  // Rows are folded in groups; the last of 21 are left over.
  constexpr int64_t rows = 21, columns = 37;
  Floats values, expected;
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0.25f;
    for (int64_t c = 0; c < columns; ++c) {
      values.push_back(1.0f / static_cast<float>(1 + (r * 31 + c * 17) % 101));
      sum += values.back();
    }
    expected.push_back(sum);
  }
  TestFunction add = onlyKnown<F32>(KnownFunction::Add);
  Tensor input = Tensor::of<F32>({rows, columns}, values);
  EXPECT_EQ(valuesOf<F32>(reduceOne(input, scalar<F32>(0.25f), {1}, add, Accumulate::Native)),
            expected);
}

TEST(Reductions, ArgMaxOverRowsColumnsAndAll) {
  std::mt19937 random(7);
  for (Shape shape : {Shape{37, 50}, Shape{2500, 3}, Shape{3, 2500}, Shape{10007}})
    for (int64_t dimension = 0; dimension < static_cast<int64_t>(shape.size()); ++dimension)
      for (Accumulate mode : kModes) {
        Tensor values = randomTensor<F32>(random, shape, 0, 5000);
        std::vector<int32_t> positions;
        forEachIndex(shape, [&](const I64s &index) {
          positions.push_back(static_cast<int32_t>(index[dimension]));
        });
        std::vector<Tensor> inputs{asView(values, 1), Tensor::of<I32>(shape, positions)};
        std::vector<Tensor> inits{scalar<F32>(-1), scalar<I32>(0)};
        TestFunction body = argMax();
        Result<std::vector<Tensor>> result = reduce(inputs, inits, I64s{dimension}, body, mode);
        ASSERT_TRUE(result);
        Shape kept = shape;
        kept.erase(kept.begin() + dimension);
        std::vector<float> flat = valuesOf<F32>(values);
        auto count = static_cast<size_t>(*tensor::elementCount(kept));
        std::vector<float> best(count, -1);
        std::vector<int32_t> at(count, 0);
        size_t next = 0;
        forEachIndex(shape, [&](const I64s &index) {
          I64s place = index;
          place.erase(place.begin() + dimension);
          int64_t to = flatIndex(kept, place);
          float value = flat[next++];
          if (value > best[to]) {
            best[to] = value;
            at[to] = static_cast<int32_t>(index[dimension]);
          }
        });
        EXPECT_EQ(valuesOf<F32>((*result)[0]), best);
        EXPECT_EQ(valuesOf<I32>((*result)[1]), at);
        if (mode == Accumulate::Wide) {
          EXPECT_LT(body.calls, 4000);
        }
        body.failing = true;
        EXPECT_FALSE(reduce(inputs, inits, I64s{dimension}, body, mode));
      }
}

TEST(Reductions, EightBitFloatsFoldInBothModes) {
  // f8E5M2: 1 is 0x3c, 2 is 0x40, 8 is 0x48, 9 lies between 8 and 10 and ties to even, 8.
  Tensor x = Tensor::of<DType::F8E5M2>({3}, {0x48, 0x3c, 0x3c});
  auto add = binary<DType::F8E5M2>(
      [](uint8_t a, uint8_t b) {
        return tensor::fromFloat<DType::F8E5M2>(tensor::toFloat<DType::F8E5M2>(a) +
                                                tensor::toFloat<DType::F8E5M2>(b));
      },
      KnownFunction::Add);
  EXPECT_EQ(
      valuesOf<DType::F8E5M2>(reduceOne(x, scalar<DType::F8E5M2>(0), {0}, add, Accumulate::Native)),
      (std::vector<uint8_t>{0x48}));
  EXPECT_EQ(
      valuesOf<DType::F8E5M2>(reduceOne(x, scalar<DType::F8E5M2>(0), {0}, add, Accumulate::Wide)),
      (std::vector<uint8_t>{0x49}));
}

} // namespace
} // namespace cupel::reference
