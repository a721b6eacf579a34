// Writes a bytecode file anew with the entries replaced that MLIR 19 does not know: range locations
// become points, and float types that newer MLIR has codes for become their text form. Sizes in the
// offset section, section lengths and padding follow. Only for files that have passed the guard.
#pragma once

#include "cupel/ir/bytecode/Cursor.h"
#include "cupel/ir/bytecode/Limits.h"

#include <vector>

namespace cupel::bytecode {

/// The new file, or an empty vector with a problem.
std::vector<uint8_t> rewriteForMlir19(Bytes file, const Limits &limits, Problem &problem);

} // namespace cupel::bytecode
