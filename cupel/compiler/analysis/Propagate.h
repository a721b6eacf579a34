// Shardings for results that the program leaves open, found by following dimensions from where
// shardings are stated (arguments, constraints, results) through operations. What comes out decides
// only where pieces of results lie, never their values.

#pragma once

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/runtime/Executable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// Runs work that must not keep others from the program's context: it may wait for locks of its
/// own, such as Python's, whose holders may wait for the context.
using RunsOutside = llvm::function_ref<void(llvm::function_ref<void()>)>;

/// A custom call that asks how its operand is split.
inline constexpr char kInspectShardingTarget[] = "cupel_inspect_sharding";

/// Tells the handler of that name, if somebody registered one, and takes the calls out. The handler
/// is called outside: see RunsOutside.
Status reportShardings(mlir::ModuleOp module, mlir::func::FuncOp entry, RunsOutside outside);

/// Calls with every value that a sharding was found for, the mesh and the axes of each dimension.
void forEachSharding(
    mlir::ModuleOp module, mlir::func::FuncOp entry,
    llvm::function_ref<void(mlir::Value, sdy::MeshAttr,
                            llvm::ArrayRef<llvm::SmallVector<sdy::AxisRefAttr, 2>>)>
        found);

/// The tiles of a sharding that was found, in dimensions that it cuts evenly.
Result<tensor::Shards> evenShards(sdy::MeshAttr mesh,
                                  llvm::ArrayRef<llvm::SmallVector<sdy::AxisRefAttr, 2>> dims,
                                  llvm::ArrayRef<int64_t> shape);

/// Fills the shards of results of `info` that have none and may get some; every piece is of the
/// same size.
void propagateShardings(mlir::ModuleOp module, mlir::func::FuncOp entry,
                        const std::vector<bool> &mayGet, runtime::ProgramInfo &info);

} // namespace cupel::compiler
