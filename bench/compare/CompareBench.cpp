// How fast a pair of tensors is compared, beside memcpy of one of them in the same run: both move
// two tensors' worth of memory. Prints a ratio for each case: memcpy's time over the comparison's,
// 1 is as fast as memcpy. The bar is 0.5 for f32 with PCC and atol.

#include "cupel/compare/Verdict.h"
#include "cupel/tensor/Convert.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

namespace {

struct Time {
  double wall = 1e9, cpu = 1e9; // cpu: of all threads together, whatever else the machine does
};

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void keepBest(Time &best, const std::function<void()> &work) {
  double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  work();
  best.wall = std::min(best.wall, now(CLOCK_MONOTONIC) - wall);
  best.cpu = std::min(best.cpu, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

/// Pseudo-random values with a small error on one side.
Tensor filled(DType type, int64_t count, double error) {
  Result<Tensor> wide = Tensor::uninitialized(DType::F32, {count});
  float *values = wide->mutableAs<float>();
  uint64_t state = 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double value = static_cast<double>(static_cast<int64_t>(state) >> 11) * 0x1p-52;
    values[i] = static_cast<float>(value * (1 + error * static_cast<double>(i % 17)));
  }
  return std::move(*convert(*wide, type));
}

struct Case {
  const char *name;
  DType type;
  Tolerance tolerance;
  double error;
  bool ulp;
};

} // namespace

int main(int argc, char **argv) {
  int64_t bytes = (argc > 1 ? std::atoll(argv[1]) : 400) * 1000000;
  Tolerance pccAndAtol{.pcc = 0.99, .atol = 1e-2};
  const Case cases[] = {
      {"f32 pcc+atol", DType::F32, pccAndAtol, 1e-6, false},
      {"f32 pcc+atol, all elements off", DType::F32, {.pcc = 0.99, .atol = 1e-9}, 1e-3, false},
      {"f32 pcc+atol+ulp", DType::F32, pccAndAtol, 1e-6, true},
      {"bf16 pcc+atol", DType::BF16, pccAndAtol, 1e-4, false},
      {"f16 pcc+atol", DType::F16, pccAndAtol, 1e-4, false},
      {"f64 pcc+atol", DType::F64, pccAndAtol, 1e-6, false},
      {"i32 equal", DType::I32, Tolerance::equal(), 0, false},
  };
  std::printf("%lld MB a tensor, best of 7\n%-32s %8s %10s %10s %8s %8s   %s\n",
              static_cast<long long>(bytes / 1000000), "case", "threads", "memcpy ms", "compare ms",
              "GB/s", "ratio", "cpu ms of both");
  for (const Case &each : cases) {
    int64_t count = bytes / info(each.type).bytes;
    Tensor actual = filled(each.type, count, each.error), expected = filled(each.type, count, 0);
    Result<Tensor> target = Tensor::zeros(each.type, {count});
    std::byte *to = target->mutableData();
    for (int threads : {1, 2}) {
      Time copy, compared;
      for (int i = 0; i < 7; ++i) { // alternating, so that both see the same neighbours
        keepBest(copy, [&] { std::memcpy(to, expected.data(), expected.byteSize()); });
        keepBest(compared, [&] {
          Result<Statistics> found = compare::compare(actual, expected, each.tolerance,
                                                      {.ulp = each.ulp, .threads = threads});
          if (!found || std::isnan(found->relativeL2))
            std::abort();
        });
      }
      std::printf("%-32s %8d %10.1f %10.1f %8.1f %8.2f   %.1f %.1f\n", each.name, threads,
                  copy.wall * 1e3, compared.wall * 1e3,
                  2e-9 * static_cast<double>(expected.byteSize()) / compared.wall,
                  copy.wall / compared.wall, copy.cpu * 1e3, compared.cpu * 1e3);
      std::fflush(stdout);
    }
  }
  // A wrong result is also looked at for what it looks like.
  int64_t count = bytes / 4 / 4096 * 4096;
  Result<Tensor> zeros = Tensor::zeros(DType::F32, {count});
  Tensor expected = filled(DType::F32, count, 0).reshaped({count / 4096, 4096});
  Tensor noise = filled(DType::F32, count, 0.5).reshaped({count / 4096, 4096});
  Tensor zero = zeros->reshaped({count / 4096, 4096});
  int64_t both[] = {0, 1};
  struct {
    const char *name;
    Tensor actual;
  } wrong[] = {{"noise", noise}, {"zero", zero}, {"reversed", expected.reversed(both)}};
  for (const auto &[name, actual] : wrong) {
    Time checked;
    std::string sentence;
    keepBest(checked,
             [&] { sentence = check(actual, expected, Tolerance::withPcc(0.99))->sentence; });
    std::printf("wrong f32 (%s): %.0f ms: %s\n", name, checked.wall * 1e3, sentence.c_str());
  }
  return 0;
}
