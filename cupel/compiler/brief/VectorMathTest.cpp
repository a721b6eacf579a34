// The error of our own vector functions on f32 against the C library's in f64 (whose error is far
// below an ULP of f32), for every instruction set. A sample over all bit patterns by default (every
// 2039th of 2^32); CUPEL_ACCURACY_FULL=1 takes every 61st, CUPEL_ACCURACY_FULL=all every one, and
// CUPEL_CODEGEN_DOCS=PATH writes docs/reference/device-accuracy.md.

#include "cupel/compiler/brief/KernelTesting.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace {

struct Function {
  const char *op; // with its dialect
  double (*exact)(double, double);
  double limit; // ULP
  bool isBinary = false;
  const char *second = nullptr; // The second operand, if it is always the same number.
};

double logistic(double x, double) {
  return x < -40 ? std::exp(x) : 1 / (1 + std::exp(-x));
}

#define EXACT(expression) [](double x, [[maybe_unused]] double y) -> double { return expression; }
const Function kFunctions[] = {
    {"stablehlo.exponential", EXACT(std::exp(x)), 1.05},
    {"stablehlo.exponential_minus_one", EXACT(std::expm1(x)), 2.0},
    {"stablehlo.log", EXACT(std::log(x)), 1.0},
    {"stablehlo.log_plus_one", EXACT(std::log1p(x)), 1.0},
    {"stablehlo.logistic", logistic, 2.0},
    {"stablehlo.tanh", EXACT(std::tanh(x)), 2.0},
    {"chlo.erf", EXACT(std::erf(x)), 2.0},
    {"stablehlo.sqrt", EXACT(std::sqrt(x)), 0.5},
    {"stablehlo.rsqrt", EXACT(1 / std::sqrt(x)), 1.5},
    {"stablehlo.cbrt", EXACT(std::cbrt(x)), 0.51},
    {"stablehlo.sine", EXACT(std::sin(x)), 0.51},
    {"stablehlo.cosine", EXACT(std::cos(x)), 0.51},
    {"stablehlo.tan", EXACT(std::tan(x)), 0.51},
    {"stablehlo.power", EXACT(std::pow(x, y)), 0.51, true},
    {"stablehlo.atan2", EXACT(std::atan2(x, y)), 0.51, true},
};
#undef EXACT

constexpr int64_t kPiece = 65536;

struct Worst {
  double ulps = 0;
  float at[2] = {};
  int64_t samples = 0;
};

/// The distance in units of the last place of f32 at the exact value; infinite where a NaN, an
/// infinity, a zero's or any sign is wrong.
double errorOf(float result, double exact) {
  float rounded = static_cast<float>(exact);
  if (std::isnan(result) || std::isnan(rounded))
    return std::isnan(result) && std::isnan(rounded) ? 0 : INFINITY;
  if (result == rounded && std::signbit(result) == std::signbit(rounded))
    return 0;
  if (std::isinf(result) && !std::isinf(rounded)) // Just below the largest number.
    return std::fabs(exact) > 0x1.fffffcp127 && std::signbit(result) == std::signbit(rounded)
               ? 1
               : INFINITY;
  if (std::isinf(rounded) || exact == 0 || std::signbit(result) != std::signbit(rounded))
    return INFINITY;
  int exponent = std::max(-126, std::ilogb(exact));
  return std::fabs(static_cast<double>(result) - exact) / std::ldexp(1.0, exponent - 23);
}

/// The largest error over the pieces that this thread takes.
Worst measurePieces(const Function &function, const CompiledKernel &code,
                    std::atomic<uint64_t> &next, uint64_t patterns, uint64_t step) {
  Worst worst;
  std::vector<float> x(kPiece), y(kPiece), result(kPiece);
  for (uint64_t begin; (begin = next.fetch_add(kPiece)) < patterns;) {
    for (uint64_t i = 0; i < static_cast<uint64_t>(kPiece); ++i) {
      if (!function.isBinary) {
        x[i] = std::bit_cast<float>(static_cast<uint32_t>((begin + i) * step));
        continue;
      }
      // A half of any two patterns, the other half where results are numbers.
      uint64_t h = (begin + i + 1) * 0x9e3779b97f4a7c15u;
      h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
      h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
      h ^= h >> 31;
      x[i] = std::bit_cast<float>(static_cast<uint32_t>(h));
      y[i] = std::bit_cast<float>(static_cast<uint32_t>(h >> 32));
      if (i % 2) {
        x[i] = std::ldexp(1 + static_cast<float>(h & 0xffffff) * 0x1p-24f,
                          static_cast<int>(h >> 60) - 8);
        y[i] = static_cast<float>(static_cast<int32_t>(h >> 32)) * 0x1p-26f;
        if (h >> 58 & 1)
          y[i] = std::round(y[i]), x[i] = -x[i];
      }
    }
    const void *inputs[] = {x.data(), y.data()};
    void *outputs[] = {result.data()};
    code.stages[0].function(inputs, outputs, 0, code.stages[0].units, nullptr);
    for (uint64_t i = 0; i < static_cast<uint64_t>(kPiece); ++i) {
      double error = errorOf(result[i], function.exact(x[i], y[i]));
      ++worst.samples;
      if (error > worst.ulps) {
        worst.ulps = error;
        worst.at[0] = x[i], worst.at[1] = y[i];
      }
    }
  }
  return worst;
}

Worst measure(const Function &function, const Target &target) {
  Bodies bodies;
  std::string t = "tensor<f32>", op = function.op;
  std::string arguments = "%a: tensor<f32>";
  if (function.isBinary)
    arguments += ", %b: tensor<f32>";
  bool hasTwo = function.isBinary || function.second;
  std::string types = hasTwo ? "(tensor<f32>, tensor<f32>)" : "(tensor<f32>)", number;
  if (function.second)
    number = std::string("%b = stablehlo.constant dense<") + function.second + "> : tensor<f32> ";
  mlir::Block *body = bodies.parse("func.func @f(" + arguments + ") -> tensor<f32> { " + number + "%r = \"" + op +
                                   "\"(" + (hasTwo ? "%a, %b" : "%a") + ") : " + types +
                                   " -> tensor<f32> return %r : tensor<f32> }");
  EXPECT_TRUE(body) << op;
  View view = View::contiguous(DType::F32, {kPiece});
  MapKernel kernel{{kPiece}, {view}, {view}, body};
  if (function.isBinary)
    kernel.inputs.push_back(view);
  auto code = make(kernel, target);
  EXPECT_TRUE(code) << code.message();
  if (!code)
    return {};
  const char *full = std::getenv("CUPEL_ACCURACY_FULL");
  uint64_t step = !full ? 2039 : std::string_view(full) == "all" ? 1 : 61;
  uint64_t patterns = (uint64_t{1} << 32) / step;
  std::mutex mutex;
  Worst worst;
  std::atomic<uint64_t> next = 0;
  auto work = [&] {
    Worst mine = measurePieces(function, *code, next, patterns, step);
    std::lock_guard lock(mutex);
    // Of equal ones the smaller operand, so that the page does not depend on threads.
    if (mine.ulps > worst.ulps || (mine.ulps == worst.ulps && mine.at[0] < worst.at[0])) {
      mine.samples += worst.samples;
      worst = mine;
    } else {
      worst.samples += mine.samples;
    }
  };
  std::thread other(work);
  work();
  other.join();
  return worst;
}

std::map<std::string, std::map<std::string, Worst>> &report() {
  static std::map<std::string, std::map<std::string, Worst>> all;
  return all;
}

std::string grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

/// The page, from what has been measured.
void write(const std::string &path) {
  std::ofstream out(path);
  out << R"(# Accuracy of the compiled device

This page is written by the test that measures it, from a full run:

```
CUPEL_ACCURACY_FULL=1 CUPEL_CODEGEN_DOCS=docs/reference/device-accuracy.md build/bin/unit/cupel_compiler_codegen_math_test
```

Generated code (`cupel/compiler/codegen`) has vector functions of its own. Exact values here are the C library's in f64, whose error is
some 10^-8 of an ULP of f32. Unary functions are measured at bit patterns evenly spread over all 2^32, functions of two operands
at random pairs: half of them any two patterns, half where results are numbers. A NaN, an infinity, a sign or a zero's sign that is wrong would be
an infinite error. The default run of the test (part of `./test unit`) asserts the limits on fewer samples.

| function of f32 | limit, ULP |)";
  for (const auto &[name, target] : namedTargets())
    out << " " << name << " |";
  out << " at | samples |\n|---|---|";
  for (size_t i = 0; i < namedTargets().size(); ++i)
    out << "---|";
  out << "---|---|\n";
  for (const Function &function : kFunctions) {
    out << "| " << function.op << " | " << function.limit << " |";
    Worst last;
    for (const auto &[name, target] : namedTargets()) {
      last = report()[function.op][name];
      char text[40];
      std::snprintf(text, sizeof(text), " %.4f |", last.ulps);
      out << text;
    }
    char at[80];
    if (last.ulps == 0)
      at[0] = 0;
    else if (function.isBinary)
      std::snprintf(at, sizeof(at), "%.9g, %.9g", last.at[0], last.at[1]);
    else
      std::snprintf(at, sizeof(at), "%.9g", last.at[0]);
    out << " " << at << " | " << grouped(last.samples) << " |\n";
  }
  out << R"(
0 means that every sample was correctly rounded. *at* is where the last instruction set was worst.

- `add`, `subtract`, `multiply`, `divide`, `remainder`, `sqrt`, comparisons, rounding and conversions are IEEE's: the reference's bits. Products and sums
  are never fused. `maximum` and `minimum` keep NaN and order zeros. Subnormals are kept.
- A row of f32 that is divided by one number for the whole row goes by its reciprocal and what that leaves: at most 1 ULP away, with
  infinities, NaN and signs as they are; exponentials of such a row (softmax) by the reciprocal alone, at most 2 ULP away. The power of 2 is a product, and that of 3 two, at most 1.5 ULP away; that of 0.5 is a root,
  and that of -0.5 its inverse, at most 1.5 ULP away.
- A logistic function that does nothing but scale other numbers of f32 is a quotient with them: at most 4.1 times 2^-24 of the result away, where both
  steps would be up to 5 times.
- Steps behind a product or convolution are done one by one, as they are written
  ([0066](../decisions/0066-lines-are-matrices-and-threads-keep-their-ends.md)).
- f16 and bf16 are computed in f32 and rounded after every operation: the reference's bits for the operations above, within 1 ULP for
  functions.
- f64: the C library's functions, within 4 ULP of the reference.
- Sums of f32 are partial sums in f32: of the lanes of four vectors in turn, and of parts whose sizes depend on the shape alone. Sums
  of f16 and bf16 are kept in f32 and rounded once. Bits do not depend on how work is split among threads; they do depend on the number of
  lanes of the instruction set.
)";
}

class VectorMathTest : public testing::TestWithParam<std::pair<std::string, Target>> {};

TEST_P(VectorMathTest, ErrorsAreWithinTheirLimits) {
  for (const Function &function : kFunctions) {
    Worst worst = measure(function, GetParam().second);
    report()[function.op][GetParam().first] = worst;
    char at[100];
    std::snprintf(at, sizeof(at), "%.4f ULP at %a, %a", worst.ulps, worst.at[0], worst.at[1]);
    EXPECT_LE(worst.ulps, function.limit)
        << function.op << " on " << GetParam().first << ": " << at;
    EXPECT_GT(worst.samples, 2'000'000);
  }
  const char *page = std::getenv("CUPEL_CODEGEN_DOCS");
  if (page && GetParam().first == namedTargets().back().first)
    write(page);
}

/// Many processors take a hundred times as long for an operation whose result is subnormal or is rounded to zero.
TEST_P(VectorMathTest, WhatVanishesTakesNoLonger) {
  struct Case {
    const char *op;
    std::vector<float> at;
  };
  for (const Case &tried : {Case{"stablehlo.exponential", {-1e9f, -INFINITY, -3e38f, -200, -104.1f, -104, -103.9f, -100, -95, -87.4f}},
                            Case{"stablehlo.logistic", {-1e9f, -INFINITY, -200, -104.1f}}}) {
    Bodies bodies;
    mlir::Block *body = bodies.parse(std::string("func.func @f(%a: tensor<f32>) -> tensor<f32> { %r = \"") + tried.op +
                                     "\"(%a) : (tensor<f32>) -> tensor<f32> return %r : tensor<f32> }");
    ASSERT_TRUE(body);
    constexpr int64_t kLength = 64;
    View view = View::contiguous(DType::F32, {kLength});
    auto code = make(MapKernel{{kLength}, {view}, {view}, body}, GetParam().second);
    ASSERT_TRUE(code) << code.message();
    for (float x : tried.at) {
      std::vector<float> in(kLength, x), out(kLength, 1);
      std::feclearexcept(FE_ALL_EXCEPT);
      runInPieces(*code, {in.data()}, {out.data()}, kLength);
      EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << tried.op << " of " << x;
      EXPECT_NEAR(out[0], std::exp(static_cast<double>(x)), 0x1p-149) << tried.op << " of " << x;
    }
  }
}

/// A value that a logistic function scales: no further away than two roundings behind a function of 2 ULP are.
TEST_P(VectorMathTest, GatesAreAsExactAsTheirTwoSteps) {
  Bodies bodies;
  auto compile = [&](const char *text) {
    mlir::Block *body = bodies.parse(text);
    View view = View::contiguous(DType::F32, {kPiece});
    return make(MapKernel{{kPiece}, std::vector<View>(body->getNumArguments(), view), {view}, body}, GetParam().second);
  };
  auto silu = compile(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> { %l = stablehlo.logistic %x : tensor<f32>
    %r = stablehlo.multiply %x, %l : tensor<f32> return %r : tensor<f32> })");
  auto gated = compile(R"(func.func @f(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> { %l = stablehlo.logistic %x : tensor<f32>
    %r = stablehlo.multiply %l, %y : tensor<f32> return %r : tensor<f32> })");
  ASSERT_TRUE(silu && gated);
  // Of what is far below, the function's own error in subnormal steps is a larger part of a product.
  const Function ofItself{"silu", [](double x, double) { return x * logistic(x, 0); }, 4.5};
  std::vector<float> x(kPiece), y(kPiece), result(kPiece);
  const void *inputs[] = {x.data(), y.data()};
  void *outputs[] = {result.data()};
  double worst = 0;
  for (uint64_t begin = 0; begin < (uint64_t{1} << 21); begin += kPiece) {
    for (uint64_t i = 0; i < static_cast<uint64_t>(kPiece); ++i)
      x[i] = std::bit_cast<float>(static_cast<uint32_t>((begin + i) * 2039));
    silu->stages[0].function(inputs, outputs, 0, silu->stages[0].units, nullptr);
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] > -87)
        worst = std::max(worst, errorOf(result[i], ofItself.exact(x[i], 0)));
      else if (!std::isinf(x[i]) && !std::isnan(x[i]))
        ASSERT_NEAR(result[i], ofItself.exact(x[i], 0), std::fabs(x[i]) * 0x1p-149) << x[i];
      else
        ASSERT_TRUE(std::isnan(result[i])) << x[i];
    }
  }
  EXPECT_LE(worst, ofItself.limit);
  const float kFar[] = {-86.9f, -87, -87.1f, -88, -95, -103, -104, -200, -1e9f, -INFINITY, INFINITY, 200, 88, 0, -0.0f, NAN};
  const float kValues[] = {INFINITY, -INFINITY, NAN, 0, -0.0f, 1, -3e38f, 1e-40f};
  size_t count = 0;
  for (float gate : kFar)
    for (float value : kValues)
      x[count] = gate, y[count++] = value;
  runInPieces(*gated, {x.data(), y.data()}, {result.data()}, kPiece);
  for (size_t i = 0; i < count; ++i) {
    auto by = static_cast<float>(logistic(x[i], 0));
    float expected = y[i] * by;
    EXPECT_EQ(std::isnan(result[i]), std::isnan(expected)) << y[i] << " of " << x[i];
    if (std::isnan(expected))
      continue;
    EXPECT_EQ(std::isinf(result[i]), std::isinf(expected)) << y[i] << " of " << x[i];
    EXPECT_EQ(std::signbit(result[i]), std::signbit(expected)) << y[i] << " of " << x[i];
    if (!std::isinf(expected))
      EXPECT_NEAR(result[i], expected, std::fabs(expected) * 4e-7 + std::fabs(y[i]) * 0x1p-148 + 0x1p-149) << y[i] << " of " << x[i];
  }
}

TEST_P(VectorMathTest, RootsAsPowersAreRoots) {
  Function root{"stablehlo.power", [](double x, double) { return std::pow(x, 0.5); }, 0.5, false,
                "0.5"};
  Worst worst = measure(root, GetParam().second);
  EXPECT_EQ(worst.ulps, 0)
      << "at " << worst.at[0]
      << ": a root is rounded once, and zeros and infinities have the signs of powers";
  Function inverse{"stablehlo.power", [](double x, double) { return std::pow(x, -0.5); }, 1.5,
                   false, "-0.5"};
  worst = measure(inverse, GetParam().second);
  EXPECT_LE(worst.ulps, inverse.limit) << "at " << worst.at[0];
  EXPECT_GT(worst.ulps, 0.6)
      << "a logarithm and an exponential are rounded better, and take ten times as long";
}

/// Of f64 the products are exact enough to hold others against.
TEST_P(VectorMathTest, CubesAreTwoProducts) {
  Function cube{"stablehlo.power", [](double x, double) { return x * x * x; }, 1.5, false, "3.0"};
  Worst worst = measure(cube, GetParam().second);
  EXPECT_LE(worst.ulps, cube.limit) << "at " << worst.at[0];
  EXPECT_GT(worst.ulps, 0.6) << "a logarithm and an exponential are rounded better, and take ten times as long";
}

/// Where tables fit into registers; from 3.92 on it is 1 everywhere.
TEST_P(VectorMathTest, ErrorFunctionsLookIntoTables) {
  Bodies bodies;
  mlir::Block *body =
      bodies.parse("func.func @f(%a: tensor<f32>) -> tensor<f32> { %r = \"chlo.erf\"(%a) : (tensor<f32>) -> tensor<f32> return %r : tensor<f32> }");
  ASSERT_TRUE(body);
  constexpr int64_t kCount = 64;
  View view = View::contiguous(DType::F32, {kCount});
  std::string text;
  auto code = [&] {
    AssemblyListing listing(text);
    return make(MapKernel{{kCount}, {view}, {view}, body}, GetParam().second);
  }();
  ASSERT_TRUE(code) << code.message();
  EXPECT_EQ(text.find("vpermps") != std::string::npos, GetParam().second.hasScale);
  std::vector<float> x(kCount), result(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    x[static_cast<size_t>(i)] = static_cast<float>(i % 2 ? -1 : 1) * std::ldexp(3.93f, static_cast<int>(i));
  x[0] = INFINITY;
  const void *inputs[] = {x.data()};
  void *outputs[] = {result.data()};
  code->stages[0].function(inputs, outputs, 0, code->stages[0].units, nullptr);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(result[i], std::copysign(1.0f, x[i])) << x[i];
}

/// Neighbours are of one size here, so that all of a vector are near enough to their divisor, or none; of any two numbers some never are.
TEST_P(VectorMathTest, RemaindersAreExact) {
  const Function kRemainders[] = {
      {"stablehlo.remainder", [](double x, double y) { return std::fmod(x, y); }, 0, true},
      {"stablehlo.remainder", [](double x, double) { return std::fmod(x, 3.0); }, 0, false, "3.0"},
      {"stablehlo.remainder", [](double x, double) { return std::fmod(x, -0x1.921fb6p2); }, 0, false, "-6.28318548"},
      {"stablehlo.remainder", [](double x, double) { return std::fmod(x, 0x1.fffffep60); }, 0, false, "2.30584287e+18"},
      {"stablehlo.remainder", [](double x, double) { return std::fmod(x, 0x1.000002p-126); }, 0, false, "1.17549449e-38"},
      {"stablehlo.remainder", [](double x, double) { return std::fmod(x, INFINITY); }, 0, false, "0x7F800000"},
      {"stablehlo.remainder", [](double x, double) { return std::fmod(x, 0.0); }, 0, false, "0.0"}};
  for (const Function &remainder : kRemainders) {
    Worst worst = measure(remainder, GetParam().second);
    EXPECT_EQ(worst.ulps, 0) << "by " << (remainder.second ? remainder.second : "any number") << " at " << worst.at[0] << ", " << worst.at[1];
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, VectorMathTest, testing::ValuesIn(namedTargets()),
                         [](const auto &info) { return info.param.first; });

} // namespace
