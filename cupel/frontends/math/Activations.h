// Activations as functions on values, each once for all importers: they differ in what their
// parameters are called and in the type they compute in, not in the formula. NaN stays NaN in all.
#pragma once

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

mlir::Value relu(HloBuilder &b, mlir::Value x);
mlir::Value leakyRelu(HloBuilder &b, mlir::Value x, double slope);
/// scale * x above zero, scale * alpha * (e^x - 1) below.
mlir::Value elu(HloBuilder &b, mlir::Value x, double alpha, double scale = 1);
mlir::Value celu(HloBuilder &b, mlir::Value x, double alpha);
mlir::Value hardSigmoid(HloBuilder &b, mlir::Value x, double alpha, double beta);
mlir::Value hardSwish(HloBuilder &b, mlir::Value x);
/// log(1 + e^x) without overflow.
mlir::Value softplus(HloBuilder &b, mlir::Value x);
mlir::Value tanhOfSoftplus(HloBuilder &b, mlir::Value x);
mlir::Value mish(HloBuilder &b, mlir::Value x);
mlir::Value softsign(HloBuilder &b, mlir::Value x);

/// x * P(X <= x) of the normal distribution, by the error function or by tanh: a composite that
/// computes in type `inner`.
mlir::Value gelu(HloBuilder &b, mlir::Value x, bool byTanh, mlir::Type inner);

/// Softmax along one dimension, plain; a scalar counts as one element.
mlir::Value softmax(HloBuilder &b, mlir::Value x, int64_t axis);
mlir::Value logSoftmax(HloBuilder &b, mlir::Value x, int64_t axis);
/// Rows in which everything is minus infinity give zeros.
mlir::Value safeSoftmax(HloBuilder &b, mlir::Value x, int64_t axis);
/// As a composite that computes in type `inner`.
mlir::Value softmaxLayer(HloBuilder &b, mlir::Value x, int64_t axis, bool logarithm,
                         mlir::Type inner);

} // namespace cupel::frontends
