// What of a program makes more of a rounding than a rounding: floats that decide, and float types that
// are narrower than f32. Asked by those who measure noise before they look longer; says nothing of how
// much.

#pragma once

#include <mlir/IR/Operation.h>

#include <optional>
#include <string_view>

namespace cupel::reference {

/// Whether a comparison, an order, a step or a whole number is made of floats anywhere: then a last
/// bit may decide what becomes of a whole element. So may the order of updates that meet in a scatter.
bool floatsDecide(mlir::Operation *program);

/// `bf16` or `f16`, whichever of them is coarser; nothing where the program has neither.
std::optional<std::string_view> narrowFloat(mlir::Operation *program);

} // namespace cupel::reference
