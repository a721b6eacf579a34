// Between vhlo and MLIR's builtin types and constants, as far as neither stablehlo nor another
// dialect is involved. Text and bytecode of vhlo use it, and so do the conversions to and from
// stablehlo.
#pragma once

#include "cupel/ir/vhlo/Vhlo.h"

namespace cupel::vhlo {

/// The scalar type of a builtin element type (i8, ui4, f32, index, ...); null if there is none.
ScalarV1Type scalarFromBuiltin(mlir::Type type);

/// The builtin type of a scalar type; null if this MLIR has none (token; f8E3M4, f4E2M1FN and the
/// others, for which stablehlo has types).
mlir::Type scalarToBuiltin(ScalarV1Type type);

/// The number semantics of a floating-point scalar; null if this MLIR has none.
const llvm::fltSemantics *semanticsOf(ScalarV1Type type);

/// Dense elements in their portable form and back. The way back is null if the element type does
/// not exist in this MLIR or the data does not fit the type.
TensorV1Attr tensorFromElements(mlir::DenseElementsAttr elements);
mlir::DenseElementsAttr tensorToElements(TensorV1Attr tensor);

/// Whether the bytes of a tensor fit its type (all elements, or one for a splat).
bool isWellFormed(TensorV1Attr tensor);

/// An integer or boolean in its portable form; null if the integer's type has none.
mlir::Attribute integerFromBuiltin(mlir::IntegerAttr attr);

} // namespace cupel::vhlo
