// Checks of shardings against meshes and types, shared by the verifiers of this dialect. They
// report through a callback so that each message begins with the op and the value it is about.
#pragma once

#include "cupel/ir/sdy/Sdy.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace cupel::sdy {

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The mesh a sharding is about, looked up from `op` if it is given by name; null if there is none.
MeshAttr lookupMesh(TensorShardingAttr sharding, mlir::Operation *op);

/// Collects the axes named by several lists and checks that each is known to the mesh, used once,
/// and, if only a part of it is used, that the part is well formed and overlaps no other.
class AxisUse {
public:
  explicit AxisUse(MeshAttr mesh) : mesh(mesh) {}

  /// Adds a list; neighbours in it that could be written as one are an error.
  mlir::LogicalResult add(llvm::ArrayRef<AxisRefAttr> axes, EmitError emitError);
  /// As `add`, and the list must be in the order of the mesh.
  mlir::LogicalResult addSorted(llvm::ArrayRef<AxisRefAttr> axes, llvm::StringRef what,
                                EmitError emitError);

private:
  MeshAttr mesh;
  llvm::SmallVector<AxisRefAttr> used;
};

/// Checks a sharding for a value of the type, or, without a type, for an op without results. `op`
/// is where the sharding stands: axes that an enclosing manual computation has bound are not
/// usable.
mlir::LogicalResult verifySharding(TensorShardingAttr sharding, mlir::Type type,
                                   mlir::Operation *op, EmitError emitError);

/// Checks one sharding per value. `what` is "operand", "result" and the like.
mlir::LogicalResult verifyShardings(TensorShardingPerValueAttr shardings, mlir::TypeRange types,
                                    mlir::Operation *op, llvm::StringRef what);

/// The sharding a value was given where it is defined; null if it has none.
TensorShardingAttr getSharding(mlir::Value value);

} // namespace cupel::sdy
