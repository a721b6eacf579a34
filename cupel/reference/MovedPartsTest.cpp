// Sums that move what they add a part at a time: the same bits as where it is moved as a whole, and
// no memory for it.

#include "cupel/reference/JitterTesting.h"
#include "cupel/reference/PlanJitter.h"
#include "cupel/reference/PlanTesting.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/Float.h"
#include "cupel/tensor/KeptBlocks.h"

#include <cmath>
#include <cstring>

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Tensor;

std::string bytesOf(const Tensor &tensor) {
  return {reinterpret_cast<const char *>(tensor.data()), size_t(tensor.byteSize())};
}

/// Numbers of which no two need be equal, or of which each comes often.
template <DType type> Tensor numbersOf(tensor::Shape shape, bool areFew = false) {
  Tensor tensor = *Tensor::uninitialized(type, std::move(shape));
  auto *values = tensor.mutableAs<tensor::Storage<type>>();
  for (int64_t i = 0; i < tensor.size(); ++i)
    values[i] = tensor::fromDouble<type>(areFew ? double(i % 3) + 0.3 : std::sin(double(i)));
  return tensor;
}

TEST(MovedPartsTest, PartsAreThoseOfTheWhole) {
  auto check = []<DType type>() {
    for (bool areFew : {false, true}) {
      Tensor values = numbersOf<type>({70, 301}, areFew);
      std::optional<MovedParts> parts = MovedParts::of(values, 0x1p-7, 0x1p-40, 42, 2);
      ASSERT_TRUE(parts);
      const std::string expected = bytesOf(*jittered(values, 0x1p-7, 0x1p-40, 42, 2));
      ASSERT_NE(expected, bytesOf(values));
      EXPECT_EQ(bytesOf(*parts->whole()), expected);
      const size_t bytes = size_t(info(type).bytes);
      for (int64_t begin = 0, count = 1; begin < values.size();
           begin += count, count = count * 3 + 1) {
        count = std::min(count, values.size() - begin);
        std::vector<std::byte> part(size_t(count) * bytes);
        parts->write(begin, count, part.data());
        EXPECT_EQ(std::memcmp(part.data(), expected.data() + size_t(begin) * bytes, part.size()), 0)
            << begin;
      }
    }
  };
  check.operator()<DType::F32>();
  check.operator()<DType::F64>();
  check.operator()<DType::BF16>();
  check.operator()<DType::F16>();
}

TEST(MovedPartsTest, WhatIsNoRunOfFloatsHasNone) {
  EXPECT_FALSE(MovedParts::of(Tensor::of<DType::I32>({2}, {1, 2}), 0x1p-7, 0x1p-52, 1));
  EXPECT_FALSE(MovedParts::of(numbersOf<DType::F32>({2}), 0, 0x1p-52, 1));
  Tensor turned = numbersOf<DType::F32>({3, 4}).transposed(std::vector<int64_t>{1, 0});
  EXPECT_FALSE(MovedParts::of(turned, 0x1p-7, 0x1p-52, 1));
}

class MovedPartsOfSums : public ProgramTest {
protected:
  ~MovedPartsOfSums() override { detail::movedInPartsFrom = before; }

  /// All results, where operands of so many elements are moved in parts.
  std::string evaluate(const std::string &text, const Tensor &argument, int64_t from, int threads,
                       Accumulate accumulate, double step = 0x1p-23) {
    detail::movedInPartsFrom = from;
    RunOptions options;
    options.jitter = {.products = step, .rest = step, .seed = 5};
    options.threads = threads;
    options.accumulate = accumulate;
    Result<std::vector<Value>> results = run(text, std::move(options), {argument});
    EXPECT_TRUE(results) << results.message();
    std::string bytes;
    if (results)
      for (const Value &value : *results)
        bytes += bytesOf(*value.tensor().contiguous());
    return bytes;
  }

  const int64_t before = detail::movedInPartsFrom;
};

/// A sum, or a product, over `dimensions` of what is asked for again later, or not.
std::string sum(std::string type, std::string dims, std::string result, std::string dimensions,
                bool isAskedForLater, std::string inBody = "", std::string operation = "add") {
  if (inBody.empty())
    inBody = type;
  const std::string whole = "tensor<" + dims + "x" + type + ">", one = "tensor<" + type + ">",
                    sums = "tensor<" + result + "x" + inBody + ">",
                    scalar = "tensor<" + inBody + ">";
  const std::string types = sums + (isAskedForLater ? ", " + whole : "");
  return "func.func @main(%a: " + whole + ") -> (" + types + ") {\n" +
         "  %init = stablehlo.constant dense<1.25> : " + one + "\n" +
         "  %0 = stablehlo.negate %a : " + whole + "\n" +
         "  %1 = \"stablehlo.reduce\"(%0, %init) ({\n  ^bb0(%x: " + scalar + ", %y: " + scalar +
         "):\n    %s = stablehlo." + operation + " %x, %y : " + scalar +
         "\n    stablehlo.return %s : " + scalar + "\n  }) {dimensions = array<i64: " + dimensions +
         ">} : (" + whole + ", " + one + ") -> " + sums + "\n" + "  return %1" +
         (isAskedForLater ? ", %0" : "") + " : " + types + "\n}";
}

TEST_F(MovedPartsOfSums, HaveTheBitsOfWholes) {
  constexpr int64_t kNever = INT64_MAX;
  struct Case {
    std::string text;
    Tensor argument;
  };
  const Tensor singles = numbersOf<DType::F32>({2048, 300}),
               deep = numbersOf<DType::F32>({64, 16, 20, 30}),
               halves = numbersOf<DType::BF16>({2048, 300}),
               doubles = numbersOf<DType::F64>({2048, 300}),
               few = numbersOf<DType::F32>({2048, 300}, true),
               odd = numbersOf<DType::F32>({1537, 301});
  const Case cases[] = {
      {sum("f32", "2048x300", "2048", "1", true), singles},
      {sum("f32", "2048x300", "2048", "1", false), singles},
      {sum("f32", "2048x300", "2048", "1", true), few},
      {sum("f32", "1537x301", "1537", "1", true), odd},
      {sum("f32", "64x16x20x30", "64x16", "2, 3", true), deep},
      {sum("f32", "64x16x20x30", "64x30", "1, 2", true), deep},
      {sum("f32", "64x16x20x30", "16x20", "0, 3", true), deep}, // As a whole.
      {sum("f32", "2048x300", "2048", "1", true, "", "multiply"), singles},
      {sum("bf16", "2048x300", "2048", "1", true), halves},
      {sum("bf16", "2048x300", "2048", "1", true, "f32"), halves},
      {sum("f64", "2048x300", "2048", "1", true), doubles},
  };
  for (const Case &one : cases)
    for (Accumulate accumulate : {Accumulate::Native, Accumulate::Wide})
      for (double step : {0x1p-23, 0x1p-8}) {
        const std::string whole = evaluate(one.text, one.argument, kNever, 1, accumulate, step);
        for (int threads : {1, 2, 3})
          EXPECT_EQ(evaluate(one.text, one.argument, 1, threads, accumulate, step), whole)
              << one.text << " on " << threads;
      }
}

#ifndef CUPEL_SANITIZED // There nothing is kept, and so nothing is counted.
TEST_F(MovedPartsOfSums, AResultMovesWhereAnOperandWasThatEnds) {
  const std::string type = "tensor<4096x2048xf32>";
  const std::string text = "func.func @main(%a: " + type + ") -> " + type + " {\n" +
                           "  %0 = stablehlo.exponential %a : " + type + "\n" +
                           "  %1 = stablehlo.multiply %0, %0 : " + type + "\n" +
                           "  %2 = stablehlo.tanh %1 : " + type + "\n  return %2 : " + type + "\n}";
  const Tensor argument = numbersOf<DType::F32>({4096, 2048});
  const auto mebibytes = double(argument.byteSize()) / (1 << 20);
  tensor::BlockKeeper keeper;
  evaluate(text, argument, before, 2, Accumulate::Native);
  EXPECT_NEAR(double(keeper.taken()) / (1 << 20), mebibytes, 3);
}

TEST_F(MovedPartsOfSums, TakeNoMemoryForWhatTheyAdd) {
  const std::string text = sum("f32", "3000x2048", "3000", "1", true);
  const Tensor argument = numbersOf<DType::F32>({3000, 2048});
  const auto mebibytes = double(argument.byteSize()) / (1 << 20); // Of %0, which is asked for later.
  tensor::BlockKeeper keeper;
  evaluate(text, argument, before, 2, Accumulate::Native);
  EXPECT_NEAR(double(keeper.taken()) / (1 << 20), mebibytes, 3);
  evaluate(text, argument, INT64_MAX, 2, Accumulate::Native);
  EXPECT_NEAR(double(keeper.taken()) / (1 << 20), 2 * mebibytes, 3);
}
#endif

} // namespace
} // namespace cupel::reference
