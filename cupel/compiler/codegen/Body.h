// Bodies of kernels: blocks of StableHLO operations on elements (maps) or on rows and scalars
// (rows). Checked before code is made, described so that equal bodies have equal texts, and emitted
// operation by operation.

#pragma once

#include "cupel/compiler/codegen/BodyOps.h"
#include "cupel/compiler/codegen/Elementwise.h"
#include "cupel/compiler/codegen/Kernels.h"

#include "mlir/IR/Block.h"

#include "llvm/ADT/DenseMap.h"

namespace cupel::codegen {

struct Values : llvm::DenseMap<mlir::Value, V> {
  llvm::DenseSet<mlir::Value> gates; ///< What is here as `emitGate` makes it.
};

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

/// Emits an operation that is no reduction. A logistic function that only scales what follows may become a gate where it `changes` as
/// often as what it scales and nobody but the same code reads it.
void emitOperation(Emitter &e, const BodyOps &body, mlir::Operation *op, Values &values, bool changes);

//===--- combiners ---===//

bool isDefinedOn(Combiner combiner, DType type);
/// Combines two vectors (in the compute type) of elements of `type`. f16 and bf16 are not rounded:
/// partial results have the digits of f32.
V emitCombine(Emitter &e, Combiner combiner, DType type, V a, V b);
/// Lanes that change nothing.
V neutralOf(Emitter &e, Combiner combiner, DType type);

/// A reduction along vectors uses so many accumulators in turn, so that no addition waits for the
/// one before. The order depends on the number of vectors alone.
constexpr unsigned kAccumulators = 4;
/// Bodies that cost at most this much (costOf) are written once for each accumulator.
constexpr int kCheapBody = 8;
/// What a reduction carries from vector to vector, before the first: the accumulators, and where extremes
/// leave NaN out, which lanes met one.
SmallVector<V> startOf(Emitter &e, Combiner combiner, DType type);
/// Takes more vectors into the accumulators, one after another.
void accumulate(Emitter &e, Combiner combiner, DType type, MutableArrayRef<V> accumulators,
                ArrayRef<V> values);
/// All lanes of all accumulators combined in a fixed tree; the result is in every lane.
V combineAll(Emitter &e, Combiner combiner, DType type, ArrayRef<V> accumulators);

} // namespace cupel::codegen
