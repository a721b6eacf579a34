// How a loop reads values through operations that only move elements: a broadcast, transpose,
// slice, reversal, padding or reshape is a way of reading its operand. Used by the passes that form
// tensor IR. What cannot be told as offset and strides is left to be computed by itself.

#pragma once

#include "cupel/compiler/tensor/TensorIr.h"

namespace cupel::tir {

/// What a loop reads: element `offset + sum(index * stride)` of a value that lies row by row.
struct Reading {
  mlir::Value value;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  llvm::SmallVector<int64_t> valid; // Two bounds a dimension, or empty: everywhere.
  mlir::TypedAttr padding;
};

/// A loop and all that it reads. Dimensions may be split where a reading needs that, which changes
/// no order.
class LoopNest {
public:
  /// Dimensions have marks, so that those who split them find them again. One that has the mark
  /// `kWhole` is never split.
  static constexpr int kWhole = -1;
  LoopNest(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int> marks);

  llvm::ArrayRef<int64_t> sizes() const { return extents; }
  llvm::ArrayRef<int> marks() const { return labels; }
  llvm::ArrayRef<Reading> readings() const { return all; }
  mlir::SmallVector<int64_t> identityStrides() const { return rowMajorStrides(extents); }

  /// Adds what the loop reads of `value` with these strides, through as many operations as
  /// possible; `isSource` ends the search. Returns the number of the reading, which may be one that
  /// there was already.
  size_t add(mlir::Value value, llvm::ArrayRef<int64_t> strides,
             llvm::function_ref<bool(mlir::Value)> isSource = nullptr);

  /// Makes one dimension of neighbours with the same mark wherever all readings allow it. Returns
  /// whether every mark has one dimension now.
  bool collapse();

  ViewAttr view(size_t reading) const;

private:
  bool split(size_t dimension, int64_t inner);
  bool follow(size_t number);

  llvm::SmallVector<int64_t> extents;
  llvm::SmallVector<int> labels;
  llvm::SmallVector<Reading> all;
};

/// Whether the operation only moves elements, in a way that a reading may tell.
bool isMove(mlir::Operation *op);
/// Whether all that is done with a slice is to put it beside others along the dimension that it is cut in, or within one stretch of what it is cut from: then it is
/// read where it lies.
bool isReadByConcatenations(stablehlo::SliceOp slice);

/// The value that is the same memory, before any reshapes.
mlir::Value throughReshapes(mlir::Value value);

/// The number that all elements of a constant are; null if it is none. Seen through moves.
mlir::TypedAttr splatOf(mlir::Value value);

} // namespace cupel::tir
