// The passes of the compiler, as declared in Passes.td. Tools that take pass names on the command
// line call registerPasses once; code that builds pipelines uses the create functions.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <memory>
#include <string>

namespace cupel::compiler {

#define GEN_PASS_DECL
#include "cupel/compiler/passes/Passes.h.inc"

/// Makes all passes and pipelines known by their names.
void registerPasses();

} // namespace cupel::compiler
