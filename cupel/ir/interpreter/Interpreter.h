// The interpreter dialect: running a grid of programs, and probes and prints of values. Tests of
// collectives are written with it and the reference runs it. It never occurs in a program that is
// compiled for a device.
#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "cupel/ir/interpreter/InterpreterDialect.h.inc"

#define GET_OP_CLASSES
#include "cupel/ir/interpreter/InterpreterOps.h.inc"
