// MLIR 19's bytecode reader does not know locations that span a range (builtin attribute code 22),
// which every program exported by JAX 0.10 carries. This gives the encoding of such an entry as a
// point (code 11), which is what the range begins with. Rewrite.h puts it in place.
#pragma once

#include "cupel/ir/bytecode/Tables.h"

#include <optional>

namespace cupel::bytecode {

/// The encoding of a range location as a point; nothing for any other attribute. The entry must
/// have passed the guard.
std::optional<std::vector<uint8_t>> pointLocation(Bytes file, const Tables &tables,
                                                  const Entry &attribute);

/// Appends `value` as MLIR's prefix varint.
void appendVarint(std::vector<uint8_t> &out, uint64_t value);

} // namespace cupel::bytecode
