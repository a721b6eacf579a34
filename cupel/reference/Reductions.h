// The kernel of reduce (and, through a strided view, of reduce_window). The plan binds it to the
// op. Results never depend on strides, blocking or threads.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/reference/ElementFunction.h"

#include <vector>

namespace cupel::reference {

/// Folds N inputs of one shape over `dimensions`; `inits` are N scalars. The body takes N
/// accumulators, then N elements. Inputs, inits and body must agree in element types (the caller
/// converts where the program promotes).
///
/// Native: accumulator = init, then body(accumulator, element) in row-major order. Wide: sums and
/// products of floats accumulate in f64 (complex: per part) from init, in row-major order, eight
/// elements at a time combined by a fixed tree first. Unknown bodies over many elements with few
/// results are folded in segments then, which relies on the associativity that the specification
/// asks for.
Result<std::vector<tensor::Tensor>> reduce(std::span<const tensor::Tensor> inputs,
                                           std::span<const tensor::Tensor> inits,
                                           std::span<const int64_t> dimensions,
                                           const ElementFunction &body, Accumulate accumulate);

/// Elements addressed through strides of one's own making (windows overlap, which no Tensor may).
struct FoldView {
  const std::byte *data = nullptr;
  tensor::DType stored;         // see storedForFold
  std::vector<int64_t> strides; // bytes, one per dimension of the fold's shape
};

/// How `fold` wants its inputs stored: as they are, or f16 and the like widened to f32, where that
/// makes the loops fast and loses nothing.
Result<std::vector<tensor::Tensor>> storedForFold(std::span<const tensor::Tensor> inputs,
                                                  const ElementFunction &body,
                                                  Accumulate accumulate);

/// The engine of both: dimension d of `shape` is folded if reduced[d], else it is a dimension of
/// the result, in order. Element types are the body's.
Result<std::vector<tensor::Tensor>> fold(std::span<const FoldView> inputs,
                                         std::span<const int64_t> shape,
                                         const std::vector<bool> &reduced,
                                         std::span<const tensor::Tensor> inits,
                                         const ElementFunction &body, Accumulate accumulate);

} // namespace cupel::reference
