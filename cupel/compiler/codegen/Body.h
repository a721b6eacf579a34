// Bodies of kernels: blocks of StableHLO operations on elements (maps) or on rows and scalars
// (rows). Checked before code is made, described so that equal bodies have equal texts, and emitted
// operation by operation.

#pragma once

#include "cupel/compiler/codegen/Elementwise.h"
#include "cupel/compiler/codegen/Kernels.h"

#include "mlir/IR/Block.h"

#include "llvm/ADT/DenseMap.h"

namespace cupel::codegen {

using Values = llvm::DenseMap<mlir::Value, V>;

/// Constants of one element value; operations that hand their operand on (broadcasts of a scalar).
bool isSplatConstant(mlir::Operation *op);
bool isIdentity(mlir::Operation *op);
std::optional<Combiner> combinerOf(mlir::Region &region);

/// Operations on 0-d tensors, with arguments and results of the views' types.
Status checkMapBody(mlir::Block &body, ArrayRef<View> inputs, ArrayRef<View> outputs);
/// Operations on rows of `length` and on scalars; reductions of rows.
Status checkRowBody(mlir::Block &body, int64_t length, ArrayRef<View> inputs,
                    ArrayRef<View> outputs);

/// One text for bodies that mean the same, whatever their values are called.
std::string describe(mlir::Block &body);

/// Emits an operation that is no reduction.
void emitOperation(Emitter &e, mlir::Operation *op, Values &values);

/// Operations of a map's body in their order; `only` says which.
void emitBody(Emitter &e, mlir::Block &body, Values &values,
              llvm::function_ref<bool(mlir::Operation *)> only);

/// Combines two vectors (in the compute type) of elements of `type`.
V emitCombine(Emitter &e, Combiner combiner, DType type, V a, V b);
/// What changes nothing: stored bits are not meant here but lanes of the compute type.
V neutralOf(Emitter &e, Combiner combiner, DType type);
bool isDefinedOn(Combiner combiner, DType type);

} // namespace cupel::codegen
