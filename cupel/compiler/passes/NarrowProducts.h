// Products and convolutions of f32 with operands in bf16, for the option precision=bf16. The pass narrow-products
// wraps it; `cupel compile --report` counts with it.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace cupel::compiler {

/// On what narrowProducts has changed: it is left alone from then on.
inline constexpr llvm::StringLiteral kNarrowedAttr = "cupel.narrowed";
/// On the module: how many it has changed.
inline constexpr llvm::StringLiteral kNarrowedCountAttr = "cupel.narrowed_products";

/// Whether somebody asked for more than the default precision of an operand.
bool asksForMore(mlir::Operation *product);

/// Rounds the operands of all products and convolutions of f32 that ask for no more than the default precision to
/// bf16; sums stay f32. A product without batches takes bf16; what has no kernels of bf16 takes the rounded numbers
/// as f32, in which each product of two is exact: the meaning is the same. How many there are, those of before too.
/// With `kept` all that read what is made for products and rounded read it so, but for what the program returns.
int64_t narrowProducts(mlir::ModuleOp module, bool kept = false);

/// What rounds the numbers that an operand of a narrowed product holds, and what they were before.
struct NarrowedNumbers {
  mlir::Value rounded, origin;
};
/// Seen through what moves them; null values where nothing rounds them.
NarrowedNumbers numbersOfNarrowed(mlir::Value operand);

/// As narrowProducts left it; 0 where it was not there.
int64_t narrowedProducts(mlir::ModuleOp module);

} // namespace cupel::compiler
