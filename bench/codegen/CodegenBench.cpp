// Times generated code on one thread: what making a kernel costs and how fast it runs, beside the
// bandwidth of the memory in the same run (a[i] = b[i] + s * c[i] on the same number of bytes).
// Prints JSON, one line a kernel; bench/codegen/run.py puts it beside torch and ONNX Runtime.
// usage: bench_codegen [--seconds S] [--only WORD]

#include "cupel/compiler/codegen/Codegen.h"
#include "cupel/ir/Dialects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

using namespace cupel;
using namespace cupel::codegen;
using tensor::DType;

namespace {

constexpr int64_t kRows = 4096, kLength = 1024, kElements = kRows * kLength;

const char *kChain = R"(func.func @chain(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %x : tensor<f32>
  %1 = stablehlo.multiply %0, %y : tensor<f32>
  %2 = stablehlo.negate %x : tensor<f32>
  %3 = stablehlo.exponential %2 : tensor<f32>
  %4 = stablehlo.add %1, %3 : tensor<f32>
  return %4 : tensor<f32> })";
const char *kGelu = R"(func.func @gelu(%x: tensor<f32>) -> tensor<f32> {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %root = stablehlo.constant dense<0.707106769> : tensor<f32>
  %0 = stablehlo.multiply %x, %root : tensor<f32>
  %1 = chlo.erf %0 : tensor<f32> -> tensor<f32>
  %2 = stablehlo.add %1, %one : tensor<f32>
  %3 = stablehlo.multiply %x, %half : tensor<f32>
  %4 = stablehlo.multiply %3, %2 : tensor<f32>
  return %4 : tensor<f32> })";
const char *kCopy = R"(func.func @copy(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32> })";
const char *kSoftmax = R"(func.func @softmax(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0]
    : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %m = stablehlo.broadcast_in_dim %max, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %d = stablehlo.subtract %x, %m : tensor<1024xf32>
  %e = stablehlo.exponential %d : tensor<1024xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %r = stablehlo.divide %e, %s : tensor<1024xf32>
  return %r : tensor<1024xf32> })";
const char *kLayerNorm = R"(func.func @norm(%x: tensor<1024xf32>, %w: tensor<1024xf32>,
    %b: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.constant dense<1024.0> : tensor<f32>
  %eps = stablehlo.constant dense<1.0e-5> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %mean = stablehlo.divide %sum, %n : tensor<f32>
  %m = stablehlo.broadcast_in_dim %mean, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %d = stablehlo.subtract %x, %m : tensor<1024xf32>
  %q = stablehlo.multiply %d, %d : tensor<1024xf32>
  %squares = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<1024xf32>, tensor<f32>) -> tensor<f32>
  %v = stablehlo.divide %squares, %n : tensor<f32>
  %ve = stablehlo.add %v, %eps : tensor<f32>
  %i = stablehlo.rsqrt %ve : tensor<f32>
  %ib = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<f32>) -> tensor<1024xf32>
  %y = stablehlo.multiply %d, %ib : tensor<1024xf32>
  %yw = stablehlo.multiply %y, %w : tensor<1024xf32>
  %r = stablehlo.add %yw, %b : tensor<1024xf32>
  return %r : tensor<1024xf32> })";

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds = 1;
const char *only = nullptr;

/// The best time of this thread; neighbours on the machine cost little of it.
template <typename F> double best(F work) {
  work();
  double least = 1e9, end = now(CLOCK_MONOTONIC) + seconds;
  do {
    double begin = now(CLOCK_THREAD_CPUTIME_ID);
    work();
    least = std::min(least, now(CLOCK_THREAD_CPUTIME_ID) - begin);
  } while (now(CLOCK_MONOTONIC) < end);
  return least;
}

struct Buffer {
  float *data;
  explicit Buffer(int64_t count) : data(static_cast<float *>(std::aligned_alloc(64, count * 4 + 64))) {
    uint64_t state = 1;
    for (int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      data[i] = static_cast<float>(static_cast<int32_t>(state >> 32)) * 0x1p-30f;
    }
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  ~Buffer() { std::free(data); }
};

class Bench {
public:
  Bench() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {}

  template <typename Kernel>
  void run(const char *name, const char *text, Kernel kernel, std::vector<const void *> inputs,
           std::vector<void *> outputs, double bytes) {
    if (only && !std::strstr(name, only))
      return;
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    kernel.body = &(*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
    double begin = now(CLOCK_THREAD_CPUTIME_ID);
    auto code = compile(kernel);
    double compiling = now(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (!code) {
      std::fprintf(stderr, "%s: %s\n", name, code.message().c_str());
      std::exit(1);
    }
    void *scratch = std::aligned_alloc(64, code->scratchBytes / 64 * 64 + 64);
    void *workspace = std::aligned_alloc(64, code->workspaceBytes / 64 * 64 + 64);
    outputs.push_back(workspace);
    double time = best([&] {
      for (const Stage &stage : code->stages)
        stage.function(inputs.data(), outputs.data(), 0, stage.units, scratch);
    });
    std::free(scratch);
    std::free(workspace);
    std::printf("{\"name\": \"%s\", \"compile_ms\": %.2f, \"run_ms\": %.3f, \"gigabytes_per_second\": "
                "%.2f}\n",
                name, compiling * 1e3, time * 1e3, bytes / time * 1e-9);
    std::fflush(stdout);
  }

private:
  static const mlir::DialectRegistry &registry() {
    static const mlir::DialectRegistry all = [] {
      mlir::DialectRegistry registry;
      ir::registerAllDialects(registry);
      return registry;
    }();
    return all;
  }
  mlir::MLIRContext context;
};

} // namespace

int main(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--seconds"))
      seconds = std::atof(argv[i + 1]);
    else if (!std::strcmp(argv[i], "--only"))
      only = argv[i + 1];
  }
  Buffer a(kElements), b(kElements), out(kElements), w(kLength), bias(kLength);
  double triad = best([&] {
    float *__restrict o = out.data;
    const float *__restrict x = a.data, *__restrict y = b.data;
    for (int64_t i = 0; i < kElements; ++i)
      o[i] = x[i] + 3.0f * y[i];
    asm volatile("" ::"r"(o) : "memory");
  });
  std::printf("{\"name\": \"triad\", \"run_ms\": %.3f, \"gigabytes_per_second\": %.2f, \"lanes\": %d}\n",
              triad * 1e3, 12.0 * kElements / triad * 1e-9, Target::host().lanes);
  Bench bench;
  View flat = View::contiguous(DType::F32, {kElements});
  constexpr double kBytes = 4.0 * kElements;
  bench.run("chain", kChain, MapKernel{{kElements}, {flat, flat}, {flat}}, {a.data, b.data},
            {out.data}, 3 * kBytes);
  bench.run("gelu", kGelu, MapKernel{{kElements}, {flat}, {flat}}, {a.data}, {out.data}, 2 * kBytes);
  View rows = View::contiguous(DType::F32, {kRows, kLength}), shared = rows;
  shared.strides = {0, 1};
  bench.run("softmax", kSoftmax, RowKernel{{kRows}, kLength, {rows}, {rows}}, {a.data}, {out.data},
            2 * kBytes);
  bench.run("layer_norm", kLayerNorm, RowKernel{{kRows}, kLength, {rows, shared, shared}, {rows}},
            {a.data, w.data, bias.data}, {out.data}, 2 * kBytes);
  View scalar;
  scalar.strides = {0};
  bench.run("reduce_all", kCopy, Reduction{{kElements}, {true}, {flat}, scalar, Combiner::Add, 0},
            {a.data}, {out.data}, kBytes);
  View kept;
  kept.strides = {0, 1};
  bench.run("reduce_columns", kCopy,
            Reduction{{kRows, kLength}, {true, false}, {rows}, kept, Combiner::Add, 0}, {a.data},
            {out.data}, kBytes);
  kept.strides = {1, 0};
  bench.run("reduce_rows", kCopy,
            Reduction{{kRows, kLength}, {false, true}, {rows}, kept, Combiner::Add, 0}, {a.data},
            {out.data}, kBytes);
  View square = View::contiguous(DType::F32, {2048, 2048}), turned = square;
  turned.strides = {1, 2048};
  bench.run("transpose", kCopy, MapKernel{{2048, 2048}, {turned}, {square}}, {a.data}, {out.data},
            2 * kBytes);
  return 0;
}
