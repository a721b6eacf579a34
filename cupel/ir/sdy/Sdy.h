// The sdy (Shardy) dialect: meshes, shardings and the ops that carry them, as JAX writes them. Used
// by everything that reads or writes programs for several devices. It describes shardings and
// checks them; it must never propagate or partition.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "cupel/ir/sdy/SdyDialect.h.inc"

#include "cupel/ir/sdy/SdyEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cupel/ir/sdy/SdyAttrs.h.inc"

#define GET_OP_CLASSES
#include "cupel/ir/sdy/SdyOps.h.inc"
