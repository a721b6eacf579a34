// Values worked out by hand from the StableHLO specification and IEEE 754.

#include "cupel/reference/Elementwise.h"
#include "cupel/reference/Checks.h"
#include "cupel/reference/ElementProgram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace cupel;
using namespace cupel::reference;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <DType type, DType resultType = type>
std::vector<tensor::Storage<resultType>>
apply(ElementOp op, std::vector<std::vector<tensor::Storage<type>>> operands) {
  auto found = findElementwise(op, type, resultType);
  EXPECT_TRUE(found) << name(op);
  if (!found)
    return {};
  std::vector<Tensor> tensors;
  std::vector<const Tensor *> addresses;
  for (auto &values : operands)
    tensors.push_back(Tensor::of<type>({static_cast<int64_t>(values.size())},
                                       std::span<const tensor::Storage<type>>(values)));
  for (Tensor &tensor : tensors)
    addresses.push_back(&tensor);
  auto result = elementwise(*found, addresses, {});
  EXPECT_TRUE(result);
  const auto *data = result->template dataAs<tensor::Storage<resultType>>();
  return {data, data + result->size()};
}

using I8 = std::vector<int8_t>;
using F = std::vector<float>;
using Bits = std::vector<uint16_t>;
using Bools = std::vector<uint8_t>;

TEST(ElementwiseTest, IntegersWrap) {
  EXPECT_EQ(apply<DType::I8>(ElementOp::Add, {{127, -128}, {1, -1}}), (I8{-128, 127}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::Multiply, {{100}, {3}}), (I8{44}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::Abs, {{-128, -5}}), (I8{-128, 5}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::Negate, {{-128}}), (I8{-128}));
  EXPECT_EQ(apply<DType::U16>(ElementOp::Multiply, {{65535}, {65535}}), (std::vector<uint16_t>{1}));
  EXPECT_EQ(apply<DType::I4>(ElementOp::Add, {{7, -8}, {1, -1}}), (I8{-8, 7}));
  EXPECT_EQ(apply<DType::U4>(ElementOp::Subtract, {{0}, {1}}), (Bools{15}));
}

TEST(ElementwiseTest, DivisionByZeroAndOverflow) {
  EXPECT_EQ(apply<DType::I8>(ElementOp::Divide, {{7, -7, 5, -128}, {2, 2, 0, -1}}),
            (I8{3, -3, -1, -128}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::Remainder, {{7, -7, 5, -128}, {2, 2, 0, -1}}),
            (I8{1, -1, 5, 0}));
  EXPECT_EQ(apply<DType::U8>(ElementOp::Divide, {{5}, {0}}), (Bools{255}));
}

TEST(ElementwiseTest, IntegerPower) {
  EXPECT_EQ(apply<DType::I8>(ElementOp::Power, {{3, 2, -1, -1, 1, 2}, {4, 7, -3, -2, -9, -1}}),
            (I8{81, -128, -1, 1, 1, 0}));
}

TEST(ElementwiseTest, ShiftsByTheWidthAndMore) {
  EXPECT_EQ(apply<DType::I8>(ElementOp::ShiftLeft, {{1, 1, 1}, {7, 8, -1}}), (I8{-128, 0, 0}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::ShiftRightLogical, {{-1, -1}, {4, 8}}), (I8{15, 0}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::ShiftRightArithmetic, {{-128, -128, 64}, {3, 100, 100}}),
            (I8{-16, -1, 0}));
}

TEST(ElementwiseTest, BitsAreCountedWithinTheWidth) {
  EXPECT_EQ(apply<DType::I4>(ElementOp::Popcnt, {{-1, 5}}), (I8{4, 2}));
  EXPECT_EQ(apply<DType::I4>(ElementOp::CountLeadingZeros, {{0, 1, -1}}), (I8{4, 3, 0}));
  EXPECT_EQ(apply<DType::I8>(ElementOp::CountLeadingZeros, {{0, 16}}), (I8{8, 3}));
}

TEST(ElementwiseTest, BooleansAreLogic) {
  Bools a{0, 0, 1, 1}, b{0, 1, 0, 1};
  EXPECT_EQ(apply<DType::I1>(ElementOp::Add, {a, b}), (Bools{0, 1, 1, 1}));
  EXPECT_EQ(apply<DType::I1>(ElementOp::Multiply, {a, b}), (Bools{0, 0, 0, 1}));
  EXPECT_EQ(apply<DType::I1>(ElementOp::Less, {a, b}), (Bools{0, 1, 0, 0}));
  EXPECT_FALSE(findElementwise(ElementOp::Subtract, DType::I1, DType::I1));
}

TEST(ElementwiseTest, ExtremesPropagateNanAndOrderZeros) {
  F result = apply<DType::F32>(ElementOp::Maximum, {{-0.0f, 0.0f, kNan, 1}, {0.0f, -0.0f, 1, 2}});
  EXPECT_FALSE(std::signbit(result[0]));
  EXPECT_FALSE(std::signbit(result[1]));
  EXPECT_TRUE(std::isnan(result[2]));
  EXPECT_EQ(result[3], 2);
  result = apply<DType::F32>(ElementOp::Minimum, {{-0.0f, 0.0f, 1}, {0.0f, -0.0f, kNan}});
  EXPECT_TRUE(std::signbit(result[0]));
  EXPECT_TRUE(std::signbit(result[1]));
  EXPECT_TRUE(std::isnan(result[2]));
}

TEST(ElementwiseTest, ClampPropagatesNanAndPrefersTheUpperBound) {
  F result = apply<DType::F32>(ElementOp::Clamp, {{0, 0, 5, kNan}, {-1, kNan, 4, 1}, {3, 3, 2, 3}});
  EXPECT_EQ(result[0], 0);
  EXPECT_TRUE(std::isnan(result[1]));
  EXPECT_EQ(result[2], 2);
  EXPECT_TRUE(std::isnan(result[3]));
}

TEST(ElementwiseTest, SmallFloatsRoundAfterEveryOperation) {
  // 256 + 1 is halfway between 256 and 258 in bf16: ties to even.
  EXPECT_EQ(apply<DType::BF16>(ElementOp::Add, {{0x4380}, {0x3f80}}), (Bits{0x4380}));
  // 2048 + 1 likewise in f16; 65504 + 32 overflows.
  EXPECT_EQ(apply<DType::F16>(ElementOp::Add, {{0x6800, 0x7bff}, {0x3c00, 0x5000}}),
            (Bits{0x6800, 0x7c00}));
  // f8E4M3FN has no infinity: 448 + 448 is NaN.
  EXPECT_EQ(apply<DType::F8E4M3FN>(ElementOp::Add, {{0x7e}, {0x7e}}), (Bools{0x7f}));
}

TEST(ElementwiseTest, SignAndRounding) {
  F result = apply<DType::F32>(ElementOp::Sign, {{-0.0f, 3, -kInf, kNan}});
  EXPECT_TRUE(result[0] == 0 && std::signbit(result[0]));
  EXPECT_EQ(result[1], 1);
  EXPECT_EQ(result[2], -1);
  EXPECT_TRUE(std::isnan(result[3]));
  EXPECT_EQ(apply<DType::F32>(ElementOp::RoundNearestAfz, {{0.5f, -2.5f, 1.4f}}), (F{1, -3, 1}));
  EXPECT_EQ(apply<DType::F32>(ElementOp::RoundNearestEven, {{0.5f, -2.5f, 1.5f}}), (F{0, -2, 2}));
}

TEST(ElementwiseTest, ComparisonsAreQuietOrTotal) {
  F a{kNan, -0.0f, 1, -kNan}, b{kNan, 0.0f, 2, -kInf};
  auto compare = [&](ElementOp op) { return apply<DType::F32, DType::I1>(op, {a, b}); };
  EXPECT_EQ(compare(ElementOp::Equal), (Bools{0, 1, 0, 0}));
  EXPECT_EQ(compare(ElementOp::NotEqual), (Bools{1, 0, 1, 1}));
  EXPECT_EQ(compare(ElementOp::Less), (Bools{0, 0, 1, 0}));
  EXPECT_EQ(compare(ElementOp::TotalEqual), (Bools{1, 0, 0, 0}));
  EXPECT_EQ(compare(ElementOp::TotalLess), (Bools{0, 1, 1, 1}));
}

/// Operands that do not lie together give what copies of them give, whatever dimensions they lack.
TEST(ElementwiseTest, OperandsAreReadWhereTheyLie) {
  std::mt19937 engine(11);
  auto pick = [&](int64_t most) { return static_cast<int64_t>(engine() % (most + 1)); };
  int byRows = 0;
  for (int round = 0; round < 300; ++round) {
    // Rows of 64 and more, and of less, which are copied.
    const tensor::Shape shape{1 + pick(3), 1 + pick(4), 1 + pick(9), 1 + pick(90)};
    const DType type = round % 3 == 0 ? DType::BF16 : round % 3 == 1 ? DType::I32 : DType::F32;
    auto operand = [&]() -> Tensor {
      std::vector<int64_t> dimensions;
      tensor::Shape own;
      for (int64_t d = 0; d < 4; ++d)
        if (int64_t how = pick(2); how > 0) {
          dimensions.push_back(d);
          own.push_back(how == 1 ? 1 : shape[d]);
        }
      Tensor full = *Tensor::uninitialized(type, own);
      std::byte *bytes = full.mutableData();
      for (int64_t i = 0; i < full.byteSize(); ++i)
        bytes[i] = static_cast<std::byte>(engine());
      return full.broadcastTo(shape, dimensions);
    };
    const ElementOp op = round % 2 == 0 ? ElementOp::Add : ElementOp::Maximum;
    Tensor a = operand(), b = operand();
    byRows += readsRows(a) && !a.isContiguous() && !b.isContiguous();
    auto found = findElementwise(op, type, type);
    ASSERT_TRUE(found);
    auto lying = elementwise(*found, {&a, &b});
    Tensor denseA = *a.contiguous(), denseB = *b.contiguous();
    auto copied = elementwise(*found, {&denseA, &denseB});
    // In the place of an operand that lies together.
    Tensor own = *Tensor::uninitialized(type, shape);
    std::memcpy(own.mutableData(), denseA.data(), static_cast<size_t>(own.byteSize()));
    const Tensor *both[] = {&own, &b};
    Tensor *reusable[] = {&own};
    auto inPlace = elementwise(*found, both, reusable);
    ASSERT_TRUE(lying && copied && inPlace);
    ASSERT_TRUE(std::ranges::equal(lying->shape(), copied->shape()));
    auto bytesOf = [](const Tensor &tensor) {
      return std::span(tensor.data(), static_cast<size_t>(tensor.byteSize()));
    };
    ASSERT_TRUE(std::ranges::equal(bytesOf(*lying), bytesOf(*copied))) << "round " << round;
    ASSERT_TRUE(std::ranges::equal(bytesOf(*inPlace), bytesOf(*copied))) << "round " << round;
  }
  EXPECT_GT(byRows, 20);
}

/// Every 997th f32 there is, against the C library's f64 rounded once.
TEST(ElementwiseTest, NarrowFunctionsAreCorrectlyRounded) {
  struct Case {
    ElementOp op;
    double (*function)(double);
  };
  for (Case c : {Case{ElementOp::Exponential, [](double x) { return std::exp(x); }},
                 Case{ElementOp::Tanh, [](double x) { return std::tanh(x); }},
                 Case{ElementOp::Logistic, [](double x) { return 1 / (1 + std::exp(-x)); }}}) {
    F values;
    for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 997)
      values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    F results = apply<DType::F32>(c.op, {values});
    size_t wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      float expected = static_cast<float>(c.function(values[i]));
      if (std::isnan(expected)
              ? !std::isnan(results[i])
              : std::bit_cast<uint32_t>(results[i]) != std::bit_cast<uint32_t>(expected)) {
        ++wrong;
        EXPECT_TRUE(results[i] == std::nextafter(expected, kInf) ||
                    results[i] == std::nextafter(expected, -kInf))
            << name(c.op) << " of " << values[i] << ": " << results[i] << " not " << expected;
      }
    }
    EXPECT_LT(wrong, values.size() / 100000) << name(c.op);
  }
}

TEST(ElementwiseTest, ComplexOrderIsLexicographic) {
  using C = std::complex<float>;
  std::vector<C> a{{1, 2}, {1, 2}, {0, 9}}, b{{1, 3}, {1, 2}, {1, 0}};
  EXPECT_EQ((apply<DType::C64, DType::I1>(ElementOp::Less, {a, b})), (Bools{1, 0, 1}));
  EXPECT_EQ((apply<DType::C64, DType::I1>(ElementOp::GreaterEqual, {a, b})), (Bools{0, 1, 0}));
}

TEST(ElementwiseTest, ConvertSaturatesAndTruncates) {
  EXPECT_EQ((apply<DType::F32, DType::I8>(ElementOp::Convert, {{1.9f, -1.9f, 300, -kInf, kNan}})),
            (I8{1, -1, 127, -128, 0}));
  EXPECT_EQ((apply<DType::F32, DType::I1>(ElementOp::Convert, {{0, -0.0f, kNan, 0.1f}})),
            (Bools{0, 0, 1, 1}));
}

TEST(ElementwiseTest, ReducePrecisionRoundsAndFlushes) {
  auto found = *findElementwise(ElementOp::ReducePrecision, DType::F32, DType::F32);
  found.exponentBits = 5;
  found.mantissaBits = 10;
  Tensor values = Tensor::of<DType::F32>({4}, {1.0f + 0x1p-11f, 65536.0f, 0x1p-15f, kNan});
  auto result = elementwise(found, {&values});
  ASSERT_TRUE(result);
  const float *data = result->dataAs<float>();
  EXPECT_EQ(data[0], 1.0f); // Ties to even.
  EXPECT_EQ(data[1], kInf);
  EXPECT_EQ(data[2], 0.0f); // Subnormal in that format.
  EXPECT_TRUE(std::isnan(data[3]));
}

TEST(ElementwiseTest, ComplexFunctionsNearTheirTraps) {
  using C = std::complex<double>;
  // log(1 + z) where |1 + z| is almost 1: real part y^2 / 2.
  auto log = apply<DType::C128>(ElementOp::LogPlusOne, {{C(0, 1e-10)}});
  EXPECT_NEAR(log[0].real() / 5e-21, 1, 1e-15);
  auto exp = apply<DType::C128>(ElementOp::ExponentialMinusOne, {{C(1e-20, 0)}});
  EXPECT_EQ(exp[0], C(1e-20, 0));
  // Both sides of the branch cut.
  auto root = apply<DType::C128>(ElementOp::Sqrt, {{C(-4, 0.0), C(-4, -0.0)}});
  EXPECT_EQ(root[0], C(0, 2));
  EXPECT_EQ(root[1], C(0, -2));
}

TEST(ElementwiseTest, ScalarsAndEmptyTensors) {
  auto add = *findElementwise(ElementOp::Add, DType::F32, DType::F32);
  Tensor a = Tensor::of<DType::F32>({}, {1.0f}), b = Tensor::of<DType::F32>({}, {2.0f});
  EXPECT_EQ(*elementwise(add, {&a, &b})->dataAs<float>(), 3);
  Tensor empty = Tensor::of<DType::F32>({0, 3}, std::span<const float>());
  EXPECT_EQ(elementwise(add, {&empty, &empty})->size(), 0);
  Tensor two = Tensor::of<DType::F32>({2}, {1.0f, 2.0f}),
         three = Tensor::of<DType::F32>({3}, {1, 2, 3});
  EXPECT_FALSE(elementwise(add, {&two, &three}));
}

TEST(ElementwiseTest, MemoryOfAnOperandIsUsedAgain) {
  auto add = *findElementwise(ElementOp::Add, DType::F32, DType::F32);
  Tensor a = Tensor::of<DType::F32>({3}, {1, 2, 3}), b = Tensor::of<DType::F32>({3}, {1, 1, 1});
  const std::byte *memory = a.data();
  const Tensor *operands[] = {&a, &b};
  Tensor *reusable[] = {&a};
  auto result = elementwise(add, operands, reusable);
  EXPECT_EQ(result->data(), memory);
  EXPECT_EQ(result->dataAs<float>()[2], 4);
}

TEST(ElementProgramTest, RunsOverManyLanesAndIsRecognised) {
  ElementProgram program; // (a + b) * 2
  int a = program.addArgument(DType::F32), b = program.addArgument(DType::F32);
  float two = 2;
  int constant = program.addConstant(DType::F32, &two);
  int sum = *program.addOperation(ElementOp::Add, {{a, b}}, DType::F32);
  program.addResult(*program.addOperation(ElementOp::Multiply, {{sum, constant}}, DType::F32));
  EXPECT_FALSE(program.known());
  std::vector<float> x(5000), y(5000, 1), r(5000);
  for (int i = 0; i < 5000; ++i)
    x[i] = static_cast<float>(i);
  const void *in[] = {x.data(), y.data()};
  void *out[] = {r.data()};
  program.run(in, {}, out, 5000);
  EXPECT_EQ(r[0], 2);
  EXPECT_EQ(r[4999], 10000);

  ElementProgram greater; // b < a
  a = greater.addArgument(DType::F32), b = greater.addArgument(DType::F32);
  greater.addResult(*greater.addOperation(ElementOp::Less, {{b, a}}, DType::I1));
  EXPECT_EQ(greater.known(), KnownFunction::Greater);
}

TEST(ChecksTest, UnitsInTheLastPlace) {
  Tensor one = Tensor::of<DType::F32>({4}, {1.0f, 0.0f, kNan, kInf});
  Tensor near = Tensor::of<DType::F32>({4}, {1.0f + 0x1p-22f, -0.0f, -kNan, kInf});
  EXPECT_TRUE(expectClose(near, one, 0, 2));
  EXPECT_FALSE(expectClose(near, one, 0, 1));
  EXPECT_FALSE(
      expectClose(Tensor::of<DType::F32>({}, {kInf}), Tensor::of<DType::F32>({}, {1}), 0, 3));
}

TEST(ChecksTest, ExactAndAbsolute) {
  Tensor nan = Tensor::of<DType::F32>({}, {kNan});
  EXPECT_FALSE(expectEqual(nan, nan));
  EXPECT_TRUE(expectAlmostEqual(nan, nan, 0));
  EXPECT_TRUE(expectEqual(Tensor::of<DType::F32>({}, {-0.0f}), Tensor::of<DType::F32>({}, {0.0f})));
  Tensor large = Tensor::of<DType::F64>({}, {1e9}), off = Tensor::of<DType::F64>({}, {1e9 + 1});
  EXPECT_FALSE(expectAlmostEqual(large, off, 1e-3)); // Never relative.
  Status status = expectEqual(Tensor::of<DType::I32>({2, 2}, {1, 2, 3, 4}),
                              Tensor::of<DType::I32>({2, 2}, {1, 2, 9, 9}));
  ASSERT_FALSE(status);
  EXPECT_NE(status.message().find("[1,0]"), std::string::npos) << status.message();
}

/// Against the C library in f64, over all f32 in steps: the nearest f32, or one beside it where the
/// exact value lies almost halfway.
void nearlyAlwaysNearest(ElementOp op, double (*exact)(double)) {
  F values;
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 2029)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (float special : {0.0f, -0.0f, kInf, -kInf, kNan, 88.7228f, 88.7229f, -103.97f, -103.98f,
                        0.34657359f, -0.34657359f, 0x1p-149f, -0x1p-149f})
    values.push_back(special);
  F results = apply<DType::F32>(op, {values});
  size_t missed = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    float expected = static_cast<float>(exact(values[i])), actual = results[i];
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << name(op) << " of " << values[i];
      continue;
    }
    if (std::bit_cast<uint32_t>(expected) == std::bit_cast<uint32_t>(actual))
      continue;
    ++missed;
    EXPECT_TRUE(actual == std::nextafter(expected, actual) &&
                std::signbit(actual) == std::signbit(expected))
        << name(op) << " of " << values[i] << ": " << actual << ", not " << expected;
  }
  EXPECT_LE(missed, values.size() / 100000) << name(op);
}

TEST(ElementwiseTest, FunctionsOfSmallTypesAreNearest) {
  nearlyAlwaysNearest(ElementOp::Exponential, [](double x) { return std::exp(x); });
  nearlyAlwaysNearest(ElementOp::Tanh, [](double x) { return std::tanh(x); });
  nearlyAlwaysNearest(ElementOp::Logistic,
                      [](double x) { return x < -40 ? std::exp(x) : 1 / (1 + std::exp(-x)); });
}

TEST(ElementwiseTest, FunctionsDoNotDependOnTheNumberOfLanes) {
  F values;
  for (int i = 0; i < 1000; ++i)
    values.push_back(static_cast<float>(i - 500) * 0.0371f);
  for (ElementOp op : {ElementOp::Exponential, ElementOp::Tanh, ElementOp::Logistic}) {
    F all = apply<DType::F32>(op, {values});
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(apply<DType::F32>(op, {{values[i]}})[0], all[i]) << name(op);
  }
}

} // namespace
