// batch_norm_training, batch_norm_inference and batch_norm_grad. Every element type is computed in
// f64 and each result rounded once to its type. Used by the plan.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

struct BatchNormTraining {
  tensor::Tensor output, mean, variance;
};
/// Mean and biased variance over all dimensions but `feature`, then normalised with them.
Result<BatchNormTraining> batchNormTraining(const tensor::Tensor &operand,
                                            const tensor::Tensor &scale,
                                            const tensor::Tensor &offset, double epsilon,
                                            int64_t feature);

/// (operand - mean) / sqrt(variance + epsilon) * scale + offset.
Result<tensor::Tensor> batchNormInference(const tensor::Tensor &operand,
                                          const tensor::Tensor &scale, const tensor::Tensor &offset,
                                          const tensor::Tensor &mean,
                                          const tensor::Tensor &variance, double epsilon,
                                          int64_t feature);

struct BatchNormGrad {
  tensor::Tensor operand, scale, offset; // gradients
};
Result<BatchNormGrad> batchNormGrad(const tensor::Tensor &operand, const tensor::Tensor &scale,
                                    const tensor::Tensor &mean, const tensor::Tensor &variance,
                                    const tensor::Tensor &gradOutput, double epsilon,
                                    int64_t feature);

} // namespace cupel::reference
