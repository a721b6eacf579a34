#include "cupel/compiler/backends/cpu/ProductKernel.h"

#include "cupel/compiler/backends/cpu/Bf16Product.h"
#include "cupel/compiler/backends/cpu/ByteKernel.h"
#include "cupel/compiler/backends/cpu/ProductParts.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/backends/cpu/TurnedResult.h"
#include "cupel/kernels/Convolution.h"
#include "cupel/kernels/Correlation.h"
#include "cupel/kernels/Pooling.h"

#include <cstring>
#include <limits>

namespace cupel::compiler {

using namespace mlir;

namespace {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// With a right side that is packed.
class PackedProduct final : public Kernel {
public:
  PackedProduct(const ProductShape &shape, unsigned left, EpilogueCode epilogue)
      : shape(shape), left(left), epilogue(std::move(epilogue)) {}

  Status load(dev::LaunchOp launch, unsigned right) {
    return weights.load(
        launch, right, layoutOf(shape, "f32"),
        [shape = shape](const std::byte *data) {
          return kernels::packMatrix(
              {floatsOf(data) + shape.rightOffset, shape.rightRow, shape.rightColumn}, shape.depth,
              shape.columns, kernelPool());
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
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::multiply(
          shape.rows, {floatsOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn},
          right, sums, shape.columns, end, kernelPool());
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

/// With a right side that no repetition of a loop changes: it is packed before the first one.
class PreparedProduct final : public Kernel {
public:
  PreparedProduct(const ProductShape &shape, unsigned left, unsigned right, EpilogueCode epilogue)
      : shape(shape), left(left), right(right), epilogue(std::move(epilogue)) {}

  int64_t preparedBytes() const override { return kernels::packedFloats(shape.depth, shape.columns) * int64_t(sizeof(float)); }

  Status prepare(LaunchContext &context, std::span<const std::byte *const> reads) const override {
    kernels::packMatrixInto({floatsOf(reads[right]) + shape.rightOffset, shape.rightRow, shape.rightColumn}, shape.depth, shape.columns,
                            floatsOf(context.prepared), kernelPool());
    return {};
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::PackedMatrix packed = kernels::packedMatrixAt(floatsOf(context.prepared), shape.depth, shape.columns);
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::multiply(
          shape.rows, {floatsOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn},
          packed, sums, shape.columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  ProductShape shape;
  unsigned left, right;
  EpilogueCode epilogue;
};

/// With both sides as they lie.
class BatchProduct final : public Kernel {
public:
  BatchProduct(kernels::ProductBatch batch, const ProductShape &shape, unsigned left,
               unsigned right, EpilogueCode epilogue)
      : batch(batch), shape(shape), left(left), right(right), epilogue(std::move(epilogue)) {}

  int64_t workspaceBytes() const override { return sumsOfBatch(batch, epilogue) * int64_t(sizeof(float)); }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::multiplyBatch(
          batch, {floatsOf(reads[left]) + shape.leftOffset, shape.leftRow, shape.leftColumn},
          {floatsOf(reads[right]) + shape.rightOffset, shape.rightRow, shape.rightColumn},
          sums ? sums : floatsOf(context.workspace), shape.columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "product"; }

private:
  kernels::ProductBatch batch;
  ProductShape shape;
  unsigned left, right;
  EpilogueCode epilogue;
};

bool isF32(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isF32();
}

bool isByte(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isInteger(8);
}

Result<KernelPointer> make(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice) {
  if (cast<RankedTensorType>(op.getLhs().getType()).getElementType().isBF16())
    return bf16Product(op, launch, choice);
  if (isByte(op.getLhs()))
    return byteProduct(op, launch, choice);
  if (!isF32(op.getLhs()))
    return Error{ErrorCode::Unsupported, "products are of f32"};
  Result<ProductShape> found = shapeOf(op);
  if (!found)
    return found.error();
  const ProductShape shape = *found;
  Result<EpilogueCode> epilogue = EpilogueCode::make(
      op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(2)), choice);
  if (!epilogue)
    return epilogue.error();
  unsigned left = argumentOf(op.getLhs()), right = argumentOf(op.getRhs());
  Operation *source = dev::rootOf(launch.getReads()[right]).getDefiningOp();
  const bool isColumn = kernels::readsRowsOfColumn({nullptr, shape.leftRow, shape.leftColumn}, shape.depth, shape.columns);
  if (op.getBatch().empty() && !isColumn && (isa<dev::ConstantOp>(source) ||
                                             (isa<dev::ArgumentOp>(source) && isMain(launch)))) {
    auto kernel = std::make_unique<PackedProduct>(shape, left, std::move(*epilogue));
    if (Status status = kernel->load(launch, right); !status)
      return status.error();
    return KernelPointer(std::move(kernel));
  }
  auto argument = dyn_cast<dev::ArgumentOp>(source);
  // One row times rows that lie side by side gains nothing.
  bool isReadAsItLies = isColumn || (shape.rows == 1 && shape.rightColumn == 1);
  if (op.getBatch().empty() && argument && !isReadAsItLies && choice.invariants && choice.invariants->contains(int64_t(argument.getNumber())))
    return KernelPointer(std::make_unique<PreparedProduct>(shape, left, right, std::move(*epilogue)));
  return KernelPointer(
      std::make_unique<BatchProduct>(batchOf(op), shape, left, right, std::move(*epilogue)));
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

class ConvolutionKernel final : public Kernel {
public:
  ConvolutionKernel(tir::ConvolutionOp op, EpilogueCode epilogue)
      : image(argumentOf(op.getImage())), isNarrow(!isF32(op.getImage())),
        filters(op.filters()), pixels(op.getTurned() ? pixelsOf(op) : 0),
        resultBytes(*dev::byteSizeOf(op.getResult().getType())), epilogue(std::move(epilogue)) {}

  Status load(dev::LaunchOp launch, tir::ConvolutionOp op, const kernels::ConvolutionShape &shape) {
    auto view = cast<tir::ViewAttr>(op.getViews()[0]);
    unsigned kernel = argumentOf(op.getKernel());
    bool isRounded = op.getRounded(), isOfBf16 = !isF32(op.getKernel());
    int64_t offset = view.getOffset();
    llvm::SmallVector<int64_t> strides(view.getStrides());
    strides.insert(strides.begin(), 5 - strides.size(), 0); // Images have no depth.
    std::string layout = isOfBf16 ? "convolution of bf16" : isRounded ? "rounded convolution" : "convolution";
    for (int64_t number : {shape.batch, shape.inputChannels, shape.outputChannels, shape.groups, offset})
      layout += " " + std::to_string(number);
    for (const auto &numbers : {shape.input, shape.kernel, shape.strides, shape.paddingLow,
                                shape.paddingHigh, shape.kernelDilation, shape.inputDilation})
      for (int64_t number : numbers)
        layout += " " + std::to_string(number);
    for (int64_t stride : strides)
      layout += " " + std::to_string(stride);
    // What is rounded on the way cannot be had back; bf16 is not.
    bool isWhole = (!isRounded || isOfBf16) && offset == 0 &&
                   isDense({{shape.kernel[0], strides[0]},
                            {shape.kernel[1], strides[1]},
                            {shape.kernel[2], strides[2]},
                            {shape.inputChannels / shape.groups, strides[3]},
                            {shape.outputChannels, strides[4]}},
                           elementsOf(launch.getReads()[kernel]));
    return weights.load(
        launch, kernel, layout,
        [=](const std::byte *data) {
          kernels::WeightsView weights{floatsOf(data) + offset,
                                       {strides[0], strides[1], strides[2]},
                                       strides[3],
                                       strides[4]};
          if (isOfBf16)
            weights.narrow = halvesOf(data) + offset;
          return (isRounded ? kernels::packRoundedConvolution : kernels::packConvolution)(shape, weights, kernelPool());
        },
        isWhole);
  }

  runtime::Reading readingOf(unsigned read) const override {
    return read == image || epilogue.uses(read) ? runtime::Reading::Whole : weights.readingOf(read);
  }
  int packedArgument() const override { return weights.packedArgument(); }
  Status packArgument(LaunchContext &context) const override { return weights.packArgument(context); }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    Result<kernels::PackedConvolution> found = weights.get(context, reads);
    if (!found)
      return found.error();
    const kernels::PackedConvolution &packed = *found;
    std::byte *result = writes[0];
    kernels::ScratchFrame frame;
    const bool isAside = epilogue.writesOverWhatItReads(reads, result) &&
                         !(kernels::endsEachSumOnce(packed) && epilogue.mayWriteOverWhatItAdds(reads, result));
    if (isAside)
      result = frame.take<std::byte>(resultBytes);
    auto convolve = [&](float *sums, const kernels::Epilogue &end) {
      if (isNarrow)
        kernels::convolve(packed, halvesOf(reads[image]), sums, filters, end, kernelPool());
      else
        kernels::convolve(packed, floatsOf(reads[image]), sums, filters, end, kernelPool());
    };
    epilogue.with(reads, result, [&](float *sums, const kernels::Epilogue &end) {
      if (pixels == 0)
        return convolve(sums, end);
      TurnedResult turned(end, sums, pixels, filters);
      convolve(nullptr, turned.epilogue());
    });
    if (isAside)
      std::memcpy(writes[0], result, static_cast<size_t>(resultBytes));
    return {};
  }

  std::string_view kind() const override { return "convolution"; }

private:
  static int64_t pixelsOf(tir::ConvolutionOp op) {
    return ShapedType::getNumElements(llvm::ArrayRef(op.resultSizes()).drop_front().drop_back());
  }

  unsigned image;
  bool isNarrow; // It is in bf16.
  int64_t filters;
  int64_t pixels; // Of an image of a result that lies channels first; 0: it does not.
  int64_t resultBytes;
  EpilogueCode epilogue;
  Weights<kernels::PackedConvolution> weights;
};

Result<KernelPointer> make(tir::ConvolutionOp op, dev::LaunchOp launch, KernelChoice choice) {
  if (!isByte(op.getImage()) && !op.getRounded() && !isF32(op.getImage()))
    return Error{ErrorCode::Unsupported, "convolutions are of f32, of numbers rounded to bf16 or of bytes"};
  auto image = cast<RankedTensorType>(op.getImage().getType());
  auto view = cast<tir::ViewAttr>(op.getViews()[0]);
  if (!view.getValid().empty())
    return Error{ErrorCode::Unsupported, "kernels of convolutions are not padded"};
  kernels::ConvolutionShape shape;
  shape.batch = image.getDimSize(0);
  shape.inputChannels = image.getShape().back();
  shape.outputChannels = op.filters();
  for (unsigned i = 0; i < op.getWindow().size(); ++i) { // Of images, the depth stays one.
    size_t d = i + 3 - op.getWindow().size();
    shape.input[d] = image.getDimSize(i + 1);
    shape.kernel[d] = op.getWindow()[i];
    shape.strides[d] = op.getStrides()[i];
    shape.paddingLow[d] = op.getPadding()[2 * i];
    shape.paddingHigh[d] = op.getPadding()[2 * i + 1];
    shape.kernelDilation[d] = op.getDilations()[i];
    shape.inputDilation[d] =
        shape.input[d] > 1 ? op.spreadOf(i) : 1; // One pixel has none beside it.
  }
  shape.groups = int64_t(op.getGroups());
  if (isByte(op.getImage()))
    return byteConvolution(op, shape, launch, choice);
  Result<EpilogueCode> epilogue = EpilogueCode::make(
      op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(1)), choice);
  if (!epilogue)
    return epilogue.error();
  auto kernel = std::make_unique<ConvolutionKernel>(op, std::move(*epilogue));
  if (Status status = kernel->load(launch, op, shape); !status)
    return status.error();
  return KernelPointer(std::move(kernel));
}

class CorrelationKernel final : public Kernel {
public:
  CorrelationKernel(const kernels::CorrelationShape &shape, unsigned image, unsigned window)
      : shape(shape), image(image), window(window) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::correlate(shape, floatsOf(reads[image]), floatsOf(reads[window]), floatsOf(writes[0]),
                       kernelPool());
    return {};
  }

  std::string_view kind() const override { return "correlation"; }

private:
  kernels::CorrelationShape shape;
  unsigned image, window;
};

Result<KernelPointer> make(tir::CorrelationOp op) {
  if (!isF32(op.getImage()))
    return Error{ErrorCode::Unsupported, "correlations are of f32"};
  auto image = cast<RankedTensorType>(op.getImage().getType()),
       window = cast<RankedTensorType>(op.getWindow().getType());
  kernels::CorrelationShape shape;
  shape.images = image.getDimSize(0);
  shape.rows = image.getDimSize(3);
  shape.columns = window.getDimSize(3);
  for (unsigned d : {0, 1}) {
    shape.input[d] = image.getDimSize(d + 1);
    shape.window[d] = window.getDimSize(d + 1);
    shape.strides[d] = op.getStrides()[d];
    shape.paddingLow[d] = op.getPadding()[2 * d];
    shape.paddingHigh[d] = op.getPadding()[2 * d + 1];
    shape.dilations[d] = op.getDilations()[d];
  }
  return KernelPointer(std::make_unique<CorrelationKernel>(shape, argumentOf(op.getImage()),
                                                           argumentOf(op.getWindow())));
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

class PoolKernel final : public Kernel {
public:
  PoolKernel(const kernels::PoolingShape &shape, bool isMax) : shape(shape), isMax(isMax) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::computeWindows(shape, isMax ? kernels::PoolingKind::Max : kernels::PoolingKind::Sum,
                            isMax ? -std::numeric_limits<float>::infinity() : 0.0f,
                            floatsOf(reads[0]), floatsOf(writes[0]), shape.channels, {},
                            kernelPool());
    return {};
  }

  std::string_view kind() const override { return "pool"; }

private:
  kernels::PoolingShape shape;
  bool isMax;
};

class BytePoolKernel final : public Kernel {
public:
  BytePoolKernel(const kernels::PoolingShape &shape, bool isSigned) : shape(shape), isSigned(isSigned) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    kernels::computeByteWindows(shape, isSigned, reinterpret_cast<const uint8_t *>(reads[0]),
                                reinterpret_cast<uint8_t *>(writes[0]), kernelPool());
    return {};
  }

  std::string_view kind() const override { return "byte pool"; }

private:
  kernels::PoolingShape shape;
  bool isSigned;
};

class HalfPoolKernel final : public Kernel {
public:
  explicit HalfPoolKernel(const kernels::PoolingShape &shape) : shape(shape) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const override {
    kernels::computeHalfWindows(shape, reinterpret_cast<const uint16_t *>(reads[0]), reinterpret_cast<uint16_t *>(writes[0]), kernelPool());
    return {};
  }

  std::string_view kind() const override { return "pool"; }

private:
  kernels::PoolingShape shape;
};

Result<KernelPointer> make(tir::PoolOp op) {
  Type element = cast<RankedTensorType>(op.getImage().getType()).getElementType();
  bool isHalf = element.isBF16() && op.getCombiner() == "maximum";
  if (!isF32(op.getImage()) && !element.isInteger(8) && !isHalf)
    return Error{ErrorCode::Unsupported, "windows are of f32 and of bytes, and the greatest of bf16"};
  auto image = cast<RankedTensorType>(op.getImage().getType());
  kernels::PoolingShape shape;
  shape.batch = image.getDimSize(0);
  shape.channels = image.getDimSize(3);
  shape.input = {1, image.getDimSize(1), image.getDimSize(2)};
  shape.window = {1, op.getWindow()[0], op.getWindow()[1]};
  shape.strides = {1, op.getStrides()[0], op.getStrides()[1]};
  shape.paddingLow = {0, op.getPadding()[0], op.getPadding()[2]};
  shape.paddingHigh = {0, op.getPadding()[1], op.getPadding()[3]};
  if (element.isInteger(8))
    return KernelPointer(std::make_unique<BytePoolKernel>(shape, !element.isUnsignedInteger()));
  if (isHalf)
    return KernelPointer(std::make_unique<HalfPoolKernel>(shape));
  return KernelPointer(std::make_unique<PoolKernel>(shape, op.getCombiner() == "maximum"));
}

} // namespace

Result<KernelPointer> productKernel(dev::LaunchOp launch, KernelChoice choice) {
  Operation *op = &dev::workOf(launch);
  if (auto product = dyn_cast<tir::ProductOp>(op))
    return make(product, launch, choice);
  if (auto convolution = dyn_cast<tir::ConvolutionOp>(op))
    return make(convolution, launch, choice);
  if (auto correlation = dyn_cast<tir::CorrelationOp>(op))
    return make(correlation);
  if (auto pool = dyn_cast<tir::PoolOp>(op))
    return make(pool);
  return Error{ErrorCode::Unsupported, "this is neither a product nor a convolution"};
}

} // namespace cupel::compiler
