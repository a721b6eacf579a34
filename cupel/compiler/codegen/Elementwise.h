// StableHLO's elementwise operations as vector code: one table from an operation's name to what it
// is on floats, integers and booleans. The semantics are the specification's (and the reference's):
// integers wrap, nothing traps, NaN and signed zeros are kept. Bodies (Body.h) are made of these.

#pragma once

#include "cupel/compiler/codegen/Emitter.h"
#include "cupel/support/Error.h"

#include "mlir/IR/Operation.h"

namespace cupel::codegen {

/// Of a tensor's elements, if code is made for it: i1, the integers of 8 bits and more, f16, bf16,
/// f32 and f64.
std::optional<DType> elementTypeOf(mlir::Type type);

/// An operation of the table on element types that code is made for; else why not.
Status checkElementwise(mlir::Operation *op);

/// A vector of the result from vectors of the operands. The operation has been checked.
V emitElementwise(Emitter &e, mlir::Operation *op, ArrayRef<V> operands);

/// A number of about what a vector of it costs, an addition being 1.
int costOf(mlir::Operation *op);

//===--- the parts of the table ---===//

struct ElementCase {
  mlir::Operation *op;
  DType operand, result; ///< Of the last operand; of the result.
};
using ElementRule = V (*)(Emitter &, const ElementCase &, ArrayRef<V>);

/// ElementwiseInteger.cpp: null if the operation is not defined on integers.
ElementRule integerRule(llvm::StringRef name);
ElementRule booleanRule(llvm::StringRef name);
/// ElementwiseConvert.cpp.
/// `operand` is what `value` is of, if there is one: conversions of what is bounded are shorter.
V emitConvert(Emitter &e, DType from, DType to, V value, mlir::Value operand = {});
V emitReducePrecision(Emitter &e, V value, int exponentBits, int mantissaBits);

} // namespace cupel::codegen
