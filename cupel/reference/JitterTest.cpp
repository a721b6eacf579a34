// What moves in an evaluation of a program, and what does not.

#include "cupel/reference/JitterTesting.h"
#include "cupel/reference/PlanTesting.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Tensor;

class JitterTest : public ProgramTest {
protected:
  std::vector<double> evaluate(const std::string &text, Jitter jitter, std::vector<Value> arguments) {
    RunOptions options;
    options.jitter = jitter;
    Result<std::vector<Value>> results = run(text, std::move(options), std::move(arguments));
    EXPECT_TRUE(results) << results.message();
    return results ? numbers((*results)[0].tensor()) : std::vector<double>();
  }
};

constexpr const char *kDot = R"(
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
})";

std::vector<Value> dotArguments() {
  std::vector<float> a(128), b(64);
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = std::sin(float(i));
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = std::cos(float(3 * i));
  return {Tensor::of<DType::F32>({8, 16}, a), Tensor::of<DType::F32>({16, 4}, b)};
}

double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

TEST_F(JitterTest, ProductsMoveByTheirOperandsAndInTheirOwnPrecision) {
  std::vector<double> exact = evaluate(kDot, {}, dotArguments());
  std::vector<double> fine = evaluate(kDot, {.products = 0x1p-23, .rest = 0x1p-23, .seed = 1}, dotArguments());
  std::vector<double> coarse = evaluate(kDot, {.products = 0x1p-7, .rest = 0x1p-23, .seed = 1}, dotArguments());
  EXPECT_GT(distance(exact, fine), 0);
  EXPECT_LT(distance(exact, fine), 1e-5);
  EXPECT_GT(distance(exact, coarse), 1e-3);
  EXPECT_LT(distance(exact, coarse), 0.3);
  EXPECT_EQ(evaluate(kDot, {.products = 0x1p-7, .rest = 0x1p-23, .seed = 1}, dotArguments()), coarse);
  EXPECT_NE(evaluate(kDot, {.products = 0x1p-7, .rest = 0x1p-23, .seed = 2}, dotArguments()), coarse);
}

TEST_F(JitterTest, AnOperandThatEndsMovesLikeOneThatIsUsedAgain) {
  // What is computed from a product of %0 is the same whether or not somebody asks for %0 later.
  auto text = [](const char *later) {
    return std::string(R"(
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  %0 = stablehlo.negate %a : tensor<8x16xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %1, )") + later + " : tensor<8x4xf32>, tensor<8x16xf32>\n}";
  };
  const Jitter jitter{.products = 0x1p-7, .rest = 0x1p-23, .seed = 1};
  std::vector<double> ends = evaluate(text("%a"), jitter, dotArguments());
  EXPECT_EQ(ends, evaluate(text("%0"), jitter, dotArguments()));
  RunOptions options;
  options.jitter = jitter;
  Result<std::vector<Value>> results = run(text("%0"), std::move(options), dotArguments());
  ASSERT_TRUE(results);
  std::vector<double> given = numbers(dotArguments()[0].tensor()), later = numbers((*results)[1].tensor());
  for (size_t i = 0; i < given.size(); ++i)
    EXPECT_EQ(later[i], -given[i]);
}

TEST_F(JitterTest, OthersGoOnWithWhatTheyHad) {
  // The operand of the sum is used again: only the sum may have moved.
  std::vector<double> result = evaluate(R"(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %reversed = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
  return %reversed : tensor<4xf32>
})",
                                        {.products = 0.1, .rest = 0.1, .seed = 3},
                                        {Tensor::of<DType::F32>({4}, {1, 2, 3, 4})});
  EXPECT_EQ(result, (std::vector<double>{4, 3, 2, 1}));
}

TEST_F(JitterTest, MovesAndComparisonsDoNotMove) {
  const char *text = R"(
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.maximum %a, %b : tensor<4xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4xf32>
  %2 = stablehlo.compare GT, %1, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = stablehlo.select %2, %1, %b : tensor<4xi1>, tensor<4xf32>
  return %3 : tensor<4xf32>
})";
  std::vector<Value> arguments = {Tensor::of<DType::F32>({4}, {1, 2, 3, 4}),
                                  Tensor::of<DType::F32>({4}, {4, 3, 2, 1})};
  EXPECT_EQ(evaluate(text, {.products = 0.5, .rest = 0.5, .seed = 1}, arguments), evaluate(text, {}, arguments));
}

TEST_F(JitterTest, SumsOfWholeNumbersStayWhereTheFormatHoldsThem) {
  const char *text = R"(
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
})";
  const Jitter bf16{.products = 0x1p-7, .rest = 0x1p-7, .seed = 1};
  auto sum = [&](std::vector<float> a, Jitter jitter) {
    return evaluate(text, jitter,
                    {Tensor::of<DType::F32>({4}, std::move(a)), Tensor::of<DType::F32>({4}, {118, 1, 0, 2})});
  };
  EXPECT_EQ(sum({-116, 2, 3, 100}, bf16), (std::vector<double>{2, 3, 3, 102}));
  EXPECT_NE(sum({-116, 2, 3, 100.5}, bf16), sum({-116, 2, 3, 100.5}, {}));
  EXPECT_NE(sum({-116, 2, 3, 255}, bf16), sum({-116, 2, 3, 255}, {})) << "257 is no bf16";
}

TEST_F(JitterTest, OneAmongManyThatIsNoWholeNumberMovesThemAll) {
  const std::string type = "tensor<1537xf32>";
  const std::string text = "func.func @main(%a: " + type + ", %b: " + type + ") -> " + type +
                           " {\n  %0 = stablehlo.add %a, %b : " + type + "\n  return %0 : " + type + "\n}";
  const Jitter bf16{.products = 0x1p-7, .rest = 0x1p-7, .seed = 1};
  for (float other : {100.0f, -100.0f, 0.5f, 257.0f, -1e10f, 1e30f, INFINITY, NAN})
    for (size_t at : {0, 1, 511, 512, 1536}) {
      std::vector<float> a(1537), b(1537);
      for (size_t i = 0; i < a.size(); ++i) {
        a[i] = float(i % 100);
        b[i] = 1;
      }
      a[at] = other;
      std::vector<Value> arguments = {Tensor::of<DType::F32>({1537}, a), Tensor::of<DType::F32>({1537}, b)};
      std::vector<double> exact = evaluate(text, {}, arguments), moved = evaluate(text, bf16, arguments);
      exact[at] = moved[at] = 0;
      EXPECT_EQ(exact == moved, std::fabs(other) == 100) << other << " at " << at;
    }
}

TEST_F(JitterTest, PlacesThatAreCountedOnFromAWholeNumberStay) {
  // Taps of an interpolation: a constant of equal numbers has one element in memory, and a
  // transposed tensor others than in order.
  auto text = [](const std::string &type) {
    std::string all = "tensor<3x2x" + type + ">", turned = "tensor<2x3x" + type + ">";
    return "func.func @main(%a: " + all +
           ") -> tensor<2x3xi64> {\n"
           "  %one = stablehlo.constant dense<1.0> : " +
           turned +
           "\n"
           "  %0 = stablehlo.floor %a : " +
           all +
           "\n"
           "  %1 = stablehlo.transpose %0, dims = [1, 0] : (" +
           all + ") -> " + turned +
           "\n"
           "  %2 = stablehlo.add %1, %one : " +
           turned +
           "\n"
           "  %3 = stablehlo.convert %2 : (" +
           turned +
           ") -> tensor<2x3xi64>\n"
           "  return %3 : tensor<2x3xi64>\n}";
  };
  const Jitter f32{.products = 0x1p-23, .rest = 0x1p-23, .seed = 1};
  const std::vector<double> expected = {2, 4, 6, 3, 5, 7};
  EXPECT_EQ(evaluate(text("f32"), f32,
                     {Tensor::of<DType::F32>({3, 2}, {1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f})}),
            expected);
  EXPECT_EQ(
      evaluate(text("bf16"), f32,
               {Tensor::of<DType::BF16>({3, 2}, {0x3fc0, 0x4020, 0x4060, 0x4090, 0x40b0, 0x40d0})}),
      expected);
  EXPECT_EQ(
      evaluate(text("f16"), f32,
               {Tensor::of<DType::F16>({3, 2}, {0x3e00, 0x4100, 0x4300, 0x4480, 0x4580, 0x4680})}),
      expected);
}

TEST_F(JitterTest, LongSumsOfNarrowFloatsDoNotStandStill) {
  auto text = [](int terms) {
    std::string type = "tensor<" + std::to_string(terms) + "xbf16>";
    return "func.func @main(%a: " + type + ") -> tensor<bf16> {\n"
           "  %z = stablehlo.constant dense<0.0> : tensor<bf16>\n"
           "  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : ("
           + type + ", tensor<bf16>) -> tensor<bf16>\n  return %r : tensor<bf16>\n}";
  };
  auto sum = [&](int terms, Accumulate accumulate) {
    RunOptions options;
    options.accumulate = accumulate;
    std::vector<uint16_t> ones(size_t(terms), 0x3f80);
    auto results = run(text(terms), std::move(options), {Tensor::of<DType::BF16>({terms}, ones)});
    EXPECT_TRUE(results) << results.message();
    return results ? numbers((*results)[0].tensor())[0] : 0;
  };
  EXPECT_EQ(sum(8192, Accumulate::Native), 8192);
  EXPECT_EQ(sum(8192, Accumulate::Wide), 8192);
  EXPECT_EQ(sum(256, Accumulate::Native), 256);
}

TEST_F(JitterTest, EqualFloatsAreSummedAsDevicesSumThem) {
  // One by one in f32, 300,000 times 0.6 is 0.1 % too large, which noise does not show.
  const char *text = R"(
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %b = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<300000xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0] : (tensor<300000xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
})";
  RunOptions options;
  options.accumulate = Accumulate::Native;
  auto results = run(text, std::move(options), {Tensor::of<DType::F32>({}, {0.608826f})});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(numbers((*results)[0].tensor())[0], double(float(300000 * double(0.608826f))));
}

TEST_F(JitterTest, TurnsOfALoopMoveApart) {
  // Were every turn moved by the same amount, the product would be a power of one of them.
  const char *text = R"(
func.func @main(%n: tensor<i32>) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %start = stablehlo.constant dense<1.0> : tensor<2xf32>
  %x = stablehlo.constant dense<1.5> : tensor<2xf32>
  %r:2 = stablehlo.while(%i = %zero, %v = %start) : tensor<i32>, tensor<2xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.multiply %v, %x : tensor<2xf32>
      stablehlo.return %next, %w : tensor<i32>, tensor<2xf32>
    }
  return %r#1 : tensor<2xf32>
})";
  auto turns = [&](int32_t n) {
    return evaluate(text, {.products = 0.01, .rest = 0.01, .seed = 9}, {Tensor::of<DType::I32>({}, {n})});
  };
  std::vector<double> once = turns(1), twice = turns(2);
  EXPECT_NE(once[0], once[1]);
  EXPECT_GT(std::fabs(twice[0] - once[0] * once[0]), 1e-5);
}

TEST_F(JitterTest, AScalarLoopMovesLikeAnyOther) {
  const char *text = R"(
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.multiply %v, %v : tensor<f32>
      stablehlo.return %next, %w : tensor<i32>, tensor<f32>
    }
  return %r#1 : tensor<f32>
})";
  std::vector<Value> arguments = {Tensor::of<DType::F32>({}, {1.01f})};
  double exact = evaluate(text, {}, arguments)[0];
  EXPECT_NE(evaluate(text, {.products = 0x1p-10, .rest = 0x1p-10, .seed = 1}, arguments)[0], exact);
  EXPECT_EQ(evaluate(text, {}, arguments)[0], exact);
}

TEST_F(JitterTest, ALongSumMovesByAsMuchAsItsOrderDoes) {
  // Added from one end and from the other, and moved: each is off by the root of the number of terms.
  constexpr int kTerms = 65536;
  auto text = [](const std::string &terms) {
    return "func.func @main(%a: tensor<65536xf32>) -> tensor<f32> {\n"
           "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
           "  %b = stablehlo.reverse %a, dims = [0] : tensor<65536xf32>\n"
           "  %r = stablehlo.reduce(" + terms + " init: %z) applies stablehlo.add across dimensions = "
           "[0] : (tensor<65536xf32>, tensor<f32>) -> tensor<f32>\n"
           "  return %r : tensor<f32>\n}";
  };
  std::vector<float> values(kTerms);
  for (int i = 0; i < kTerms; ++i)
    values[i] = 0.5f + 0.4f * float(std::sin(i * 1.7));
  std::vector<Value> arguments = {Tensor::of<DType::F32>({kTerms}, values)};
  double sum = evaluate(text("%a"), {}, arguments)[0];
  double other = evaluate(text("%b"), {}, arguments)[0];
  double squares = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    double moved = evaluate(text("%a"), {.products = 0x1p-23, .rest = 0x1p-23, .seed = seed},
                            arguments)[0] - sum;
    squares += moved * moved / 8;
  }
  double noise = std::sqrt(squares) / sum;
  EXPECT_GT(noise, 16 * 0x1p-23) << "as if only terms were rounded";
  EXPECT_LT(noise, 200 * 0x1p-23);
  EXPECT_LT(std::fabs(other - sum) / sum, 4 * noise);
}

TEST_F(JitterTest, SeveralRoundingsMoveSeveralTimesAsFar) {
  const char *text = "func.func @main(%a: tensor<64xbf16>) -> tensor<64xbf16> {\n"
                     "  %r = stablehlo.multiply %a, %a : tensor<64xbf16>\n"
                     "  return %r : tensor<64xbf16>\n}";
  std::vector<tensor::Storage<DType::BF16>> values;
  for (int i = 0; i < 64; ++i)
    values.push_back(tensor::fromDouble<DType::BF16>(1 + i / 64.0));
  std::vector<Value> arguments = {Tensor::of<DType::BF16>({64}, values)};
  Jitter jitter{.products = 0x1p-23, .rest = 0x1p-23, .seed = 3};
  std::vector<double> exact = evaluate(text, {}, arguments);
  double once = distance(evaluate(text, jitter, arguments), exact);
  jitter.times = 4;
  EXPECT_GT(distance(evaluate(text, jitter, arguments), exact), 2 * once);
}

/// One operation of every family on floats, and what a jittered run does with it.
struct Family {
  const char *name, *body;
  bool moves;
};

class EveryFamily : public JitterTest, public testing::WithParamInterface<Family> {};

TEST_P(EveryFamily, MovesOrNot) {
  std::string text = std::string("func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) -> "
                                 "tensor<4x4xf32> {\n"
                                 "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                                 "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n") +
                     GetParam().body + "\n  return %r : tensor<4x4xf32>\n}";
  std::vector<float> a(16), b(16);
  for (int i = 0; i < 16; ++i) {
    a[i] = 0.1f + 0.05f * float((i * 7) % 16) + (i % 5 == 0 ? 2 : 0); // the diagonal is large
    b[i] = 0.3f + 0.07f * float((i * 5) % 16);
  }
  std::vector<Value> arguments = {Tensor::of<DType::F32>({4, 4}, a),
                                  Tensor::of<DType::F32>({4, 4}, b)};
  std::vector<double> exact = evaluate(text, {}, arguments);
  std::vector<double> moved = evaluate(text, {.products = 0x1p-10, .rest = 0x1p-10, .seed = 5}, arguments);
  ASSERT_EQ(exact.size(), 16u);
  EXPECT_EQ(moved != exact, GetParam().moves);
  EXPECT_LT(distance(moved, exact), 0.5);
  EXPECT_EQ(evaluate(text, {.products = 0x1p-10, .rest = 0x1p-10, .seed = 5}, arguments), moved) << "not deterministic";
  EXPECT_EQ(evaluate(text, {}, arguments), exact) << "a run that is not jittered was touched";
}

#define UNARY(op) "%r = stablehlo." op " %a : tensor<4x4xf32>"
#define BINARY(op) "%r = stablehlo." op " %a, %b : tensor<4x4xf32>"
#define SUMS(op, init)                                                                                  \
  "%s = stablehlo.reduce(%a init: %" init ") applies stablehlo." op                                  \
  " across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>\n"                  \
  "%r = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>"
#define WINDOWS(op)                                                                                \
  "%r = \"stablehlo.reduce_window\"(%a, %zero) ({\n"                                             \
  "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"                                                     \
  "  %s = stablehlo." op " %x, %y : tensor<f32>\n"                                                \
  "  stablehlo.return %s : tensor<f32>\n"                                                         \
  "}) {window_dimensions = array<i64: 3, 3>, padding = dense<1> : tensor<2x2xi64>} : "            \
  "(tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>"

INSTANTIATE_TEST_SUITE_P(
    All, EveryFamily,
    testing::Values(
        Family{"add", BINARY("add"), true}, Family{"subtract", BINARY("subtract"), true},
        Family{"multiply", BINARY("multiply"), true}, Family{"divide", BINARY("divide"), true},
        Family{"power", BINARY("power"), true}, Family{"tanh", UNARY("tanh"), true},
        Family{"rsqrt", UNARY("rsqrt"), true}, Family{"exponential", UNARY("exponential"), true},
        Family{"negate", UNARY("negate"), false}, Family{"abs", UNARY("abs"), false},
        Family{"floor", UNARY("floor"), false}, Family{"maximum", BINARY("maximum"), false},
        Family{"narrowing",
               "%x = stablehlo.convert %a : (tensor<4x4xf32>) -> tensor<4x4xbf16>\n"
               "%r = stablehlo.convert %x : (tensor<4x4xbf16>) -> tensor<4x4xf32>",
               true},
        Family{"transpose",
               "%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>",
               false},
        Family{"sum", SUMS("add", "zero"), true}, Family{"product", SUMS("multiply", "one"), true},
        Family{"largest", SUMS("maximum", "zero"), false}, Family{"sumOfWindows", WINDOWS("add"), true},
        Family{"largestOfWindows", WINDOWS("maximum"), false},
        Family{"dot",
               "%r = stablehlo.dot %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
               true},
        Family{"dotGeneral",
               "%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
               "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
               true},
        Family{"convolution",
               "%x = stablehlo.reshape %a : (tensor<4x4xf32>) -> tensor<1x4x4x1xf32>\n"
               "%w = stablehlo.slice %b [0:1, 0:1] : (tensor<4x4xf32>) -> tensor<1x1xf32>\n"
               "%k = stablehlo.reshape %w : (tensor<1x1xf32>) -> tensor<1x1x1x1xf32>\n"
               "%y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
               "1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
               "(tensor<1x4x4x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x4x4x1xf32>\n"
               "%r = stablehlo.reshape %y : (tensor<1x4x4x1xf32>) -> tensor<4x4xf32>",
               true},
        Family{"sort",
               "%r = \"stablehlo.sort\"(%a) ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
               "  %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
               "  stablehlo.return %c : tensor<i1>\n}) {dimension = 1 : i64} : (tensor<4x4xf32>) "
               "-> tensor<4x4xf32>",
               false},
        Family{"map",
               "%r = \"stablehlo.map\"(%a) ({\n^bb0(%x: tensor<f32>):\n"
               "  %y = stablehlo.tanh %x : tensor<f32>\n  stablehlo.return %y : tensor<f32>\n"
               "}) {dimensions = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>",
               true},
        Family{"cholesky",
               "%t = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> "
               "tensor<4x4xf32>\n"
               "%m = stablehlo.maximum %a, %t : tensor<4x4xf32>\n"
               "%r = stablehlo.cholesky %m, lower = true : tensor<4x4xf32>",
               true}),
    [](const testing::TestParamInfo<Family> &info) { return std::string(info.param.name); });

TEST_F(JitterTest, ReplicasThatComputeAlikeStayAlikeAndDifferFromTheExactOnes) {
  const char *text = R"(
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %a, %a : tensor<4xf32>
  %1 = "stablehlo.all_reduce"(%0) ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
})";
  ASSERT_TRUE(prepare(text));
  auto both = [&](Jitter jitter) {
    RunOptions options;
    options.jitter = jitter;
    reference::Run execution(options);
    Result<std::vector<Value>> results =
        plan->run(execution, {Tensor::of<DType::F32>({4}, {1.1f, 2.2f, 3.3f, 4.4f})}, 2, 1);
    EXPECT_TRUE(results) << results.message();
    std::vector<std::vector<double>> lists;
    for (const Value &value : *results)
      lists.push_back(numbers(value.tensor()));
    return lists;
  };
  std::vector<std::vector<double>> exact = both({}), moved = both({.products = 0x1p-10, .rest = 0x1p-10, .seed = 2});
  ASSERT_EQ(moved.size(), 2u);
  EXPECT_EQ(moved[0], moved[1]);
  EXPECT_NE(moved[0], exact[0]);
  EXPECT_EQ(both({.products = 0x1p-10, .rest = 0x1p-10, .seed = 2}), moved);
}

TEST_F(JitterTest, TheNumberOfThreadsChangesNothing) {
  const char *text = R"(
func.func @main(%a: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %0 = stablehlo.multiply %a, %a : tensor<512x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<512x1024xf32>
  return %1 : tensor<512x1024xf32>
})";
  std::vector<float> values(512 * 1024);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(float(i));
  auto with = [&](int threads) {
    RunOptions options;
    options.jitter = {.products = 0x1p-7, .rest = 0x1p-7, .seed = 3};
    options.threads = threads;
    Result<std::vector<Value>> results =
        run(text, std::move(options), {Tensor::of<DType::F32>({512, 1024}, values)});
    EXPECT_TRUE(results) << results.message();
    return numbers((*results)[0].tensor());
  };
  EXPECT_EQ(with(1), with(3));
}

TEST_F(JitterTest, QuantizedResultsMoveWhereTheyLieBetweenTwoStepsAlone) {
  const char *text = R"(
func.func @main(%a: tensor<64xf32>) -> tensor<64x!quant.uniform<i8:f32, 0.5>> {
  %0 = stablehlo.uniform_quantize %a : (tensor<64xf32>) -> tensor<64x!quant.uniform<i8:f32, 0.5>>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<64x!quant.uniform<i8:f32, 0.5>>
  return %1 : tensor<64x!quant.uniform<i8:f32, 0.5>>
})";
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i) // up to the end of the range and beyond; every fourth is a tie
    values[i] = float(2 * i) + (i % 4 == 3 ? 0.25f : 0.0f);
  std::vector<Value> arguments = {Tensor::of<DType::F32>({64}, values)};
  std::vector<double> exact = evaluate(text, {}, arguments);
  std::vector<double> moved[2];
  for (uint64_t seed : {0, 1})
    moved[seed] =
        evaluate(text, {.products = 0x1p-23, .rest = 0x1p-23, .seed = 1024 + seed}, arguments);
  for (size_t i = 0; i < exact.size(); ++i) {
    // Of two evaluations one goes each way; those beyond the range stay at its end.
    double before = values[exact.size() - 1 - i];
    bool isTie = int(exact.size() - 1 - i) % 4 == 3 && before < 63.5;
    EXPECT_EQ(std::fabs(moved[0][i] - moved[1][i]), isTie ? 0.5 : 0) << before;
    EXPECT_EQ(moved[0][i] == exact[i] || moved[1][i] == exact[i], true) << before;
    EXPECT_LE(moved[0][i], 63.5);
  }
}

TEST_F(JitterTest, WeightsThatAreQuantizedStayAndWhatIsComputedFromThemMoves) {
  const char *text = R"(
func.func @main(%a: tensor<2x3xf32>, %w: tensor<3x2xi8>) -> tensor<2x2xf32> {
  %q = stablehlo.bitcast_convert %w : (tensor<3x2xi8>) -> tensor<3x2x!quant.uniform<i8:f32, 0.5>>
  %0 = stablehlo.dot_general %a, %q, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
})";
  std::vector<Value> arguments = {
      Tensor::of<DType::F32>({2, 3}, {1.5f, -2.25f, 3.0f, 0.5f, 4.0f, -1.0f}),
      Tensor::of<DType::I8>({3, 2}, {3, -7, 11, 2, -5, 9})};
  std::vector<double> exact = evaluate(text, {}, arguments);
  std::vector<double> moved =
      evaluate(text, {.products = 0x1p-23, .rest = 0x1p-23, .seed = 5}, arguments);
  EXPECT_NE(moved, exact);
  for (size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(moved[i], exact[i], 1e-5);
}

TEST_F(JitterTest, UpdatesThatMeetAreTakenInEitherOrder) {
  const std::string text = R"(
func.func @main(%operand: tensor<3xf32>, %updates: tensor<4xf32>) -> tensor<3xf32> {
  %indices = stablehlo.constant dense<[[0], [2], [0], [2]]> : tensor<4x1xi32>
  %0 = "stablehlo.scatter"(%operand, %indices, %updates) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<3xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
})";
  auto results = [&](uint64_t seed, uint64_t order) {
    return evaluate(text, {.products = 0x1p-23, .rest = 0x1p-23, .seed = seed, .order = order},
                    {Tensor::of<DType::F32>({3}, {7, 8, 9}),
                     Tensor::of<DType::F32>({4}, {1, 2, 3, 4})});
  };
  const std::vector<double> inOrder{3, 8, 4};
  std::set<std::vector<double>> found;
  for (uint64_t seed = 1; seed <= 16; ++seed)
    found.insert(results(seed, seed));
  const std::set<std::vector<double>> all{{3, 8, 4}, {1, 8, 2}, {1, 8, 4}, {3, 8, 2}};
  EXPECT_TRUE(std::ranges::includes(all, found));
  EXPECT_GE(found.size(), 3u);
  // Noise by itself is of roundings.
  EXPECT_EQ(results(3, 0), inOrder);
}

// Which of equal keys comes first is the device's choice where a sort is not stable, and only there.
TEST_F(JitterTest, EqualKeysOfASortThatIsNotStableComeInAnyOrder) {
  auto results = [&](const std::string &isStable, Jitter jitter) {
    return evaluate(R"(
func.func @main(%keys: tensor<6xf32>, %places: tensor<6xi32>) -> tensor<6xi32> {
  %0:2 = "stablehlo.sort"(%keys, %places) <{dimension = 0 : i64, is_stable = )" +
                        isStable + R"(}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
  return %0#1 : tensor<6xi32>
})",
                    jitter,
                    {Tensor::of<DType::F32>({6}, {0, 1, 0, -1, 0, 1}),
                     Tensor::of<DType::I32>({6}, {0, 1, 2, 3, 4, 5})});
  };
  const std::vector<double> inOrder{3, 0, 2, 4, 1, 5};
  std::set<std::vector<double>> found;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const Jitter jitter{.products = 0x1p-23, .rest = 0x1p-23, .seed = seed};
    EXPECT_EQ(results("true", jitter), inOrder);
    std::vector<double> places = results("false", jitter);
    EXPECT_EQ(places[0], 3);
    EXPECT_EQ((std::set<double>(places.begin() + 1, places.begin() + 4)),
              (std::set<double>{0, 2, 4}));
    EXPECT_EQ((std::set<double>(places.begin() + 4, places.end())), (std::set<double>{1, 5}));
    EXPECT_EQ(results("false", jitter), places); // The same for the same seed.
    found.insert(places);
  }
  EXPECT_GE(found.size(), 6u); // Of twelve.
  EXPECT_EQ(results("false", {}), inOrder);
}

} // namespace
} // namespace cupel::reference
