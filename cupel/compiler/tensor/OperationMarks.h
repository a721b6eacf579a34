// Marks on single operations of a program that the compiler keeps to: `cupel explore --override` sets
// them, and programs that were saved with them have them still. Whoever does not know them may ignore
// them: no mark changes what a program computes.
#pragma once

namespace cupel::tir {

/// On a stablehlo.optimization_barrier that stays: what stands before and behind it is not fused.
/// Other barriers order nothing on one device and go.
inline constexpr const char *kKeptBarrierAttr = "cupel.kept";

/// On any operation: who computes it. The one value is kOnReference, the golden reference's kernel
/// instead of the device's own; `place-on-reference` reads it.
inline constexpr const char *kPlacementAttr = "cupel.placement";
inline constexpr const char *kOnReference = "reference";

/// On any operation: it is fused with no other, though it could be. For fusions that users leave out (named/NamedFusion.h).
inline constexpr const char *kAloneAttr = "cupel.alone";

/// On a stablehlo.sort: how many of the first elements of each line are all that anybody needs. The others may be anything.
inline constexpr const char *kFirstAttr = "cupel.first";

} // namespace cupel::tir
