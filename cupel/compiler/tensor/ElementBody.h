// The body of a fused operation on elements, and what it reads: members of a group as StableHLO on
// tensors of rank 0. Used by the passes that form maps, reductions and epilogues.

#pragma once

#include "cupel/compiler/tensor/Group.h"

namespace cupel::tir {

class ElementBody {
public:
  /// Members that read nothing here (a product, a reduction) are `given`.
  ElementBody(const Group &group, LoopNest &nest, mlir::Operation *given = nullptr);

  /// Adds what the members read to the nest, whose points are their elements one after the other.
  void read();
  /// What an operation outside of the members reads, too.
  void read(mlir::OpOperand &operand);

  /// The body, which yields these values of members (or operands that were read); its arguments are
  /// `leading`, which stands for the result of the given operation, and one for each reading.
  mlir::Block *write(llvm::ArrayRef<mlir::Value> results, mlir::Location location,
                     mlir::Type leading = {});

  /// One for each argument behind the leading one.
  mlir::SmallVector<mlir::Value> inputs() const;
  mlir::ArrayAttr views() const;

private:
  const Group &group;
  LoopNest &nest;
  mlir::Operation *given;
  llvm::DenseMap<mlir::OpOperand *, size_t> readings;
  llvm::DenseMap<mlir::Value, size_t> readValues; // Of operands that are yielded themselves.
};

} // namespace cupel::tir
