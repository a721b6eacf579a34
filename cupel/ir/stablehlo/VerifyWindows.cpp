#include "cupel/ir/stablehlo/VerifyWindows.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace cupel::stablehlo::verify {

/// Fills `field` of every window from an attribute of positive numbers.
static LogicalResult read(Reporter report, StringRef name, std::optional<ArrayRef<int64_t>> values,
                          int64_t Window::*field, MutableArrayRef<Window> windows) {
  if (!values || values->empty())
    return success();
  if (values->size() != windows.size())
    return report.error(name, " must have one entry per window dimension, but got ", values->size(),
                        " for ", windows.size());
  for (auto [window, value] : llvm::zip_equal(windows, *values)) {
    if (value <= 0)
      return report.error(name, " must be positive, but got ", toString(*values));
    window.*field = value;
  }
  return success();
}

FailureOr<SmallVector<Window>> getWindows(Reporter report, ArrayRef<int64_t> sizes,
                                          const WindowAttributes &attributes) {
  SmallVector<Window> windows(sizes.size());
  for (auto [window, size] : llvm::zip_equal(windows, sizes)) {
    if (!ShapedType::isDynamic(size) && size <= 0)
      return report.error("window sizes must be positive, but got ", toString(sizes));
    window.size = size;
  }
  if (failed(read(report, "window_strides", attributes.strides, &Window::stride, windows)) ||
      failed(read(report, attributes.baseDilationsName, attributes.baseDilations,
                  &Window::baseDilation, windows)) ||
      failed(read(report, attributes.windowDilationsName, attributes.windowDilations,
                  &Window::windowDilation, windows)))
    return failure();

  if (!attributes.padding || !*attributes.padding)
    return windows;
  ShapedType type = attributes.padding->getType();
  if (type.getRank() != 2 || type.getDimSize(1) != 2 ||
      (type.getDimSize(0) != 0 && type.getDimSize(0) != static_cast<int64_t>(windows.size())))
    return report.error("padding must have shape [", windows.size(),
                        ", 2] (low and high per window dimension), but has ",
                        toString(type.getShape()));
  if (type.getDimSize(0) == 0)
    return windows;
  auto values = attributes.padding->getValues<int64_t>();
  for (auto [i, window] : llvm::enumerate(windows)) {
    window.paddingLow = values[2 * i];
    window.paddingHigh = values[2 * i + 1];
  }
  return windows;
}

/// The extent of `size` elements that lie `dilation` apart.
static std::optional<int64_t> dilate(int64_t size, int64_t dilation) {
  if (size == 0)
    return 0;
  std::optional<int64_t> distance = llvm::checkedMul(size - 1, dilation);
  return distance ? llvm::checkedAdd<int64_t>(*distance, 1) : std::nullopt;
}

FailureOr<Dim> countPositions(Reporter report, Dim base, const Window &window) {
  if (ShapedType::isDynamic(window.size))
    return Dim();
  std::optional<Dim> positions = map(base, [&](int64_t size) -> std::optional<int64_t> {
    std::optional<int64_t> dilated = dilate(size, window.baseDilation);
    std::optional<int64_t> extent = dilate(window.size, window.windowDilation);
    std::optional<int64_t> edges = llvm::checkedAdd(window.paddingLow, window.paddingHigh);
    if (!dilated || !extent || !edges)
      return std::nullopt;
    std::optional<int64_t> padded = llvm::checkedAdd(*dilated, *edges);
    if (!padded)
      return std::nullopt;
    return *padded <= 0 || *extent > *padded ? 0 : (*padded - *extent) / window.stride + 1;
  });
  if (!positions)
    return report.error("sizes of padded or dilated dimensions must fit in 64 bits");
  return *positions;
}

FailureOr<Shape> slide(Reporter report, RankedTensorType base, ArrayRef<Window> windows) {
  Shape shape;
  for (auto [i, window] : llvm::enumerate(windows)) {
    FailureOr<Dim> positions = countPositions(report, getDim(base, i), window);
    if (failed(positions))
      return failure();
    shape.push(*positions);
  }
  return shape;
}

} // namespace cupel::stablehlo::verify
