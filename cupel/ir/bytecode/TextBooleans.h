// MLIR 19 keeps i1 constants eight to a byte, also in hexadecimal literals; newer MLIR and JAX print
// one byte for each element, `dense<"0x000100..."> : tensor<100x100xi1>`, which MLIR 19 refuses. This
// packs such literals and touches nothing else. Used by Prepare.h alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::bytecode {

/// The text with packed i1 literals, or nothing where none has to be. Lines stay where they are.
std::optional<std::string> packBooleanLiterals(std::string_view text);

} // namespace cupel::bytecode
