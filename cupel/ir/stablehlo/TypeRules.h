// Rules about types that the stablehlo dialect is built on: which element types are quantized, when
// two types are compatible, what bounds a tensor has. Used by the generated op constraints, by the
// verifiers and by type inference. Must never emit diagnostics: callers know what to say.

#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeRange.h"

#include <optional>

namespace cupel::stablehlo {

/// One of the element types that MLIR 19 has no builtin type for: f4E2M1FN, f6E2M3FN, f6E3M2FN,
/// f8E3M4, f8E8M0FNU. They are no mlir::FloatType, and DenseElementsAttr does not hold them.
bool isRareFloat(mlir::Type type);
/// "f8E3M4"; the type of such a name, null if it is none of these.
llvm::StringRef rareFloatName(mlir::Type type);
mlir::Type rareFloatType(mlir::MLIRContext *context, llvm::StringRef name);
/// A float, whether MLIR 19 has it or not.
bool isFloat(mlir::Type type);

/// Per-tensor (per-axis) uniform quantized with storage of 2, 4, 8, 16 or 32 bits.
bool isQuantizedPerTensor(mlir::Type type);
bool isQuantizedPerAxis(mlir::Type type);
/// Either of the two.
bool isQuantized(mlir::Type type);
/// The dimension along which a tensor is quantized exists and has one slice per scale; true for
/// tensors that are not quantized per axis.
bool hasValidQuantizedDimension(mlir::Type tensor);

bool isScalarI32(mlir::Type type);
bool isScalarUI32(mlir::Type type);

/// A rank-1 tensor of index: how custom_call spells layouts.
bool isLayout(mlir::Attribute attr);

/// The upper bounds of the dimensions of `type`, one per dimension with kDynamic for "none"; empty
/// if the type carries no bounds.
llvm::ArrayRef<int64_t> getBounds(mlir::Type type);

/// `type` with bounds (all kDynamic or empty: no encoding).
mlir::RankedTensorType getTensorType(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                                     llvm::ArrayRef<int64_t> bounds = {});

/// No dynamic dimension, or exactly one and that one bounded.
bool isStaticOrSingleBounded(mlir::Type type);

/// Sizes that may be the same at run time: equal, or one of them unknown and the other within its
/// bound (kDynamic for "no bound").
bool areCompatibleSizes(int64_t a, int64_t boundA, int64_t b, int64_t boundB);

/// Compatible shapes and bounds; element types are not looked at.
bool areCompatibleShapes(mlir::Type a, mlir::Type b);

/// Equal, or quantized with the same storage, expressed type and granularity: scales and zero
/// points may differ.
bool areCompatibleElementTypes(mlir::Type a, mlir::Type b);

/// Compatible tensors, or equal types of any other kind.
bool areCompatible(mlir::Type a, mlir::Type b);
bool areCompatible(mlir::TypeRange a, mlir::TypeRange b);

/// The element type of complex, quantized (expressed) and plain types that arithmetic happens in.
mlir::Type getRealElementType(mlir::Type elementType);

/// Bits of one element (complex: both parts; quantized: storage), 0 for types without a width.
unsigned getElementBits(mlir::Type elementType);

/// The elements of a tensor, and the bytes it takes; 0 where the type does not say.
int64_t elementsOf(mlir::Type type);
int64_t bytesOf(mlir::Type type);

/// The most specific type that all of `types` are compatible with (sizes known in any of them,
/// tightest bounds); none if two of them are incompatible. `types` must not be empty.
std::optional<mlir::Type> mostSpecific(mlir::TypeRange types);

} // namespace cupel::stablehlo
