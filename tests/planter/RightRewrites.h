// Programs rewritten as devices that are right compute them: sums from the other end, quotients as
// products with the reciprocal, products and sums in one rounding, every number rounded to a narrower
// format. Used by the operation planter, for check_right.py. What comes out must be right by the
// precision that the device declares.

#pragma once

#include <mlir/IR/BuiltinOps.h>

#include <string_view>

namespace cupel::planter {

/// Rewrites all of the program as `way` says (`reassociated`, `fast`, `fused`, `in_bf16`,
/// `products_in_tf32`, `products_in_bf16`); false where there is no such way.
bool rewriteRightly(mlir::ModuleOp module, std::string_view way);

} // namespace cupel::planter
