// What a part of a program computes of one value, found by evaluating it: a function of elements, or of rows (the elements over which it reduces).
// So however a model spells an activation or a norm, it is the same function.

#pragma once

#include "cupel/compiler/tensor/named/NamedFusion.h"

#include <vector>

namespace cupel::tir {

/// Whether `form-rows` makes a row of the operation and of what is done to what it reduces.
bool seedsRow(mlir::Operation *op);

/// Operations between one value and the result of the last of them, which nothing else but numbers goes into: a function of rows.
class FunctionOfRows {
public:
  /// Calls `isIt` for the values that all of `root` comes from, the nearest first, until it says yes; what is between then. Reductions of
  /// rows and broadcasts back to them may be between, and one reduction is.
  static std::optional<FusionMembers> find(mlir::Operation *root, llvm::function_ref<bool(const FunctionOfRows &)> isIt);

  /// How many elements a row has.
  int64_t length() const { return rowLength; }
  /// Whether the result is one element for each row.
  bool givesElement() const;
  /// Numbers that it computes with.
  llvm::ArrayRef<double> numbers() const { return constants; }

  /// What it makes of this row of `length()` elements. Nothing if it holds an operation that is not known here.
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

/// What the operations that end in `root` compute of one value, element by element. It is looked at once, for every function that may be there.
class ElementFunctions {
public:
  explicit ElementFunctions(mlir::Operation *root);

  /// The operations that are this function, if any are.
  std::optional<FusionMembers> match(double (*wanted)(double)) const;

private:
  struct Operand {
    mlir::Value value; ///< Null: the number.
    double number = 0;
  };
  struct Step {
    mlir::Operation *op;
    llvm::SmallVector<Operand, 3> operands;
  };
  /// A value that everything in the first steps comes from, and what they make of the points that tell most functions apart.
  struct Cut {
    size_t count;
    llvm::SmallVector<double, 2> results;
  };
  std::optional<llvm::SmallVector<double, 2>> at(llvm::ArrayRef<double> points, size_t count) const;

  llvm::SmallVector<Step, 8> steps; // From the last on.
  llvm::SmallDenseMap<mlir::Value, size_t, 8> places; // Which step makes a value.
  llvm::SmallVector<Cut, 8> cuts; // The nearest first.
};

/// Whether the operation ends (x - c) / sqrt(mean((x - c)^2) + epsilon) of rows, with one of the program's numbers or 0 for epsilon; c is the
/// row's mean if it is `centred`, else 0.
std::optional<FusionMembers> matchNormalised(mlir::Operation *op, bool centred);

/// Elements at which functions of rows are told apart: of both signs, none like another, with a mean that is not zero.
std::vector<double> sampleRow(int64_t length);
/// As near as roundings of f32 numbers in programs leave them.
bool areNear(llvm::ArrayRef<double> some, llvm::ArrayRef<double> others);

} // namespace cupel::tir
