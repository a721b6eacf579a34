// Walks the IR section of a bytecode file as MLIR's reader does, without building anything:
// operation names, locations, attributes, properties, types, operands (also ones defined later),
// successors, use-list orders, regions and blocks. Only the guard uses it, after the tables and
// entries are known to be sound.
#pragma once

#include "cupel/ir/bytecode/Entries.h"

namespace cupel::bytecode {

bool checkIr(Bytes file, const Container &container, const Tables &tables, const Entries &entries,
             const Limits &limits, Problem &problem);

} // namespace cupel::bytecode
