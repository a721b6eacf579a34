// All 118 operations. From these definitions come the C++ classes, the op table of the portable
// format (cupel/ir/vhlo) and docs/reference/ops.md.

include "cupel/ir/stablehlo/StablehloAttrs.td"
include "mlir/IR/SymbolInterfaces.td"

include "cupel/ir/stablehlo/ElementwiseOps.td"
include "cupel/ir/stablehlo/DataMovementOps.td"
include "cupel/ir/stablehlo/ReductionAndMatrixOps.td"
include "cupel/ir/stablehlo/ControlAndCommunicationOps.td"
