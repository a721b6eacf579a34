// Which elementwise operation an op is, and the compiler of scalar regions that is built on it.
// Shared by the planners of elementwise ops, of regions and of loops.

#pragma once

#include "cupel/reference/ElementProgram.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"

namespace cupel::reference {

struct ElementOpOf {
  ElementOp op;
  int exponentBits = 0, mantissaBits = 0;
};

/// Nothing if the op is not elementwise.
std::optional<ElementOpOf> elementOpOf(mlir::Operation *op);

/// Compiles blocks whose values are all scalars. After a failure (it contains something else) the
/// compiler is of no use.
class ScalarCompiler {
public:
  /// The region's arguments become those of the program, its results too.
  bool region(mlir::Region &region);
  /// Compiles the operations of a block whose arguments have registers already.
  bool block(mlir::Block &block, std::vector<int> &results);

  ElementProgram program;
  llvm::DenseMap<mlir::Value, int> registers;
  /// Scalars from outside, in the order of the program's captures.
  std::vector<mlir::Value> captures;

  static std::optional<tensor::DType> scalarType(mlir::Type type);

private:
  bool operation(mlir::Operation *op);
  std::optional<int> lookup(mlir::Value value);

  bool mayCapture = true;
  int depth = 0;
};

} // namespace cupel::reference
