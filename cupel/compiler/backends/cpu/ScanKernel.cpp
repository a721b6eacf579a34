#include "cupel/compiler/backends/cpu/ScanKernel.h"

#include "cupel/compiler/backends/cpu/Combine.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/tensor/Windows.h"
#include "cupel/kernels/Isa.h"
#include "cupel/reference/Registry.h"

#include <algorithm>
#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

using Lines = tir::ScannedLines;

/// Neighbouring lines, one row of them after the other.
template <typename T> struct Strip {
  const T *from;
  T *to;
  int64_t count, step, width; // Rows, elements between two of them, elements of each.
  T init;
  bool goesPastCaches; // Rows and their parts are whole lines of memory then.
};
constexpr int64_t kWidest = 4096; // Elements of a strip: the row before is still in the nearest cache.

template <Combine combine, typename T>
[[gnu::always_inline]] inline void combineRows(T *__restrict to, const T *__restrict before, const T *__restrict from, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    to[i] = combined<combine, T>(before[i], from[i]);
}

/// What goes past the caches cannot be read again: then sums are kept beside it.
template <Combine combine, typename T> [[gnu::always_inline]] inline void walkDown(const Strip<T> &strip) {
  const T *from = strip.from;
  T *to = strip.to;
  if (!strip.goesPastCaches) {
    for (int64_t i = 0; i < strip.width; ++i)
      to[i] = combined<combine, T>(strip.init, from[i]);
    for (int64_t k = 1; k < strip.count; ++k, to += strip.step) {
      from += strip.step;
      combineRows<combine, T>(to + strip.step, to, from, strip.width);
    }
    return;
  }
  using Vector = T __attribute__((vector_size(32)));
  constexpr auto kLanes = int64_t(sizeof(Vector) / sizeof(T));
  alignas(64) T sums[kWidest];
  std::fill_n(sums, strip.width, strip.init);
  for (int64_t k = 0; k < strip.count; ++k, from += strip.step, to += strip.step)
    for (int64_t i = 0; i < strip.width; i += kLanes) {
      for (int64_t j = i; j < i + kLanes; ++j)
        sums[j] = combined<combine, T>(sums[j], from[j]);
      __builtin_nontemporal_store(*reinterpret_cast<const Vector *>(sums + i), reinterpret_cast<Vector *>(to + i));
    }
}

template <typename T> using StripFunction = void (*)(const Strip<T> &strip);
template <Combine combine, typename T> void walkDownPlainly(const Strip<T> &strip) { walkDown<combine, T>(strip); }
#if defined(__x86_64__)
template <Combine combine, typename T> __attribute__((target("avx2"))) void walkDownAvx2(const Strip<T> &strip) { walkDown<combine, T>(strip); }
#endif
template <Combine combine, typename T> StripFunction<T> stripFunction() {
#if defined(__x86_64__)
  if (kernels::hasIsa(kernels::Isa::V3))
    return walkDownAvx2<combine, T>;
#endif
  return walkDownPlainly<combine, T>;
}

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
    // As wide as can be: memory is read fastest in order. What is larger than caches is written past them, and there threads
    // may meet in a row.
    constexpr int64_t kNarrowest = 256, kLine = 64, kCaches = int64_t{24} << 20;
    constexpr double kNanosecondsPerElement = 0.1;
    int64_t elements = lines.outer * lines.count * lines.inner, bytes = elements * int64_t(sizeof(T));
    bool goesPastCaches = 2 * bytes >= kCaches && lines.inner * int64_t(sizeof(T)) % kLine == 0 && reinterpret_cast<uintptr_t>(to) % kLine == 0;
    auto threads = int64_t(kernelPool().threadsFor(double(elements) * kNanosecondsPerElement));
    if (lines.outer >= threads)
      threads = 1;
    else if (!goesPastCaches)
      threads = kernelPool().threadsForColumns(lines.outer * lines.count, double(lines.inner) * kNanosecondsPerElement);
    int64_t perThread = (lines.inner + threads - 1) / threads;
    int64_t width = std::clamp((perThread + kLine - 1) / kLine * kLine, kNarrowest, kWidest), pieces = (lines.inner + width - 1) / width;
    StripFunction<T> walk = stripFunction<combine, T>();
    kernelPool().parallelFor(lines.outer * pieces, double(lines.count * std::min(width, lines.inner)) * kNanosecondsPerElement, [&](int64_t unit) {
      int64_t begin = unit % pieces * width, at = unit / pieces * lines.count * lines.inner + first + begin;
      walk({from + at, to + at, lines.count, step, std::min(width, lines.inner - begin), init, goesPastCaches});
#if defined(__x86_64__)
      if (goesPastCaches)
        __builtin_ia32_sfence(); // Whoever is told that it is done has to see it.
#endif
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

} // namespace

Result<KernelPointer> scanKernel(dev::LaunchOp launch) {
  Error refusal{ErrorCode::Unsupported, "windows are not those of a cumulative operation"};
  auto op = dyn_cast<stablehlo::ReduceWindowOp>(dev::workOf(launch));
  if (!op || op.getInputs().size() != 1)
    return refusal;
  std::optional<Lines> lines = tir::scannedLines(op);
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
