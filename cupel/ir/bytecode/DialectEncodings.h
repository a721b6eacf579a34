// How the dialects that Cupel reads encode their attributes and types in bytecode, as one small
// pattern a code. The guard follows these patterns to find references between entries (a cycle or a
// long chain would overflow MLIR's stack) and counts that no data backs. What the values mean is
// checked by each dialect's own reader.
#pragma once

#include <cstdint>
#include <string_view>

namespace cupel::bytecode {

/// A pattern is read left to right, a character a field:
///   a attribute   o optional attribute   t type   s string   v varint   z signed varint   b byte
///   S shape (a list of signed varints with no negative dimension but the dynamic one)   d data (a
///   length and bytes) c byte flag, and an attribute if it is not zero   C the same with a varint
///   flag
///   [..] list of what is inside   * all that is left
/// Returns null where the dialect or the code is unknown: such entries are opaque.
const char *attributePattern(std::string_view dialect, uint64_t code);
const char *typePattern(std::string_view dialect, uint64_t code);

} // namespace cupel::bytecode
