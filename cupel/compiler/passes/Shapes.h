// Shapes as values: sizes read at run time and put together again, in stablehlo itself. Used by
// the decompositions of chlo where a dimension is dynamic.
#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Builders.h"

namespace cupel::compiler {

/// Size of a dimension as tensor<i32>; a constant if it is static.
mlir::Value getSize(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                    int64_t dimension);

/// Scalars (tensor<i32>) as one tensor<Nxi32>.
mlir::Value packSizes(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<mlir::Value> sizes);

/// All sizes of a value as tensor<Nxi32>.
mlir::Value getShape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value);

/// An i32 constant: tensor<i32>, or tensor<Nxi32>.
mlir::Value makeSize(mlir::OpBuilder &builder, mlir::Location loc, int32_t size);
mlir::Value makeSizes(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<int32_t> sizes);

/// `value` broadcast to `type`, its dimensions going to `dimensions`. `shape` (tensor<Nxi32>) is
/// needed if `type` is dynamic.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        mlir::RankedTensorType type, llvm::ArrayRef<int64_t> dimensions,
                        mlir::Value shape = {});

/// `value` reshaped to `type`; `shape` as above.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      mlir::RankedTensorType type, mlir::Value shape = {});

} // namespace cupel::compiler
