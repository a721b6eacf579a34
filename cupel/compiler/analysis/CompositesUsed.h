// Which composites a program holds, and which of them nobody knows by name (ir/stablehlo/Composites.def): those
// are computed by their decompositions, put in line. Said in notes and reports, so that a name with a typing error does not go
// unnoticed; changes nothing.

#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <vector>

namespace cupel::compiler {

struct CompositeUse {
  std::string name;
  int64_t count = 0;
  bool isKnown = false;
};

/// By name.
std::vector<CompositeUse> compositesIn(mlir::ModuleOp module);

/// "2 my.swish (unknown, inlined), 1 tenstorrent.gelu"; empty if there are none.
std::string describeComposites(llvm::ArrayRef<CompositeUse> uses);

} // namespace cupel::compiler
