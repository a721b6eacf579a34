// How programs become text for others: files, hosts, plugins, people. What MLIR 19 prints of its own
// differs from what every MLIR reads only where a program holds element types that MLIR 19 lacks.
#pragma once

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace cupel::ir {

/// An element type that MLIR 19 lacks and that a program has values of; empty if there is none.
llvm::StringRef rareFloatIn(mlir::ModuleOp module);

/// The program's text, without a line feed at its end.
void printProgram(mlir::ModuleOp module, llvm::raw_ostream &os,
                  const mlir::OpPrintingFlags &flags = mlir::OpPrintingFlags(),
                  mlir::FallbackAsmResourceMap *resources = nullptr);

} // namespace cupel::ir
