// Shardings that follow from those a program states: found by following dimensions from arguments,
// constraints and manual computations through operations. Used by the passes that give results a
// sharding, answer questions about it and split programs. What comes out decides only where pieces
// lie, never their values.

#pragma once

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/tensor/Shards.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <memory>
#include <optional>

namespace cupel::compiler {

/// Runs work that must not keep others from the program's context: it may wait for locks of its
/// own, such as Python's, whose holders may wait for the context.
using RunsOutside = std::function<void(llvm::function_ref<void()>)>;

class ShardingAnalysis {
public:
  ShardingAnalysis(mlir::ModuleOp module, mlir::func::FuncOp entry);
  ~ShardingAnalysis();

  /// The sharding found for a value, in the dimensions that it cuts evenly; null if there is none.
  sdy::TensorShardingAttr of(mlir::Value value) const;

  /// The same as tiles and devices.
  std::optional<tensor::Shards> shardsOf(mlir::Value value) const;

  /// Calls with every value that a sharding was found for, the mesh and the axes of each dimension.
  void forEach(llvm::function_ref<void(mlir::Value, sdy::MeshAttr,
                                       llvm::ArrayRef<llvm::SmallVector<sdy::AxisRefAttr, 2>>)>
                   found) const;

private:
  class Propagation;
  std::unique_ptr<Propagation> propagation;
};

} // namespace cupel::compiler
