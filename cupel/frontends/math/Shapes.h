// Rearrangements that importers of every format need, on values. Operands fit: the lowering that
// calls has checked what users may get wrong.
#pragma once

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

/// Every dimension from `first` to `rank` - 1.
Dims dimsFrom(int64_t first, int64_t rank);
/// `x` of C elements as [C, 1, 1, ...], to meet channels at dimension 1 of a tensor of this rank.
mlir::Value perChannel(HloBuilder &b, mlir::Value x, int64_t rank);

/// A dimension moved to the end, and back.
mlir::Value moveLast(HloBuilder &b, mlir::Value x, int64_t dimension);
mlir::Value moveFromLast(HloBuilder &b, mlir::Value x, int64_t dimension);
/// The last two dimensions exchanged.
mlir::Value swapLast(HloBuilder &b, mlir::Value x);

/// Multiplies along one dimension with a matrix known now, given by rows of as many columns as the
/// dimension has elements; with its transpose if `transposed`.
mlir::Value applyMatrix(HloBuilder &b, mlir::Value x, int64_t dimension, int64_t rows,
                        int64_t columns, llvm::ArrayRef<double> matrix, bool transposed = false);

/// What lies beyond an edge: the rest mirrored at the last element, the last element, or the other
/// end.
enum class Edge { Reflect, Replicate, Circular };
/// Pads one dimension with its own elements; negative padding crops it. The dimension is not empty.
mlir::Value padWithEdge(HloBuilder &b, mlir::Value x, int64_t dimension, int64_t low, int64_t high,
                        Edge edge);

} // namespace cupel::frontends
