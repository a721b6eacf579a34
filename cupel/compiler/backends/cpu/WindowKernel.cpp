#include "cupel/compiler/backends/cpu/WindowKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/Combine.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Pooling.h"

#include <algorithm>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// One dimension of windows: how they lie over the input.
struct WindowDimension {
  int64_t input = 1, output = 1, window = 1;
  int64_t stride = 1, baseDilation = 1, dilation = 1, low = 0;
  int64_t inputStep = 1, outputStep = 1; // In elements.

  /// Where element k of window `at` lies in the input; -1 beside it or between its elements.
  int64_t place(int64_t at, int64_t k) const {
    int64_t position = at * stride + k * dilation - low;
    if (position < 0 || position % baseDilation != 0 || position / baseDilation >= input)
      return -1;
    return position / baseDilation;
  }
};
using WindowDimensions = SmallVector<WindowDimension, 4>;

SmallVector<int64_t> orOnes(std::optional<ArrayRef<int64_t>> sizes, size_t count) {
  return sizes ? SmallVector<int64_t>(*sizes) : SmallVector<int64_t>(count, 1);
}

/// `input` is what lies under the windows, `output` has an element for each.
WindowDimensions dimensionsOf(ArrayRef<int64_t> input, ArrayRef<int64_t> output,
                              ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                              ArrayRef<int64_t> baseDilations, ArrayRef<int64_t> dilations,
                              std::optional<DenseIntElementsAttr> padding) {
  SmallVector<int64_t> inputSteps = stridesOf(input), outputSteps = stridesOf(output);
  WindowDimensions all;
  for (size_t d = 0; d < input.size(); ++d) {
    WindowDimension one{input[d],  output[d], window[d],        strides[d],   baseDilations[d],
                        dilations[d], 0,      inputSteps[d], outputSteps[d]};
    if (padding)
      one.low = padding->getValues<APInt>()[2 * d].getSExtValue();
    all.push_back(one);
  }
  return all;
}

int64_t windowsIn(const WindowDimensions &all) {
  int64_t count = 1;
  for (const WindowDimension &one : all)
    count *= one.output;
  return count;
}
int64_t elementsOf(const WindowDimensions &all) {
  int64_t count = 1;
  for (const WindowDimension &one : all)
    count *= one.window;
  return count;
}

/// Calls `visit` with the offset of each element of a window in the order of its dimensions; -1 for what
/// is none of the input's.
template <typename F> void visitWindow(const WindowDimensions &all, ArrayRef<int64_t> at, F &&visit) {
  SmallVector<int64_t, 4> k(all.size(), 0);
  size_t rank = all.size();
  if (rank == 0)
    return visit(0);
  while (true) {
    int64_t offset = 0;
    for (size_t d = 0; d + 1 < rank && offset >= 0; ++d) {
      int64_t place = all[d].place(at[d], k[d]);
      offset = place < 0 ? -1 : offset + place * all[d].inputStep;
    }
    const WindowDimension &last = all[rank - 1];
    for (int64_t i = 0; i < last.window; ++i) {
      int64_t place = offset < 0 ? -1 : last.place(at[rank - 1], i);
      visit(place < 0 ? -1 : offset + place * last.inputStep);
    }
    size_t d = rank - 1;
    while (d-- > 0) {
      if (++k[d] < all[d].window)
        break;
      k[d] = 0;
    }
    if (d == size_t(-1))
      return;
  }
}

SmallVector<int64_t, 4> windowAt(const WindowDimensions &all, int64_t number) {
  SmallVector<int64_t, 4> at(all.size());
  for (size_t d = all.size(); d-- > 0;) {
    at[d] = number % all[d].output;
    number /= all[d].output;
  }
  return at;
}

template <Combine combine, typename T> class WindowKernel final : public Kernel {
public:
  WindowKernel(WindowDimensions dimensions, unsigned input, unsigned init)
      : dimensions(std::move(dimensions)), input(input), init(init) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    const auto *from = reinterpret_cast<const T *>(reads[input]);
    auto *to = reinterpret_cast<T *>(writes[0]);
    T start = *reinterpret_cast<const T *>(reads[init]);
    int64_t count = windowsIn(dimensions);
    double one = 5 + double(elementsOf(dimensions)) * 1.5;
    int64_t perPart = kernelPool().unitsPerPart(count, one);
    kernelPool().parallelFor((count + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
      for (int64_t i = part * perPart, end = std::min(count, i + perPart); i < end; ++i) {
        T result = start; // Padding is more of it.
        visitWindow(dimensions, windowAt(dimensions, i), [&](int64_t offset) {
          result = combined<combine, T>(result, offset < 0 ? start : from[offset]);
        });
        to[i] = result;
      }
    });
    return {};
  }
  std::string_view kind() const override { return "window"; }

private:
  WindowDimensions dimensions;
  unsigned input, init;
};

/// Windows over the last dimensions, at most three, of floats: lines of vectors.
class PlanarWindowKernel final : public Kernel {
public:
  /// `otherwise` is for initial values that are not neutral.
  PlanarWindowKernel(const kernels::PoolingShape &shape, kernels::PoolingKind pooling, unsigned input, unsigned init, KernelPointer otherwise)
      : shape(shape), pooling(pooling), input(input), init(init), otherwise(std::move(otherwise)) {}

  Status run(LaunchContext &context, std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const override {
    float start = *reinterpret_cast<const float *>(reads[init]);
    if (pooling == kernels::PoolingKind::Sum && start != 0) // Padding is more of it.
      return otherwise->run(context, reads, writes);
    kernels::computePlanarWindows(shape, pooling, start, reinterpret_cast<const float *>(reads[input]), reinterpret_cast<float *>(writes[0]),
                                  kernelPool());
    return {};
  }
  std::string_view kind() const override { return "window"; }

private:
  kernels::PoolingShape shape;
  kernels::PoolingKind pooling;
  unsigned input, init;
  KernelPointer otherwise;
};

std::optional<kernels::PoolingShape> planarShape(const WindowDimensions &all, std::optional<DenseIntElementsAttr> padding) {
  kernels::PoolingShape shape;
  size_t rank = all.size(), first = rank;
  for (size_t d = 0; d < rank; ++d) {
    const WindowDimension &one = all[d];
    int64_t high = padding ? padding->getValues<APInt>()[2 * d + 1].getSExtValue() : 0;
    bool isTrivial = one.window == 1 && one.stride == 1 && one.low == 0 && high == 0 && one.baseDilation == 1;
    if (isTrivial && first == rank && d + 1 < rank) {
      shape.batch *= one.input;
      continue;
    }
    first = std::min(first, d);
    if (rank - first > 3 || one.baseDilation != 1 || one.low < 0)
      return std::nullopt; // What no window reaches at the end is left out by the number of results.
    size_t at = 3 - (rank - d);
    shape.input[at] = one.input;
    shape.window[at] = one.window;
    shape.strides[at] = one.stride;
    shape.windowDilation[at] = one.dilation;
    shape.paddingLow[at] = one.low;
    shape.paddingHigh[at] = high;
  }
  if (first == rank)
    return std::nullopt;
  return shape;
}

/// Whether the first of two stays what is picked.
enum class Pick { GreaterEqual, Greater, LessEqual, Less };

template <typename T> bool stays(Pick pick, T a, T b) {
  switch (pick) {
  case Pick::GreaterEqual: return a >= b;
  case Pick::Greater: return a > b;
  case Pick::LessEqual: return a <= b;
  case Pick::Less: return a < b;
  }
  return false;
}

template <Combine combine, typename T> class SelectAndScatterKernel final : public Kernel {
public:
  SelectAndScatterKernel(WindowDimensions dimensions, Pick pick, unsigned input, unsigned source,
                         unsigned init)
      : dimensions(std::move(dimensions)), pick(pick), input(input), source(source), init(init) {}

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    const auto *from = reinterpret_cast<const T *>(reads[input]);
    const auto *given = reinterpret_cast<const T *>(reads[source]);
    auto *to = reinterpret_cast<T *>(writes[0]);
    int64_t size = 1;
    for (const WindowDimension &one : dimensions)
      size *= one.input;
    std::fill_n(to, size, *reinterpret_cast<const T *>(reads[init]));
    // Windows may overlap: what they leave depends on their order.
    for (int64_t i = 0, count = windowsIn(dimensions); i < count; ++i) {
      if (i % 4096 == 4095)
        if (Status status = context.process.run.stopped(); !status)
          return status;
      int64_t picked = -1;
      visitWindow(dimensions, windowAt(dimensions, i), [&](int64_t offset) {
        if (offset >= 0 && (picked < 0 || !stays(pick, from[picked], from[offset])))
          picked = offset;
      });
      if (picked >= 0)
        to[picked] = combined<combine, T>(to[picked], given[i]);
    }
    return {};
  }
  std::string_view kind() const override { return "select and scatter"; }

private:
  WindowDimensions dimensions;
  Pick pick;
  unsigned input, source, init;
};

std::optional<Pick> pickOf(Region &region) {
  Block &body = region.front();
  auto compare = body.getTerminator()->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare || compare.getLhs() != body.getArgument(0) || compare.getRhs() != body.getArgument(1) ||
      compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER)
    return std::nullopt;
  switch (compare.getComparisonDirection()) {
  case stablehlo::ComparisonDirection::GE: return Pick::GreaterEqual;
  case stablehlo::ComparisonDirection::GT: return Pick::Greater;
  case stablehlo::ComparisonDirection::LE: return Pick::LessEqual;
  case stablehlo::ComparisonDirection::LT: return Pick::Less;
  default: return std::nullopt;
  }
}

ArrayRef<int64_t> sizesOfTensor(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
unsigned numberOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

} // namespace

Result<KernelPointer> windowKernel(stablehlo::ReduceWindowOp op) {
  Error refusal{ErrorCode::Unsupported, "windows are not combined in such a way"};
  if (op.getInputs().size() != 1)
    return refusal;
  std::optional<Combine> combine = combineOf(op.getBody());
  Value input = op.getInputs()[0], init = op.getInitValues()[0];
  Type element = elementOf(input);
  size_t rank = sizesOfTensor(input).size();
  if (!combine || *combine == Combine::Second || elementOf(op->getResult(0)) != element ||
      elementOf(init) != element)
    return refusal;
  WindowDimensions dimensions = dimensionsOf(
      sizesOfTensor(input), sizesOfTensor(op->getResult(0)), op.getWindowDimensions(),
      orOnes(op.getWindowStrides(), rank), orOnes(op.getBaseDilations(), rank),
      orOnes(op.getWindowDilations(), rank), op.getPadding());
  std::optional<kernels::PoolingShape> planar = planarShape(dimensions, op.getPadding());
  KernelPointer kernel;
  dispatchCombine(*combine, element, [&]<Combine which, typename T>() {
    if constexpr (which != Combine::Second)
      kernel = std::make_unique<WindowKernel<which, T>>(std::move(dimensions), numberOf(input),
                                                        numberOf(init));
  });
  if (!kernel)
    return refusal;
  if (planar && element.isF32() && (*combine == Combine::Maximum || *combine == Combine::Minimum || *combine == Combine::Add)) {
    auto pooling = *combine == Combine::Maximum   ? kernels::PoolingKind::Max
                   : *combine == Combine::Minimum ? kernels::PoolingKind::Min
                                                  : kernels::PoolingKind::Sum;
    return KernelPointer(std::make_unique<PlanarWindowKernel>(*planar, pooling, numberOf(input), numberOf(init), std::move(kernel)));
  }
  return kernel;
}

Result<KernelPointer> selectAndScatterKernel(stablehlo::SelectAndScatterOp op) {
  Error refusal{ErrorCode::Unsupported, "there is no select_and_scatter with such computations"};
  std::optional<Pick> pick = pickOf(op.getSelect());
  std::optional<Combine> combine = combineOf(op.getScatter());
  Type element = elementOf(op.getOperand());
  size_t rank = sizesOfTensor(op.getOperand()).size();
  if (!pick || !combine || elementOf(op.getSource()) != element ||
      elementOf(op.getInitValue()) != element || elementOf(op.getResult()) != element)
    return refusal;
  SmallVector<int64_t> ones(rank, 1);
  WindowDimensions dimensions = dimensionsOf(
      sizesOfTensor(op.getOperand()), sizesOfTensor(op.getSource()),
      orOnes(op.getWindowDimensions(), rank), orOnes(op.getWindowStrides(), rank), ones, ones,
      op.getPadding());
  KernelPointer kernel;
  dispatchCombine(*combine, element, [&]<Combine which, typename T>() {
    kernel = std::make_unique<SelectAndScatterKernel<which, T>>(
        std::move(dimensions), *pick, numberOf(op.getOperand()), numberOf(op.getSource()),
        numberOf(op.getInitValue()));
  });
  if (!kernel)
    return refusal;
  return kernel;
}

} // namespace cupel::compiler
