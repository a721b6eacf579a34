#include "cupel/compiler/backends/cpu/Bf16Product.h"

#include "cupel/compiler/backends/cpu/ProductParts.h"
#include "cupel/compiler/backends/cpu/Threads.h"

#include <bit>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// With a right side that is packed, once or for each call.
class PackedBf16Product final : public Kernel {
public:
  PackedBf16Product(const ProductShape &shape, unsigned left, EpilogueCode epilogue)
      : shape(shape), left(left), epilogue(std::move(epilogue)) {}

  Status load(dev::LaunchOp launch, unsigned right) {
    return weights.load(
        launch, right, layoutOf(shape, "bf16"),
        [shape = shape](const std::byte *data) {
          kernels::Bf16View b = {halvesOf(data) + shape.rightOffset, shape.rightRow, shape.rightColumn};
          return kernels::packMatrix(b, shape.depth, shape.columns, kernelPool());
        },
        isAllOf(shape, launch.getReads()[right]));
  }

  runtime::Reading readingOf(unsigned read) const override {
    return read == left || epilogue.uses(read) ? runtime::Reading::Whole : weights.readingOf(read);
  }
  int packedArgument() const override { return weights.packedArgument(); }
  Status packArgument(LaunchContext &context) const override { return weights.packArgument(context); }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    Result<kernels::PackedMatrix> found = weights.get(context, reads);
    if (!found)
      return found.error();
    const kernels::PackedMatrix &right = *found;
    kernels::Bf16View a = {halvesOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn};
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::multiply(shape.rows, a, right, sums, shape.columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  ProductShape shape;
  unsigned left;
  EpilogueCode epilogue;
  Weights<kernels::PackedMatrix> weights;
};

/// Both sides are made f32, in which products of bf16 are exact.
class BatchBf16Product final : public Kernel {
public:
  BatchBf16Product(tir::ProductOp op, const ProductShape &shape, EpilogueCode epilogue)
      : batch(batchOf(op)), shape(shape), left(argumentOf(op.getLhs())),
        right(argumentOf(op.getRhs())), leftCount(countOf(op.getLhs())),
        rightCount(countOf(op.getRhs())),
        epilogue(std::move(epilogue)) {}

  int64_t workspaceBytes() const override {
    return (whole(leftCount) + whole(rightCount) + sumsOfBatch(batch, epilogue)) * int64_t(sizeof(float));
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    float *a = floatsOf(context.workspace), *b = a + whole(leftCount), *sumsHere = b + whole(rightCount);
    widen(halvesOf(reads[left]), a, leftCount);
    widen(halvesOf(reads[right]), b, rightCount);
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::multiplyBatch(batch, {a + shape.leftOffset, shape.leftRow, shape.leftColumn},
                             {b + shape.rightOffset, shape.rightRow, shape.rightColumn},
                             sums ? sums : sumsHere, shape.columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  static int64_t countOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  }
  /// Whole lines of the cache.
  static int64_t whole(int64_t count) { return (count + 15) / 16 * 16; }

  static void widen(const uint16_t *from, float *to, int64_t count) {
    constexpr int64_t kChunk = 8192;
    constexpr double kNanoseconds = 0.1;
    kernelPool().parallelFor((count + kChunk - 1) / kChunk, kChunk * kNanoseconds, [&](int64_t unit) {
      for (int64_t i = unit * kChunk; i < std::min(count, (unit + 1) * kChunk); ++i)
        to[i] = std::bit_cast<float>(uint32_t{from[i]} << 16);
    });
  }

  kernels::ProductBatch batch;
  ProductShape shape;
  unsigned left, right;
  int64_t leftCount, rightCount;
  EpilogueCode epilogue;
};

} // namespace

Result<KernelPointer> bf16Product(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice) {
  Result<ProductShape> shape = shapeOf(op);
  if (!shape)
    return shape.error();
  Result<EpilogueCode> epilogue = EpilogueCode::make(
      op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(2)), choice);
  if (!epilogue)
    return epilogue.error();
  if (!op.getBatch().empty())
    return KernelPointer(std::make_unique<BatchBf16Product>(op, *shape, std::move(*epilogue)));
  auto kernel =
      std::make_unique<PackedBf16Product>(*shape, argumentOf(op.getLhs()), std::move(*epilogue));
  if (Status status = kernel->load(launch, argumentOf(op.getRhs())); !status)
    return status.error();
  return KernelPointer(std::move(kernel));
}

std::string howBf16IsMultiplied() {
  if (!kernels::multipliesBf16())
    return "emulated: f32 on rounded numbers, this processor has no instructions for bf16";
  return std::string(kernels::bf16Instructions()) +
         " for products without batches and convolutions, f32 on rounded numbers for channels by themselves, odd groups and batches";
}

} // namespace cupel::compiler
