#include "cupel/reference/ExactSum.h"

#include "cupel/reference/Parallel.h"

#include <algorithm>
#include <bit>

#pragma clang fp contract(off)

namespace cupel::reference {

namespace {

/// The lowest limb's lowest bit is worth 2^-kShift.
constexpr int kShift = 1088;

/// A sum in two parts for each lane, of which both take in all that additions round off.
constexpr int kLanes = 8;
struct TwoPartSum {
  double sum[kLanes], rest[kLanes] = {}, absolute[kLanes] = {}, lost[kLanes] = {};
  TwoPartSum() { std::fill(sum, sum + kLanes, -0.0); }
};

[[gnu::always_inline]] inline void takeInto(TwoPartSum &state, const double *terms, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) {
      double x = terms[i + l];
      double sum = state.sum[l] + x, part = sum - state.sum[l];
      double error = (state.sum[l] - (sum - part)) + (x - part);
      state.sum[l] = sum;
      state.rest[l] += error;
      state.lost[l] += std::fabs(error);
      state.absolute[l] += std::fabs(x);
    }
}
void takePlain(TwoPartSum &state, const double *terms, int64_t count) {
  takeInto(state, terms, count);
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) void takeAvx2(TwoPartSum &state, const double *terms,
                                              int64_t count) {
  takeInto(state, terms, count);
}
#endif

[[gnu::always_inline]] inline bool roundAll(const double *sums, const double *absolute,
                                            double factor, float *out, int64_t count) {
  uint32_t doubt = 0;
  for (int64_t j = 0; j < count; ++j) {
    double sum = sums[j], slack = factor * absolute[j] + __builtin_fabs(sum) * 0x1p-52;
    auto low = static_cast<float>(sum - slack), high = static_cast<float>(sum + slack);
    out[j] = static_cast<float>(sum);
    doubt |= std::bit_cast<uint32_t>(low) ^ std::bit_cast<uint32_t>(high);
    doubt |= static_cast<uint32_t>(sum != sum);
  }
  return doubt == 0;
}
#if defined(__x86_64__)
__attribute__((target("avx2"))) bool roundAvx2(const double *sums, const double *absolute,
                                               double factor, float *out, int64_t count) {
  return roundAll(sums, absolute, factor, out, count);
}
#endif

bool mayUseAvx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

} // namespace

bool roundSafely(const double *sums, const double *absolute, double factor, float *out,
                 int64_t count) {
#if defined(__x86_64__)
  if (mayUseAvx2())
    return roundAvx2(sums, absolute, factor, out, count);
#endif
  return roundAll(sums, absolute, factor, out, count);
}

void ExactSum::add(double value) {
  auto bits = std::bit_cast<uint64_t>(value);
  auto exponent = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  if (exponent)
    mantissa |= uint64_t{1} << 52;
  else
    exponent = 1;
  // mantissa * 2^(exponent - 1075)
  int position = exponent - 1075 + kShift;
  auto wide = static_cast<unsigned __int128>(mantissa) << (position & 31);
  int64_t sign = bits >> 63 ? -1 : 1;
  int64_t *limb = limbs.data() + (position >> 5);
  limb[0] += sign * static_cast<int64_t>(wide & 0xffffffff);
  limb[1] += sign * static_cast<int64_t>(wide >> 32 & 0xffffffff);
  limb[2] += sign * static_cast<int64_t>(wide >> 64);
  if (++pending == int64_t{1} << 30)
    carry();
}

void ExactSum::carry() {
  for (int i = 0; i + 1 < kLimbs; ++i) {
    int64_t over = limbs[i] >> 32; // rounds down: limbs below the top become non-negative
    limbs[i] -= over * (int64_t{1} << 32);
    limbs[i + 1] += over;
  }
  pending = 0;
}

double ExactSum::roundedToOdd() {
  carry();
  bool negative = limbs[kLimbs - 1] < 0;
  if (negative) {
    for (int64_t &limb : limbs)
      limb = -limb;
    carry();
  }
  int top = kLimbs - 1;
  while (top >= 0 && limbs[top] == 0)
    --top;
  if (top < 0)
    return 0;
  // The highest 64 bits or more; everything below only says whether there is something.
  unsigned __int128 head = 0;
  for (int i = top; i > top - 3; --i)
    head = head << 32 | static_cast<uint64_t>(i >= 0 ? limbs[i] : 0);
  bool sticky = false;
  for (int i = top - 3; i >= 0; --i)
    sticky |= limbs[i] != 0;
  int position = (top - 2) * 32 - kShift; // of the lowest bit of head
  auto high = static_cast<uint64_t>(head >> 64);
  int width =
      high ? 128 - std::countl_zero(high) : 64 - std::countl_zero(static_cast<uint64_t>(head));
  // 53 bits, fewer where the result is subnormal.
  int cut = std::max(width - 53, -1074 - position);
  if (cut > 0) {
    sticky |= (head & ((static_cast<unsigned __int128>(1) << cut) - 1)) != 0;
    head >>= cut;
    position += cut;
  }
  auto mantissa = static_cast<uint64_t>(head) | (sticky ? 1 : 0);
  double value = std::ldexp(static_cast<double>(mantissa), position);
  return negative ? -value : value;
}

double carefulSum(int64_t count, const Terms &terms, bool (*roundsSafely)(double, double)) {
  constexpr int64_t kChunk = 2048;
  alignas(64) double chunk[kChunk];
  TwoPartSum state;
  for (int64_t first = 0; first < count && !isStopped(); first += kChunk) {
    int64_t part = std::min(kChunk, count - first);
    terms(first, part, chunk);
    int64_t whole = (part + kLanes - 1) / kLanes * kLanes;
    std::fill(chunk + part, chunk + whole, -0.0);
#if defined(__x86_64__)
    if (mayUseAvx2())
      takeAvx2(state, chunk, whole);
    else
#endif
      takePlain(state, chunk, whole);
  }
  double sum = state.sum[0], rest = state.rest[0], absolute = state.absolute[0],
         lost = state.lost[0];
  for (int l = 1; l < kLanes; ++l) {
    double both = sum + state.sum[l], part = both - sum;
    double error = (sum - (both - part)) + (state.sum[l] - part);
    sum = both;
    rest += state.rest[l] + error;
    lost += state.lost[l] + std::fabs(error);
    absolute += state.absolute[l];
  }
  if (lost == 0)
    return sum; // Nothing was ever rounded.
  // What the second parts lose in turn: Ogita, Rump, Oishi, Accurate Sum and Dot Product (2005).
  double twice = static_cast<double>(count + kLanes) * kUnit;
  if (double value = sum + rest; roundsSafely(value, 2 * twice * twice * absolute))
    return value;
  ExactSum exact;
  for (int64_t first = 0; first < count && !isStopped(); first += kChunk) {
    int64_t part = std::min(kChunk, count - first);
    terms(first, part, chunk);
    for (int64_t i = 0; i < part; ++i)
      exact.add(chunk[i]);
  }
  return exact.roundedToOdd();
}

} // namespace cupel::reference
