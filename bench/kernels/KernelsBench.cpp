// How fast products and convolutions are: GFLOP/s, their share of what the registers could do
// (measured), and oneDNN's time over ours where this build has it. Everything is measured in turns in
// one process; a time is the best of many short runs, because others use the machine too.
//
//   bench_kernels [--threads N] [--seconds S] [--alone] [--json] [WORD...]   cases whose names have
//   one of the words; --alone leaves oneDNN out, --json writes an object a line for run.py

#include "bench/kernels/Peers.h"

#include "cupel/kernels/Isa.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

using namespace cupel::bench;

namespace {

struct Case {
  std::string name;
  int count; // How often the model does it.
  std::optional<ProductShape> product;
  std::optional<ConvolutionShape> convolution;

  double flops() const {
    if (product)
      return 2.0 * static_cast<double>(product->batch * product->rows) *
             static_cast<double>(product->columns * product->depth);
    const ConvolutionShape &c = *convolution;
    return 2.0 * static_cast<double>(c.batch * c.outputHeight() * c.outputWidth()) *
           static_cast<double>(c.outputs * c.inputs / c.groups * c.kernel * c.kernel);
  }
  double weightBytes() const {
    if (product)
      return product->isPacked ? 4.0 * static_cast<double>(product->columns * product->depth) : 0;
    const ConvolutionShape &c = *convolution;
    return 4.0 * static_cast<double>(c.outputs * c.inputs / c.groups * c.kernel * c.kernel);
  }
};

std::vector<Case> productCases() {
  auto weight = [](std::string name, int count, int64_t rows, int64_t columns, int64_t depth) {
    return Case{std::move(name), count, ProductShape{1, rows, columns, depth, true}, {}};
  };
  auto plain = [](std::string name, int count, int64_t batch, int64_t rows, int64_t columns,
                  int64_t depth) {
    return Case{std::move(name), count, ProductShape{batch, rows, columns, depth, false}, {}};
  };
  auto narrow = [](std::string name, int64_t rows, int64_t columns, int64_t depth, Numbers numbers = Numbers::Bf16) {
    return Case{std::move(name), 1, ProductShape{1, rows, columns, depth, true, numbers}, {}};
  };
  return {
      weight("mlp b32", 3, 32, 1024, 1024),
      weight("bert s128 768", 48, 128, 768, 768),
      weight("bert s128 up", 12, 128, 3072, 768),
      weight("bert s128 down", 12, 128, 768, 3072),
      plain("bert s128 scores", 12, 12, 128, 128, 64),
      plain("bert s128 values", 12, 12, 128, 64, 128),
      weight("gpt2 s64 qkv", 12, 64, 2304, 768),
      weight("gpt2 s64 out", 12, 64, 768, 768),
      weight("gpt2 s64 up", 12, 64, 3072, 768),
      weight("gpt2 s64 down", 12, 64, 768, 3072),
      weight("gpt2 s64 head", 1, 64, 50257, 768),
      plain("gpt2 s64 scores", 12, 12, 64, 64, 64),
      weight("llama s128 512", 8, 128, 512, 512),
      weight("llama s128 up", 8, 128, 1376, 512),
      weight("llama s128 down", 4, 128, 512, 1376),
      weight("vit_tiny qkv", 12, 197, 576, 192),
      weight("vit_tiny out", 12, 197, 192, 192),
      weight("vit_tiny up", 12, 197, 768, 192),
      weight("vit_tiny down", 12, 197, 192, 768),
      plain("vit_tiny scores", 12, 3, 197, 197, 64),
      plain("vit_tiny values", 12, 3, 197, 64, 197),
      plain("matmul 1024", 1, 1, 1024, 1024, 1024),
      weight("matmul 1024 packed", 1, 1024, 1024, 1024),
      weight("cell 128", 1, 1, 512, 128),
      weight("cell 256", 1, 1, 1024, 256),
      weight("cell 512", 1, 1, 2048, 512),
      narrow("cell bf16 1x1024x256", 1, 1024, 256),
      weight("gemv 1024", 1, 1, 1024, 1024),
      weight("gemv 4096", 1, 1, 4096, 4096),
      weight("gemv b4 4096", 1, 4, 4096, 4096),
      narrow("bf16 32x1024x1024", 32, 1024, 1024),
      narrow("bf16 128x768x768", 128, 768, 768),
      narrow("bf16 1024x1024x1024", 1024, 1024, 1024),
      narrow("bf16 1x4096x4096", 1, 4096, 4096),
      narrow("int8 32x1024x1024", 32, 1024, 1024, Numbers::Int8),
      narrow("int8 128x768x768", 128, 768, 768, Numbers::Int8),
      narrow("int8 1024x1024x1024", 1024, 1024, 1024, Numbers::Int8),
  };
}

std::vector<Case> convolutionCases() {
  std::vector<Case> cases;
  auto add = [&](std::string model, int count, int64_t size, int64_t inputs, int64_t outputs,
                 int64_t kernel, int64_t stride, int64_t groups = 1, Numbers numbers = Numbers::F32, Ends ends = Ends::Bias) {
    std::string name = model + " " + std::to_string(kernel) + "x" + std::to_string(kernel) +
                       (stride > 1 ? "s2 " : " ") + std::to_string(inputs) + "-" +
                       std::to_string(outputs) + "@" + std::to_string(size);
    cases.push_back({name, count, {},
                     ConvolutionShape{1, size, size, inputs, outputs, kernel, stride,
                                      (kernel - 1) / 2, groups, numbers, ends}});
  };
  add("narrow", 1, 32, 16, 16, 3, 1);
  add("narrow", 1, 96, 32, 16, 3, 1);
  add("narrow", 1, 56, 64, 16, 1, 1);
  add("narrow bf16", 1, 96, 32, 16, 3, 1, 1, Numbers::Bf16);
  add("resnet50", 1, 224, 3, 64, 7, 2);
  add("resnet50", 1, 56, 64, 64, 1, 1);
  add("resnet50", 3, 56, 64, 64, 3, 1);
  add("resnet50", 4, 56, 64, 256, 1, 1);
  add("resnet50", 2, 56, 256, 64, 1, 1);
  add("resnet50", 1, 56, 256, 128, 1, 1);
  add("resnet50", 1, 56, 128, 128, 3, 2);
  add("resnet50", 4, 28, 128, 512, 1, 1);
  add("resnet50", 1, 56, 256, 512, 1, 2);
  add("resnet50", 3, 28, 512, 128, 1, 1);
  add("resnet50", 3, 28, 128, 128, 3, 1);
  add("resnet50", 1, 28, 512, 256, 1, 1);
  add("resnet50", 1, 28, 256, 256, 3, 2);
  add("resnet50", 6, 14, 256, 1024, 1, 1);
  add("resnet50", 1, 28, 512, 1024, 1, 2);
  add("resnet50", 5, 14, 1024, 256, 1, 1);
  add("resnet50", 5, 14, 256, 256, 3, 1);
  add("resnet50", 1, 14, 1024, 512, 1, 1);
  add("resnet50", 1, 14, 512, 512, 3, 2);
  add("resnet50", 3, 7, 512, 2048, 1, 1);
  add("resnet50", 1, 14, 1024, 2048, 1, 2);
  add("resnet50", 2, 7, 2048, 512, 1, 1);
  add("resnet50", 2, 7, 512, 512, 3, 1);
  add("mobilenet_v2", 1, 224, 3, 32, 3, 2);
  add("mobilenet_v2", 1, 112, 32, 32, 3, 1, 32);
  add("mobilenet_v2", 1, 112, 32, 16, 1, 1);
  add("mobilenet_v2", 1, 112, 16, 96, 1, 1);
  add("mobilenet_v2", 1, 112, 96, 96, 3, 2, 96);
  add("mobilenet_v2", 1, 56, 96, 24, 1, 1);
  add("mobilenet_v2", 2, 56, 24, 144, 1, 1);
  add("mobilenet_v2", 1, 56, 144, 144, 3, 1, 144);
  add("mobilenet_v2", 1, 56, 144, 24, 1, 1);
  add("mobilenet_v2", 1, 56, 144, 144, 3, 2, 144);
  add("mobilenet_v2", 1, 28, 144, 32, 1, 1);
  add("mobilenet_v2", 3, 28, 32, 192, 1, 1);
  add("mobilenet_v2", 2, 28, 192, 192, 3, 1, 192);
  add("mobilenet_v2", 2, 28, 192, 32, 1, 1);
  add("mobilenet_v2", 1, 28, 192, 192, 3, 2, 192);
  add("mobilenet_v2", 1, 14, 192, 64, 1, 1);
  add("mobilenet_v2", 4, 14, 64, 384, 1, 1);
  add("mobilenet_v2", 4, 14, 384, 384, 3, 1, 384);
  add("mobilenet_v2", 3, 14, 384, 64, 1, 1);
  add("mobilenet_v2", 1, 14, 384, 96, 1, 1);
  add("mobilenet_v2", 3, 14, 96, 576, 1, 1);
  add("mobilenet_v2", 2, 14, 576, 576, 3, 1, 576);
  add("mobilenet_v2", 2, 14, 576, 96, 1, 1);
  add("mobilenet_v2", 1, 14, 576, 576, 3, 2, 576);
  add("mobilenet_v2", 1, 7, 576, 160, 1, 1);
  add("mobilenet_v2", 3, 7, 160, 960, 1, 1);
  add("mobilenet_v2", 3, 7, 960, 960, 3, 1, 960);
  add("mobilenet_v2", 2, 7, 960, 160, 1, 1);
  add("mobilenet_v2", 1, 7, 960, 320, 1, 1);
  add("mobilenet_v2", 1, 7, 320, 1280, 1, 1);
  add("resnext50", 3, 56, 128, 128, 3, 1, 32);
  add("resnext50", 3, 14, 512, 512, 3, 1, 32);
  add("efficientnet", 2, 28, 240, 240, 5, 1, 240);
  add("efficientnet", 2, 14, 672, 672, 5, 1, 672);
  add("efficientnet", 1, 14, 672, 672, 5, 2, 672);
  add("efficientnet", 3, 7, 1152, 1152, 5, 1, 1152);
  add("convnext", 3, 56, 96, 96, 7, 1, 96);
  add("convnext", 3, 28, 192, 192, 7, 1, 192);
  add("convnext", 9, 14, 384, 384, 7, 1, 384);
  add("convnext", 3, 7, 768, 768, 7, 1, 768);
  for (auto [name, numbers] : {std::pair{"bf16", Numbers::Bf16}, {"int8", Numbers::Int8}}) {
    add(name, 3, 56, 64, 64, 3, 1, 1, numbers);
    add(name, 4, 56, 64, 256, 1, 1, 1, numbers);
    add(name, 3, 28, 128, 128, 3, 1, 1, numbers);
    add(name, 6, 14, 256, 1024, 1, 1, 1, numbers);
    add(name, 5, 14, 1024, 256, 1, 1, 1, numbers);
    add(name, 5, 14, 256, 256, 3, 1, 1, numbers);
    add(name, 2, 7, 512, 512, 3, 1, 1, numbers);
    add(name, 2, 56, 24, 144, 1, 1, 1, numbers);
  }
  auto layer = [&](const char *name, Ends ends, int64_t size, int64_t inputs, int64_t outputs, int64_t kernel, int64_t stride = 1) {
    add(name, 1, size, inputs, outputs, kernel, stride, 1, Numbers::Bf16, ends);
  };
  for (auto [size, channels] : {std::pair<int64_t, int64_t>{56, 64}, {28, 128}, {14, 256}, {7, 512}}) {
    layer("residual", Ends::Residual, size, channels, 4 * channels, 1);
    layer("hidden", Ends::Narrow, size, 4 * channels, channels, 1);
    layer("hidden", Ends::Narrow, size, channels, channels, 3);
  }
  layer("hidden", Ends::Narrow, 112, 16, 96, 1);
  layer("hidden", Ends::Narrow, 56, 24, 144, 1);
  layer("hidden", Ends::Narrow, 28, 32, 192, 1);
  layer("hidden", Ends::Narrow, 14, 64, 384, 1);
  layer("hidden", Ends::Narrow, 14, 384, 64, 1);
  layer("hidden", Ends::Narrow, 14, 96, 576, 1);
  layer("hidden", Ends::Narrow, 7, 160, 960, 1);
  layer("hidden", Ends::Narrow, 7, 960, 160, 1);
  return cases;
}

/// Weights of a large model do not stay in the cache: as many copies as it takes to push them out.
int64_t copiesOf(const Case &one, const std::vector<Case> &cases) {
  constexpr double kCacheBytes = 64e6;
  std::string model = one.name.substr(0, one.name.find(' '));
  double all = 0;
  for (const Case &each : cases)
    if (each.name.starts_with(model))
      all += each.weightBytes() * each.count;
  if (one.weightBytes() == 0)
    return 1;
  double wanted = all > kCacheBytes / 2 ? kCacheBytes / one.weightBytes() : one.count;
  return std::clamp<int64_t>(static_cast<int64_t>(wanted), 1, 64);
}

using Clock = std::chrono::steady_clock;

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// One thread's time is what it computed for, whoever else uses the processor.
double secondsOf(const Runner &runner, int threads, int64_t &turn) {
  clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  double start = now(clock);
  runner(turn++);
  return now(clock) - start;
}

struct Best {
  double ours = 1e9, theirs = 1e9;
};

/// In turns of a few milliseconds. After the other's turn a pause: its threads wait for work busily.
Best measure(const Runner &ours, const Runner &theirs, int threads, double seconds) {
  Best best;
  int64_t turn = 0;
  auto burst = [&](const Runner &runner, double &to) {
    if (!runner)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(8));
    runner(turn++);
    auto end = Clock::now() + std::chrono::milliseconds(20);
    for (int i = 0; i < 3 || Clock::now() < end; ++i)
      to = std::min(to, secondsOf(runner, threads, turn));
  };
  auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    burst(ours, best.ours);
    burst(theirs, best.theirs);
  } while (Clock::now() < end);
  return best;
}

bool isWanted(const std::string &name, const std::vector<std::string> &words) {
  return words.empty() || std::any_of(words.begin(), words.end(), [&](const std::string &word) {
           return name.find(word) != std::string::npos;
         });
}

std::string toJson(const Case &one, double seconds, double peak) {
  nlohmann::json object = {{"name", one.name},
                           {"count", one.count},
                           {"flops", one.flops()},
                           {"us", seconds * 1e6},
                           {"peak_gflops", peak}};
  if (one.product)
    object["product"] = {{"batch", one.product->batch},
                         {"rows", one.product->rows},
                         {"columns", one.product->columns},
                         {"depth", one.product->depth},
                         {"packed", one.product->isPacked}};
  else
    object["convolution"] = {
        {"size", one.convolution->height},      {"inputs", one.convolution->inputs},
        {"outputs", one.convolution->outputs},  {"kernel", one.convolution->kernel},
        {"stride", one.convolution->stride},    {"padding", one.convolution->padding},
        {"groups", one.convolution->groups}};
  return object.dump();
}

} // namespace

int main(int argc, char **argv) {
  int threads = 1;
  double seconds = 0.4;
  bool isAlone = false, isJson = false;
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = std::atoi(argv[++i]);
    else if (!std::strcmp(argv[i], "--seconds") && i + 1 < argc)
      seconds = std::atof(argv[++i]);
    else if (!std::strcmp(argv[i], "--alone"))
      isAlone = true;
    else if (!std::strcmp(argv[i], "--json"))
      isJson = true;
    else
      words.push_back(argv[i]);
  }
  double peak = peakGflops(threads);
  if (!isJson)
    std::printf("%s, %d threads, peak %.0f GFLOP/s\n%-36s %5s %10s %9s %7s %10s %7s\n",
              std::string(cupel::kernels::isaName(cupel::kernels::currentIsa())).c_str(), threads,
              peak, "case", "times", "us", "GFLOP/s", "of peak", "oneDNN us", "ratio");
  std::vector<Case> cases = productCases();
  for (Case &each : convolutionCases())
    cases.push_back(each);
  double ourSum = 0, theirSum = 0, flops = 0;
  for (const Case &each : cases) {
    if (!isWanted(each.name, words))
      continue;
    int64_t copies = copiesOf(each, cases);
    Runner ours = each.product ? ourProduct(*each.product, copies, threads)
                               : ourConvolution(*each.convolution, copies, threads);
    Runner theirs = isAlone        ? Runner()
                    : each.product ? oneDnnProduct(*each.product, copies, threads)
                                 : oneDnnConvolution(*each.convolution, copies, threads);
    Best best = measure(ours, theirs, threads, seconds);
    double gflops = each.flops() / best.ours * 1e-9;
    if (isJson) {
      std::printf("%s\n", toJson(each, best.ours, peak).c_str());
      std::fflush(stdout);
      continue;
    }
    std::printf("%-36s %5d %10.1f %9.1f %6.1f%%", each.name.c_str(), each.count, best.ours * 1e6,
                gflops, 100 * gflops / peak);
    if (theirs)
      std::printf(" %10.1f %7.2f", best.theirs * 1e6, best.theirs / best.ours);
    std::printf("\n");
    std::fflush(stdout);
    ourSum += each.count * best.ours;
    theirSum += each.count * best.theirs;
    flops += each.count * each.flops();
  }
  if (isJson)
    return 0;
  std::printf("%-36s %5s %10.1f %9.1f %6.1f%%", "sum", "", ourSum * 1e6, flops / ourSum * 1e-9,
              100 * flops / ourSum * 1e-9 / peak);
  if (theirSum < 1e6)
    std::printf(" %10.1f %7.2f", theirSum * 1e6, theirSum / ourSum);
  std::printf("\n");
}
