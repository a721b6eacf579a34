#include "cupel/compiler/backends/cpu/IntegerKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/ProductParts.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Integers.h"
#include "cupel/kernels/Transpose.h"

namespace cupel::compiler {

using namespace mlir;
using kernels::IntegerType;

namespace {

using Dims = llvm::SmallVector<int64_t>;

std::optional<IntegerType> integerTypeOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto element = dyn_cast<mlir::IntegerType>(type.getElementType());
  if (!element || !type.hasStaticShape() || type.getEncoding())
    return std::nullopt;
  switch (element.getWidth()) {
  case 8:
    return element.isUnsigned() ? IntegerType::U8 : IntegerType::I8;
  case 16:
    return element.isUnsigned() ? IntegerType::U16 : IntegerType::I16;
  case 32:
    return IntegerType::I32; // Modulo 2^32 it makes no difference whether it has a sign.
  default:
    return std::nullopt;
  }
}

int64_t bytesOf(IntegerType type) {
  return type == IntegerType::I32 ? 4 : type == IntegerType::I16 || type == IntegerType::U16 ? 2 : 1;
}

ArrayRef<int64_t> sizesOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Where the elements of some dimensions lie, in their order.
std::vector<int64_t> offsetsOf(Value value, ArrayRef<int64_t> dims) {
  ArrayRef<int64_t> sizes = sizesOf(value);
  Dims strides = stridesOf(sizes);
  std::vector<int64_t> offsets = {0};
  for (int64_t d : dims) {
    std::vector<int64_t> all;
    all.reserve(offsets.size() * size_t(sizes[size_t(d)]));
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < sizes[size_t(d)]; ++i)
        all.push_back(offset + i * strides[size_t(d)]);
    offsets = std::move(all);
  }
  return offsets;
}

Dims others(Value value, ArrayRef<int64_t> batch, ArrayRef<int64_t> contracting) {
  Dims dims;
  for (int64_t d = 0; d < int64_t(sizesOf(value).size()); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contracting, d))
      dims.push_back(d);
  return dims;
}

/// The offsets of one side, over batch, its own dimensions and those that are summed.
struct Side {
  IntegerType type;
  std::vector<int64_t> batch, own, depth;

  const void *at(const std::byte *data, size_t index) const {
    return data + batch[index] * bytesOf(type);
  }
};

class IntegerProduct final : public Kernel {
public:
  IntegerProduct(stablehlo::DotGeneralOp op, IntegerType leftType, IntegerType rightType)
      : leftArgument(argumentOf(op.getLhs())), rightArgument(argumentOf(op.getRhs())) {
    auto numbers = op.getDotDimensionNumbers();
    auto side = [](Value value, IntegerType type, ArrayRef<int64_t> batch, ArrayRef<int64_t> depth) {
      return Side{type, offsetsOf(value, batch), offsetsOf(value, others(value, batch, depth)),
                  offsetsOf(value, depth)};
    };
    left = side(op.getLhs(), leftType, numbers.getLhsBatchingDimensions(),
                numbers.getLhsContractingDimensions());
    right = std::make_shared<const Side>(side(op.getRhs(), rightType,
                                              numbers.getRhsBatchingDimensions(),
                                              numbers.getRhsContractingDimensions()));
  }

  Status load(dev::LaunchOp launch) {
    if (right->batch.size() != 1)
      return {};
    isPacked = true;
    // What the packed form depends on: how the matrix lies.
    std::string layout = "product of integers " + std::to_string(int(right->type)) + " " +
                         std::to_string(llvm::hash_combine_range(right->own.begin(), right->own.end())) +
                         " " +
                         std::to_string(llvm::hash_combine_range(right->depth.begin(), right->depth.end()));
    return weights.load(launch, rightArgument, layout, [right = right](const std::byte *data) {
      return kernels::packIntegers({data, right->type, right->depth, right->own}, kernelPool());
    });
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    auto *c = reinterpret_cast<int32_t *>(writes[0]);
    auto rows = int64_t(left.own.size()), columns = int64_t(right->own.size());
    kernels::PackedIntegers packed;
    if (isPacked) {
      Result<kernels::PackedIntegers> found = weights.get(context, reads);
      if (!found)
        return found.error();
      packed = std::move(*found);
    }
    for (size_t index = 0; index < left.batch.size(); ++index) {
      if (!isPacked)
        packed = kernels::packIntegers(
            {right->at(reads[rightArgument], index), right->type, right->depth, right->own},
            kernelPool());
      kernels::multiply({left.at(reads[leftArgument], index), left.type, left.own, left.depth}, packed,
                        c + int64_t(index) * rows * columns, columns, kernelPool());
    }
    return {};
  }

  std::string_view kind() const override { return "integer product"; }

private:
  unsigned leftArgument, rightArgument;
  Side left;
  std::shared_ptr<const Side> right;
  bool isPacked = false;
  Weights<kernels::PackedIntegers> weights;
};

/// Batch, three spatial dimensions (the first ones of size one where there are fewer), channels.
Dims inOrder(int64_t batch, ArrayRef<int64_t> spatial, int64_t feature, ArrayRef<int64_t> of,
             int64_t missing) {
  Dims all = {of[size_t(batch)]};
  all.append(3 - spatial.size(), missing);
  for (int64_t d : spatial)
    all.push_back(of[size_t(d)]);
  all.push_back(of[size_t(feature)]);
  return all;
}

class IntegerConvolution final : public Kernel {
public:
  static Result<std::unique_ptr<IntegerConvolution>> make(stablehlo::ConvolutionOp op,
                                                          IntegerType image, IntegerType kernel) {
    auto numbers = op.getDimensionNumbers();
    size_t rank = numbers.getInputSpatialDimensions().size();
    if (rank > 3 || op.getBatchGroupCount() != 1)
      return Error{ErrorCode::Unsupported, "there is no convolution of integers like this"};
    auto made = std::make_unique<IntegerConvolution>();
    made->imageArgument = argumentOf(op.getLhs());
    made->kernelArgument = argumentOf(op.getRhs());
    made->imageType = image;
    made->kernelType = kernel;
    made->describe(op, rank);
    return made;
  }

  Status load(dev::LaunchOp launch) {
    std::string layout = "convolution of integers " + std::to_string(int(kernelType)) + " " +
                         std::to_string(origin);
    for (int64_t number : {shape.batch, shape.inputChannels, shape.outputChannels, shape.groups})
      layout += " " + std::to_string(number);
    for (const auto &numbers : {shape.input, shape.kernel, shape.strides, shape.paddingLow,
                                shape.paddingHigh, shape.kernelDilation, shape.inputDilation})
      for (int64_t number : numbers)
        layout += " " + std::to_string(number);
    for (int64_t stride : kernelStrides)
      layout += " " + std::to_string(stride);
    return weights.load(launch, kernelArgument, layout,
                        [shape = shape, type = kernelType, strides = kernelStrides,
                         origin = origin](const std::byte *data) {
                          return kernels::packIntegers(
                              shape, {data + origin * bytesOf(type), type, strides}, kernelPool());
                        });
  }

  /// Where the result lies before it is put into the program's order.
  int64_t workspaceBytes() const override {
    return isInOrder ? 0 : shape.rows() * shape.outputChannels * int64_t(sizeof(int32_t));
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    Result<kernels::PackedIntegerConvolution> found = weights.get(context, reads);
    if (!found)
      return found.error();
    const kernels::PackedIntegerConvolution &packed = *found;
    std::byte *result = isInOrder ? writes[0] : context.workspace;
    kernels::convolve(packed, {reads[imageArgument], imageType, imageStrides},
                      reinterpret_cast<int32_t *>(result), kernelPool());
    if (!isInOrder)
      kernels::permute(resultSizes, resultOrder, sizeof(int32_t), result, writes[0], kernelPool());
    return {};
  }

  std::string_view kind() const override { return "integer convolution"; }

private:
  void describe(stablehlo::ConvolutionOp op, size_t rank) {
    auto numbers = op.getDimensionNumbers();
    ArrayRef<int64_t> image = sizesOf(op.getLhs()), kernel = sizesOf(op.getRhs());
    Dims sizes = inOrder(numbers.getInputBatchDimension(), numbers.getInputSpatialDimensions(),
                         numbers.getInputFeatureDimension(), image, 1);
    Dims strides = inOrder(numbers.getInputBatchDimension(), numbers.getInputSpatialDimensions(),
                           numbers.getInputFeatureDimension(), stridesOf(image), 0);
    llvm::copy(strides, imageStrides.begin());
    shape.batch = sizes[0];
    shape.inputChannels = sizes[4];
    shape.groups = int64_t(op.getFeatureGroupCount());
    shape.outputChannels = kernel[size_t(numbers.getKernelOutputFeatureDimension())];
    Dims kernelOwn = stridesOf(kernel);
    kernelStrides[3] = kernelOwn[size_t(numbers.getKernelInputFeatureDimension())];
    kernelStrides[4] = kernelOwn[size_t(numbers.getKernelOutputFeatureDimension())];
    for (size_t i = 0; i < rank; ++i) {
      size_t d = 3 - rank + i;
      auto at = size_t(numbers.getKernelSpatialDimensions()[i]);
      shape.input[d] = sizes[d + 1];
      shape.kernel[d] = kernel[at];
      kernelStrides[d] = kernelOwn[at];
      if (op.getWindowStrides())
        shape.strides[d] = (*op.getWindowStrides())[i];
      if (op.getLhsDilation())
        shape.inputDilation[d] = (*op.getLhsDilation())[i];
      if (op.getRhsDilation())
        shape.kernelDilation[d] = (*op.getRhsDilation())[i];
      if (op.getPadding()) {
        shape.paddingLow[d] = op.getPadding()->getValues<int64_t>()[{uint64_t(i), 0}];
        shape.paddingHigh[d] = op.getPadding()->getValues<int64_t>()[{uint64_t(i), 1}];
      }
      if (op.getWindowReversal() && (*op.getWindowReversal())[i]) {
        origin += (kernel[at] - 1) * kernelOwn[at];
        kernelStrides[d] = -kernelStrides[d];
      }
    }
    // The result as it is made, and which of its dimensions come first in the program's.
    Dims out = {numbers.getOutputBatchDimension()};
    llvm::append_range(out, numbers.getOutputSpatialDimensions());
    out.push_back(numbers.getOutputFeatureDimension());
    ArrayRef<int64_t> result = sizesOf(op.getResult());
    resultOrder.resize(out.size());
    for (auto [i, d] : llvm::enumerate(out)) {
      resultSizes.push_back(result[size_t(d)]);
      resultOrder[size_t(d)] = int64_t(i);
    }
    isInOrder = llvm::is_sorted(resultOrder);
  }

  unsigned imageArgument = 0, kernelArgument = 0;
  IntegerType imageType = {}, kernelType = {};
  kernels::ConvolutionShape shape;
  std::array<int64_t, 5> imageStrides = {}, kernelStrides = {};
  int64_t origin = 0; // Of the kernel, where it is turned around.
  Dims resultSizes, resultOrder;
  bool isInOrder = true;
  Weights<kernels::PackedIntegerConvolution> weights;
};

} // namespace

Result<KernelPointer> integerKernel(dev::LaunchOp launch) {
  Operation *op = &dev::workOf(launch);
  Error refusal{ErrorCode::Unsupported, "its elements are no integers of up to 32 bits"};
  std::optional<IntegerType> left = integerTypeOf(op->getOperand(0)),
                             right = integerTypeOf(op->getOperand(1)),
                             result = integerTypeOf(op->getResult(0));
  if (!left || !right || result != IntegerType::I32)
    return refusal;
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    if (dot.getAlgorithm())
      return refusal;
    auto kernel = std::make_unique<IntegerProduct>(dot, *left, *right);
    if (Status status = kernel->load(launch); !status)
      return status.error();
    return KernelPointer(std::move(kernel));
  }
  auto kernel = IntegerConvolution::make(cast<stablehlo::ConvolutionOp>(op), *left, *right);
  if (!kernel)
    return kernel.error();
  if (Status status = (*kernel)->load(launch); !status)
    return status.error();
  return KernelPointer(std::move(*kernel));
}

} // namespace cupel::compiler
