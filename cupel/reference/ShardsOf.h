// What a sharding of the sdy dialect means for the devices of its mesh. Used by the planner of
// manual computations and by whoever runs programs whose arguments are split.

#pragma once

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/tensor/Shards.h"

#include <functional>

namespace cupel::reference {

/// The mesh a sharding speaks of, found in the module by name; null if there is none.
sdy::MeshAttr meshOf(sdy::TensorShardingAttr sharding, mlir::ModuleOp module);

/// The number of devices of a mesh (1 if it names a single device); nothing beyond 2^24.
Result<int64_t> deviceCount(sdy::MeshAttr mesh);

/// Tiles and devices of a sharding. Only axes that `counts` are looked at (null: all); the others
/// make copies.
Result<tensor::Shards> shardsOf(sdy::TensorShardingAttr sharding, sdy::MeshAttr mesh,
                                const std::function<bool(llvm::StringRef)> &counts = nullptr);

/// The whole of a tensor from `pieces[device]`, with its summands added up.
Result<tensor::Tensor> assembleSum(const tensor::Shards &shards,
                                   std::span<const tensor::Tensor> pieces,
                                   std::span<const int64_t> shape);

} // namespace cupel::reference
