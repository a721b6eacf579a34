// Custom calls whose authors split them themselves (JAX's custom_partitioning) become manual
// computations of what the author says that each device runs. Done before anything else looks at
// the program, once it is known how sharding propagation would have their operands and results.

#pragma once

#include "cupel/compiler/analysis/Propagate.h"

namespace cupel::compiler {

/// Whether there was any such call. An error where an author fails, or answers with what does not
/// fit the program.
Result<bool> partitionCalls(mlir::ModuleOp module, mlir::func::FuncOp entry, int64_t partitions,
                            const RunsOutside &outside);

} // namespace cupel::compiler
