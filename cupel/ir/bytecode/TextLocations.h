// MLIR 19 does not parse locations that span a range, `loc("f.py":2:21 to :30)`, which newer MLIR
// and JAX print. This turns each into the point where it begins, `loc("f.py":2:21)`, and touches
// nothing else; strings and comments are left alone. Used by Prepare.h alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::bytecode {

/// The text with points for ranges, or nothing where it has no range. Lines stay where they are.
std::optional<std::string> pointLocations(std::string_view text);

} // namespace cupel::bytecode
