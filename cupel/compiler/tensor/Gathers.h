// Forms of gathers that several passes know.

#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include <optional>

namespace cupel::tir {

inline mlir::RankedTensorType shapedType(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

/// The dimension of the operand that single elements are taken of, by a list of places, with all others whole and in their order; none otherwise.
std::optional<int64_t> takenDimension(stablehlo::GatherOp op);

/// The dimension of index vectors that a part of them counts along from 0 to the end, if that is all it does. `batch`: the sizes of all vectors.
std::optional<int64_t> countedDimension(mlir::Value part, llvm::ArrayRef<int64_t> batch);

} // namespace cupel::tir
