// The same bits for any number of threads: programs on large tensors of every family of kernels,
// and the self-checking programs of tests/reference with every intermediate value, where blocks are
// made so small that small tensors are shared between threads too.

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/PlanTesting.h"
#include "cupel/tensor/Fill.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

using namespace cupel;
using namespace cupel::reference;

namespace {

constexpr int kThreads[] = {1, 2, 3, 7};

/// The bytes of all results, one after another.
std::string bytesOf(std::span<const Value> values) {
  std::string bytes;
  for (const Value &value : values) {
    if (!value.isTensor())
      continue;
    tensor::Tensor flat = *value.tensor().contiguous();
    bytes.append(reinterpret_cast<const char *>(flat.data()), flat.byteSize());
    bytes += "|";
  }
  return bytes;
}

class ThreadsTest : public ProgramTest {
protected:
  ~ThreadsTest() override { detail::blockSizes = {}; }

  std::vector<Value> randomArguments() {
    std::vector<Value> values;
    for (auto [i, type] : llvm::enumerate(plan->entry().argumentTypes)) {
      tensor::ElementType element = *elementTypeOf(mlir::getElementTypeOrSelf(type));
      values.push_back(
          *tensor::randomTensor(element, shapeOf(type), tensor::defaultFill(element), {11, i}));
    }
    return values;
  }

  void expectSameBits(const std::string &name, const std::string &text) {
    Status ready = prepare(text);
    ASSERT_TRUE(ready) << name << ": " << (ready ? "" : ready.message()) << "\n" << text;
    std::vector<Value> arguments = randomArguments();
    for (Accumulate accumulate : {Accumulate::Native, Accumulate::Wide}) {
      std::string first;
      for (int threads : kThreads) {
        RunOptions options;
        options.threads = threads;
        options.accumulate = accumulate;
        reference::Run execution(std::move(options));
        auto results = plan->run(execution, arguments);
        ASSERT_TRUE(results) << name << ": " << (results ? "" : results.message());
        std::string bytes = bytesOf(*results);
        if (threads == 1)
          first = bytes;
        ASSERT_GT(bytes.size(), 1u);
        EXPECT_TRUE(bytes == first) << name << " on " << threads << " threads";
      }
    }
  }

  /// `$T` becomes each of the element types.
  void expectSameBits(const std::string &name, std::initializer_list<const char *> types,
                      const std::string &text) {
    for (const char *type : types) {
      std::string one;
      for (size_t at = 0; at < text.size(); ++at)
        if (text.compare(at, 2, "$T") == 0) {
          one += type;
          ++at;
        } else {
          one += text[at];
        }
      expectSameBits(name + " " + type, one);
    }
  }
};

TEST_F(ThreadsTest, Elementwise) {
  expectSameBits("chain", {"f32", "f64", "bf16", "f16"}, R"(
func.func @main(%a: tensor<200001x$T>, %b: tensor<200001x$T>) -> (tensor<200001x$T>, tensor<200001xi1>, tensor<200001xi8>) {
  %0 = stablehlo.add %a, %b : tensor<200001x$T>
  %1 = stablehlo.tanh %0 : tensor<200001x$T>
  %2 = stablehlo.exponential %1 : tensor<200001x$T>
  %3 = stablehlo.compare LT, %1, %b : (tensor<200001x$T>, tensor<200001x$T>) -> tensor<200001xi1>
  %4 = stablehlo.select %3, %2, %a : tensor<200001xi1>, tensor<200001x$T>
  %5 = stablehlo.convert %4 : (tensor<200001x$T>) -> tensor<200001xi8>
  return %4, %3, %5 : tensor<200001x$T>, tensor<200001xi1>, tensor<200001xi8>
})");
  expectSameBits("complex", {"complex<f32>", "complex<f64>"}, R"(
func.func @main(%a: tensor<30001x$T>, %b: tensor<30001x$T>) -> tensor<30001x$T> {
  %0 = stablehlo.multiply %a, %b : tensor<30001x$T>
  %1 = stablehlo.sine %0 : tensor<30001x$T>
  return %1 : tensor<30001x$T>
})");
  expectSameBits("integers", {"i8", "ui16", "i32", "i64"}, R"(
func.func @main(%a: tensor<700001x$T>, %b: tensor<700001x$T>) -> tensor<700001x$T> {
  %0 = stablehlo.multiply %a, %b : tensor<700001x$T>
  %1 = stablehlo.divide %0, %b : tensor<700001x$T>
  %2 = stablehlo.popcnt %1 : tensor<700001x$T>
  return %2 : tensor<700001x$T>
})");
  expectSameBits("map", {"f32", "i16"}, R"(
func.func @main(%a: tensor<300x999x$T>, %b: tensor<300x999x$T>) -> tensor<300x999x$T> {
  %0 = "stablehlo.map"(%a, %b) ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>):
      %p = stablehlo.multiply %x, %y : tensor<$T>
      %q = stablehlo.maximum %p, %x : tensor<$T>
      stablehlo.return %q : tensor<$T>
  }) {dimensions = array<i64: 0, 1>} : (tensor<300x999x$T>, tensor<300x999x$T>) -> tensor<300x999x$T>
  return %0 : tensor<300x999x$T>
})");
}

TEST_F(ThreadsTest, Reductions) {
  for (const char *operation : {"add", "maximum", "multiply"})
    for (auto [dimensions, shape] : {std::pair{"[0]", "1001"}, {"[1]", "777"}, {"[0, 1]", ""}}) {
      std::string result = std::string("tensor<") + shape + (*shape ? "x" : "") + "$T>";
      expectSameBits(std::string("reduce ") + operation + dimensions, {"f32", "bf16", "i32"},
                     "func.func @main(%a: tensor<777x1001x$T>, %i: tensor<$T>) -> " + result +
                         " {\n  %0 = stablehlo.reduce(%a init: %i) applies stablehlo." + operation +
                         " across dimensions = " + dimensions +
                         " : (tensor<777x1001x$T>, tensor<$T>) -> " + result +
                         "\n  return %0 : " + result + "\n}");
    }
  for (const char *operation : {"add", "multiply"})
    for (auto [dimensions, shape] : {std::pair{"[0]", "501"}, {"[0, 1]", ""}}) {
      std::string result = std::string("tensor<") + shape + (*shape ? "x" : "") + "$T>";
      expectSameBits(std::string("reduce ") + operation + dimensions, {"complex<f32>", "f64"},
                     "func.func @main(%a: tensor<477x501x$T>, %i: tensor<$T>) -> " + result +
                         " {\n  %0 = stablehlo.reduce(%a init: %i) applies stablehlo." + operation +
                         " across dimensions = " + dimensions +
                         " : (tensor<477x501x$T>, tensor<$T>) -> " + result +
                         "\n  return %0 : " + result + "\n}");
    }
  for (auto [dimensions, shape] : {std::pair{"[0]", "601"}, {"[1]", "577"}, {"[0, 1]", ""}}) {
    std::string value = std::string("tensor<") + shape + (*shape ? "x" : "") + "f32>";
    std::string index = std::string("tensor<") + shape + (*shape ? "x" : "") + "i32>";
    expectSameBits(std::string("argmax ") + dimensions, R"(
func.func @main(%a: tensor<577x601xf32>, %n: tensor<577x601xi32>, %i: tensor<f32>, %j: tensor<i32>) -> ()" +
                                                            value + ", " + index + R"() {
  %0:2 = stablehlo.reduce(%a init: %i), (%n init: %j) across dimensions = )" +
                                                            dimensions + R"(
      : (tensor<577x601xf32>, tensor<577x601xi32>, tensor<f32>, tensor<i32>) -> ()" +
                                                            value + ", " + index + R"()
      reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
        %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %v = stablehlo.select %c, %x, %y : tensor<i1>, tensor<f32>
        %w = stablehlo.select %c, %p, %q : tensor<i1>, tensor<i32>
        stablehlo.return %v, %w : tensor<f32>, tensor<i32>
      }
  return %0#0, %0#1 : )" + value + ", " + index + "\n}");
  }
}

TEST_F(ThreadsTest, Windows) {
  for (const char *operation : {"add", "maximum"})
    expectSameBits(std::string("reduce_window ") + operation, {"f32", "f16"},
                   std::string(R"(
func.func @main(%a: tensor<9x101x103x$T>, %i: tensor<$T>) -> tensor<9x51x99x$T> {
  %0 = "stablehlo.reduce_window"(%a, %i) ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>):
      %s = stablehlo.)") +
                       operation +
                       R"( %x, %y : tensor<$T>
      stablehlo.return %s : tensor<$T>
  }) {window_dimensions = array<i64: 1, 3, 3>, window_strides = array<i64: 1, 2, 1>,
      window_dilations = array<i64: 1, 1, 2>, padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>}
      : (tensor<9x101x103x$T>, tensor<$T>) -> tensor<9x51x99x$T>
  return %0 : tensor<9x51x99x$T>
})");
  expectSameBits("select_and_scatter", R"(
func.func @main(%a: tensor<20x64x64xf32>, %s: tensor<20x32x32xf32>, %i: tensor<f32>) -> tensor<20x64x64xf32> {
  %0 = "stablehlo.select_and_scatter"(%a, %s, %i) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %c = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>}
      : (tensor<20x64x64xf32>, tensor<20x32x32xf32>, tensor<f32>) -> tensor<20x64x64xf32>
  return %0 : tensor<20x64x64xf32>
})");
}

TEST_F(ThreadsTest, DataMovement) {
  expectSameBits("movement", {"i8", "f32", "complex<f64>"}, R"(
func.func @main(%a: tensor<61x97x103x$T>, %v: tensor<$T>, %row: tensor<103x$T>)
    -> (tensor<103x61x97x$T>, tensor<97x103x61x$T>, tensor<21x96x51x$T>, tensor<61x97x103x$T>, tensor<63x195x104x$T>,
        tensor<122x97x103x$T>, tensor<61x97x103x$T>, tensor<700003x$T>) {
  %0 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<61x97x103x$T>) -> tensor<103x61x97x$T>
  %1 = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<61x97x103x$T>) -> tensor<97x103x61x$T>
  %2 = stablehlo.slice %a [0:61:3, 1:97, 1:102:2] : (tensor<61x97x103x$T>) -> tensor<21x96x51x$T>
  %3 = stablehlo.reverse %a, dims = [0, 2] : tensor<61x97x103x$T>
  %4 = stablehlo.pad %a, %v, low = [1, 1, 0], high = [1, 1, 1], interior = [0, 1, 0]
      : (tensor<61x97x103x$T>, tensor<$T>) -> tensor<63x195x104x$T>
  %5 = stablehlo.concatenate %a, %3, dim = 0 : (tensor<61x97x103x$T>, tensor<61x97x103x$T>) -> tensor<122x97x103x$T>
  %6 = stablehlo.broadcast_in_dim %row, dims = [2] : (tensor<103x$T>) -> tensor<61x97x103x$T>
  %7 = stablehlo.broadcast_in_dim %v, dims = [] : (tensor<$T>) -> tensor<700003x$T>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<103x61x97x$T>, tensor<97x103x61x$T>, tensor<21x96x51x$T>, tensor<61x97x103x$T>,
      tensor<63x195x104x$T>, tensor<122x97x103x$T>, tensor<61x97x103x$T>, tensor<700003x$T>
})");
  expectSameBits("iota", {"i4", "i32", "f32", "bf16"}, R"(
func.func @main() -> (tensor<500001x$T>, tensor<300x2001x$T>) {
  %0 = stablehlo.iota dim = 0 : tensor<500001x$T>
  %1 = stablehlo.iota dim = 1 : tensor<300x2001x$T>
  return %0, %1 : tensor<500001x$T>, tensor<300x2001x$T>
})");
}

TEST_F(ThreadsTest, GatherAndScatter) {
  // Indices from random bits, many of them equal.
  constexpr const char *indices = R"(
  %m = stablehlo.constant dense<499> : tensor<20001x1xi32>
  %i = stablehlo.and %r, %m : tensor<20001x1xi32>
)";
  expectSameBits("gather", {"i8", "f32", "f64"},
                 std::string(R"(
func.func @main(%a: tensor<500x33x$T>, %r: tensor<20001x1xi32>) -> (tensor<20001x33x$T>, tensor<33x20001x$T>, tensor<20001x3x7x$T>) {)") +
                     indices + R"(
  %0 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 33>} : (tensor<500x33x$T>, tensor<20001x1xi32>) -> tensor<20001x33x$T>
  %1 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 33>} : (tensor<500x33x$T>, tensor<20001x1xi32>) -> tensor<33x20001x$T>
  %2 = "stablehlo.gather"(%a, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1, 2],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 3, 7>} : (tensor<500x33x$T>, tensor<20001x1xi32>) -> tensor<20001x3x7x$T>
  return %0, %1, %2 : tensor<20001x33x$T>, tensor<33x20001x$T>, tensor<20001x3x7x$T>
})");
  for (const char *body :
       {"stablehlo.return %y", "%z = stablehlo.add %x, %y : tensor<$T>  stablehlo.return %z",
        "%w = stablehlo.multiply %x, %y : tensor<$T>  %z = stablehlo.subtract %w, %y : tensor<$T>  "
        "stablehlo.return %z"})
    expectSameBits(std::string("scatter ") + body, {"i16", "f32"}, std::string(R"(
func.func @main(%a: tensor<500x33x$T>, %r: tensor<20001x1xi32>, %u: tensor<20001x33x$T>, %v: tensor<20001x3x7x$T>)
    -> (tensor<500x33x$T>, tensor<500x33x$T>) {)") + indices + R"(
  %0 = "stablehlo.scatter"(%a, %i, %u) ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>): )" + body + R"( : tensor<$T>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<500x33x$T>, tensor<20001x1xi32>, tensor<20001x33x$T>) -> tensor<500x33x$T>
  %1 = "stablehlo.scatter"(%a, %i, %v) ({
    ^bb0(%x: tensor<$T>, %y: tensor<$T>): )" + body + R"( : tensor<$T>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<500x33x$T>, tensor<20001x1xi32>, tensor<20001x3x7x$T>) -> tensor<500x33x$T>
  return %0, %1 : tensor<500x33x$T>, tensor<500x33x$T>
})");
}

TEST_F(ThreadsTest, Sort) {
  for (auto [shape, dimension] :
       {std::pair{"300001", 0}, {"2x270000", 1}, {"500x301", 1}, {"301x500", 0}})
    for (const char *key :
         {"%c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>",
          "%p = stablehlo.abs %x : tensor<f32>  %q = stablehlo.abs %y : tensor<f32>\n"
          "%c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>"})
      expectSameBits(std::string("sort ") + shape,
                     std::string("func.func @main(%a: tensor<") + shape + "xf32>, %b: tensor<" +
                         shape + "xi64>) -> (tensor<" + shape + "xf32>, tensor<" + shape +
                         R"(xi64>) {
  %0:2 = "stablehlo.sort"(%a, %b) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %v: tensor<i64>, %w: tensor<i64>):
      )" + key + R"(
      stablehlo.return %c : tensor<i1>
  }) {dimension = )" + std::to_string(dimension) +
                         " : i64, is_stable = true} : (tensor<" + shape + "xf32>, tensor<" + shape +
                         "xi64>) -> (tensor<" + shape + "xf32>, tensor<" + shape + R"(xi64>)
  return %0#0, %0#1 : tensor<)" +
                         shape + "xf32>, tensor<" + shape + "xi64>\n}");
}

TEST_F(ThreadsTest, ProductsAndConvolutions) {
  auto dot = [&](const char *name, std::initializer_list<const char *> types, const char *a,
                 const char *b, const char *c, const char *dimensions) {
    std::string as = std::string("tensor<") + a + "x$T>", bs = std::string("tensor<") + b + "x$T>",
                cs = std::string("tensor<") + c + "x$T>";
    expectSameBits(name, types,
                   "func.func @main(%a: " + as + ", %b: " + bs + ") -> " + cs +
                       " {\n  %0 = stablehlo.dot_general %a, %b, " + dimensions + " : (" + as +
                       ", " + bs + ") -> " + cs + "\n  return %0 : " + cs + "\n}");
  };
  dot("dot", {"f32", "f64", "bf16", "i8", "i64", "complex<f32>"}, "201x301", "301x203", "201x203",
      "contracting_dims = [1] x [0]");
  dot("long dot", {"f32", "bf16"}, "3x100001", "100001x2", "3x2", "contracting_dims = [1] x [0]");
  dot("matrix x vector", {"f32", "f16", "i32"}, "1003x1001", "1001", "1003",
      "contracting_dims = [1] x [0]");
  dot("vector x matrix", {"f32", "f64"}, "1001", "1001x1003", "1003",
      "contracting_dims = [0] x [0]");
  dot("batched", {"f32", "i16"}, "31x40x50", "31x50x33", "31x40x33",
      "batching_dims = [0] x [0], contracting_dims = [2] x [1]");
  expectSameBits("convolution", {"f32", "bf16", "i8"}, R"(
func.func @main(%a: tensor<2x16x30x31x$T>, %k: tensor<24x16x3x3x$T>, %d: tensor<16x1x3x3x$T>)
    -> (tensor<2x24x30x31x$T>, tensor<2x16x15x16x$T>) {
  %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
      : (tensor<2x16x30x31x$T>, tensor<24x16x3x3x$T>) -> tensor<2x24x30x31x$T>
  %1 = stablehlo.convolution(%a, %d) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
      window = {stride = [2, 2], pad = [[1, 1], [1, 1]]} {feature_group_count = 16 : i64, batch_group_count = 1 : i64}
      : (tensor<2x16x30x31x$T>, tensor<16x1x3x3x$T>) -> tensor<2x16x15x16x$T>
  return %0, %1 : tensor<2x24x30x31x$T>, tensor<2x16x15x16x$T>
})");
}

TEST_F(ThreadsTest, TheRest) {
  expectSameBits("random bits", {"ui8", "ui32", "ui64"}, R"(
func.func @main(%s: tensor<2xui64>) -> (tensor<2xui64>, tensor<301x999x$T>, tensor<301x999x$T>) {
  %0:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<301x999x$T>)
  %1:2 = "stablehlo.rng_bit_generator"(%s) {rng_algorithm = #stablehlo<rng_algorithm PHILOX>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<301x999x$T>)
  return %0#0, %0#1, %1#1 : tensor<2xui64>, tensor<301x999x$T>, tensor<301x999x$T>
})");
  expectSameBits("fft", R"(
func.func @main(%a: tensor<70x64x96xcomplex<f32>>) -> tensor<70x64x96xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [64, 96] : (tensor<70x64x96xcomplex<f32>>) -> tensor<70x64x96xcomplex<f32>>
  return %0 : tensor<70x64x96xcomplex<f32>>
})");
  expectSameBits("triangular_solve", R"(
func.func @main(%a: tensor<30x40x40xf32>, %b: tensor<30x40x50xf32>) -> (tensor<30x40x50xf32>, tensor<30x40x40xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = true,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<30x40x40xf32>, tensor<30x40x50xf32>) -> tensor<30x40x50xf32>
  %1 = stablehlo.cholesky %a, lower = true : tensor<30x40x40xf32>
  return %0, %1 : tensor<30x40x50xf32>, tensor<30x40x40xf32>
})");
}

/// The programs of a file.
std::vector<std::string> programsOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::vector<std::string> programs(1);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("// -----"))
      programs.emplace_back();
    else
      programs.back() += line + "\n";
  return programs;
}

// Every value that is computed on the way, with blocks of a few elements.
TEST_F(ThreadsTest, SelfCheckingPrograms) {
  detail::blockSizes = {10, 0};
  int64_t programs = 0, values = 0;
  for (const char *folder : {"ops", "traps"})
    for (const auto &entry : std::filesystem::directory_iterator(
             std::string(CUPEL_SOURCE_ROOT "/tests/reference/") + folder))
      for (const std::string &text : programsOf(entry.path())) {
        if (entry.path().extension() != ".mlir" || text.find("interpreter.") != std::string::npos)
          continue; // Those need a folder to write to.
        plan.reset();
        module = ir::readProgram(llvm::MemoryBufferRef(text, "p.mlir"), mlir::ParserConfig(&context));
        ASSERT_TRUE(module && succeeded(compiler::lowerChlo(*module))) << entry.path();
        auto created = Plan::create(*module);
        ASSERT_TRUE(created) << entry.path() << ": " << (created ? "" : created.message());
        plan = std::move(*created);
        if (!plan->entry().argumentTypes.empty())
          continue;
        ++programs;
        std::vector<std::string> first;
        for (int threads : kThreads) {
          std::vector<std::string> seen;
          std::mutex mutex; // The devices of a manual computation tell side by side.
          RunOptions options;
          options.threads = threads;
          options.trace = [&](const Step &, std::span<const Value> results) {
            std::lock_guard lock(mutex);
            seen.push_back(bytesOf(results));
          };
          reference::Run execution(std::move(options));
          auto results = plan->run(execution, {});
          EXPECT_TRUE(results) << entry.path() << " on " << threads
                               << " threads: " << (results ? "" : results.message());
          if (text.find("manual_computation") != std::string::npos)
            std::sort(seen.begin(), seen.end()); // In any order.
          if (threads == 1) {
            first = seen;
            values += static_cast<int64_t>(seen.size());
          }
          EXPECT_TRUE(seen == first) << entry.path() << " on " << threads << " threads";
        }
      }
  EXPECT_GT(programs, 300);
  EXPECT_GT(values, 3000);
}

} // namespace
