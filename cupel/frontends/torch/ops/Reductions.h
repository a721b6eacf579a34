// Reductions and scans as functions on values, beyond those every family may use. Used under ops/
// only.
#pragma once

#include "cupel/frontends/math/Order.h"
#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

/// The p-norm over dims; p may be infinite, 0 counts what is not zero.
mlir::Value vectorNorm(HloBuilder &b, mlir::Value x, double p, llvm::ArrayRef<int64_t> dims,
                       bool keepDims);
/// log(sum(exp(x))) without overflow.
mlir::Value logSumExp(HloBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keepDims);
/// "mean" 1, "sum" 2, "none" 0, as torch numbers the reductions of losses.
mlir::Value reduceLoss(HloBuilder &b, mlir::Value loss, int64_t reduction);
/// What reduced dims of a shape leave.
Dims reducedShape(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims, bool keepDims);

} // namespace cupel::frontends::torch_import
