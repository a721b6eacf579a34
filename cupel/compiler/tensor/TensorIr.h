// Tensor IR, the first form of a program that is the compiler's own: maps, rows, reductions,
// products and convolutions on tensors, each with a body of StableHLO. Made by the passes beside
// this file, lowered to device IR, and written out as StableHLO by `expandTensorIr` so that the
// golden reference can evaluate it. No operation here may have another meaning than its expansion.

#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "cupel/compiler/tensor/TensorDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cupel/compiler/tensor/TensorAttrs.h.inc"

#define GET_OP_CLASSES
#include "cupel/compiler/tensor/TensorOps.h.inc"

namespace cupel::tir {

/// Of a module: how many operations fold-constants had the golden reference compute.
inline constexpr llvm::StringLiteral kFoldedAttr = "tir.folded";

/// The steps of a tensor of these sizes that lies row by row.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> sizes);

/// Whether it makes each element of its result of those at the same place: also bits of elements as other elements of as many bits.
bool isElementwise(mlir::Operation &op);

/// Whether a row's body may hold the operation; otherwise why not.
std::optional<std::string> whyNotInRow(mlir::Operation &op, int64_t length);

/// The one operation that a reduction's region applies to its two arguments, if it is of a kind
/// that reductions here know (add, multiply, maximum, minimum, and, or); null otherwise.
mlir::Operation *simpleCombiner(mlir::Region &region);

/// The operation that is to be computed: what an on_reference holds, else the operation itself.
mlir::Operation &computedBy(mlir::Operation &op);

/// Replaces the operation by StableHLO that computes the same.
mlir::LogicalResult expand(mlir::Operation *op);
/// The value as a tensor of this type, whose elements lie in memory as its own do: another shape, complex numbers as
/// pairs or back, bits in elements of another width.
mlir::Value asOtherElements(mlir::OpBuilder &builder, mlir::Location location, mlir::RankedTensorType type, mlir::Value value);
/// Loops and branches: functions are put in line again, as they stand.
mlir::LogicalResult expandControlFlow(mlir::Operation *op);
/// All of tensor IR in the module.
mlir::LogicalResult expandTensorIr(mlir::ModuleOp module);

} // namespace cupel::tir
