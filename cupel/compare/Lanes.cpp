#include "cupel/compare/Lanes.h"

using namespace cupel;
using namespace cupel::compare;

namespace {

template <Source source>
__attribute__((always_inline)) inline void widenInLanes(const void *from, int64_t count,
                                                        double *to) {
  using Stored = typename StoredOf<source>::type;
  const Stored *stored = static_cast<const Stored *>(from);
  Lanes lanes;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    load<source>(stored + i, lanes);
    std::memcpy(to + i, &lanes, sizeof lanes);
  }
  if (i == count)
    return;
  Stored last[kLanes] = {};
  std::memcpy(last, stored + i, size_t(count - i) * sizeof(Stored));
  load<source>(last, lanes);
  std::memcpy(to + i, &lanes, size_t(count - i) * sizeof(double));
}

__attribute__((always_inline)) inline void widenAny(Source source, const void *from, int64_t count,
                                                    double *to) {
  switch (source) {
  case Source::Doubles:
    return widenInLanes<Source::Doubles>(from, count, to);
  case Source::F32:
    return widenInLanes<Source::F32>(from, count, to);
  case Source::BF16:
    return widenInLanes<Source::BF16>(from, count, to);
  case Source::F16:
    return widenInLanes<Source::F16>(from, count, to);
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void widenAvx2(Source source, const void *from, int64_t count,
                                               double *to) {
  widenAny(source, from, count, to);
}
__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw"))) void
widenAvx512(Source source, const void *from, int64_t count, double *to) {
  widenAny(source, from, count, to);
}
#endif

} // namespace

int compare::instructionSets() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2"))
    return 1;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
             ? 3
             : 2;
#else
  return 1;
#endif
}

void compare::widen(Source source, const void *from, int64_t count, double *to,
                    int instructionSet) {
  static const int best = instructionSets() - 1;
  int set = instructionSet < 0 ? best : instructionSet;
#if defined(__x86_64__)
  if (set == 2)
    return widenAvx512(source, from, count, to);
  if (set == 1)
    return widenAvx2(source, from, count, to);
#endif
  widenAny(source, from, count, to);
}
