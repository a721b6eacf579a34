// What passes over convolutions and pools read of windows, and orders of dimensions.

#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

namespace cupel::tir {

using Dims = mlir::SmallVector<int64_t>;

/// Strides or dilations that need not be said.
inline Dims orOnes(std::optional<mlir::ArrayRef<int64_t>> sizes, size_t count) {
  return sizes ? Dims(*sizes) : Dims(count, 1);
}
inline bool areOnes(std::optional<mlir::ArrayRef<int64_t>> sizes) {
  return !sizes || llvm::all_of(*sizes, [](int64_t size) { return size == 1; });
}

/// Low and high of each dimension.
inline Dims paddingOf(std::optional<mlir::DenseIntElementsAttr> padding, size_t count) {
  return padding ? Dims(padding->getValues<int64_t>()) : Dims(2 * count, 0);
}

/// The order that brings dimensions back to where they were.
inline Dims inverse(mlir::ArrayRef<int64_t> order) {
  Dims back(order.size());
  for (auto [i, d] : llvm::enumerate(order))
    back[d] = int64_t(i);
  return back;
}

/// Whether the window of a convolution is computed, has more pixels than there are places for it,
/// and both sides have channels to make tiles of. Then it is not packed for every place, and images
/// are what the depth is made of.
bool isCorrelation(stablehlo::ConvolutionOp op);

/// Groups of a batch, of which each meets kernels of its own (so JAX writes gradients of grouped kernels), are groups of channels of a smaller batch.
void groupChannels(stablehlo::ConvolutionOp op);

/// The gradient of a depthwise kernel: for each group one image of each of the batch, laid under a window that is computed and has more pixels than
/// there are places for it. As a convolution of each of these images by itself, whose results are added; or the operation itself.
stablehlo::ConvolutionOp eachImageByItself(stablehlo::ConvolutionOp op);

/// Whether a convolution is among what makes the image of a pool, or reads it: then channels lie
/// inmost there as well.
bool isNearConvolution(stablehlo::ReduceWindowOp pool);

/// Lines along which windows reach from an end to each element, as those of cumulative sums do.
struct ScannedLines {
  int64_t outer = 1, count = 1, inner = 1; // Elements of a line lie `inner` apart.
  bool fromEnd = false;
};
/// Nothing if the windows are others. One walk along each line does what as many windows as it has elements say.
std::optional<ScannedLines> scannedLines(stablehlo::ReduceWindowOp op);

} // namespace cupel::tir
