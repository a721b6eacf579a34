// Products of tensors written as an equation over labels (Einstein's sums), shared by importers.
#pragma once

#include "cupel/frontends/HloBuilder.h"
#include "cupel/support/Error.h"

namespace cupel::frontends {

/// `ij,jk->ik` and its like: letters, ellipses, repeated labels, sizes of 1 that broadcast, an
/// implicit right side. Operands are of one element type. An error says what does not fit.
Result<mlir::Value> einsum(HloBuilder &b, llvm::StringRef equation,
                           llvm::ArrayRef<mlir::Value> operands);

} // namespace cupel::frontends
