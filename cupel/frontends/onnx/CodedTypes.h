// Element types that StableHLO has no name for (in MLIR 19): float4e2m1, float8e8m0 and the two
// float6. Tensors of them hold their bits in unsigned integers; casts and quantisation decode and
// encode them, operators that only move elements pass them on, others refuse them. Used by the
// importer and by the lowerings of Cast and of quantisation.
#pragma once

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends::onnx_import {

/// Whether tensors of ONNX's element type `number` hold bits.
bool isCoded(int64_t number);
/// Whether an operator of the standard passes the bits of its first operand on unchanged.
bool movesElements(llvm::StringRef op);
/// Whether an operator of the standard decodes what it takes.
bool takesCoded(llvm::StringRef op);

/// The values that bits stand for, as f32.
mlir::Value decode(HloBuilder &b, mlir::Value bits, int64_t number);
/// The bits of the nearest values; `rounding` (up, down, nearest) and `saturate` are for
/// float8e8m0.
mlir::Value encode(HloBuilder &b, mlir::Value x, int64_t number, bool saturate,
                   llvm::StringRef rounding);

} // namespace cupel::frontends::onnx_import
