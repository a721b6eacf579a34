#include "cupel/compiler/backends/cpu/ScanKernel.h"

#include "cupel/compiler/backends/cpu/Combine.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/reference/Registry.h"

#include <algorithm>
#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

struct Lines {
  int64_t outer = 1, count = 1, inner = 1; // Elements of a line lie `inner` apart.
  bool fromEnd = false;
};

template <Combine combine, typename T> class ScanKernel final : public Kernel {
public:
  ScanKernel(const Lines &lines, T init, unsigned input) : lines(lines), init(init), input(input) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    const auto *from = reinterpret_cast<const T *>(reads[input]);
    auto *to = reinterpret_cast<T *>(writes[0]);
    if (lines.outer * lines.count * lines.inner == 0)
      return {};
    int64_t first = lines.fromEnd ? (lines.count - 1) * lines.inner : 0;
    int64_t step = lines.fromEnd ? -lines.inner : lines.inner;
    if (lines.inner == 1) {
      // Several lines side by side: no addition waits for the one before.
      constexpr int64_t kSide = 4;
      int64_t blocks = (lines.outer + kSide - 1) / kSide;
      kernelPool().parallelFor(blocks, double(lines.count * kSide) * 0.7, [&](int64_t block) {
        int64_t begin = block * kSide, many = std::min(kSide, lines.outer - begin);
        if (many == kSide)
          sideBySide<kSide>(from + begin * lines.count + first, to + begin * lines.count + first,
                            step);
        else
          for (int64_t line = begin; line < begin + many; ++line)
            sideBySide<1>(from + line * lines.count + first, to + line * lines.count + first, step);
      });
      return {};
    }
    constexpr int64_t kWidth = 256; // Of neighbouring lines, in step.
    int64_t pieces = (lines.inner + kWidth - 1) / kWidth;
    kernelPool().parallelFor(
        lines.outer * pieces, double(lines.count * std::min(kWidth, lines.inner)) * 0.4,
        [&](int64_t unit) {
          int64_t begin = unit % pieces * kWidth, width = std::min(kWidth, lines.inner - begin);
          int64_t at = unit / pieces * lines.count * lines.inner + first + begin;
          for (int64_t i = 0; i < width; ++i)
            to[at + i] = combined<combine, T>(init, from[at + i]);
          for (int64_t k = 1; k < lines.count; ++k) {
            int64_t before = at;
            at += step;
            for (int64_t i = 0; i < width; ++i)
              to[at + i] = combined<combine, T>(to[before + i], from[at + i]);
          }
        });
    return {};
  }
  std::string_view kind() const override { return "scan"; }

private:
  template <int64_t many> void sideBySide(const T *from, T *to, int64_t step) const {
    T sums[many];
    std::fill_n(sums, many, init);
    for (int64_t k = 0; k < lines.count; ++k)
      for (int64_t line = 0; line < many; ++line) {
        int64_t at = line * lines.count + k * step;
        sums[line] = combined<combine, T>(sums[line], from[at]);
        to[at] = sums[line];
      }
  }

  Lines lines;
  T init;
  unsigned input;
};

/// The lines along which windows reach from an end to each element; nothing if they do not.
std::optional<Lines> linesOf(stablehlo::ReduceWindowOp op) {
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto areOnes = [](std::optional<ArrayRef<int64_t>> numbers) {
    return !numbers || llvm::all_of(*numbers, [](int64_t number) { return number == 1; });
  };
  if (!areOnes(op.getWindowStrides()) || !areOnes(op.getBaseDilations()) ||
      !areOnes(op.getWindowDilations()))
    return std::nullopt;
  SmallVector<int64_t> padding(size_t(2 * type.getRank()), 0);
  if (std::optional<DenseIntElementsAttr> given = op.getPadding())
    for (auto [i, value] : llvm::enumerate(given->getValues<APInt>()))
      padding[i] = value.getSExtValue();
  Lines lines;
  int64_t dimension = -1;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t size = op.getWindowDimensions()[d], low = padding[2 * d], high = padding[2 * d + 1];
    if (size == 1 && low == 0 && high == 0)
      continue;
    bool fromBegin = low == size - 1 && high == 0, fromEnd = low == 0 && high == size - 1;
    if (dimension >= 0 || size < type.getDimSize(d) || !(fromBegin || fromEnd))
      return std::nullopt;
    dimension = d;
    lines.fromEnd = !fromBegin;
  }
  if (dimension < 0)
    return std::nullopt;
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dimension ? lines.outer : d == dimension ? lines.count : lines.inner) *= type.getDimSize(d);
  return lines;
}

} // namespace

Result<KernelPointer> scanKernel(dev::LaunchOp launch) {
  Error refusal{ErrorCode::Unsupported, "windows are not those of a cumulative operation"};
  auto op = dyn_cast<stablehlo::ReduceWindowOp>(dev::workOf(launch));
  if (!op || op.getInputs().size() != 1)
    return refusal;
  std::optional<Lines> lines = linesOf(op);
  std::optional<Combine> combine = combineOf(op.getBody());
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto init = cast<BlockArgument>(op.getInitValues()[0]).getArgNumber();
  auto constant = dev::rootOf(launch.getReads()[init]).getDefiningOp<dev::ConstantOp>();
  if (!lines || !combine || *combine == Combine::Second || !constant ||
      type.getElementType() != cast<RankedTensorType>(op->getResult(0).getType()).getElementType())
    return refusal;
  Result<tensor::Tensor> value = reference::constantTensor(
      constant.getValue(), cast<dev::BufferType>(constant.getBuffer().getType()).getTensor());
  if (!value)
    return value.error();
  KernelPointer kernel;
  dispatchCombine(*combine, type.getElementType(), [&]<Combine which, typename T>() {
    T start = value->dataAs<T>()[0], twice = combined<which, T>(start, start);
    if (std::memcmp(&start, &twice, sizeof(T)) == 0) // Padding changes nothing.
      kernel = std::make_unique<ScanKernel<which, T>>(
          *lines, start, cast<BlockArgument>(op.getInputs()[0]).getArgNumber());
  });
  if (!kernel)
    return refusal;
  return kernel;
}

} // namespace cupel::compiler
