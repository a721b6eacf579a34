// How a model's word on the sharding of a value stands in an imported program until the program gets
// its mesh: an identity whose configuration is the spec. Whoever imports for devices replaces it.
#pragma once

namespace cupel::frontends::torch_import {

inline constexpr char kShardingCall[] = "cupel.sharding_constraint";

} // namespace cupel::frontends::torch_import
