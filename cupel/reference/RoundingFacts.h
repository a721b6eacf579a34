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
/// Whether updates of a scatter may meet: nobody says that they do not.
bool updatesMayMeet(mlir::Operation *program);

/// Whether what an elementwise operation gives is rounded; changing a sign is not.
bool rounds(mlir::Operation &op);
/// Of an operation that combines elements by a region: whether anything in there rounds.
bool combinesByRounding(mlir::Operation &op);
/// How many terms an element of a sum or of a product of matrices has; 1 where it is none, or where
/// sizes are not known.
int64_t termsOf(mlir::Operation &op);

/// Whether it is a sum that drifts farther off than any device's if it is added one by one in the type
/// itself: of bf16 or f16 with more terms than the type tells apart (it stands still after that many),
/// or a reduction of f32 so long that equal terms are off by more than noise. The reference sums such ones
/// in a wider type, whatever it is told.
bool stagnates(mlir::Operation &op);

/// `bf16` or `f16`, whichever of them is coarser; nothing where the program has neither.
std::optional<std::string_view> narrowFloat(mlir::Operation *program);

} // namespace cupel::reference
