// Hostile programs: one operation that would run for minutes, or needs far more memory inside than
// its result, ends soon after its limit, on any number of threads.

#include "cupel/reference/PlanTesting.h"

#include <algorithm>
#include <ctime>

using namespace cupel;
using namespace cupel::reference;

namespace {

class LimitsTest : public ProgramTest {
protected:
  /// Seconds of all threads of this process.
  static double processorTime() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  /// Runs with a short time limit, after which at most 0.2 s may pass. Other work on the machine
  /// may delay us: the processor's time counts, and the best of a few runs; minutes it never is.
  void expectStopped(const std::string &name, const std::string &text) {
    constexpr double kLimit = 0.15, kLate = 0.2;
    for (auto [threads, accumulate] :
         {std::pair{1, Accumulate::Native}, {2, Accumulate::Native}, {1, Accumulate::Wide}}) {
      double best = 1e9;
      for (int attempt = 0; attempt < 4 && best > kLimit + kLate; ++attempt) {
        RunOptions options;
        options.threads = threads;
        options.accumulate = accumulate;
        options.timeoutSeconds = kLimit;
        double start = processorTime();
        auto result = run(text, options);
        double took = (processorTime() - start) / threads;
        best = std::min(best, took);
        ASSERT_FALSE(result) << name << " came to an end within " << took << " s";
        EXPECT_NE(result.message().find("--timeout"), std::string::npos)
            << name << ": " << result.message();
        EXPECT_NE(result.message().find("p.mlir:"), std::string::npos)
            << name << ": " << result.message();
      }
      EXPECT_LT(best, kLimit + kLate) << name << " on " << threads << " threads";
    }
  }
};

TEST_F(LimitsTest, Dot) {
  expectStopped("dot of 8192 x 8192 x 8192", R"(
func.func @main() -> tensor<8192x8192xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8192x8192xf32>
  %0 = stablehlo.dot %a, %a : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
})");
  expectStopped("dot of matrices and vectors", R"(
func.func @main() -> tensor<2000000x20xi64> {
  %c = stablehlo.constant dense<1> : tensor<i64>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<2000000x20xi64>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i64>) -> tensor<200000x20x20xi64>
  %0 = stablehlo.dot_general %b, %b, contracting_dims = [1, 0] x [1, 0] : (tensor<200000x20x20xi64>, tensor<200000x20x20xi64>) -> tensor<20x20xi64>
  %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<2000000x20xi64>, tensor<20x20xi64>) -> tensor<2000000x20xi64>
  %2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<2000000x20xi64>, tensor<20x20xi64>) -> tensor<2000000x20xi64>
  return %2 : tensor<2000000x20xi64>
})");
}

TEST_F(LimitsTest, Convolution) {
  expectStopped("convolution", R"(
func.func @main() -> tensor<8x256x256x256xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x16x256x256xf32>
  %k = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<256x16x31x31xf32>
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {pad = [[15, 15], [15, 15]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
      : (tensor<8x16x256x256xf32>, tensor<256x16x31x31xf32>) -> tensor<8x256x256x256xf32>
  return %0 : tensor<8x256x256x256xf32>
})");
}

std::string window(const std::string &type, const std::string &body) {
  return R"(
func.func @main() -> tensor<500001x)" +
         type + R"(> {
  %a = stablehlo.iota dim = 0 : tensor<1000000x)" +
         type + R"(>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %c = stablehlo.convert %i : (tensor<i32>) -> tensor<)" +
         type + R"(>
  %0 = "stablehlo.reduce_window"(%a, %c) ({
    ^bb0(%x: tensor<)" +
         type + ">, %y: tensor<" + type + R"(>):
      )" +
         body + R"( : tensor<)" + type + R"(>
      stablehlo.return %s : tensor<)" +
         type + R"(>
  }) {window_dimensions = array<i64: 500000>} : (tensor<1000000x)" +
         type + ">, tensor<" + type + ">) -> tensor<500001x" + type + R"(>
  return %0 : tensor<500001x)" +
         type + R"(>
})";
}

TEST_F(LimitsTest, GiantWindows) {
  expectStopped("sum", window("f32", "%s = stablehlo.add %x, %y"));
  expectStopped("maximum", window("f32", "%s = stablehlo.maximum %x, %y"));
  expectStopped("integers", window("i32", "%s = stablehlo.multiply %x, %y"));
  expectStopped("bf16", window("bf16", "%s = stablehlo.add %x, %y"));
  expectStopped("unknown", window("f32", "%t = stablehlo.abs %y : tensor<f32>\n"
                                         "%s = stablehlo.add %x, %t"));
}

TEST_F(LimitsTest, Sort) {
  std::string costly =
      "%0 = stablehlo.sine %x : tensor<f32>\n%p0 = stablehlo.sine %y : tensor<f32>\n";
  for (int i = 0; i < 40; ++i) {
    std::string from = std::to_string(i), to = std::to_string(i + 1);
    costly += "%" + to + " = stablehlo.tan %" + from + " : tensor<f32>\n";
    costly += "%p" + to + " = stablehlo.tan %p" + from + " : tensor<f32>\n";
  }
  auto sort = [](const std::string &type, const std::string &body) {
    return "func.func @main() -> tensor<5000000x" + type +
           "> {\n  %a = stablehlo.iota dim = 0 : tensor<5000000x" + type +
           ">\n  %b = stablehlo.multiply %a, %a : tensor<5000000x" + type +
           ">\n  %s = \"stablehlo.sort\"(%b) ({\n    ^bb0(%x: tensor<" + type + ">, %y: tensor<" +
           type + ">):\n" + body +
           "      stablehlo.return %c : tensor<i1>\n  }) {dimension = 0 : i64} : (tensor<5000000x" +
           type + ">) -> tensor<5000000x" + type + ">\n  return %s : tensor<5000000x" + type +
           ">\n}";
  };
  expectStopped("slow comparator",
                sort("f32", costly + "%c = stablehlo.compare LT, %40, %p40 : (tensor<f32>, "
                                     "tensor<f32>) -> tensor<i1>\n"));
}

TEST_F(LimitsTest, Loops) {
  // Compiled as a whole: all values are scalars.
  expectStopped("endless loop", R"(
func.func @main() -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.while(%a = %z) : tensor<f32>
    cond { %t = stablehlo.constant dense<true> : tensor<i1>  stablehlo.return %t : tensor<i1> }
    do { %n = stablehlo.sine %a : tensor<f32>  stablehlo.return %n : tensor<f32> }
  return %0 : tensor<f32>
})");
  std::string body;
  for (int i = 0; i < 3000; ++i)
    body += "%" + std::to_string(i + 1) + " = stablehlo.tan %" + (i ? std::to_string(i) : "a") +
            " : tensor<f64>\n";
  expectStopped("endless loop of a large body", R"(
func.func @main() -> tensor<f64> {
  %z = stablehlo.constant dense<0.5> : tensor<f64>
  %r = stablehlo.while(%a = %z) : tensor<f64>
    cond { %t = stablehlo.constant dense<true> : tensor<i1>  stablehlo.return %t : tensor<i1> }
    do { )" + body + R"( stablehlo.return %3000 : tensor<f64> }
  return %r : tensor<f64>
})");
}

TEST_F(LimitsTest, OtherOperations) {
  expectStopped("cholesky", R"(
func.func @main() -> tensor<6000x6000xf32> {
  %c = stablehlo.constant dense<1.0e-4> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<6000x6000xf32>
  %i = stablehlo.iota dim = 0 : tensor<6000x6000xi32>
  %j = stablehlo.iota dim = 1 : tensor<6000x6000xi32>
  %d = stablehlo.compare EQ, %i, %j : (tensor<6000x6000xi32>, tensor<6000x6000xi32>) -> tensor<6000x6000xi1>
  %e = stablehlo.convert %d : (tensor<6000x6000xi1>) -> tensor<6000x6000xf32>
  %m = stablehlo.add %a, %e : tensor<6000x6000xf32>
  %0 = stablehlo.cholesky %m, lower = true : tensor<6000x6000xf32>
  return %0 : tensor<6000x6000xf32>
})");
  expectStopped("triangular_solve", R"(
func.func @main() -> tensor<3000x3000xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<3000x3000xf32>
  %0 = "stablehlo.triangular_solve"(%a, %a) {left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3000x3000xf32>, tensor<3000x3000xf32>) -> tensor<3000x3000xf32>
  return %0 : tensor<3000x3000xf32>
})");
  expectStopped("fft", R"(
func.func @main() -> tensor<1000x10007xcomplex<f32>> {
  %c = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<complex<f32>>) -> tensor<1000x10007xcomplex<f32>>
  %0 = stablehlo.fft %a, type = FFT, length = [10007] : (tensor<1000x10007xcomplex<f32>>) -> tensor<1000x10007xcomplex<f32>>
  return %0 : tensor<1000x10007xcomplex<f32>>
})");
  expectStopped("long ffts", R"(
func.func @main() -> tensor<4x4194304xcomplex<f32>> {
  %c = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<complex<f32>>) -> tensor<4x4194304xcomplex<f32>>
  %0 = stablehlo.fft %a, type = FFT, length = [4194304] : (tensor<4x4194304xcomplex<f32>>) -> tensor<4x4194304xcomplex<f32>>
  return %0 : tensor<4x4194304xcomplex<f32>>
})");
  expectStopped("random bits", R"(
func.func @main() -> tensor<100000000xui8> {
  %s = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
  %0:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<100000000xui8>)
  return %0#1 : tensor<100000000xui8>
})");
  expectStopped("random numbers", R"(
func.func @main() -> tensor<50000000xf32> {
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %s = stablehlo.constant dense<50000000> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %s, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<50000000xf32>
  return %0 : tensor<50000000xf32>
})");
  expectStopped("select_and_scatter", R"(
func.func @main() -> tensor<4000x4000xf32> {
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<4000x4000xf32>
  %s = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<2001x2001xf32>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 2000, 2000>} : (tensor<4000x4000xf32>, tensor<2001x2001xf32>, tensor<f32>) -> tensor<4000x4000xf32>
  return %0 : tensor<4000x4000xf32>
})");
}

// The result is small; what is needed on the way is not.
TEST_F(LimitsTest, MemoryInsideAnOperation) {
  RunOptions options;
  options.maxMemory = int64_t{1} << 30;
  for (const char *text : {R"(
func.func @main() -> tensor<1x1xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
  %0 = "stablehlo.reduce_window"(%a, %c) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 100002, 100002>, padding = dense<[[50000, 50000], [50000, 50000]]> : tensor<2x2xi64>}
     : (tensor<2x2xf32>, tensor<f32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
})",
                           R"(
func.func @main() -> tensor<1x1x1x1xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1x1x1x1xf32>
  %0 = stablehlo.convolution(%a, %a) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [100000, 100000], pad = [[0, 99999], [0, 99999]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
      : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
  return %0 : tensor<1x1x1x1xf32>
})",
                           R"(
func.func @main() -> tensor<?xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %s = stablehlo.constant dense<1000000000> : tensor<1xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
})"}) {
    auto result = run(text, options);
    ASSERT_FALSE(result) << text;
    EXPECT_NE(result.message().find("--max-memory"), std::string::npos) << result.message() << text;
  }
}

} // namespace
