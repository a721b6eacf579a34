// The sides of products and convolutions of integers as they lie: what widens numbers of 8 bits in front and takes a zero
// point from them is the kernels' own work. Shared by the passes that form products and convolutions.

#pragma once

#include "mlir/IR/Builders.h"

#include <array>
#include <optional>

namespace cupel::tir {

/// Integers of 8 bits, each less a number that is one of them.
struct IntegerSide {
  mlir::Value value;
  int64_t zero = 0;
};

/// What a value of 32 bits (or of 8) is made of so; moves in between are made again in front, by `builder`.
std::optional<IntegerSide> integerSide(mlir::OpBuilder &builder, mlir::Value value);

/// Of an operation with 32-bit sums, or nothing where a side is something else.
std::optional<std::array<IntegerSide, 2>> integerSides(mlir::OpBuilder &builder, mlir::Operation *op);

/// The attribute of what is formed of them; null where both are zero.
mlir::DenseI64ArrayAttr zerosOf(mlir::OpBuilder &builder, const std::array<IntegerSide, 2> &sides);

} // namespace cupel::tir
