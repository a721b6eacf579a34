// The operations of a body that its results need, in their order, with what is recognised among
// them: the error function, which programs have as the decomposition that lower-chlo writes (some
// sixty operations), is one operation on one operand. Emitters walk this and not the block.

#pragma once

#include "cupel/compiler/codegen/Elementwise.h"

#include "mlir/IR/Block.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace cupel::codegen {

class BodyOps {
public:
  explicit BodyOps(mlir::Block &block);

  mlir::Block &block() const { return *body; }
  mlir::Operation *end() const { return body->getTerminator(); }
  /// Without the terminator.
  ArrayRef<mlir::Operation *> operations() const { return needed; }
  SmallVector<mlir::Value> operandsOf(mlir::Operation *op) const;
  /// The operand of an error function whose last operation this is; null if it is none.
  mlir::Value erfOf(mlir::Operation *op) const { return erfs.lookup(op); }

  /// Whether this is a logistic function in f32 that only scales other values.
  bool isGate(mlir::Operation *op) const { return gates.contains(op); }

private:
  mlir::Block *body;
  SmallVector<mlir::Operation *> needed;
  llvm::DenseMap<mlir::Operation *, mlir::Value> erfs;
  llvm::DenseSet<mlir::Operation *> gates;
};

/// The x of which this is the decomposed error function in f32; null if it is not. What counts is
/// what is computed, not how often a part of it is written down.
mlir::Value matchLoweredErf(mlir::Operation *op);

/// What `matchLoweredErf` compares: a hash of all that leads from x to the operation.
std::string shapeOfFunction(mlir::Operation *op, mlir::Value x);

} // namespace cupel::codegen
