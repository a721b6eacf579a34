// Elementwise operations on tensors: shapes, scalars and memory around the loops of Loops.h. Used
// by the plan; knows nothing of MLIR.

#pragma once

#include "cupel/reference/Loops.h"

#include <span>

namespace cupel::reference {

/// What one elementwise operation is, found once.
struct ElementwiseOp {
  ElementOp op;
  Loop loop;
  tensor::DType result;
  int exponentBits = 0, mantissaBits = 0; // reduce_precision
};

/// An error that names the operation and the type where it is not defined.
Result<ElementwiseOp> findElementwise(ElementOp op, tensor::DType operand, tensor::DType result);

/// Rows from here on are worth a call of an operation's loop for each.
inline constexpr int64_t kLongRow = 64;

/// Whether an operand that does not lie together is read where it lies all the same: it has long
/// rows of neighbours or of one element. Others are copied first.
bool readsRows(const tensor::Tensor &tensor);

/// Operands have one shape, but for scalars where the operation takes them (`clamp` bounds, the
/// predicate of `select`). An operand that may be overwritten is given as `reusable`: its memory
/// may become the result's.
Result<tensor::Tensor> elementwise(const ElementwiseOp &op,
                                   std::span<const tensor::Tensor *const> operands,
                                   std::span<tensor::Tensor *const> reusable);
Result<tensor::Tensor> elementwise(const ElementwiseOp &op,
                                   std::initializer_list<const tensor::Tensor *> operands);

/// stablehlo.convert on a whole tensor.
Result<tensor::Tensor> convert(const tensor::Tensor &operand, tensor::DType type);

} // namespace cupel::reference
