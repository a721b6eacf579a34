// Windows that slide over tensors, as reductions and convolutions have them: reading their
// attributes and counting their positions. Attribute values are checked before any arithmetic.

#pragma once

#include "cupel/ir/stablehlo/Verify.h"

namespace cupel::stablehlo::verify {

/// A window in one dimension.
struct Window {
  int64_t size = 1; // kDynamic: unknown
  int64_t stride = 1;
  int64_t paddingLow = 0;
  int64_t paddingHigh = 0;
  int64_t baseDilation = 1;
  int64_t windowDilation = 1;
};

/// The optional attributes of windows. An absent or empty one means what its absence means; names
/// are those of the op's attributes.
struct WindowAttributes {
  std::optional<llvm::ArrayRef<int64_t>> strides;
  std::optional<llvm::ArrayRef<int64_t>> baseDilations;
  std::optional<llvm::ArrayRef<int64_t>> windowDilations;
  std::optional<mlir::DenseIntElementsAttr> padding;
  llvm::StringRef baseDilationsName = "base_dilations";
  llvm::StringRef windowDilationsName = "window_dilations";
};

/// One window per entry of `sizes`.
mlir::FailureOr<llvm::SmallVector<Window>>
getWindows(Reporter report, llvm::ArrayRef<int64_t> sizes, const WindowAttributes &attributes);

/// How many positions `window` has in a dimension of size `base`; reports sizes beyond 64 bits.
mlir::FailureOr<Dim> countPositions(Reporter report, Dim base, const Window &window);

/// The shape that comes of sliding `windows` over all dimensions of `base`.
mlir::FailureOr<Shape> slide(Reporter report, mlir::RankedTensorType base,
                             llvm::ArrayRef<Window> windows);

} // namespace cupel::stablehlo::verify
