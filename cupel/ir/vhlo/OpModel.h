// The one model of all vhlo operations: attributes as properties, verification, text and bytecode,
// driven by an operation's table entry. Only the dialect registers operations with it.
#pragma once

#include "cupel/ir/vhlo/Vhlo.h"

namespace cupel::vhlo {

void registerOp(VhloDialect &dialect, mlir::TypeID typeId, const OpInfo &info);

/// The custom text of vhlo.func_v1 (FuncText.cpp); all other operations have only the generic form.
mlir::ParseResult parseFunc(mlir::OpAsmParser &parser, mlir::OperationState &state);
void printFunc(mlir::Operation *op, mlir::OpAsmPrinter &printer);

} // namespace cupel::vhlo
