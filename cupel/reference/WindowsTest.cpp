// Expected values are worked out by hand; random cases are checked against oracles that walk the
// windows as the specification describes them.

#include "cupel/reference/Windows.h"
#include "cupel/reference/KernelTesting.h"

#include <algorithm>
#include <limits>

namespace cupel::reference {
namespace {

using I64s = std::vector<int64_t>;
using I32s = std::vector<int32_t>;
constexpr DType I32 = DType::I32, F32 = DType::F32;

Tensor scalar(int32_t value) { return Tensor::of<I32>({}, {value}); }

TestFunction addition(bool known) {
  return binary<I32>([](int32_t a, int32_t b) { return a + b; },
                     known ? std::optional(KnownFunction::Add) : std::nullopt);
}
TestFunction orderly() {
  return binary<I32>([](int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) * 31u + static_cast<uint32_t>(b));
  });
}

Result<Tensor> windowed(const Tensor &input, const Tensor &init, const WindowNumbers &window,
                        const ElementFunction &body, Accumulate mode = Accumulate::Native) {
  Result<std::vector<Tensor>> result =
      reduceWindow(std::span(&input, 1), std::span(&init, 1), window, body, mode);
  if (!result)
    return result.error();
  return (*result)[0];
}

TEST(Windows, PaddingAndDilationCountAsInit) {
  for (bool known : {true, false}) {
    TestFunction add = addition(known);
    WindowNumbers w;
    w.sizes = {2};
    EXPECT_EQ(valuesOf<I32>(windowed(counting({4}), scalar(0), w, add)), (I32s{1, 3, 5}));
    // Each sum starts from 10, and padding adds 10 once more.
    w.paddingLow = {1};
    w.paddingHigh = {0};
    EXPECT_EQ(valuesOf<I32>(windowed(counting({3}), scalar(10), w, add)), (I32s{20, 11, 13}));
    // Base dilation: 0 I 1 I 2 with I = 10.
    WindowNumbers b;
    b.sizes = {2};
    b.baseDilations = {2};
    EXPECT_EQ(valuesOf<I32>(windowed(counting({3}), scalar(10), b, add)), (I32s{20, 21, 21, 22}));
    WindowNumbers d;
    d.sizes = {2};
    d.windowDilations = {2};
    d.strides = {2};
    EXPECT_EQ(valuesOf<I32>(windowed(counting({6}), scalar(0), d, add)), (I32s{2, 6}));
    // Negative padding cuts.
    WindowNumbers n;
    n.sizes = {1};
    n.paddingLow = {-1};
    n.paddingHigh = {-1};
    EXPECT_EQ(valuesOf<I32>(windowed(counting({4}), scalar(0), n, add)), (I32s{1, 2}));
    EXPECT_EQ(valuesOf<I32>(windowed(counting({}), scalar(5), {}, add)), (I32s{5}));
  }
}

TEST(Windows, WindowsThatDoNotFitGiveNothing) {
  WindowNumbers w;
  w.sizes = {4};
  EXPECT_EQ(shapeOf(*windowed(counting({3}), scalar(0), w, addition(true))), (Shape{0}));
  EXPECT_EQ(shapeOf(*windowed(counting({0}), scalar(0), w, addition(true))), (Shape{0}));
  w.sizes = {std::numeric_limits<int64_t>::max()};
  w.windowDilations = {std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(shapeOf(*windowed(counting({3}), scalar(0), w, addition(true))), (Shape{0}));
  w = {};
  w.sizes = {1};
  w.strides = {std::numeric_limits<int64_t>::max()};
  EXPECT_EQ(valuesOf<I32>(windowed(counting({3}), scalar(0), w, addition(true))), (I32s{0}));
  w.strides = {0};
  EXPECT_FALSE(windowed(counting({3}), scalar(0), w, addition(true)));
  w.strides = {1};
  w.paddingLow = {std::numeric_limits<int64_t>::max()};
  EXPECT_FALSE(windowed(counting({3}), scalar(0), w, addition(true)));
  w.sizes = {1, 1};
  EXPECT_FALSE(windowed(counting({3}), scalar(0), w, addition(true)));
}

TEST(Windows, ReduceWindowAgreesWithTheWalkOnRandomWindows) {
  std::mt19937 random(11);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    auto rank = static_cast<size_t>(pick(1, 3));
    Shape shape, expectedShape;
    WindowNumbers w;
    for (size_t d = 0; d < rank; ++d) {
      shape.push_back(pick(0, round % 7 == 0 ? 20 : 9));
      w.sizes.push_back(pick(1, 5));
      w.strides.push_back(pick(1, 3));
      w.baseDilations.push_back(pick(1, 3));
      w.windowDilations.push_back(pick(1, 3));
      int64_t dilated = shape[d] == 0 ? 0 : (shape[d] - 1) * w.baseDilations[d] + 1;
      w.paddingLow.push_back(pick(-std::min<int64_t>(2, dilated / 2), 3));
      w.paddingHigh.push_back(pick(-std::min<int64_t>(2, dilated / 2), 3));
      int64_t padded = dilated + w.paddingLow[d] + w.paddingHigh[d];
      int64_t extent = (w.sizes[d] - 1) * w.windowDilations[d] + 1;
      expectedShape.push_back(padded < extent ? 0 : (padded - extent) / w.strides[d] + 1);
    }
    Tensor input = randomTensor<I32>(random, shape, -100, 100);
    I32s flat = valuesOf<I32>(input), expected;
    int32_t init = static_cast<int32_t>(pick(-3, 3));
    TestFunction bodies[] = {
        addition(true), orderly(),
        binary<I32>([](int32_t a, int32_t b) { return std::max(a, b); }, KnownFunction::Maximum)};
    const TestFunction &body = bodies[round % 3];
    forEachIndex(expectedShape, [&](const I64s &at) {
      int32_t acc = init;
      forEachIndex(w.sizes, [&](const I64s &offset) {
        I64s source(rank);
        bool real = true;
        for (size_t d = 0; d < rank; ++d) {
          int64_t p = at[d] * w.strides[d] + offset[d] * w.windowDilations[d] - w.paddingLow[d];
          real &= p >= 0 && p % w.baseDilations[d] == 0 && p / w.baseDilations[d] < shape[d];
          source[d] = p / w.baseDilations[d];
        }
        int32_t element = real ? flat[flatIndex(shape, source)] : init, fresh = 0;
        const void *in[] = {&acc, &element};
        void *out[] = {&fresh};
        ASSERT_TRUE(body.run(in, out, 1));
        acc = fresh;
      });
      expected.push_back(acc);
    });
    for (Accumulate mode : {Accumulate::Native, Accumulate::Wide}) {
      Result<Tensor> result =
          windowed(asView(input, round / 3 % 3), Tensor::of<I32>({}, {init}), w, body, mode);
      ASSERT_TRUE(result) << result.message();
      ASSERT_EQ(shapeOf(*result), expectedShape);
      ASSERT_EQ(valuesOf<I32>(*result), expected) << "round " << round;
    }
  }
}

TEST(Windows, PrefixesHaveTheBitsOfTheWalkOverEveryWindow) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  auto sumOf = [](float a, float b) { return a + b; };
  auto known = binary<DType::F32>(sumOf, KnownFunction::Add);
  for (int64_t length : {1, 2, 7, 100}) {
    Shape shape = {3, length, 2};
    std::vector<float> numbers(size_t(6 * length));
    for (float &number : numbers)
      number = std::ldexp(normal(random), int(random() % 40) - 20);
    if (length == 7)
      numbers[5] = std::numeric_limits<float>::infinity(), numbers[20] = std::nanf("");
    Tensor x = Tensor::of<DType::F32>(shape, numbers);
    WindowNumbers w;
    w.sizes = {1, length, 1};
    w.paddingLow = {0, length - 1, 0};
    w.paddingHigh = {0, 0, 0};
    for (Accumulate mode : {Accumulate::Native, Accumulate::Wide}) {
      Result<Tensor> all = windowed(x, Tensor::of<DType::F32>({}, {0}), w, known, mode);
      ASSERT_TRUE(all) << all.message();
      std::vector<float> actual = valuesOf<DType::F32>(*all);
      for (int64_t line = 0; line < 6; ++line)
        for (int64_t k = 0; k < length; ++k) {
          // One window, which is no prefix of anything longer.
          std::vector<float> part;
          for (int64_t i = 0; i <= k; ++i)
            part.push_back(numbers[size_t((line / 2 * length + i) * 2 + line % 2)]);
          WindowNumbers whole;
          whole.sizes = {k + 1};
          Result<Tensor> one = windowed(Tensor::of<DType::F32>({k + 1}, part),
                                        Tensor::of<DType::F32>({}, {0}), whole, known, mode);
          ASSERT_TRUE(one) << one.message();
          float expected = valuesOf<DType::F32>(*one)[0];
          float got = actual[size_t((line / 2 * length + k) * 2 + line % 2)];
          if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(got));
          else
            EXPECT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(got));
        }
    }
  }
}

TEST(Windows, ReduceWindowOfNarrowFloatsAndOfTwoInputs) {
  // bf16: 256 + 1 + 1, rounded each time or once.
  Tensor x = Tensor::of<DType::BF16>({3}, {0x4380, 0x3f80, 0x3f80});
  auto add = binary<DType::BF16>([](uint16_t a, uint16_t) { return a; }, KnownFunction::Add);
  WindowNumbers w;
  w.sizes = {3};
  Tensor zero = Tensor::of<DType::BF16>({}, {0});
  EXPECT_EQ(valuesOf<DType::BF16>(windowed(x, zero, w, add, Accumulate::Native)),
            (std::vector<uint16_t>{0x4380}));
  EXPECT_EQ(valuesOf<DType::BF16>(windowed(x, zero, w, add, Accumulate::Wide)),
            (std::vector<uint16_t>{0x4381})); // 258
  TestFunction both(
      {I32, F32, I32, F32}, {I32, F32}, std::nullopt, [](auto in, auto out, int64_t i) {
        static_cast<int32_t *>(out[0])[i] =
            static_cast<const int32_t *>(in[0])[i] + static_cast<const int32_t *>(in[2])[i];
        static_cast<float *>(out[1])[i] =
            std::max(static_cast<const float *>(in[1])[i], static_cast<const float *>(in[3])[i]);
      });
  std::vector<Tensor> inputs{counting({3}), Tensor::of<F32>({3}, {.5f, -1, 2})};
  std::vector<Tensor> inits{scalar(0), Tensor::of<F32>({}, {0.0f})};
  w.sizes = {2};
  Result<std::vector<Tensor>> result = reduceWindow(inputs, inits, w, both, Accumulate::Native);
  EXPECT_EQ(valuesOf<I32>((*result)[0]), (I32s{1, 3}));
  EXPECT_EQ(valuesOf<F32>((*result)[1]), (std::vector<float>{.5f, 2}));
}

TestFunction greaterEqual() {
  return binary<I32, DType::I1>([](int32_t a, int32_t b) { return a >= b; },
                                KnownFunction::GreaterEqual);
}

TEST(Windows, SelectAndScatter) {
  WindowNumbers w;
  w.sizes = {2};
  w.strides = {2};
  Tensor x = Tensor::of<I32>({5}, {3, 1, 4, 4, 9}), s = Tensor::of<I32>({2}, {10, 20});
  // Ties: the first 4 stays the candidate.
  EXPECT_EQ(valuesOf<I32>(selectAndScatter(x, s, scalar(0), w, greaterEqual(), addition(true))),
            (I32s{10, 0, 20, 0, 0}));
  // Overlapping windows add up; init is in each update and in the start.
  w.strides = {1};
  Tensor four = Tensor::of<I32>({4}, {1, 2, 3, 4});
  EXPECT_EQ(
      valuesOf<I32>(selectAndScatter(x, four, scalar(100), w, greaterEqual(), addition(true))),
      (I32s{201, 100, 305, 100, 204}));
  // A window that lies in the padding altogether has no candidate.
  w.sizes = {1};
  w.paddingLow = {1};
  w.paddingHigh = {0};
  Tensor six = Tensor::of<I32>({6}, {7, 1, 1, 1, 1, 1});
  EXPECT_EQ(valuesOf<I32>(selectAndScatter(x, six, scalar(0), w, greaterEqual(), addition(true))),
            (I32s{1, 1, 1, 1, 1}));
  EXPECT_FALSE(selectAndScatter(x, four, scalar(0), w, greaterEqual(), addition(true)));
  WindowNumbers pair;
  pair.sizes = {2};
  EXPECT_EQ(valuesOf<I32>(selectAndScatter(counting({0}), counting({0}), scalar(0), pair,
                                           greaterEqual(), addition(true))),
            I32s{});
}

TEST(Windows, SelectAndScatterAgreesWithTheWalkOnRandomWindows) {
  std::mt19937 random(12);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  TestFunction body = orderly();
  for (int round = 0; round < 500; ++round) {
    auto rank = static_cast<size_t>(pick(1, 3));
    Shape shape, counts;
    WindowNumbers w;
    for (size_t d = 0; d < rank; ++d) {
      shape.push_back(pick(1, 12));
      w.sizes.push_back(pick(1, 4));
      w.strides.push_back(pick(1, 3));
      w.paddingLow.push_back(pick(0, 2));
      w.paddingHigh.push_back(pick(0, 2));
      int64_t padded = shape[d] + w.paddingLow[d] + w.paddingHigh[d];
      counts.push_back(padded < w.sizes[d] ? 0 : (padded - w.sizes[d]) / w.strides[d] + 1);
    }
    Tensor x = randomTensor<I32>(random, shape), s = randomTensor<I32>(random, counts);
    I32s values = valuesOf<I32>(x), updates = valuesOf<I32>(s), expected(values.size(), 5);
    size_t next = 0;
    auto call = [&](int32_t a, int32_t b) {
      return static_cast<int32_t>(static_cast<uint32_t>(a) * 31u + static_cast<uint32_t>(b));
    };
    forEachIndex(counts, [&](const I64s &at) {
      int32_t update = updates[next++];
      int64_t best = -1;
      forEachIndex(w.sizes, [&](const I64s &offset) {
        I64s place(rank);
        for (size_t d = 0; d < rank; ++d) {
          place[d] = at[d] * w.strides[d] + offset[d] - w.paddingLow[d];
          if (place[d] < 0 || place[d] >= shape[d])
            return;
        }
        int64_t here = flatIndex(shape, place);
        if (best < 0 || !(values[best] >= values[here]))
          best = here;
      });
      if (best >= 0)
        expected[best] = call(call(5, update), expected[best]);
    });
    ASSERT_EQ(valuesOf<I32>(selectAndScatter(asView(x, round % 3), asView(s, round / 3 % 3),
                                             scalar(5), w, greaterEqual(), body)),
              expected);
  }
}

TEST(Windows, MapCallsTheBodyOnAllElements) {
  TestFunction body({I32, F32}, {F32, I32}, std::nullopt, [](auto in, auto out, int64_t i) {
    int32_t a = static_cast<const int32_t *>(in[0])[i];
    float b = static_cast<const float *>(in[1])[i];
    static_cast<float *>(out[0])[i] = b + static_cast<float>(a);
    static_cast<int32_t *>(out[1])[i] = -a;
  });
  std::vector<int64_t> swap{1, 0};
  std::vector<Tensor> inputs{counting({2, 2}).transposed(swap),
                             Tensor::of<F32>({2, 2}, {.5f, .25f, 1, 2})};
  Result<std::vector<Tensor>> result = map(inputs, body);
  EXPECT_EQ(valuesOf<F32>((*result)[0]), (std::vector<float>{.5f, 2.25f, 2, 5}));
  EXPECT_EQ(valuesOf<I32>((*result)[1]), (I32s{0, -2, -1, -3}));
  Tensor many = counting({5000});
  TestFunction twice({I32}, {I32}, std::nullopt, [](auto in, auto out, int64_t i) {
    static_cast<int32_t *>(out[0])[i] = 2 * static_cast<const int32_t *>(in[0])[i];
  });
  EXPECT_EQ(valuesOf<I32>((*map(std::span(&many, 1), twice))[0])[4999], 9998);
  Tensor none = counting({0});
  EXPECT_EQ(valuesOf<I32>((*map(std::span(&none, 1), twice))[0]), I32s{});
  EXPECT_FALSE(map(inputs, twice));
}

} // namespace
} // namespace cupel::reference
