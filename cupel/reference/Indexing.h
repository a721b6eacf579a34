// Kernels of the ops whose positions are values: dynamic_slice, dynamic_update_slice,
// real_dynamic_slice, gather, scatter, torch_index_select. The plan binds them to ops.
//
// Index values are hostile: starts are clamped where the specification clamps, updates out of
// bounds are skipped, and nothing is ever read or written outside of a tensor. Indices may be of
// any integer type; unsigned ones beyond int64 count as the largest int64. Operands may be views.

#pragma once

#include "cupel/reference/ElementFunction.h"

#include <vector>

namespace cupel::reference {

/// All values of an integer (or i1) tensor in row-major order: indices, and shapes given as
/// tensors. Another element type is an error.
Result<std::vector<int64_t>> readIntegers(const tensor::Tensor &values);
/// The values of scalar tensors, one each, as dynamic_slice has its start indices.
Result<std::vector<int64_t>> readScalars(std::span<const tensor::Tensor> scalars);

/// Starts are clamped so that the slice lies within the operand.
Result<tensor::Tensor> dynamicSlice(const tensor::Tensor &operand, std::span<const int64_t> starts,
                                    std::span<const int64_t> sizes);

/// Starts are clamped likewise. Moves of the operand's last owner are updated in place: pass
/// std::move(tensor) to avoid the copy.
Result<tensor::Tensor> dynamicUpdateSlice(tensor::Tensor operand, const tensor::Tensor &update,
                                          std::span<const int64_t> starts);

/// Bounds that do not fit the operand are an error (the specification leaves them undefined).
Result<tensor::Tensor> realDynamicSlice(const tensor::Tensor &operand, const tensor::Tensor &starts,
                                        const tensor::Tensor &limits,
                                        const tensor::Tensor &strides);

struct GatherNumbers {
  std::vector<int64_t> offsetDims, collapsedSliceDims, operandBatchingDims,
      startIndicesBatchingDims, startIndexMap;
  int64_t indexVectorDim = 0;
};

/// Also serves dynamic_gather, whose slice sizes are values: sizes beyond the operand are an error.
Result<tensor::Tensor> gather(const tensor::Tensor &operand, const tensor::Tensor &startIndices,
                              const GatherNumbers &numbers, std::span<const int64_t> sliceSizes);

struct ScatterNumbers {
  std::vector<int64_t> updateWindowDims, insertedWindowDims, inputBatchingDims,
      scatterIndicesBatchingDims, scatterDimsToOperandDims;
  int64_t indexVectorDim = 0;
  /// The specification skips single elements that fall outside; with this a window of which any
  /// element would is skipped whole, as XLA does and as JAX's programs count on.
  bool skipsWholeWindows = false;
  /// Other than 0: another order of the updates, as right where two meet, since the specification
  /// leaves it to whoever executes it.
  uint64_t order = 0;
};

/// The attribute of a stablehlo.scatter that asks for `skipsWholeWindows`.
inline constexpr char kWholeWindowsAttr[] = "cupel.skip_whole_windows";

/// Updates are applied in row-major order of the updates tensor unless told otherwise, result = body(current, update);
/// what falls outside is skipped. Inputs and updates must have the element types
/// of the body's arguments (the caller converts where the program promotes). Inputs that nobody
/// else owns are updated in place.
Result<std::vector<tensor::Tensor>> scatter(std::vector<tensor::Tensor> inputs,
                                            const tensor::Tensor &scatterIndices,
                                            std::span<const tensor::Tensor> updates,
                                            const ScatterNumbers &numbers,
                                            const ElementFunction &body);

/// result[b..., p..., i..., s...] = operand[b..., p..., index[b..., i...], s...], with `batchDims`
/// leading dimensions b shared and the index standing for dimension `dim`; clamped as in gather.
Result<tensor::Tensor> torchIndexSelect(const tensor::Tensor &operand, const tensor::Tensor &index,
                                        int64_t dim, int64_t batchDims);

} // namespace cupel::reference
