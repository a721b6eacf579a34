// The shapes of loops: one, two and three operands, each contiguous or one element for all lanes.
// Included by the files that fill the tables of Loops.h.

#pragma once

#include "cupel/reference/Loops.h"

namespace cupel::reference {

// Lane i of the output depends on lane i of the operands alone, also where they share memory.
#define CUPEL_LANES _Pragma("clang loop vectorize(assume_safety) interleave(enable)")

template <typename A, typename R, typename F> void loop1(const LoopArguments &arguments, F f) {
  const A *a = static_cast<const A *>(arguments.in[0]);
  R *r = static_cast<R *>(arguments.out);
  int64_t n = arguments.lanes;
  if (arguments.scalar[0]) {
    R value = f(*a);
    for (int64_t i = 0; i < n; ++i)
      r[i] = value;
    return;
  }
  CUPEL_LANES
  for (int64_t i = 0; i < n; ++i)
    r[i] = f(a[i]);
}

template <typename A, typename R, typename F> void loop2(const LoopArguments &arguments, F f) {
  const A *a = static_cast<const A *>(arguments.in[0]);
  const A *b = static_cast<const A *>(arguments.in[1]);
  R *r = static_cast<R *>(arguments.out);
  int64_t n = arguments.lanes;
  if (arguments.scalar[0] && arguments.scalar[1]) {
    R value = f(*a, *b);
    for (int64_t i = 0; i < n; ++i)
      r[i] = value;
  } else if (arguments.scalar[0]) {
    A x = *a;
    CUPEL_LANES
    for (int64_t i = 0; i < n; ++i)
      r[i] = f(x, b[i]);
  } else if (arguments.scalar[1]) {
    A y = *b;
    CUPEL_LANES
    for (int64_t i = 0; i < n; ++i)
      r[i] = f(a[i], y);
  } else {
    CUPEL_LANES
    for (int64_t i = 0; i < n; ++i)
      r[i] = f(a[i], b[i]);
  }
}

template <typename A, typename B, typename R, typename F>
void loop3(const LoopArguments &arguments, F f) {
  const A *a = static_cast<const A *>(arguments.in[0]);
  const B *b = static_cast<const B *>(arguments.in[1]);
  const B *c = static_cast<const B *>(arguments.in[2]);
  R *r = static_cast<R *>(arguments.out);
  int64_t n = arguments.lanes;
  if (!arguments.scalar[0] && !arguments.scalar[1] && !arguments.scalar[2]) {
    CUPEL_LANES
    for (int64_t i = 0; i < n; ++i)
      r[i] = f(a[i], b[i], c[i]);
    return;
  }
  if (arguments.scalar[0] && !arguments.scalar[1] && arguments.scalar[2]) {
    A x = *a;
    B z = *c;
    CUPEL_LANES
    for (int64_t i = 0; i < n; ++i)
      r[i] = f(x, b[i], z);
    return;
  }
  int64_t sa = !arguments.scalar[0], sb = !arguments.scalar[1], sc = !arguments.scalar[2];
  // A scalar may be the first element of the output's own memory.
  A x = *a;
  B y = *b, z = *c;
  for (int64_t i = 0; i < n; ++i)
    r[i] = f(sa ? a[i] : x, sb ? b[i] : y, sc ? c[i] : z);
}

} // namespace cupel::reference
