// The mark of a stablehlo.optimization_barrier that stays: what stands before and behind it is not
// fused. `cupel explore --override` sets it; other barriers order nothing on one device and go.
#pragma once

namespace cupel::tir {

inline constexpr const char *kKeptBarrierAttr = "cupel.kept";

} // namespace cupel::tir
