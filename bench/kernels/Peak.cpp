#include "bench/kernels/Peers.h"

#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <immintrin.h>
#include <thread>

namespace cupel::bench {
namespace {

constexpr int64_t kRounds = 20'000;
constexpr int kChains = 12;

__attribute__((target("avx512f"))) float multiplyAdd512() {
  __m512 sums[kChains], factor = _mm512_set1_ps(0.999f), term = _mm512_set1_ps(1e-6f);
  for (auto &sum : sums)
    sum = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < kRounds; ++i)
    for (auto &sum : sums)
      sum = _mm512_fmadd_ps(sum, factor, term);
  float total = 0;
  for (auto &sum : sums)
    total += _mm512_reduce_add_ps(sum);
  return total;
}

__attribute__((target("avx2,fma"))) float multiplyAdd256() {
  __m256 sums[kChains], factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(1e-6f);
  for (auto &sum : sums)
    sum = _mm256_set1_ps(1.0f);
  for (int64_t i = 0; i < kRounds; ++i)
    for (auto &sum : sums)
      sum = _mm256_fmadd_ps(sum, factor, term);
  float total = 0;
  for (auto &sum : sums)
    total += _mm256_cvtss_f32(sum);
  return total;
}

float multiplyAdd128() {
  __m128 sums[kChains], factor = _mm_set1_ps(0.999f), term = _mm_set1_ps(1e-6f);
  for (auto &sum : sums)
    sum = _mm_set1_ps(1.0f);
  for (int64_t i = 0; i < kRounds; ++i)
    for (auto &sum : sums)
      sum = _mm_add_ps(_mm_mul_ps(sum, factor), term);
  float total = 0;
  for (auto &sum : sums)
    total += _mm_cvtss_f32(sum);
  return total;
}

double onceGflops() {
  int width = kernels::currentKernels().width;
  auto start = std::chrono::steady_clock::now();
  volatile float sink = width == 16 ? multiplyAdd512() : width == 8 ? multiplyAdd256() : multiplyAdd128();
  (void)sink;
  std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return 2.0 * kRounds * kChains * width / took.count();
}

} // namespace

double peakGflops(int threads) {
  double best = 0;
  for (int i = 0; i < 400; ++i)
    best = std::max(best, onceGflops());
  // Cores of these machines do not slow each other down in registers.
  return best * threads;
}

} // namespace cupel::bench
