// dot, dot_general, convolution and dynamic_conv on tensors. Operands are converted to the result's
// element type first; sums run in the order of the contracted indices (kernel positions, then input
// features for convolutions), as MatrixProduct.h says. Quantized forms are in Quantized.h.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/tensor/Tensor.h"

namespace cupel::reference {

struct DotDimensions {
  std::vector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting;
};

/// The result's dimensions: batching, rest of lhs, rest of rhs.
Result<tensor::Shape> dotGeneralShape(std::span<const int64_t> lhs, std::span<const int64_t> rhs,
                                      const DotDimensions &dimensions);
Result<tensor::Tensor> dotGeneral(const tensor::Tensor &lhs, const tensor::Tensor &rhs,
                                  const DotDimensions &dimensions, tensor::DType resultType,
                                  Accumulate accumulate);

/// What `dot` contracts: the last dimension of lhs with the first of rhs (ranks 1 and 2).
Result<DotDimensions> dotDimensions(int64_t lhsRank, int64_t rhsRank);
Result<tensor::Tensor> dot(const tensor::Tensor &lhs, const tensor::Tensor &rhs,
                           tensor::DType resultType, Accumulate accumulate);

struct ConvolutionDimensions {
  int64_t inputBatch = 0, inputFeature = 0;
  std::vector<int64_t> inputSpatial;
  int64_t kernelInputFeature = 0, kernelOutputFeature = 0;
  std::vector<int64_t> kernelSpatial;
  int64_t outputBatch = 0, outputFeature = 0;
  std::vector<int64_t> outputSpatial;
};

/// Lists that are empty stand for their defaults (strides and dilations 1, no padding, no
/// reversal).
struct ConvolutionWindow {
  std::vector<int64_t> strides, paddingLow, paddingHigh, lhsDilation, rhsDilation;
  std::vector<bool> reversal;
  int64_t featureGroups = 1, batchGroups = 1;
};

Result<tensor::Shape> convolutionShape(std::span<const int64_t> lhs, std::span<const int64_t> rhs,
                                       const ConvolutionDimensions &dimensions,
                                       const ConvolutionWindow &window);
Result<tensor::Tensor> convolution(const tensor::Tensor &lhs, const tensor::Tensor &rhs,
                                   const ConvolutionDimensions &dimensions,
                                   const ConvolutionWindow &window, tensor::DType resultType,
                                   Accumulate accumulate);

/// The window with the padding of dynamic_conv: an integer tensor [spatial dimensions, 2].
Result<ConvolutionWindow> withPadding(ConvolutionWindow window, const tensor::Tensor &padding);

} // namespace cupel::reference
