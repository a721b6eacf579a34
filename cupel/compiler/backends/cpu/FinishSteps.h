// The beginning of an epilogue that kernels of products and convolutions do before elements leave the registers: a sum with a number for each
// column, and what a Finish has room for (factors and a sum of a normalisation, a residual, limits or a gate). Numbers for each column are joined to
// one multiply-add where that differs by rounding alone, as a gate's are, which is multiplied by the reciprocal of what it is divided by;
// each other step rounds as the program has it.
// Used by those kernels; what follows is theirs to do.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/kernels/Epilogue.h"
#include "cupel/kernels/Scratch.h"

#include <optional>
#include <span>

namespace cupel::compiler {

class FinishSteps {
public:
  /// Of a body whose arguments behind the first are `views`, which are the launch's `inputs`; nothing where its first step is none.
  static std::optional<FinishSteps> find(mlir::Block &body, llvm::ArrayRef<codegen::View> views,
                                         llvm::ArrayRef<int> inputs, int64_t width);

  /// The value in the body that the last of them makes.
  mlir::Value result() const { return made; }
  bool uses(int input) const;
  /// Whether it adds the elements of this input, each to the one at its place.
  bool addsRowsOf(int input) const { return rows == input; }

  /// Into an epilogue of one call, which holds as long as `finish` and the frame do.
  void fill(kernels::Epilogue &epilogue, kernels::Finish &finish, std::span<const std::byte *const> reads,
            kernels::ScratchFrame &frame) const;

private:
  /// A number for each column, or one for all.
  struct Columns {
    int input = -1; // Of the launch; -1: it is `number`.
    float number = 0;
    bool isSubtracted = false;
  };

  bool take(mlir::Operation &step, mlir::Value element, llvm::ArrayRef<codegen::View> views, llvm::ArrayRef<int> inputs);
  bool takeLimit(mlir::Operation &step, mlir::Value other);
  bool takeGate(mlir::Value element);
  bool join(kernels::Finish &finish, std::span<const std::byte *const> reads, kernels::ScratchFrame &frame) const;
  const float *numbers(const Columns &columns, std::span<const std::byte *const> reads, kernels::ScratchFrame &frame) const;

  mlir::Value made;
  int64_t width = 0; // Columns of the result.
  std::optional<Columns> bias, factors[2], addends;
  int rows = -1; // The input that is added row by row, or none.
  int64_t rowStride = 0;
  bool areRowsNarrow = false; // They are bf16.
  std::optional<float> low, high;
  struct Gate {
    float scale = 1, shift = 0, low = 0, high = 0, factor = 1;
  };
  std::optional<Gate> gate; // Instead of limits.
};

} // namespace cupel::compiler
