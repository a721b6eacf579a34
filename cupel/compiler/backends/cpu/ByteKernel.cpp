#include "cupel/compiler/backends/cpu/ByteKernel.h"

#include "cupel/compiler/backends/cpu/ProductParts.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Bytes.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

kernels::IntegerType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isUnsignedInteger() ? kernels::IntegerType::U8
                                                                                      : kernels::IntegerType::I8;
}

kernels::ByteZeros zerosOf(std::optional<ArrayRef<int64_t>> zeros) {
  return zeros ? kernels::ByteZeros{int32_t((*zeros)[0]), int32_t((*zeros)[1])} : kernels::ByteZeros{};
}

std::vector<int64_t> spaced(int64_t count, int64_t step, int64_t first = 0) {
  std::vector<int64_t> offsets;
  offsets.reserve(size_t(count));
  for (int64_t i = 0; i < count; ++i)
    offsets.push_back(first + i * step);
  return offsets;
}

/// What packed forms depend on besides how weights lie.
std::string layoutOf(const char *what, Value left, Value right, kernels::ByteZeros zeros) {
  return std::string(what) + " of bytes " + std::to_string(int(typeOf(left))) + " " + std::to_string(int(typeOf(right))) +
         " " + std::to_string(zeros.left) + " " + std::to_string(zeros.right);
}

class ByteProduct final : public Kernel {
public:
  ByteProduct(tir::ProductOp op, const ProductShape &shape, EpilogueCode epilogue)
      : left(argumentOf(op.getLhs())), type(typeOf(op.getLhs())), columns(shape.columns),
        rows(spaced(shape.rows, shape.leftRow, shape.leftOffset)), depth(spaced(shape.depth, shape.leftColumn)),
        epilogue(std::move(epilogue)) {}

  Status load(tir::ProductOp op, const ProductShape &shape, dev::LaunchOp launch) {
    kernels::ByteZeros zeros = zerosOf(op.getZeros());
    std::string layout = layoutOf("product", op.getLhs(), op.getRhs(), zeros);
    return weights.load(launch, argumentOf(op.getRhs()), compiler::layoutOf(shape, layout.c_str()),
                        [shape, zeros, left = type, right = typeOf(op.getRhs())](const std::byte *data) {
                          std::vector<int64_t> depth = spaced(shape.depth, shape.rightRow, shape.rightOffset),
                                               columns = spaced(shape.columns, shape.rightColumn);
                          return kernels::packBytes({data, right, depth, columns}, left, zeros, kernelPool());
                        });
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    Result<kernels::PackedBytes> packed = weights.get(context, reads);
    if (!packed)
      return packed.error();
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::multiply({reads[left], type, rows, depth}, *packed, reinterpret_cast<int32_t *>(sums), columns, end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "byte product"; }

private:
  unsigned left;
  kernels::IntegerType type;
  int64_t columns;
  std::vector<int64_t> rows, depth;
  EpilogueCode epilogue;
  Weights<kernels::PackedBytes> weights;
};

class ByteConvolution final : public Kernel {
public:
  ByteConvolution(tir::ConvolutionOp op, EpilogueCode epilogue)
      : image(argumentOf(op.getImage())), type(typeOf(op.getImage())), epilogue(std::move(epilogue)) {}

  Status load(tir::ConvolutionOp op, const kernels::ConvolutionShape &shape, dev::LaunchOp launch) {
    kernels::ByteZeros zeros = zerosOf(op.getZeros());
    auto view = cast<tir::ViewAttr>(op.getViews()[0]);
    ArrayRef<int64_t> strides = view.getStrides();
    std::array<int64_t, 5> own = {}; // Images have no depth.
    std::copy_backward(strides.begin(), strides.end(), own.end());
    imageStrides = {0, 0, 0, shape.inputChannels, 1};
    for (size_t d : {2, 1, 0})
      imageStrides[d] = imageStrides[d + 1] * shape.input[d];
    std::string layout = layoutOf("convolution", op.getImage(), op.getKernel(), zeros);
    for (int64_t number : {shape.batch, shape.inputChannels, shape.outputChannels, shape.groups, view.getOffset()})
      layout += " " + std::to_string(number);
    for (const auto &numbers : {shape.input, shape.kernel, shape.strides, shape.paddingLow, shape.paddingHigh,
                                shape.kernelDilation})
      for (int64_t number : numbers)
        layout += " " + std::to_string(number);
    for (int64_t stride : own)
      layout += " " + std::to_string(stride);
    return weights.load(launch, argumentOf(op.getKernel()), layout,
                        [shape, own, zeros, offset = view.getOffset(), left = type,
                         right = typeOf(op.getKernel())](const std::byte *data) {
                          return kernels::packBytes(shape, {data + offset, right, own}, left, zeros, kernelPool());
                        });
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    Result<kernels::PackedByteConvolution> packed = weights.get(context, reads);
    if (!packed)
      return packed.error();
    epilogue.with(reads, writes[0], [&](float *sums, const kernels::Epilogue &end) {
      kernels::convolve(*packed, {reads[image], type, imageStrides}, reinterpret_cast<int32_t *>(sums), end, kernelPool());
    });
    return {};
  }

  std::string_view kind() const override { return "byte convolution"; }

private:
  unsigned image;
  kernels::IntegerType type;
  std::array<int64_t, 5> imageStrides = {};
  EpilogueCode epilogue;
  Weights<kernels::PackedByteConvolution> weights;
};

} // namespace

Result<KernelPointer> byteProduct(tir::ProductOp op, dev::LaunchOp launch, KernelChoice choice) {
  Result<ProductShape> shape = shapeOf(op);
  if (!shape)
    return shape.error();
  if (!op.getBatch().empty())
    return Error{ErrorCode::Unsupported, "products of bytes are of two matrices"};
  Result<EpilogueCode> epilogue =
      EpilogueCode::make(op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(2)), choice);
  if (!epilogue)
    return epilogue.error();
  auto kernel = std::make_unique<ByteProduct>(op, *shape, std::move(*epilogue));
  if (Status status = kernel->load(op, *shape, launch); !status)
    return status.error();
  return KernelPointer(std::move(kernel));
}

Result<KernelPointer> byteConvolution(tir::ConvolutionOp op, const kernels::ConvolutionShape &shape, dev::LaunchOp launch,
                                      KernelChoice choice) {
  if (shape.inputDilation != kernels::Spatial{1, 1, 1})
    return Error{ErrorCode::Unsupported, "pixels of bytes lie side by side"};
  Result<EpilogueCode> epilogue =
      EpilogueCode::make(op, 2, ArrayAttr::get(op.getContext(), op.getViews().getValue().drop_front(1)), choice);
  if (!epilogue)
    return epilogue.error();
  auto kernel = std::make_unique<ByteConvolution>(op, std::move(*epilogue));
  if (Status status = kernel->load(op, shape, launch); !status)
    return status.error();
  return KernelPointer(std::move(kernel));
}

} // namespace cupel::compiler
