// Reductions: against plain loops in f64, over any dimensions, with every combiner, every instruction set
// and any split of the work, which must not change a bit.

#include "cupel/compiler/brief/KernelTesting.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace {

class ReductionsTest : public KernelTest {};

const char *kSquare = "func.func @f(%x: tensor<f32>) -> tensor<f32> {"
                      "%s = stablehlo.multiply %x, %x : tensor<f32> return %s : tensor<f32> }";

TEST_P(ReductionsTest, ReductionsOverAnyDimensions) {
  struct Shape {
    std::vector<int64_t> sizes;
    std::vector<bool> reduced;
  };
  const Shape shapes[] = {{{}, {}},
                          {{0}, {true}},
                          {{0, 5}, {true, false}},
                          {{5, 0}, {true, false}},
                          {{17}, {true}},
                          {{17}, {false}},
                          {{100003}, {true}},
                          {{300003}, {true}},
                          {{1, 5, 1}, {true, false, true}},
                          {{7, 33}, {false, true}},
                          {{7, 33}, {true, false}},
                          {{3, 70001}, {false, true}},
                          {{20001, 39}, {true, false}},
                          {{700, 2100}, {true, false}},
                          {{100, 2, 300}, {true, false, true}},
                          {{30, 20, 17}, {false, true, false}},
                          {{9, 31, 3}, {true, false, true}},
                          {{300, 300, 2}, {true, true, false}},
                          {{4, 5, 6, 7}, {true, false, true, false}}};
  mlir::Block *body = bodies.parse(kSquare);
  for (const Shape &shape : shapes) {
    int64_t count = 1, kept = 1;
    View output{DType::F32, 0, std::vector<int64_t>(shape.sizes.size()), {}, 0};
    for (size_t d = shape.sizes.size(); d-- > 0;) {
      count *= shape.sizes[d];
      if (!shape.reduced[d]) {
        output.strides[d] = kept;
        kept *= shape.sizes[d];
      }
    }
    float initial = 0.5f;
    View input = View::contiguous(DType::F32, shape.sizes);
    Reduction kernel{shape.sizes, shape.reduced, {input}, output, Combiner::Add,
                     std::bit_cast<uint32_t>(initial), body};
    auto code = make(kernel, target());
    ASSERT_TRUE(code) << code.message();
    GuardedBytes in(count * 4), out(kept * 4);
    fillRandom(in.as<float>(), count, 5);
    std::vector<double> right(kept, initial);
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, at = 0;
      for (size_t d = shape.sizes.size(); d-- > 0; rest /= shape.sizes[d])
        at += rest % shape.sizes[d] * output.strides[d];
      right[at] += static_cast<double>(in.as<float>()[i]) * in.as<float>()[i];
    }
    runInPieces(*code, {in.data()}, {out.data()}, 3, 1);
    std::string name = testing::PrintToString(shape.sizes);
    // Far below the error of a sum in one go: there are many partial sums.
    for (int64_t i = 0; i < kept; ++i)
      ASSERT_NEAR(out.as<float>()[i], right[i], 4e-6 * right[i]) << name << " " << i;
    EXPECT_TRUE(out.isClean()) << name;
    std::vector<char> before(out.data(), out.data() + out.size);
    runInPieces(*code, {in.data()}, {out.data()}, 1000, 2);
    EXPECT_EQ(std::memcmp(before.data(), out.data(), out.size), 0) << name;
  }
}

template <DType type> tensor::Storage<type> combined(Combiner combiner, tensor::Storage<type> a,
                                                     tensor::Storage<type> b) {
  using T = tensor::Storage<type>;
  using U = std::make_unsigned_t<T>;
  switch (combiner) {
  case Combiner::Add:
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  case Combiner::Multiply:
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case Combiner::Maximum:
    return std::max(a, b);
  case Combiner::Minimum:
    return std::min(a, b);
  case Combiner::And:
    return a & b;
  case Combiner::Or:
    return a | b;
  case Combiner::Xor:
    return a ^ b;
  }
  return a;
}

template <DType type> void checkCombiners(Bodies &bodies, const Target &target) {
  using T = tensor::Storage<type>;
  std::string t = "tensor<" + std::string(tensor::info(type).name) + ">";
  mlir::Block *body =
      bodies.parse("func.func @f(%x: " + t + ") -> " + t + " { return %x : " + t + " }");
  ASSERT_TRUE(body);
  for (Combiner combiner : {Combiner::Add, Combiner::Multiply, Combiner::Maximum, Combiner::Minimum,
                            Combiner::And, Combiner::Or, Combiner::Xor})
    for (bool isInnerReduced : {true, false}) {
      int64_t rows = isInnerReduced ? 3 : 40003, columns = isInnerReduced ? 40003 : 3;
      if (!isInnerReduced && combiner != Combiner::Add)
        rows = 29, columns = 21;
      View output{type, 0, {isInnerReduced ? 1 : 0, isInnerReduced ? 0 : 1}, {}, 0};
      Reduction kernel{{rows, columns}, {!isInnerReduced, isInnerReduced},
                       {View::contiguous(type, {rows, columns})}, output, combiner, 3, body};
      auto code = make(kernel, target);
      ASSERT_TRUE(code) << code.message();
      int64_t kept = isInnerReduced ? rows : columns;
      GuardedBytes in(rows * columns * sizeof(T)), out(kept * sizeof(T));
      std::mt19937_64 random(7);
      for (int64_t i = 0; i < rows * columns; ++i)
        in.as<T>()[i] = static_cast<T>(random() | (combiner == Combiner::Multiply));
      runInPieces(*code, {in.data()}, {out.data()}, 4);
      for (int64_t k = 0; k < kept; ++k) {
        T right = 3;
        for (int64_t i = 0; i < rows * columns / kept; ++i)
          right = combined<type>(combiner, right,
                                 in.as<T>()[isInnerReduced ? k * columns + i : i * columns + k]);
        ASSERT_EQ(out.as<T>()[k], right) << static_cast<int>(combiner) << " " << isInnerReduced;
      }
      EXPECT_TRUE(out.isClean());
    }
}

TEST_P(ReductionsTest, EveryCombinerOnIntegers) {
  checkCombiners<DType::I8>(bodies, target());
  checkCombiners<DType::U16>(bodies, target());
  checkCombiners<DType::I32>(bodies, target());
  checkCombiners<DType::U64>(bodies, target());
}

/// A mean of each column, which is repeated along the rows that are reduced: what is walked in the
/// order of memory is the matrix, whichever is the first operand. Then sums have the same order,
/// and the same bits.
TEST_P(ReductionsTest, TheWidestOperandDecidesHowAReductionWalks) {
  constexpr int64_t kRows = 301, kColumns = 129;
  auto body = [&](const char *arguments) {
    return bodies.parse(std::string("func.func @f(") + arguments +
                        R"() -> tensor<f32> { %0 = stablehlo.subtract %x, %m : tensor<f32>
        %1 = stablehlo.multiply %0, %0 : tensor<f32> return %1 : tensor<f32> })");
  };
  View matrix = View::contiguous(DType::F32, {kRows, kColumns}),
       means{DType::F32, 0, {0, 1}, {}, 0}, output{DType::F32, 0, {0, 1}, {}, 0};
  GuardedBytes in(kRows * kColumns * 4), mean(kColumns * 4), first(kColumns * 4),
      second(kColumns * 4);
  fillRandom(in.as<float>(), kRows * kColumns, 5);
  fillRandom(mean.as<float>(), kColumns, 6);
  auto one = make(Reduction{{kRows, kColumns},
                            {true, false},
                            {matrix, means},
                            output,
                            Combiner::Add,
                            0,
                            body("%x: tensor<f32>, %m: tensor<f32>")},
                  target());
  auto other = make(Reduction{{kRows, kColumns},
                              {true, false},
                              {means, matrix},
                              output,
                              Combiner::Add,
                              0,
                              body("%m: tensor<f32>, %x: tensor<f32>")},
                    target());
  ASSERT_TRUE(one) << one.message();
  ASSERT_TRUE(other) << other.message();
  EXPECT_EQ(one->scratchBytes, other->scratchBytes);
  if (target().cpu != "brief") // Of columns there are sums in memory.
    EXPECT_GT(other->scratchBytes, 0);
  runInPieces(*one, {in.data(), mean.data()}, {first.data()}, 3);
  runInPieces(*other, {mean.data(), in.data()}, {second.data()}, 3);
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size), 0);
  EXPECT_TRUE(second.isClean());
}

TEST_P(ReductionsTest, NarrowFloatsAreSummedInF32) {
  mlir::Block *body =
      bodies.parse("func.func @f(%x: tensor<bf16>) -> tensor<bf16> { return %x : tensor<bf16> }");
  View input = View::contiguous(DType::BF16, {1000}), output{DType::BF16, 0, {0}, {}, 0};
  Reduction kernel{{1000}, {true}, {input}, output, Combiner::Add, 0, body};
  auto code = make(kernel, target());
  ASSERT_TRUE(code) << code.message();
  GuardedBytes in(2000), out(2);
  std::fill_n(in.as<uint16_t>(), 1000, uint16_t{0x3f80}); // 1.0: in bf16 the sum stops at 256
  runInPieces(*code, {in.data()}, {out.data()}, 1);
  EXPECT_EQ(*out.as<uint16_t>(), 0x447a); // 1000
}

INSTANTIATE_TEST_SUITE_P(Targets, ReductionsTest, testing::ValuesIn(withBrief(allTargets())),
                         [](const auto &info) { return info.param.first; });

} // namespace
