// What the files of lowerings share: short ways to pass complaints on, and the few computations
// that several families need. Included by Ops*.cpp only.
#pragma once

#include "cupel/frontends/onnx/OpTable.h"

/// Passes a complaint on.
#define ONNX_TRY(status)                                                                           \
  do {                                                                                             \
    if (::cupel::Status made = (status); !made)                                                    \
      return ::cupel::Error{made.message()};                                                       \
  } while (false)
/// Names a value, or passes the complaint on.
#define ONNX_LET(name, expression)                                                                 \
  auto name##Result = (expression);                                                                \
  if (!name##Result)                                                                               \
    return ::cupel::Error{name##Result.message()};                                                 \
  auto name = std::move(*name##Result)

namespace cupel::frontends::onnx_import {

/// Axes given as operand `operand` from opset `since` on, before that as the attribute `axes`;
/// nothing where they are missing.
Result<std::optional<Dims>> optionalAxes(Node &n, int64_t since, size_t operand);

/// Every dimension from `first` on.
Dims dimensionsFrom(int64_t first, int64_t rank);

/// ONNX's Cast: floats are cut toward zero, wide integers keep their low bits, narrow floats
/// saturate if asked.
mlir::Value castValue(HloBuilder &b, mlir::Value x, mlir::Type to, bool saturate);

/// Softmax along one axis.
mlir::Value softmax(HloBuilder &b, mlir::Value x, int64_t axis);
mlir::Value logSoftmax(HloBuilder &b, mlir::Value x, int64_t axis);

/// `x` of shape [C] as [C, 1, 1, ...], to meet channels at dimension 1 of a tensor of this rank.
mlir::Value perChannel(HloBuilder &b, mlir::Value x, int64_t rank);

} // namespace cupel::frontends::onnx_import
