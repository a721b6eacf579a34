// Loops as one piece of code: pieces that are taken and put, also outside; elements in registers, also
// in vectors that are partly filled; kernels within; places that change. The bits are those of the
// golden reference where all is exact, and those of the launches that the code replaces everywhere.

#include "cupel/compiler/backends/cpu/BackendTesting.h"
#include "cupel/compiler/codegen/Codegen.h"

#include <gtest/gtest.h>

#include <cstring>

namespace cupel::compiler {
namespace {

using tensor::Tensor;

struct Loop {
  const char *name;
  std::string arguments, types; // Of the function; what is carried.
  std::string inits, body, yielded;
  int steps = 37;
  bool isExact = true;
};

/// A counter %i of i32 is carried in front.
std::string textOf(const Loop &loop) {
  std::string text = "func.func @main(" + loop.arguments + ") -> (" + loop.types + ") {\n"
                     "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
                     "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
                     "  %n = stablehlo.constant dense<" + std::to_string(loop.steps) + "> : tensor<i32>\n"
                     "  %r:100 = stablehlo.while(%i = %zero" + loop.inits + ") : tensor<i32>, " + loop.types + " cond {\n"
                     "    %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                     "    stablehlo.return %t : tensor<i1>\n  } do {\n" + loop.body +
                     "    %next = stablehlo.add %i, %one : tensor<i32>\n"
                     "    stablehlo.return %next" + loop.yielded + " : tensor<i32>, " + loop.types + "\n  }\n";
  int count = 1;
  for (char c : loop.yielded)
    count += c == '%';
  text.replace(text.find("%r:100"), 6, "%r:" + std::to_string(count));
  text += "  return ";
  for (int k = 1; k < count; ++k)
    text += (k > 1 ? ", " : "") + std::string("%r#") + std::to_string(k);
  return text + " : " + loop.types + "\n}\n";
}

const Loop kLoops[] = {
    {.name = "a vector of eight", .arguments = "%a: tensor<8xf32>", .types = "tensor<8xf32>",
     .inits = ", %x = %a",
     .body = R"(    %h = stablehlo.constant dense<0.5> : tensor<8xf32>
    %y = stablehlo.multiply %x, %h : tensor<8xf32>
    %z = stablehlo.add %y, %a : tensor<8xf32>
)", .yielded = ", %z"},
    {.name = "a vector of 37 and a number of it", .arguments = "%a: tensor<37xf32>",
     .types = "tensor<37xf32>, tensor<f32>", .inits = ", %x = %a, %s = %first",
     .body = R"(    %p = stablehlo.slice %x [20:21] : (tensor<37xf32>) -> tensor<1xf32>
    %q = stablehlo.reshape %p : (tensor<1xf32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<37xf32>
    %y = stablehlo.subtract %a, %b : tensor<37xf32>
    %z = stablehlo.maximum %y, %x : tensor<37xf32>
    %u = stablehlo.multiply %q, %half : tensor<f32>
)", .yielded = ", %z, %u"},
    {.name = "numbers that change places", .arguments = "%a: tensor<i64>, %b: tensor<i64>",
     .types = "tensor<i64>, tensor<i64>", .inits = ", %x = %a, %y = %b",
     .body = "    %z = stablehlo.add %x, %y : tensor<i64>\n", .yielded = ", %y, %z"},
    {.name = "rows taken and put", .arguments = "%a: tensor<37x5xf32>, %c: tensor<5xf32>",
     .types = "tensor<5xf32>, tensor<37x5xf32>", .inits = ", %x = %c, %o = %a",
     .body = R"(    %row = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 5] : (tensor<37x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
    %flat = stablehlo.reshape %row : (tensor<1x5xf32>) -> tensor<5xf32>
    %y = stablehlo.subtract %flat, %x : tensor<5xf32>
    %m = stablehlo.multiply %x, %flat : tensor<5xf32>
    %back = stablehlo.reshape %m : (tensor<5xf32>) -> tensor<1x5xf32>
    %put = stablehlo.dynamic_update_slice %o, %back, %i, %zero : (tensor<37x5xf32>, tensor<1x5xf32>, tensor<i32>, tensor<i32>) -> tensor<37x5xf32>
)", .yielded = ", %y, %put", .steps = 45},
    {.name = "an update of what was just computed", .arguments = "%a: tensor<8xf32>, %c: tensor<2xf32>",
     .types = "tensor<8xf32>, tensor<8xi32>", .inits = ", %x = %a, %k = %counted",
     .body = R"(    %t = stablehlo.subtract %a, %x : tensor<8xf32>
    %u = stablehlo.dynamic_update_slice %t, %c, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
    %v = stablehlo.reverse %u, dims = [0] : tensor<8xf32>
    %z = stablehlo.maximum %v, %a : tensor<8xf32>
    %ones = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %p = stablehlo.add %k, %ones : tensor<8xi32>
    %index = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %q = "stablehlo.scatter"(%p, %index, %i) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%old: tensor<i32>, %new: tensor<i32>):
      stablehlo.return %new : tensor<i32>
    }) : (tensor<8xi32>, tensor<1xi32>, tensor<i32>) -> tensor<8xi32>
    %r = stablehlo.reverse %q, dims = [0] : tensor<8xi32>
)", .yielded = ", %z, %r"},
    {.name = "halves taken and put as they are", .arguments = "%a: tensor<37x5xf16>",
     .types = "tensor<37x5xf16>", .inits = ", %o = %a",
     .body = R"(    %row = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 5] : (tensor<37x5xf16>, tensor<i32>, tensor<i32>) -> tensor<1x5xf16>
    %k = stablehlo.subtract %n, %i : tensor<i32>
    %put = stablehlo.dynamic_update_slice %o, %row, %k, %zero : (tensor<37x5xf16>, tensor<1x5xf16>, tensor<i32>, tensor<i32>) -> tensor<37x5xf16>
)", .yielded = ", %put"},
    {.name = "large pieces", .arguments = "%a: tensor<9x300xf32>", .types = "tensor<9x300xf32>",
     .inits = ", %o = %a",
     .body = R"(    %row = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 300] : (tensor<9x300xf32>, tensor<i32>, tensor<i32>) -> tensor<1x300xf32>
    %k = stablehlo.subtract %n, %i : tensor<i32>
    %put = stablehlo.dynamic_update_slice %o, %row, %k, %zero : (tensor<9x300xf32>, tensor<1x300xf32>, tensor<i32>, tensor<i32>) -> tensor<9x300xf32>
)", .yielded = ", %put", .steps = 12},
    {.name = "scattered, also outside", .arguments = "%a: tensor<20xf32>, %b: tensor<20x3xf32>",
     .types = "tensor<20xf32>, tensor<20x3xf32>", .inits = ", %x = %a, %y = %b",
     .body = R"(    %off = stablehlo.constant dense<-4> : tensor<i32>
    %at = stablehlo.add %i, %off : tensor<i32>
    %index = stablehlo.reshape %at : (tensor<i32>) -> tensor<1xi32>
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %set = "stablehlo.scatter"(%x, %index, %f) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      stablehlo.return %q : tensor<f32>
    }) : (tensor<20xf32>, tensor<1xi32>, tensor<f32>) -> tensor<20xf32>
    %row = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %added = "stablehlo.scatter"(%y, %index, %row) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<20x3xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<20x3xf32>
)", .yielded = ", %set, %added"},
    {.name = "indices without a sign", .arguments = "%a: tensor<10xi16>, %k: tensor<ui64>",
     .types = "tensor<10xi16>, tensor<ui64>", .inits = ", %x = %a, %at = %k",
     .body = R"(    %p = stablehlo.dynamic_slice %a, %at, sizes = [2] : (tensor<10xi16>, tensor<ui64>) -> tensor<2xi16>
    %q = stablehlo.add %p, %p : tensor<2xi16>
    %d = stablehlo.constant dense<3> : tensor<ui64>
    %next_at = stablehlo.subtract %at, %d : tensor<ui64>
    %put = stablehlo.dynamic_update_slice %x, %q, %next_at : (tensor<10xi16>, tensor<2xi16>, tensor<ui64>) -> tensor<10xi16>
)", .yielded = ", %put, %next_at"},
    {.name = "a transpose and a sum within", .arguments = "%a: tensor<12x12xf32>",
     .types = "tensor<12x12xf32>, tensor<12xf32>", .inits = ", %x = %a, %s = %zeros",
     .body = R"(    %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %y = stablehlo.subtract %t, %a : tensor<12x12xf32>
    %u = stablehlo.reduce(%y init: %nothing) applies stablehlo.maximum across dimensions = [1] : (tensor<12x12xf32>, tensor<f32>) -> tensor<12xf32>
)", .yielded = ", %y, %u"},
    {.name = "a branch within", .arguments = "%a: tensor<6xf32>", .types = "tensor<6xf32>",
     .inits = ", %x = %a",
     .body = R"(    %bit = stablehlo.and %i, %one : tensor<i32>
    %y = "stablehlo.case"(%bit) ({
      %s = stablehlo.add %x, %a : tensor<6xf32>
      stablehlo.return %s : tensor<6xf32>
    }, {
      %d = stablehlo.subtract %x, %a : tensor<6xf32>
      %m = stablehlo.multiply %d, %d : tensor<6xf32>
      stablehlo.return %m : tensor<6xf32>
    }) : (tensor<i32>) -> tensor<6xf32>
)", .yielded = ", %y", .steps = 9},
    {.name = "functions and a softmax", .arguments = "%a: tensor<3x21xf32>",
     .types = "tensor<3x21xf32>", .inits = ", %x = %a",
     .body = R"(    %e = stablehlo.exponential %x : tensor<3x21xf32>
    %s = stablehlo.reduce(%e init: %null) applies stablehlo.add across dimensions = [1] : (tensor<3x21xf32>, tensor<f32>) -> tensor<3xf32>
    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<3xf32>) -> tensor<3x21xf32>
    %y = stablehlo.divide %e, %b : tensor<3x21xf32>
    %z = stablehlo.tanh %y : tensor<3x21xf32>
)", .yielded = ", %z", .isExact = false},
    {.name = "products with what does not change, and what does", .arguments = "%a: tensor<5x24xf32>, %w: tensor<40x24xf32>, %u: tensor<5x24xf32>",
     .types = "tensor<5x24xf32>, tensor<5x40xf32>, tensor<40x24xf32>", .inits = ", %x = %a, %o = %wide, %v = %w",
     .body = R"(    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<5x24xf32>, tensor<40x24xf32>) -> tensor<5x40xf32>
    %q = stablehlo.dot_general %p, %v, contracting_dims = [1] x [0] : (tensor<5x40xf32>, tensor<40x24xf32>) -> tensor<5x24xf32>
    %low = stablehlo.constant dense<-1.0> : tensor<f32>
    %high = stablehlo.constant dense<1.0> : tensor<f32>
    %s = stablehlo.clamp %low, %q, %high : (tensor<f32>, tensor<5x24xf32>, tensor<f32>) -> tensor<5x24xf32>
    %z = stablehlo.add %s, %u : tensor<5x24xf32>
    %less = stablehlo.constant dense<0.5> : tensor<40x24xf32>
    %next_v = stablehlo.multiply %v, %less : tensor<40x24xf32>
)", .yielded = ", %z, %p, %next_v", .steps = 2},
    {.name = "functions of few numbers", .arguments = "%a: tensor<3xf32>", .types = "tensor<3xf32>", .inits = ", %x = %a",
     .body = R"(    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %m = stablehlo.multiply %b, %a : tensor<3xf32>
    %t = stablehlo.tanh %m : tensor<3xf32>
    %e = stablehlo.exponential %t : tensor<3xf32>
    %z = stablehlo.subtract %e, %x : tensor<3xf32>
)", .yielded = ", %z", .isExact = false},
};

std::string completeTextOf(const Loop &loop) {
  std::string text = textOf(loop);
  auto declare = [&](const char *name, const char *line) {
    if (text.find(name) != std::string::npos)
      text.insert(text.find("  %zero ="), line);
  };
  declare("%first", "  %first = stablehlo.constant dense<0.25> : tensor<f32>\n");
  declare("%counted", "  %counted = stablehlo.iota dim = 0 : tensor<8xi32>\n");
  declare("%half", "  %half = stablehlo.constant dense<0.5> : tensor<f32>\n");
  declare("%wide", "  %wide = stablehlo.constant dense<0.0> : tensor<5x40xf32>\n");
  declare("%zeros", "  %zeros = stablehlo.constant dense<0.0> : tensor<12xf32>\n");
  declare("%nothing", "  %nothing = stablehlo.constant dense<0xFF800000> : tensor<f32>\n");
  declare("%null", "  %null = stablehlo.constant dense<0.0> : tensor<f32>\n");
  return text;
}

/// Halves get patterns of which some are no numbers.
void fill(Tensor &argument, int64_t) {
  for (int64_t i = 0; i < argument.size(); ++i)
    switch (argument.dtype()) {
    case tensor::DType::F32: argument.mutableAs<float>()[i] = float((i * 7 + 3) % 11) * 0.25f - 1; break;
    case tensor::DType::F16: argument.mutableAs<uint16_t>()[i] = uint16_t(0x7c01 + i * 311); break;
    case tensor::DType::I16: argument.mutableAs<int16_t>()[i] = int16_t(i * 5); break;
    case tensor::DType::I64: argument.mutableAs<int64_t>()[i] = i + 1; break;
    case tensor::DType::U64: argument.mutableAs<uint64_t>()[i] = 7; break;
    default: break;
    }
}

Result<std::vector<Tensor>> resultsBy(const char *backend, const std::string &text, bool alwaysCode,
                                      int times = 1) {
  CompileOptions options;
  options.alwaysMakesCode = alwaysCode;
  auto outcome = runBy(backend, text, fill, options, times);
  if (!outcome)
    return outcome.error();
  return std::move(outcome->results);
}

void expectSameBits(const std::vector<Tensor> &one, const std::vector<Tensor> &other,
                    const std::string &where) {
  ASSERT_EQ(one.size(), other.size()) << where;
  for (size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].byteSize(), other[i].byteSize()) << where;
    EXPECT_EQ(std::memcmp(one[i].data(), other[i].data(), size_t(one[i].byteSize())), 0)
        << where << ", result " << i;
  }
}

TEST(LoopsTest, CodeGivesTheBitsOfTheLaunchesThatItReplaces) {
  for (const Loop &loop : kLoops) {
    std::string text = completeTextOf(loop);
    auto code = resultsBy("cpu", text, true), brief = resultsBy("cpu", text, false);
    ASSERT_TRUE(code) << loop.name << ": " << code.message() << "\n" << text;
    ASSERT_TRUE(brief) << loop.name << ": " << brief.message();
    if (loop.isExact) {
      auto expected = resultsBy("reference", text, false);
      ASSERT_TRUE(expected) << loop.name << ": " << expected.message();
      expectSameBits(*expected, *code, loop.name);
      expectSameBits(*expected, *brief, std::string(loop.name) + ", as launches");
    }
    // Code is made when launches have been repeated often: nobody may see when.
    auto often = resultsBy("cpu", text, false, 300);
    ASSERT_TRUE(often) << loop.name << ": " << often.message();
    expectSameBits(*brief, *often, std::string(loop.name) + ", run often");
  }
}

/// Steps that are written out: a few of a kind run without code, which many of them share.
TEST(LoopsTest, ManyStepsThatAreAlikeAreOnePieceOfCode) {
  auto codesMadeFor = [](int steps) {
    std::string text = "func.func @main(%h0: tensor<1x64xf32>, %w: tensor<64x128xf32>, %x: tensor<20x64xf32>) -> tensor<1x64xf32> {\n";
    for (int i = 0; i < steps; ++i) {
      std::string n = std::to_string(i), next = std::to_string(i + 1);
      text += "  %p" + n + " = stablehlo.dot_general %h" + n + ", %w, contracting_dims = [1] x [0] : (tensor<1x64xf32>, tensor<64x128xf32>) -> tensor<1x128xf32>\n" +
              "  %a" + n + " = stablehlo.slice %p" + n + " [0:1, 0:64] : (tensor<1x128xf32>) -> tensor<1x64xf32>\n" +
              "  %b" + n + " = stablehlo.slice %p" + n + " [0:1, 64:128] : (tensor<1x128xf32>) -> tensor<1x64xf32>\n" +
              "  %x" + n + " = stablehlo.slice %x [" + n + ":" + next + ", 0:64] : (tensor<20x64xf32>) -> tensor<1x64xf32>\n" +
              "  %s" + n + " = stablehlo.add %a" + n + ", %x" + n + " : tensor<1x64xf32>\n" +
              "  %g" + n + " = stablehlo.logistic %b" + n + " : tensor<1x64xf32>\n" +
              "  %t" + n + " = stablehlo.tanh %s" + n + " : tensor<1x64xf32>\n" +
              "  %h" + next + " = stablehlo.multiply %g" + n + ", %t" + n + " : tensor<1x64xf32>\n";
    }
    text += "  return %h" + std::to_string(steps) + " : tensor<1x64xf32>\n}\n";
    codegen::CodegenStatistics before = codegen::statistics();
    CompileOptions options;
    options.backend = "cpu";
    auto made = compile(text, options);
    EXPECT_TRUE(made) << made.message();
    codegen::CodegenStatistics now = codegen::statistics();
    return std::pair(now.compiled + now.loadedFromDisk - before.compiled - before.loadedFromDisk, now.sharedInMemory - before.sharedInMemory);
  };
  EXPECT_EQ(codesMadeFor(1), std::pair(int64_t{0}, int64_t{0}));
  auto [pieces, shared] = codesMadeFor(20);
  EXPECT_EQ(pieces, 1);
  EXPECT_GE(shared, 10);
}

TEST(LoopsTest, ALoopThatCountsFarIsCodeAtOnce) {
  auto codesMadeFor = [](int steps) {
    Loop loop = kLoops[0];
    loop.steps = steps;
    auto count = [] {
      codegen::CodegenStatistics now = codegen::statistics();
      return now.compiled + now.sharedInMemory + now.loadedFromDisk;
    };
    int64_t before = count();
    CompileOptions options;
    options.backend = "cpu";
    auto made = compile(completeTextOf(loop), options);
    EXPECT_TRUE(made) << made.message();
    return count() - before;
  };
  EXPECT_EQ(codesMadeFor(10), 0);
  EXPECT_EQ(codesMadeFor(100'000), 1);
}

} // namespace
} // namespace cupel::compiler
