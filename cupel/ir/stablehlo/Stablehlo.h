// The stablehlo dialect: the one form in which Cupel holds programs. Include this to build, match
// or read its ops; text and semantics follow the OpenXLA specification exactly.

#pragma once

#include "cupel/ir/stablehlo/OpFacts.h"
#include "cupel/ir/stablehlo/Traits.h"
#include "cupel/ir/stablehlo/TypeRules.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Quant/QuantOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "cupel/ir/stablehlo/StablehloDialect.h.inc"
#include "cupel/ir/stablehlo/StablehloEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "cupel/ir/stablehlo/StablehloTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "cupel/ir/stablehlo/StablehloAttrs.h.inc"

#define GET_OP_CLASSES
#include "cupel/ir/stablehlo/StablehloOps.h.inc"
