// Rearrangements as functions on values, shared by views, gathers, scatters and reductions of
// PyTorch operators. Used under ops/ only; operands must fit, as everywhere below the lowerings.
#pragma once

#include "cupel/frontends/torch/ops/Lowering.h"

namespace cupel::frontends::torch_import {

/// The permutation that moves `dim` to the last place.
Dims moveToLast(int64_t dim, int64_t rank);
/// The inverse of a permutation.
Dims inverseOf(llvm::ArrayRef<int64_t> permutation);
/// Elements i, i + offset of dimensions dim1 and dim2, as a last dimension.
mlir::Value diagonalOf(HloBuilder &b, mlir::Value x, int64_t offset, int64_t dim1, int64_t dim2);
/// True where column - row is at least `offset`, over the last two dimensions of a shape.
mlir::Value atOrAbove(HloBuilder &b, llvm::ArrayRef<int64_t> shape, int64_t offset);
/// A result without elements is given at once.
bool emptyResult(Node &n, size_t i = 0);
/// Whether the declared result has this rank; if not, a complaint.
bool hasResultRank(Node &n, int64_t rank);
/// The numbers of a tensor that is known at import.
std::optional<Dims> knownIntegers(Node &n, llvm::StringRef argument);
/// As one dimension.
mlir::Value flatten(HloBuilder &b, mlir::Value x);
/// slice's start and end: negative ones count from the end, all are moved inside.
std::pair<int64_t, int64_t> sliceBounds(Node &n, int64_t size);
/// Where the elements of as_strided's result stand in the flat row-major self; empty, with a
/// complaint, if some stand nowhere.
std::optional<llvm::SmallVector<int64_t>> stridedPlaces(Node &n);

} // namespace cupel::frontends::torch_import
