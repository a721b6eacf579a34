// What a part of a program computes of one value, found by evaluating it: a function of elements, or of rows (the elements over which it reduces).
// So however a model spells an activation or a norm, it is the same function.

#pragma once

#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <vector>

namespace cupel::tir {

/// Whether `form-rows` makes a row of the operation and of what is done to what it reduces.
bool seedsRow(mlir::Operation *op);

/// Operations between one value and the result of the last of them, which nothing else but numbers goes into.
class FunctionOfOne {
public:
  /// Calls `isIt` for the values that all of `root` comes from, the nearest first, until it says yes; what is between then. With `rows`,
  /// reductions of rows and broadcasts back to them may be between, and one reduction is.
  static std::optional<FusionMembers> find(mlir::Operation *root, bool rows,
                                           llvm::function_ref<bool(const FunctionOfOne &)> isIt);

  /// How many elements a row has; 0 if it is a function of elements.
  int64_t length() const { return rowLength; }
  /// Whether the result is one element for each row.
  bool givesElement() const;
  /// Numbers that it computes with.
  llvm::ArrayRef<double> numbers() const { return constants; }

  /// What it makes of these elements, or of this row of `length()` elements. Nothing if it holds an operation that is not known here.
  std::optional<std::vector<double>> at(llvm::ArrayRef<double> elements) const;

private:
  bool takeRows(stablehlo::ReduceOp reduce);
  bool isBackToRows(mlir::Operation *op) const;

  mlir::Value leaf;
  mlir::Operation *root = nullptr;
  FusionMembers members; // From the last on.
  int64_t rowLength = 0;
  llvm::SmallVector<int64_t> shape, reduced; // Of what is reduced, and over which dimensions.
  llvm::SmallVector<double> constants;
};

/// Whether the operation ends a function of elements that is `wanted`.
std::optional<FusionMembers> matchElements(mlir::Operation *op, double (*wanted)(double));

/// Elements at which functions of rows are told apart: of both signs, none like another, with a mean that is not zero.
std::vector<double> sampleRow(int64_t length);
/// As near as roundings of f32 numbers in programs leave them.
bool areNear(llvm::ArrayRef<double> some, llvm::ArrayRef<double> others);

} // namespace cupel::tir
