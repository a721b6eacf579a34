// The steps at the beginning of an epilogue that take one number for each column (a batch
// normalisation behind a convolution, a bias, the scale of a quantized product), brought to one factor
// and one addend for each column, which kernels apply before elements leave the registers. Used by
// kernels of products and convolutions. Steps with factors are only joined where no number on the way
// is near the ends of f32's range; whoever runs them must have another way for those.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include <optional>
#include <vector>

namespace cupel::compiler {

class ColumnScale {
public:
  /// Of a body whose arguments behind the first are `views`: its first sum with a number of each column, or
  /// all steps with such numbers up to the last sum, if there are factors among them.
  static std::optional<ColumnScale> find(mlir::Block &body, llvm::ArrayRef<codegen::View> views);

  /// The value in the body that they make.
  mlir::Value result() const { return made; }
  /// More than one addition, which alone rounds as the program has it.
  bool hasFactors() const { return factors; }

  /// Brings them together for so many columns; `extras` are the memory of the views. False where numbers
  /// are too large or too small for it.
  bool fill(llvm::ArrayRef<const float *> extras, int64_t columns, float *scale, float *shift) const;

private:
  enum class Kind { Add, Subtract, Multiply, Divide };
  struct Step {
    Kind kind;
    int extra;       // Which of the views; -1: a number.
    float number;
  };
  std::optional<Step> stepOf(mlir::Operation *op, mlir::Value element,
                             llvm::ArrayRef<codegen::View> views) const;

  std::vector<Step> steps;
  mlir::Value made;
  bool factors = false;
};

} // namespace cupel::compiler
