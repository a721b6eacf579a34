// The chlo dialect: operations that frameworks write and stablehlo does not have (special
// functions, implicit broadcasting, top_k, ragged_dot, scan). Readers of programs and the pass
// lower-chlo use it. What an operation means is said by its decomposition in
// cupel/compiler/passes, never here.
#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "cupel/ir/chlo/ChloDialect.h.inc"
#include "cupel/ir/chlo/ChloEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "cupel/ir/chlo/ChloAttrs.h.inc"

namespace cupel::chlo {

/// Checks operand and result types of an operation whose operands broadcast against each other.
mlir::LogicalResult verifyBroadcastingElementwise(mlir::Operation *op);

/// Marks such an operation.
template <typename ConcreteOp>
class BroadcastingElementwise
    : public mlir::OpTrait::TraitBase<ConcreteOp, BroadcastingElementwise> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyBroadcastingElementwise(op);
  }
};

} // namespace cupel::chlo

#define GET_OP_CLASSES
#include "cupel/ir/chlo/ChloOps.h.inc"
