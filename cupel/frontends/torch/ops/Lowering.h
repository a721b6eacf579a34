// Computations that several families of operators share, as plain functions on values. A lowering
// that needs another operator calls its function here, not its table entry: an entry speaks of one
// call in a program, a function of values. Included by ops/*.cpp only; each function is defined in
// the family it belongs to.
#pragma once

#include "cupel/frontends/math/Shapes.h"
#include "cupel/frontends/torch/OpTable.h"

namespace cupel::frontends::torch_import {

// Casts.cpp
/// As Tensor.to(dtype): floats to integers cut toward zero, anything to bool asks whether it is not
/// zero, complex to real drops the imaginary part.
mlir::Value cast(HloBuilder &b, mlir::Value x, mlir::Type element);

// Reductions.cpp
mlir::Value sum(HloBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> dims, bool keepDims);
/// Over `dims`, with Bessel-like correction, as torch.var.
mlir::Value variance(HloBuilder &b, mlir::Value x, llvm::ArrayRef<int64_t> dims, double correction,
                     bool keepDims);

// Products.cpp
/// torch.matmul, vectors and broadcast batches included.
mlir::Value matmul(HloBuilder &b, mlir::Value x, mlir::Value y);

} // namespace cupel::frontends::torch_import
