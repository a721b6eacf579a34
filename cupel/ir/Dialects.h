// Every dialect a program may be written in. Whoever opens a program starts from this registry.

#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace cupel::ir {

/// builtin, func, quant and our own dialects; nothing is loaded until a program uses it.
void registerAllDialects(mlir::DialectRegistry &registry);

} // namespace cupel::ir
