// A sum at the beginning of an epilogue with one number for each column, or with one for all (a bias, the
// mean of a normalisation): kernels add it before elements leave the registers, and it rounds as the program
// has it. Used by kernels of products and convolutions; what follows it is theirs to do.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include <optional>

namespace cupel::compiler {

class ColumnBias {
public:
  /// Of a body whose arguments behind the first are `views`: its first step, if that is such a sum.
  static std::optional<ColumnBias> find(mlir::Block &body, llvm::ArrayRef<codegen::View> views);

  /// The value in the body that it makes.
  mlir::Value result() const { return made; }
  /// Which of the views holds the numbers; -1: none, it is one number.
  int extra() const { return view; }

  /// The addends of so many columns: `extra`, the memory of the view, or what they become in `room`.
  const float *addends(const float *extra, int64_t columns, float *room) const;

private:
  mlir::Value made;
  int view = -1;
  float number = 0;
  bool isSubtracted = false;
};

} // namespace cupel::compiler
