// What the files of lowerings share: short ways to pass complaints on, and the few computations
// that several families need. Included by Ops*.cpp only.
#pragma once

#include "cupel/frontends/math/Activations.h"
#include "cupel/frontends/math/Attention.h"
#include "cupel/frontends/math/Shapes.h"
#include "cupel/frontends/onnx/OpFamilies.h"

/// Passes a complaint on.
#define ONNX_TRY(status)                                                                           \
  do {                                                                                             \
    if (::cupel::Status made = (status); !made)                                                    \
      return made.error();                                                                         \
  } while (false)
/// Names a value, or passes the complaint on.
#define ONNX_LET(name, expression)                                                                 \
  auto name##Result = (expression);                                                                \
  if (!name##Result)                                                                               \
    return name##Result.error();                                                                   \
  auto name = std::move(*name##Result)

namespace cupel::frontends::onnx_import {

/// Axes given as operand `operand` from opset `since` on, before that as the attribute `axes`;
/// nothing where they are missing.
Result<std::optional<Dims>> optionalAxes(Node &n, int64_t since, size_t operand);

/// ONNX's Cast: floats are cut toward zero, wide integers keep their low bits, narrow floats
/// saturate if asked.
mlir::Value castValue(HloBuilder &b, mlir::Value x, mlir::Type to, bool saturate);

/// Layer normalisation over the dimensions from `axis` on, with sums in type `inner`. The bias may
/// be null; it and the scale broadcast to x, or that is an error.
Result<mlir::Value> layerNorm(Node &n, mlir::Value x, mlir::Value scale, mlir::Value bias,
                              int64_t axis, double epsilon, mlir::Type inner);
/// The same without mean and bias.
Result<mlir::Value> rmsNorm(Node &n, mlir::Value x, mlir::Value scale, int64_t axis, double epsilon,
                            mlir::Type inner);
/// What layerNorm divided by, as results 1 (mean) and 2 (1 / deviation) where they are wanted.
void outMoments(Node &n, mlir::Value x, int64_t axis, double epsilon, mlir::Type inner);

/// Attention on [batch, heads, length, size], checked.
Result<AttentionResult> attention(Node &n, const AttentionForm &form);

/// [B, S, heads * D] -> [B, heads, S, D] and back.
Result<mlir::Value> splitHeads(Node &n, mlir::Value x, int64_t heads);
mlir::Value mergeHeads(HloBuilder &b, mlir::Value x);
/// Turns pairs of [B, heads, S, D] by angles [B or 1, 1, S, size / 2]; the rest after `size` stays.
mlir::Value rotate(HloBuilder &b, mlir::Value x, mlir::Value cosine, mlir::Value sine, int64_t size,
                   bool interleaved);

/// A zero point or a limit in another type. Where it is one number that is known it is a constant of that type: what is
/// left to be computed would hide it from kernels.
mlir::Value convertPoint(HloBuilder &b, mlir::Value value, mlir::Type element);

/// What sums of products of quantized numbers are multiplied with: left scale * right scale / result's scale (which may be null), in
/// f32. A constant where these are: computed later, it would be computed in every run.
mlir::Value scaleFactor(HloBuilder &b, mlir::Value left, mlir::Value right, mlir::Value result);

/// Rounded values moved by the zero point (which may be null) and held inside an integer type.
mlir::Value quantizeTo(HloBuilder &b, mlir::Value rounded, mlir::Value zero, mlir::Type element);

} // namespace cupel::frontends::onnx_import
