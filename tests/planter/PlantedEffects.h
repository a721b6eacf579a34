// What the planter of operations makes of an operation that its rule holds of: results that are
// scaled, turned round, forgotten in part, and so on. Used by OperationPlanter.cpp alone; every change
// leaves a program that compiles.
#pragma once

#include <mlir/IR/Operation.h>
#include <string>

namespace cupel::planter {

/// Whether there is an effect of this name.
bool isPlanted(const std::string &effect);
/// Changes what others read of this result of the operation; nothing where no effect is called so.
void plantEffect(const std::string &effect, mlir::Operation *op, unsigned result);

/// True once in so many times, by chance.
bool isOneIn(unsigned number);

} // namespace cupel::planter
