// The check dialect: assertions that a program makes about its own results. Tests are written with
// it and the reference judges by it. The ops only say what must hold; how values are compared is
// the business of whoever runs the program.
#pragma once

#include "cupel/ir/stablehlo/TypeRules.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include "cupel/ir/check/CheckDialect.h.inc"

#define GET_OP_CLASSES
#include "cupel/ir/check/CheckOps.h.inc"
