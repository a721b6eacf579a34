#include "cupel/compiler/backends/cpu/FftKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Fft.h"

#include <algorithm>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// Many lines are done at a time in the threads' own memory; longer ones would not fit there. A line by
/// itself may be longer.
constexpr int64_t kLongestOfMany = 1 << 16, kLongest = 1 << 23;

bool isWithinReach(int64_t length, int64_t lines) {
  if (kernels::hasFftOfOneLine(length) && (length % 2 != 0 || kernels::hasFftOfOneLine(length / 2)))
    return length <= kLongest;
  return kernels::hasFft(length) && length <= kLongestOfMany && (length <= 512 || lines >= 3);
}

/// Lines along one dimension of a tensor of these sizes.
kernels::FftLines linesAlong(ArrayRef<int64_t> sizes, size_t dimension) {
  kernels::FftLines lines;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (d != dimension)
      (d < dimension ? lines.outer : lines.inner) *= sizes[d];
  lines.stride = lines.inner;
  lines.innerStep = 1;
  lines.outerStep = lines.inner * sizes[dimension];
  return lines;
}

template <typename T> class FftKernel final : public Kernel {
public:
  FftKernel(stablehlo::FftOp op)
      : type(op.getFftType()), from(cast<RankedTensorType>(op.getOperand().getType()).getShape()),
        to(cast<RankedTensorType>(op.getResult().getType()).getShape()) {
    size_t first = from.size() - op.getFftLength().size();
    double count = 1;
    for (auto [i, length] : llvm::enumerate(op.getFftLength())) {
      axes.push_back({first + i, std::make_unique<kernels::Fft<T>>(length)});
      count *= double(length);
    }
    bool isInverse = type == stablehlo::FftType::IFFT || type == stablehlo::FftType::IRFFT;
    scale = isInverse ? T(1 / count) : T(1);
    for (int64_t size : from)
      elements *= size;
  }

  /// What inverse transforms of several dimensions make before the last.
  int64_t workspaceBytes() const override {
    return type == stablehlo::FftType::IRFFT && axes.size() > 1
               ? elements * int64_t(sizeof(std::complex<T>))
               : 0;
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    using Complex = std::complex<T>;
    const kernels::Pool &pool = kernelPool();
    const Axis &last = axes.back();
    auto others = ArrayRef(axes).drop_back();
    if (type == stablehlo::FftType::RFFT) {
      auto *result = reinterpret_cast<Complex *>(writes[0]);
      last.fft->transformReals(reinterpret_cast<const T *>(reads[0]),
                               linesAlong(from, last.dimension), result,
                               linesAlong(to, last.dimension), pool);
      for (const Axis &axis : llvm::reverse(others))
        axis.fft->transform(result, linesAlong(to, axis.dimension), result,
                            linesAlong(to, axis.dimension), false, 1, pool);
      return {};
    }
    bool backwards = type != stablehlo::FftType::FFT;
    const auto *source = reinterpret_cast<const Complex *>(reads[0]);
    if (type == stablehlo::FftType::IRFFT) {
      auto *made = reinterpret_cast<Complex *>(context.workspace);
      for (const Axis &axis : others) {
        axis.fft->transform(source, linesAlong(from, axis.dimension), made,
                            linesAlong(from, axis.dimension), true, 1, pool);
        source = made;
      }
      last.fft->transformToReals(source, linesAlong(from, last.dimension),
                                 reinterpret_cast<T *>(writes[0]), linesAlong(to, last.dimension),
                                 scale, pool);
      return {};
    }
    auto *result = reinterpret_cast<Complex *>(writes[0]);
    for (const Axis &axis : llvm::reverse(axes)) {
      kernels::FftLines lines = linesAlong(to, axis.dimension);
      axis.fft->transform(source, lines, result, lines, backwards, &axis == &axes.front() ? scale : 1,
                          pool);
      source = result;
    }
    return {};
  }
  std::string_view kind() const override { return "fft"; }

private:
  struct Axis {
    size_t dimension;
    std::unique_ptr<const kernels::Fft<T>> fft;
  };
  stablehlo::FftType type;
  llvm::SmallVector<int64_t> from, to;
  std::vector<Axis> axes;
  T scale = 1;
  int64_t elements = 1;
};

/// Several dimensions of f32, in f64: in f32 their roundings would add up to more than the reference's.
class WideFftKernel final : public Kernel {
public:
  explicit WideFftKernel(stablehlo::FftOp op) : inner(op) {
    auto numbers = [](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      return type.getNumElements() * (isa<ComplexType>(type.getElementType()) ? 2 : 1);
    };
    from = numbers(op.getOperand());
    to = numbers(op.getResult());
  }

  int64_t workspaceBytes() const override {
    return aligned(from) + aligned(to) + inner.workspaceBytes();
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    std::byte *source = context.workspace, *result = source + aligned(from);
    convert(reinterpret_cast<const float *>(reads[0]), reinterpret_cast<double *>(source), from);
    LaunchContext inside{context.process, context.arguments, result + aligned(to)};
    const std::byte *in[] = {source};
    std::byte *out[] = {result};
    if (Status status = inner.run(inside, in, out); !status)
      return status;
    convert(reinterpret_cast<const double *>(result), reinterpret_cast<float *>(writes[0]), to);
    return {};
  }
  std::string_view kind() const override { return "fft"; }

private:
  static int64_t aligned(int64_t numbers) {
    return (numbers * int64_t(sizeof(double)) + 63) / 64 * 64;
  }
  template <typename A, typename B> static void convert(const A *in, B *out, int64_t count) {
    constexpr int64_t kPart = 1 << 15;
    kernelPool().parallelFor((count + kPart - 1) / kPart, double(kPart) * 0.5, [&](int64_t part) {
      for (int64_t i = part * kPart, end = std::min(count, i + kPart); i < end; ++i)
        out[i] = B(in[i]);
    });
  }

  FftKernel<double> inner;
  int64_t from = 0, to = 0; // Numbers: a complex one is two.
};

} // namespace

Result<KernelPointer> fftKernel(stablehlo::FftOp op) {
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  Error refusal{ErrorCode::Unsupported, "there is no transform of such lines"};
  if (op.getFftLength().empty() || type.getNumElements() == 0)
    return refusal;
  for (int64_t length : op.getFftLength())
    if (!isWithinReach(length, type.getNumElements() / length))
      return refusal;
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  if (element.isF32() && op.getFftLength().size() == 1)
    return KernelPointer(std::make_unique<FftKernel<float>>(op));
  if (element.isF32())
    return KernelPointer(std::make_unique<WideFftKernel>(op));
  if (element.isF64())
    return KernelPointer(std::make_unique<FftKernel<double>>(op));
  return refusal;
}

} // namespace cupel::compiler
