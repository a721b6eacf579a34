// Kernels of the ops that move elements and never look at what they mean: broadcast_in_dim,
// concatenate, reshape, reverse, transpose, slice, pad, bitcast_convert, and the two that make
// values from shapes, iota and get_dimension_size. The plan binds them to ops.
//
// Operands may be views (any strides); results are contiguous and own their bytes, except that
// `reshape` and `bitcastConvert` share those of a contiguous operand. Results keep the operand's
// element type: where the op's result is quantized otherwise, the caller applies withElementType.
// Attributes come from verified programs; what depends on run-time values is checked here.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

/// result[..., i_dimensions[d], ...] = operand[..., i_d or 0 where the operand's size is 1, ...].
/// Also serves dynamic_broadcast_in_dim: sizes that do not fit are an error. Where it `mayLie`
/// elementwise operations alone will take it, and what they can read where it lies is not copied.
Result<tensor::Tensor> broadcastInDim(const tensor::Tensor &operand, tensor::Shape shape,
                                      std::span<const int64_t> dimensions, bool mayLie = false);

/// At least one input; all of one shape except along `dimension`.
Result<tensor::Tensor> concatenate(std::span<const tensor::Tensor> inputs, int64_t dimension);

/// Row-major order kept. Also serves dynamic_reshape: a wrong element count is an error.
Result<tensor::Tensor> reshape(const tensor::Tensor &operand, tensor::Shape shape);

Result<tensor::Tensor> reverse(const tensor::Tensor &operand, std::span<const int64_t> dimensions);

/// result dimension i is operand dimension permutation[i].
Result<tensor::Tensor> transpose(const tensor::Tensor &operand,
                                 std::span<const int64_t> permutation);

/// 0 <= start <= limit <= size and stride > 0 are checked, so it serves real_dynamic_slice too.
Result<tensor::Tensor> slice(const tensor::Tensor &operand, std::span<const int64_t> start,
                             std::span<const int64_t> limit, std::span<const int64_t> stride);

/// Low and high may be negative (elements are cut off), interior may not. Serves dynamic_pad.
Result<tensor::Tensor> pad(const tensor::Tensor &operand, const tensor::Tensor &value,
                           std::span<const int64_t> low, std::span<const int64_t> high,
                           std::span<const int64_t> interior);

/// Counts along `dimension`, converted to the element type (integers wrap, floats round to nearest
/// even, complex numbers get a zero imaginary part). Serves dynamic_iota.
Result<tensor::Tensor> iota(tensor::ElementType type, tensor::Shape shape, int64_t dimension);

/// Index 0 of the minor dimension holds the least significant bits; types below a byte are packed
/// and unpacked by their value bits. `shape` is the result's.
Result<tensor::Tensor> bitcastConvert(const tensor::Tensor &operand, tensor::ElementType type,
                                      tensor::Shape shape);

/// An i32 scalar; a size beyond i32 is an error.
Result<tensor::Tensor> getDimensionSize(const tensor::Tensor &operand, int64_t dimension);

/// The operand with `dimension` cut down to `size` (an integer scalar). Up to `bound`, the largest
/// size the type allows (-1: the operand's), it may also grow; new elements are zero.
Result<tensor::Tensor> setDimensionSize(const tensor::Tensor &operand, const tensor::Tensor &size,
                                        int64_t dimension, int64_t bound = -1);

} // namespace cupel::reference
