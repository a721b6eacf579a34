// The encoding of vhlo types and attributes in MLIR bytecode.
#pragma once

namespace cupel::vhlo {
class VhloDialect;

/// Gives the dialect its bytecode interface.
void addBytecodeInterface(VhloDialect &dialect);

} // namespace cupel::vhlo
