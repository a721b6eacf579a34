// What the files of lowerings share: short ways to pass complaints on, and the few computations
// that several families need. Included by Ops*.cpp only.
#pragma once

#include "cupel/frontends/onnx/OpFamilies.h"

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

/// A composite of this name with these numbers as attributes, or its body where composites are off.
using CompositeBody = std::function<llvm::SmallVector<mlir::Value>(HloBuilder &, mlir::ValueRange)>;
llvm::SmallVector<mlir::Value> compositeOf(Node &n, llvm::StringRef name,
                                           llvm::ArrayRef<mlir::Value> operands, int64_t axis,
                                           double epsilon, const CompositeBody &body);

/// x * P(X <= x) of the normal distribution, by the error function or by tanh.
mlir::Value gelu(Node &n, mlir::Value x, bool byTanh);

/// Layer normalisation over the dimensions from `axis` on, in type `inner`: y, mean, 1 / deviation.
/// The bias may be null.
Result<llvm::SmallVector<mlir::Value>> layerNorm(Node &n, mlir::Value x, mlir::Value scale,
                                                 mlir::Value bias, int64_t axis, double epsilon,
                                                 mlir::Type inner);
/// The same without mean: y, 1 / root of the mean square.
Result<llvm::SmallVector<mlir::Value>> rmsNorm(Node &n, mlir::Value x, mlir::Value scale,
                                               int64_t axis, double epsilon, mlir::Type inner);

/// Attention on [batch, heads, length, size], as a composite.
struct AttentionForm {
  mlir::Value q, k, v;
  mlir::Value mask;    ///< Bool (true: attend) or added; broadcasts to the scores. May be null.
  mlir::Value lengths; ///< [batch]: keys that count. May be null.
  double scale = 1;    ///< Of q, and again of k.
  double softcap = 0;
  bool causal = false;
  int64_t left = -1, right = -1; ///< Windows; -1: open.
  int64_t past = 0;              ///< Keys before the first query's own.
  mlir::Type precision;          ///< Of the softmax; null: that of q.
  int scoresAfter = -1;          ///< Which scores to give too: 0 product, 1 cap, 2 bias, 3 softmax.
};
struct AttentionResult {
  mlir::Value y, scores;
};
Result<AttentionResult> attention(Node &n, const AttentionForm &form);

/// [B, S, heads * D] -> [B, heads, S, D] and back.
Result<mlir::Value> splitHeads(Node &n, mlir::Value x, int64_t heads);
mlir::Value mergeHeads(HloBuilder &b, mlir::Value x);
/// Turns pairs of [B, heads, S, D] by angles [B or 1, 1, S, size / 2]; the rest after `size` stays.
mlir::Value rotate(HloBuilder &b, mlir::Value x, mlir::Value cosine, mlir::Value sine, int64_t size,
                   bool interleaved);

/// Rounded values moved by the zero point (which may be null) and held inside an integer type.
mlir::Value quantizeTo(HloBuilder &b, mlir::Value rounded, mlir::Value zero, mlir::Type element);

/// `x` of shape [C] as [C, 1, 1, ...], to meet channels at dimension 1 of a tensor of this rank.
mlir::Value perChannel(HloBuilder &b, mlir::Value x, int64_t rank);

} // namespace cupel::frontends::onnx_import
