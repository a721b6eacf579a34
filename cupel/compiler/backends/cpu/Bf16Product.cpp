#include "cupel/compiler/backends/cpu/Bf16Product.h"

#include "cupel/compiler/backends/cpu/ProductParts.h"
#include "cupel/compiler/backends/cpu/Threads.h"

#include <bit>

namespace cupel::compiler {

using namespace mlir;

namespace {

const uint16_t *halvesOf(const std::byte *memory) {
  return reinterpret_cast<const uint16_t *>(memory);
}

/// To the nearest, ties to even; NaN stays one.
uint16_t toBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? bits >> 16 | 0x40 : rounded);
}

/// Where a result in bf16 goes while blocks of the sums are in the cache.
struct Rounded {
  uint16_t *result;
  int64_t columns;
};

void roundBlock(void *const *operands, float *c, int64_t ldc, int64_t row, int64_t rows,
                int64_t column, int64_t columns) {
  const auto &to = *static_cast<const Rounded *>(operands[0]);
  for (int64_t i = 0; i < rows; ++i) {
    uint16_t *out = to.result + (row + i) * to.columns + column;
    for (int64_t j = 0; j < columns; ++j)
      out[j] = toBf16(c[i * ldc + j]);
  }
}

/// The end of a product: sums in place with their epilogue, or rounded to where they go.
class Ending {
public:
  static Result<Ending> make(tir::ProductOp op, KernelChoice choice) {
    Ending ending;
    ending.columns = int64_t(op.getColumns());
    if (cast<RankedTensorType>(op.getResult().getType()).getElementType().isF32()) {
      Result<EpilogueCode> code = EpilogueCode::make(
          op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(2)), choice);
      if (!code)
        return code.error();
      ending.epilogue = std::move(*code);
      return ending;
    }
    Block &body = op.getBody().front();
    auto round = dyn_cast<stablehlo::ConvertOp>(body.front());
    if (!op.getExtras().empty() || !round || round.getOperand() != body.getArgument(0) ||
        body.getTerminator()->getOperand(0) != round.getResult())
      return Error{ErrorCode::Unsupported, "products in bf16 are rounded and no more"};
    ending.isRounded = true;
    return ending;
  }

  /// Floats that it needs for `count` sums.
  int64_t floats(int64_t count) const { return isRounded ? count : 0; }

  /// Calls `work` with where the sums go and what is done to them.
  template <typename F>
  void with(std::span<const std::byte *const> reads, std::byte *result, float *sums, F &&work) const {
    if (!isRounded)
      return epilogue.with(reads,
                           [&](const kernels::Epilogue &end) { work(floatsOf(result), end); });
    Rounded to = {reinterpret_cast<uint16_t *>(result), columns};
    void *operand = &to;
    kernels::Epilogue end;
    end.function = roundBlock;
    end.operands = &operand;
    work(sums, end);
  }

private:
  bool isRounded = false;
  int64_t columns = 0;
  EpilogueCode epilogue;
};

/// With a right side that is packed, once or for each call.
class PackedBf16Product final : public Kernel {
public:
  PackedBf16Product(const ProductShape &shape, unsigned left, Ending ending)
      : shape(shape), left(left), ending(std::move(ending)) {}

  Status load(dev::LaunchOp launch, unsigned right) {
    return weights.load(launch, right, layoutOf(shape, "bf16"), [shape = shape](const std::byte *data) {
      kernels::Bf16View b = {halvesOf(data) + shape.rightOffset, shape.rightRow, shape.rightColumn};
      return kernels::packMatrix(b, shape.depth, shape.columns, kernelPool());
    });
  }

  int64_t workspaceBytes() const override {
    return ending.floats(shape.rows * shape.columns) * int64_t(sizeof(float));
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    Result<kernels::PackedMatrix> found = weights.get(context, reads);
    if (!found)
      return found.error();
    const kernels::PackedMatrix &right = *found;
    kernels::Bf16View a = {halvesOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn};
    ending.with(reads, writes[0], floatsOf(context.workspace),
                [&](float *sums, const kernels::Epilogue &end) {
                  kernels::multiply(shape.rows, a, right, sums, shape.columns, end, kernelPool());
                });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  ProductShape shape;
  unsigned left;
  Ending ending;
  Weights<kernels::PackedMatrix> weights;
};

/// Both sides are made f32, in which products of bf16 are exact.
class BatchBf16Product final : public Kernel {
public:
  BatchBf16Product(tir::ProductOp op, const ProductShape &shape, Ending ending)
      : batch(batchOf(op)), shape(shape), left(argumentOf(op.getLhs())),
        right(argumentOf(op.getRhs())), leftCount(countOf(op.getLhs())),
        rightCount(countOf(op.getRhs())), resultCount(countOf(op.getResult())),
        ending(std::move(ending)) {}

  int64_t workspaceBytes() const override {
    return (whole(leftCount) + whole(rightCount) + ending.floats(resultCount)) *
           int64_t(sizeof(float));
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    float *a = floatsOf(context.workspace), *b = a + whole(leftCount), *sums = b + whole(rightCount);
    widen(halvesOf(reads[left]), a, leftCount);
    widen(halvesOf(reads[right]), b, rightCount);
    ending.with(reads, writes[0], sums, [&](float *c, const kernels::Epilogue &end) {
      kernels::multiplyBatch(batch, {a + shape.leftOffset, shape.leftRow, shape.leftColumn},
                             {b + shape.rightOffset, shape.rightRow, shape.rightColumn}, c,
                             shape.columns, end, kernelPool());
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
  int64_t leftCount, rightCount, resultCount;
  Ending ending;
};

} // namespace

Result<KernelPointer> bf16Product(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice) {
  Result<ProductShape> shape = shapeOf(op);
  if (!shape)
    return shape.error();
  Result<Ending> ending = Ending::make(op, choice);
  if (!ending)
    return ending.error();
  if (!op.getBatch().empty())
    return KernelPointer(std::make_unique<BatchBf16Product>(op, *shape, std::move(*ending)));
  auto kernel =
      std::make_unique<PackedBf16Product>(*shape, argumentOf(op.getLhs()), std::move(*ending));
  if (Status status = kernel->load(launch, argumentOf(op.getRhs())); !status)
    return status.error();
  return KernelPointer(std::move(kernel));
}

std::string_view howBf16IsMultiplied() {
  return kernels::multipliesBf16() ? "AVX512_BF16 for products without batches and convolutions of many channels, f32 on rounded numbers for the rest"
                                   : "emulated: f32 on rounded numbers, this processor has no instructions for bf16";
}

} // namespace cupel::compiler
