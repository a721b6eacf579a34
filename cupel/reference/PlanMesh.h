// Meshes as programs name them: written out, or by the symbol of one in the module. Used by the
// planners of collectives.

#pragma once

#include "cupel/reference/Collectives.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace cupel::reference {

struct NamedMesh {
  Mesh mesh;
  std::vector<std::string> axes;

  std::optional<int64_t> find(llvm::StringRef axis) const;
};

/// `meshOrSymbol`: a mesh of stablehlo or sdy, or a symbol, which names an sdy.mesh or any
/// operation with the attribute stablehlo.mesh.
Result<NamedMesh> namedMesh(mlir::Attribute meshOrSymbol, mlir::ModuleOp module);

} // namespace cupel::reference
